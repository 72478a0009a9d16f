//! Which segments should become one? Knows sizes, not segments.
//!
//! Size-tiered: segments of about the same size are merged when there are enough of them, so a
//! document is rewritten a number of times that grows with the logarithm of the index only (the
//! logarithmic method of Bentley and Saxe, 1980, as search engines use it).

/// So many segments of one tier become one.
const FAN: usize = 5;

/// Below so many documents a segment costs about the same, however small it is.
const SMALLEST: u64 = 1_000;

/// Documents of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub alive: u64,
    pub dead: u64,
}

/// Returns groups of positions in `sizes`; each group should be merged into one segment.
pub(super) fn groups(sizes: &[Size]) -> Vec<Vec<usize>> {
    let mut tiers: Vec<Vec<usize>> = Vec::new();
    for (position, size) in sizes.iter().enumerate() {
        let tier = tier(size.alive);
        if tiers.len() <= tier {
            tiers.resize_with(tier + 1, Vec::new);
        }
        tiers[tier].push(position);
    }
    let mut groups = Vec::new();
    for tier in tiers {
        if tier.len() >= FAN {
            groups.push(tier);
        } else {
            // More than half of it dead: it is read for nothing.
            let mostly_dead = |position: &usize| sizes[*position].dead > sizes[*position].alive;
            groups.extend(tier.into_iter().filter(mostly_dead).map(|position| vec![position]));
        }
    }
    groups
}

fn tier(alive: u64) -> usize {
    (alive / SMALLEST).checked_ilog(FAN as u64).map_or(0, |tier| tier as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alive(sizes: &[u64]) -> Vec<Size> {
        sizes.iter().map(|alive| Size { alive: *alive, dead: 0 }).collect()
    }

    #[test]
    fn segments_of_a_size_are_merged_when_there_are_enough() {
        assert!(groups(&alive(&[1, 1, 1, 1])).is_empty());
        assert_eq!(groups(&alive(&[1, 900, 1, 1, 1])), [[0, 1, 2, 3, 4]]);
        assert_eq!(groups(&alive(&[80_000, 1, 9, 1, 1, 1])), [[1, 2, 3, 4, 5]]);
        assert!(groups(&alive(&[1, 5_000, 30_000, 200_000, 1_000_000])).is_empty());
    }

    #[test]
    fn a_mostly_dead_segment_is_rewritten() {
        let sizes = [Size { alive: 10, dead: 11 }, Size { alive: 10, dead: 10 }];
        assert_eq!(groups(&sizes), [[0]]);
    }

    #[test]
    fn segments_stay_few_and_rewriting_is_bounded() {
        let (mut sizes, mut rewritten): (Vec<u64>, u64) = (Vec::new(), 0);
        for _ in 0..20_000 {
            sizes.push(10);
            while let Some(group) = groups(&alive(&sizes)).pop() {
                let merged: u64 = group.iter().map(|position| sizes[*position]).sum();
                rewritten += merged;
                for position in group.iter().rev() {
                    sizes.remove(*position);
                }
                sizes.push(merged);
            }
            assert!(sizes.len() <= 25, "{sizes:?}");
        }
        assert!(rewritten < 25 * 200_000, "{rewritten}");
    }
}
