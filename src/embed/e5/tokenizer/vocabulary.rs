//! The pieces of text that have a token, found by hashing as a text is read letter by letter. Does not
//! choose between them.

use super::file::Piece;

/// The most pieces that are accepted: eight times the largest vocabulary in use.
const MAX_PIECES: usize = 1 << 21;

/// The pieces, their scores, and a hash table with open addressing over them.
pub(super) struct Vocabulary {
    /// All pieces, one after the other.
    text: String,
    /// Where each piece ends in `text`.
    ends: Vec<u32>,
    scores: Vec<f64>,
    /// Some bits of the hash of a piece, and its id plus one; 0 for a free place.
    table: Vec<(u32, u32)>,
    longest: usize,
    unknown: u32,
    unknown_score: f64,
}

/// How much less likely than the least likely piece an unknown character is (sentencepiece's
/// `kUnkPenalty`).
const UNKNOWN_PENALTY: f64 = 10.0;

impl Vocabulary {
    /// Builds the table. Pieces in `special` have an id and a score, but are not found in texts.
    pub(super) fn new(pieces: &[Piece<'_>], unknown: u32, special: &[u32]) -> Result<Vocabulary, String> {
        if pieces.len() > MAX_PIECES {
            return Err(format!("it has more than {MAX_PIECES} pieces"));
        }
        let beyond = |id: &&u32| **id as usize >= pieces.len();
        if let Some(id) = special.iter().chain([&unknown]).find(beyond) {
            return Err(format!("token {id} is not in the vocabulary"));
        }
        // At most half full, so a search for what is not there ends soon.
        let places = (2 * pieces.len()).next_power_of_two();
        let mut vocabulary = Vocabulary {
            text: String::with_capacity(pieces.iter().map(|piece| piece.0.len()).sum()),
            ends: Vec::with_capacity(pieces.len()),
            scores: Vec::with_capacity(pieces.len()),
            table: vec![(0, 0); places],
            longest: 0,
            unknown,
            unknown_score: 0.0,
        };
        for Piece(piece, score) in pieces {
            if !score.is_finite() {
                return Err("a score is not finite".to_owned());
            }
            vocabulary.add(piece, *score, special)?;
        }
        let least = vocabulary.scores.iter().copied().fold(f64::INFINITY, f64::min);
        vocabulary.unknown_score = least - UNKNOWN_PENALTY;
        Ok(vocabulary)
    }

    fn add(&mut self, piece: &str, score: f64, special: &[u32]) -> Result<(), String> {
        let id = self.ends.len() as u32;
        self.text.push_str(piece);
        self.ends.push(u32::try_from(self.text.len()).map_err(|_| "its pieces are too long")?);
        self.scores.push(score);
        if special.contains(&id) {
            return Ok(());
        }
        if piece.is_empty() {
            return Err("a piece is empty".to_owned());
        }
        let hash = piece.bytes().fold(Hash::EMPTY, Hash::then);
        let place =
            self.places(hash).find(|place| self.table[*place].1 == 0 || self.is_at(*place, hash, piece));
        match place {
            Some(place) if self.table[place].1 == 0 => self.table[place] = (hash.tag(), id + 1),
            _ => return Err(format!("piece {id} is there twice")),
        }
        self.longest = self.longest.max(piece.len());
        Ok(())
    }

    /// Returns the length and id of every piece with which `text` begins, shortest first.
    pub(super) fn prefixes(&self, text: &str) -> impl Iterator<Item = (usize, u32)> {
        let bytes = &text.as_bytes()[..text.len().min(self.longest)];
        let mut hash = Hash::EMPTY;
        bytes.iter().enumerate().filter_map(move |(at, byte)| {
            hash = hash.then(*byte);
            let length = at + 1;
            // Pieces end where characters do.
            let piece = text.get(..length)?;
            self.find(hash, piece).map(|id| (length, id))
        })
    }

    fn find(&self, hash: Hash, piece: &str) -> Option<u32> {
        let place =
            self.places(hash).find(|place| self.table[*place].1 == 0 || self.is_at(*place, hash, piece))?;
        self.table[place].1.checked_sub(1)
    }

    /// Lists the places of the table where a hash may be, in the order of trial.
    fn places(&self, hash: Hash) -> impl Iterator<Item = usize> + use<> {
        let mask = self.table.len() - 1;
        let first = hash.first_place();
        (0..=mask).map(move |step| (first + step) & mask)
    }

    fn is_at(&self, place: usize, hash: Hash, piece: &str) -> bool {
        let (tag, id) = self.table[place];
        tag == hash.tag() && id > 0 && self.piece(id - 1) == piece
    }

    fn piece(&self, id: u32) -> &str {
        let start = if id == 0 { 0 } else { self.ends[id as usize - 1] };
        &self.text[start as usize..self.ends[id as usize] as usize]
    }

    /// Returns the logarithm of the likelihood of a piece.
    pub(super) fn score(&self, id: u32) -> f64 {
        self.scores[id as usize]
    }

    /// Returns the token for a character that no piece covers, and its score.
    pub(super) fn unknown(&self) -> (u32, f64) {
        (self.unknown, self.unknown_score)
    }

    /// Returns the number of pieces.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// A hash that is extended byte by byte (the function of Firefox, known as FxHash).
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    const EMPTY: Hash = Hash(0);

    fn then(self, byte: u8) -> Hash {
        Hash((self.0.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517c_c1b7_2722_0a95))
    }

    /// The upper bits are the best mixed ones.
    fn first_place(self) -> usize {
        (self.0 >> 32) as usize
    }

    fn tag(self) -> u32 {
        (self.0 >> 8) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prefix_is_found_and_nothing_else() {
        let pieces: Vec<Piece<'_>> = ["<s>", "a", "ab", "abcd", "好", "好的", "b"]
            .into_iter()
            .map(|piece| Piece(piece.into(), -1.0))
            .collect();
        let vocabulary = Vocabulary::new(&pieces, 0, &[0]).unwrap();
        let found = |text| vocabulary.prefixes(text).collect::<Vec<_>>();
        assert_eq!(found("abcde"), [(1, 1), (2, 2), (4, 3)]);
        assert_eq!(found("好的吗"), [(3, 4), (6, 5)]);
        assert_eq!(found("<s>"), []);
        assert_eq!(found(""), []);
        assert_eq!(vocabulary.unknown(), (0, -11.0));
    }
}
