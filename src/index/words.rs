//! The posting lists of one partition in memory: which slots hold a term, and how often. Knows terms by a
//! hash; that two of the terms of one namespace share one is as likely as one in a thousand million.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use crate::trust::Sensitivity;

/// A term of so many slots is common.
const COMMON: usize = 256;

/// Posting lists: one block that is built at once, and what came later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// The terms, ascending.
    keys: Vec<u64>,
    /// Where the list of each term begins; one more at the end.
    starts: Vec<u32>,
    slots: Vec<u32>,
    counts: Vec<u16>,
    /// In how many slots of each class a term of the block occurs, by the place of the term: of common ones.
    common: Vec<(u32, [u32; Sensitivity::ALL.len()])>,
    /// The lists of what was added since, by term.
    late: HashMap<u64, Vec<(u32, u16)>>,
}

/// Where one term occurs: the slots that hold it, those that have gone out of force among them.
#[derive(Clone, Copy, Debug)]
pub struct Postings<'w> {
    /// The slots of the block, ascending.
    pub slots: &'w [u32],
    /// How often it occurs in each.
    pub counts: &'w [u16],
    /// Of how many of these the records are, or were, of each class of sensitivity, if that is known.
    pub by_class: Option<&'w [u32; Sensitivity::ALL.len()]>,
    /// Later slots, each with how often it occurs there.
    pub late: &'w [(u32, u16)],
}

impl Postings<'_> {
    /// The slots, each with how often it occurs there.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u16)> + '_ {
        let early = self.slots.iter().copied().zip(self.counts.iter().copied());
        early.chain(self.late.iter().copied())
    }
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

    /// Where a term occurs.
    pub fn postings(&self, key: u64) -> Postings<'_> {
        let late = self.late.get(&key).map_or(&[][..], Vec::as_slice);
        let Ok(term) = self.keys.binary_search(&key) else {
            return Postings { slots: &[], counts: &[], by_class: None, late };
        };
        let range = self.starts[term] as usize..self.starts[term + 1] as usize;
        let by_class = self.common.binary_search_by_key(&(term as u32), |(term, _)| *term).ok();
        Postings {
            slots: &self.slots[range.clone()],
            counts: &self.counts[range],
            by_class: by_class.map(|place| &self.common[place].1),
            late,
        }
    }

    /// Notes in how many slots of each class the common terms of the block occur, so that they need not be counted
    /// for each query.
    pub fn count(&mut self, class_of: impl Fn(u32) -> usize) {
        self.common.clear();
        for (term, range) in self.starts.windows(2).enumerate() {
            let range = range[0] as usize..range[1] as usize;
            if range.len() >= COMMON {
                let mut by_class = [0; Sensitivity::ALL.len()];
                self.slots[range].iter().for_each(|slot| by_class[class_of(*slot)] += 1);
                self.common.push((term as u32, by_class));
            }
        }
    }

    /// How many postings came after the block was built.
    pub fn late(&self) -> usize {
        self.late.len()
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.keys.len() * 12 + self.slots.len() * 6 + self.common.len() * 20 + self.late.len() * 64
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
        let list = |key| words.postings(key).iter().collect::<Vec<_>>();
        assert_eq!(list(tea), [(1, 2), (4, 1), (9, 1)]);
        assert_eq!(list(milk), [(2, 3)]);
        assert_eq!(list(salt), [(9, 7)]);
        assert_eq!(list(key(b"sugar")), []);
        assert_eq!(Words::default().postings(tea).iter().count(), 0);
    }
}
