//! Which words say too little to be looked for? English only: other languages rely on the rarity weight.

/// Folded, and sorted so that it can be searched. Negations and modal verbs of duty ("not", "never",
/// "must") are not among them: in a memory they are the point.
const STOP_WORDS: [&str; 84] = [
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can",
    "could", "did", "do", "does", "doing", "for", "from", "had", "has", "have", "he", "her", "hers", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "ours",
    "she", "should", "so", "some", "such", "than", "that", "the", "their", "theirs", "them", "then", "there",
    "these", "they", "this", "those", "to", "too", "us", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "yours",
    "yourself",
];

/// Says whether a folded, unstemmed word is a stop word.
pub(super) fn is_stop(word: &str) -> bool {
    word.len() <= 8 && STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_searched() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop(word)));
        assert!(!is_stop("not"));
    }
}
