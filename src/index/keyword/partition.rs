//! Which documents share posting lists? Knows how a partition is written in front of a term.

/// Namespace row id and sensitivity class: terms of one partition share no posting list with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    /// The row id of the namespace.
    pub namespace: u32,
    /// The sensitivity class within the namespace.
    pub class: u8,
}

/// Bytes that a partition takes in front of a term.
const WIDTH: usize = 7;

impl Partition {
    /// Returns the key under which `term` of this partition is indexed.
    ///
    /// The prefix has a fixed width, so no term of one partition can look like a term of another.
    /// Seven bits to a byte keep it valid UTF-8, most significant first keep keys in partition order.
    pub(super) fn key(self, term: &str) -> String {
        let mut key = String::with_capacity(WIDTH + term.len());
        for shift in [28, 21, 14, 7, 0] {
            key.push(char::from((self.namespace >> shift) as u8 & 0x7f));
        }
        key.push(char::from(self.class >> 7));
        key.push(char::from(self.class & 0x7f));
        key.push_str(term);
        key
    }

    /// Returns the smallest key of this partition, and the smallest that is beyond all of them.
    pub(super) fn range(self) -> (Vec<u8>, Vec<u8>) {
        let from = self.key("").into_bytes();
        let number = (u64::from(self.namespace) << 8 | u64::from(self.class)) + 1;
        let next = Partition { namespace: (number >> 8) as u32, class: number as u8 };
        // Beyond the last one there is nothing, and no byte of a key is as high as this.
        let until = if number >> 40 == 0 { next.key("").into_bytes() } else { vec![0xff] };
        (from, until)
    }

    /// The same for all partitions of a namespace, whose keys follow one another.
    pub(super) fn range_of_namespace(namespace: u32) -> (Vec<u8>, Vec<u8>) {
        let (from, _) = Partition { namespace, class: 0 }.range();
        let (_, until) = Partition { namespace, class: u8::MAX }.range();
        (from, until)
    }

    /// Takes a key apart again; None when it was not made by [`Partition::key`].
    pub(super) fn split(key: &[u8]) -> Option<(Partition, &[u8])> {
        let (prefix, term) = key.split_at_checked(WIDTH)?;
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 7 | u64::from(*byte));
        let namespace = u32::try_from(number(&prefix[..5])).ok()?;
        let class = u8::try_from(number(&prefix[5..])).ok()?;
        Some((Partition { namespace, class }, term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_partition_and_term() {
        for namespace in [0, 1, 127, 128, 70_000, u32::MAX] {
            for class in [0, 1, 127, 128, 255] {
                let partition = Partition { namespace, class };
                let key = partition.key("straße");
                assert_eq!(Partition::split(key.as_bytes()), Some((partition, "straße".as_bytes())));
            }
        }
        assert_eq!(Partition::split(b"short"), None);
        assert_eq!(Partition::split(&[0xff; 9]), None);
    }

    #[test]
    fn keys_sort_by_partition() {
        let key = |namespace, class| Partition { namespace, class }.key("x");
        assert!(key(1, 255) < key(2, 0));
        assert!(key(127, 3) < key(128, 0));
        assert!(key(5, 127) < key(5, 128));
    }

    #[test]
    fn a_range_of_a_namespace_holds_all_its_partitions_and_no_others() {
        for namespace in [0, 1, 127, 70_000, u32::MAX] {
            let (from, until) = Partition::range_of_namespace(namespace);
            for class in [0, 2, u8::MAX] {
                let key = |namespace| Partition { namespace, class }.key("term").into_bytes();
                assert!((&from..&until).contains(&&key(namespace)));
                assert!(!(&from..&until).contains(&&key(namespace ^ 1)));
            }
        }
    }

    #[test]
    fn a_range_holds_the_keys_of_its_partition_and_no_others() {
        for partition in [(0, 0), (1, 255), (70_000, 2), (u32::MAX, 255)] {
            let partition = Partition { namespace: partition.0, class: partition.1 };
            let (from, until) = partition.range();
            let holds = |partition: Partition, term: &str| {
                let key = partition.key(term).into_bytes();
                from <= key && key < until
            };
            for term in ["", "x", "\u{10ffff}"] {
                assert!(holds(partition, term), "{partition:?}");
                for class in [partition.class.wrapping_add(1), partition.class.wrapping_sub(1)] {
                    assert!(!holds(Partition { class, ..partition }, term));
                }
                let namespace = partition.namespace ^ 1;
                assert!(!holds(Partition { namespace, ..partition }, term));
            }
        }
    }
}
