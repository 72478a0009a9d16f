//! How random does a string look? Knows nothing of what is random enough.

/// Shannon entropy in bits for each byte, by the frequencies inside `bytes` itself.
pub(super) fn shannon(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for &byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let total = bytes.len() as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| f64::from(count) / total)
        .map(|p| -p * p.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::shannon;

    #[test]
    fn entropy_is_zero_for_one_letter_and_full_for_all_different() {
        assert_eq!(shannon(b""), 0.0);
        assert_eq!(shannon(b"aaaa"), 0.0);
        assert_eq!(shannon(b"abab"), 1.0);
        assert_eq!(shannon(b"abcdefgh"), 3.0);
    }
}
