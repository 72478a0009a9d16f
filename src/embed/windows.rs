//! Where the windows of a long text begin and end. Knows no model: what is counted are tokens,
//! characters, or an estimate of the one from the other.

use std::ops::Range;

use super::MAX_WINDOWS;

/// Tokens that neighbouring windows of a long text share.
pub(super) const OVERLAP_TOKENS: usize = 64;

/// The part of a passage that is read. [`MAX_WINDOWS`] windows hold less than this of all but the most
/// monotonous texts.
pub(super) const MAX_PASSAGE_BYTES: usize = 256 * 1024;

/// The part of a query that is read: some thirty times what fits into its only window.
pub(super) const MAX_QUERY_BYTES: usize = 64 * 1024;

/// Returns the first `limit` bytes of a text, or a little less where that would cut a character.
pub(super) fn beginning(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Splits `length` items into windows of at most `size`, of which neighbours share at least `overlap`.
///
/// The windows are as few as possible and equally long but for rounding, so that the last one is not a
/// snippet. After [`MAX_WINDOWS`] full windows the rest is left out. There is always one, possibly empty.
pub(super) fn windows(length: usize, size: usize, overlap: usize) -> Vec<Range<usize>> {
    assert!(overlap < size, "a window must be longer than its overlap");
    if length <= size {
        return std::iter::once(0..length).collect();
    }
    let count = (length - overlap).div_ceil(size - overlap).min(MAX_WINDOWS);
    let length = length.min(size + (count - 1) * (size - overlap));
    let each = (length + (count - 1) * overlap).div_ceil(count);
    // Start points from 0 to the last possible one, evenly.
    (0..count).map(|i| (length - each) * i / (count - 1)).map(|start| start..start + each).collect()
}

/// Splits a text whose tokens nobody here can count into windows of at most `size` tokens by estimate.
///
/// The estimate is high for most models, so that they cut nothing off: a Latin letter or a space is a third
/// of a token, every other character a whole one.
#[cfg(feature = "http-embedder")]
pub(super) fn estimated_windows(text: &str, size: usize) -> Vec<&str> {
    let thirds = thirds(beginning(text, MAX_PASSAGE_BYTES));
    let overlap = OVERLAP_TOKENS.min(size / 4);
    windows(thirds.len() - 1, size * 3, overlap * 3)
        .into_iter()
        .map(|window| &text[thirds[window.start]..thirds[window.end]])
        .collect()
}

/// Returns as much of the beginning of a text as `size` tokens hold by the same estimate.
#[cfg(feature = "http-embedder")]
pub(super) fn estimated_beginning(text: &str, size: usize) -> &str {
    let thirds = thirds(beginning(text, MAX_QUERY_BYTES));
    &text[..thirds[(size * 3).min(thirds.len() - 1)]]
}

/// Returns how many tokens a text has by the same estimate.
#[cfg(feature = "http-embedder")]
pub(super) fn estimated_tokens(text: &str) -> usize {
    (thirds(text).len() - 1).div_ceil(3)
}

/// Returns for each third of a token where its character begins, and then where the text ends.
#[cfg(feature = "http-embedder")]
fn thirds(text: &str) -> Vec<usize> {
    let mut thirds = Vec::with_capacity(text.len() + 1);
    for (at, c) in text.char_indices() {
        let cheap = c.is_ascii_alphabetic() || c == ' ';
        thirds.extend(std::iter::repeat_n(at, if cheap { 1 } else { 3 }));
    }
    thirds.push(text.len());
    thirds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_everything_within_their_bounds() {
        for (size, overlap) in [(510, 64), (10, 3), (2, 1), (5, 0)] {
            for length in 0..3000 {
                let windows = windows(length, size, overlap);
                assert!(windows.len() <= MAX_WINDOWS);
                assert_eq!(windows[0].start, 0);
                assert!(windows.iter().all(|window| window.len() <= size));
                for pair in windows.windows(2) {
                    assert!(pair[1].start + overlap <= pair[0].end, "{length}: {pair:?}");
                    assert!(pair[0].start < pair[1].start, "{length}: {pair:?}");
                }
                let end = windows.last().unwrap().end;
                assert_eq!(end, length.min(size + (MAX_WINDOWS - 1) * (size - overlap)));
            }
        }
    }

    #[test]
    fn a_short_text_is_one_window() {
        assert_eq!(windows(0, 510, 64), vec![0..0; 1]);
        assert_eq!(windows(510, 510, 64), vec![0..510; 1]);
        assert_eq!(windows(511, 510, 64), [0..288, 223..511]);
    }

    #[cfg(feature = "http-embedder")]
    #[test]
    fn estimated_windows_are_parts_of_the_text_that_miss_nothing() {
        for text in
            ["", "short", &"plain words ".repeat(300), &"记忆与遗忘，".repeat(300), &"a1 é🦀 ".repeat(500)]
        {
            let parts = estimated_windows(text, 100);
            assert!(parts.iter().all(|part| estimated_tokens(part) <= 101));
            assert!(text.starts_with(parts[0]) && text.ends_with(parts[parts.len() - 1]));
            let starts: Vec<usize> =
                parts.iter().map(|part| part.as_ptr() as usize - text.as_ptr() as usize).collect();
            for (pair, part) in starts.windows(2).zip(&parts) {
                assert!(pair[0] < pair[1] && pair[1] < pair[0] + part.len(), "{pair:?}");
            }
            assert!(text.starts_with(estimated_beginning(text, 10)));
            assert!(estimated_tokens(estimated_beginning(text, 10)) <= 10);
        }
    }
}
