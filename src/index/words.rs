//! The posting lists of one partition in memory: which slots hold a term, and how often. Knows terms by a
//! hash; that two of the terms of one namespace share one is as likely as one in a thousand million.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

/// Posting lists: one block that is built at once, and what came later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// The terms, ascending.
    keys: Vec<u64>,
    /// Where the list of each term begins; one more at the end.
    starts: Vec<u32>,
    slots: Vec<u32>,
    counts: Vec<u16>,
    /// The lists of what was added since, by term.
    late: HashMap<u64, Vec<(u32, u16)>>,
}

/// A term as it is looked up.
pub fn key(term: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(term);
    hasher.finish()
}

impl Words {
    /// Builds the lists from term, slot and frequency, in any order.
    pub fn new(mut entries: Vec<(u64, u32, u16)>) -> Words {
        entries.sort_unstable();
        let mut words = Words { starts: vec![0], ..Words::default() };
        words.slots.reserve_exact(entries.len());
        words.counts.reserve_exact(entries.len());
        for (key, slot, count) in entries {
            if words.keys.last() != Some(&key) {
                words.keys.push(key);
                words.starts.push(words.slots.len() as u32);
            }
            words.slots.push(slot);
            words.counts.push(count);
            if let Some(end) = words.starts.last_mut() {
                *end = words.slots.len() as u32;
            }
        }
        words.keys.shrink_to_fit();
        words.starts.shrink_to_fit();
        words
    }

    /// Adds a document.
    pub fn add(&mut self, slot: u32, terms: &[(u64, u16)]) {
        for (key, count) in terms {
            self.late.entry(*key).or_default().push((slot, *count));
        }
    }

    /// The slots that hold a term, with its frequency there; those that have gone out of force among them.
    pub fn postings(&self, key: u64) -> impl Iterator<Item = (u32, u16)> + '_ {
        let range = match self.keys.binary_search(&key) {
            Ok(at) => self.starts[at] as usize..self.starts[at + 1] as usize,
            Err(_) => 0..0,
        };
        let early = self.slots[range.clone()].iter().copied().zip(self.counts[range].iter().copied());
        early.chain(self.late.get(&key).into_iter().flatten().copied())
    }

    /// How many postings came after the block was built.
    pub fn late(&self) -> usize {
        self.late.len()
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.keys.len() * 12 + self.slots.len() * 6 + self.late.len() * 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_what_was_put_in_early_and_late() {
        let (tea, milk, salt) = (key(b"tea"), key(b"milk"), key(b"salt"));
        let mut words = Words::new(vec![(tea, 4, 1), (milk, 2, 3), (tea, 1, 2)]);
        words.add(9, &[(tea, 1), (salt, 7)]);
        let list = |key| words.postings(key).collect::<Vec<_>>();
        assert_eq!(list(tea), [(1, 2), (4, 1), (9, 1)]);
        assert_eq!(list(milk), [(2, 3)]);
        assert_eq!(list(salt), [(9, 7)]);
        assert_eq!(list(key(b"sugar")), []);
        assert_eq!(Words::default().postings(tea).count(), 0);
    }
}
