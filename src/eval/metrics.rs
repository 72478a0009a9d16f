//! How good is one ranking? Pure functions of the places at which the right answers stand.

/// How far down a reciprocal rank and a discounted gain look.
const DEPTH: usize = 10;

/// How many figures there are of a ranking.
pub(super) const FIGURES: usize = 7;

/// What is measured of one ranking, or the mean over several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Metrics {
    /// The share of the right answers among the first 5.
    pub recall_5: f64,
    /// The share of the right answers among the first 10.
    pub recall_10: f64,
    /// The share of the right answers among the first 20.
    pub recall_20: f64,
    /// Whether all right answers are among the first 10: 1 or 0.
    pub all_10: f64,
    /// One over the place of the first right answer, if it is among the first 10.
    pub mrr_10: f64,
    /// The discounted gain of the first 10 against the best possible (Järvelin and Kekäläinen, 2002).
    pub ndcg_10: f64,
    /// The share of the right answers among the first 10 and the rules and preferences that stand whatever is asked.
    pub standing_10: f64,
}

impl Metrics {
    /// Measures a ranking: the places from 0 of the right answers in it, ascending, how many
    /// stand beside it, and how many right answers there are in all, at least one.
    pub fn of(places: &[usize], standing: usize, right: usize) -> Metrics {
        let within = |depth: usize| places.iter().filter(|place| **place < depth).count();
        let recall = |depth: usize| within(depth) as f64 / right as f64;
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        // A sum of nothing would be -0.
        let gains =
            |places: &mut dyn Iterator<Item = usize>| places.map(gain).fold(0.0, |sum, gain| sum + gain);
        let ideal = gains(&mut (0..right.min(DEPTH)));
        let first = places.first().filter(|place| **place < DEPTH);
        Metrics {
            recall_5: recall(5),
            recall_10: recall(10),
            recall_20: recall(20),
            all_10: f64::from(u8::from(within(DEPTH) == right)),
            mrr_10: first.map_or(0.0, |place| 1.0 / (*place as f64 + 1.0)),
            ndcg_10: gains(&mut places.iter().copied().filter(|place| *place < DEPTH)) / ideal,
            standing_10: (within(DEPTH) + standing) as f64 / right as f64,
        }
    }

    /// The mean; none when nothing was measured.
    pub fn mean(all: &[Metrics]) -> Option<Metrics> {
        let mean = |field: fn(&Metrics) -> f64| all.iter().map(field).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Metrics {
            recall_5: mean(|one| one.recall_5),
            recall_10: mean(|one| one.recall_10),
            recall_20: mean(|one| one.recall_20),
            all_10: mean(|one| one.all_10),
            mrr_10: mean(|one| one.mrr_10),
            ndcg_10: mean(|one| one.ndcg_10),
            standing_10: mean(|one| one.standing_10),
        })
    }

    /// The figures with their names.
    pub fn named(&self) -> [(&'static str, f64); FIGURES] {
        [
            ("recall@5", self.recall_5),
            ("recall@10", self.recall_10),
            ("recall@20", self.recall_20),
            ("all@10", self.all_10),
            ("mrr@10", self.mrr_10),
            ("ndcg@10", self.ndcg_10),
            ("standing@10", self.standing_10),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_ranking_measures_one_and_an_empty_one_nothing() {
        assert!(Metrics::of(&[0, 1, 2], 0, 3).named().iter().all(|(_, value)| (value - 1.0).abs() < 1e-12));
        assert!(Metrics::of(&[], 0, 3).named().iter().all(|(_, value)| *value == 0.0));
        assert_eq!(Metrics::mean(&[]), None);
    }

    #[test]
    fn places_count_as_defined() {
        let metrics = Metrics::of(&[1, 7, 15], 1, 4);
        assert_eq!((metrics.recall_5, metrics.recall_10, metrics.recall_20), (0.25, 0.5, 0.75));
        assert_eq!((metrics.mrr_10, metrics.all_10, metrics.standing_10), (0.5, 0.0, 0.75));
        assert_eq!((Metrics::of(&[3, 9], 0, 2).all_10, Metrics::of(&[3, 10], 0, 2).all_10), (1.0, 0.0));
        let ideal = 1.0 + 1.0 / 3f64.log2() + 0.5 + 1.0 / 5f64.log2();
        assert!((metrics.ndcg_10 - (1.0 / 3f64.log2() + 1.0 / 9f64.log2()) / ideal).abs() < 1e-12);
    }
}
