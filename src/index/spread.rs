//! How do the vectors of a partition lie? Their mean and a sample of them, over what may be considered, so that the nearness of
//! one can be told from the nearness that any has.

use std::sync::{Arc, Mutex, PoisonError};

use super::VectorBlock;

/// How many vectors are looked at: enough that a standard deviation is known to a twentieth.
const SAMPLE: usize = 256;

/// Of up to so many vectors it takes less to look again than to keep what was seen: most namespaces have fewer.
const FEW: usize = 32;

/// A sample of vectors, evenly spaced among all that are allowed, in their order; and the mean of the sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// How many vectors are allowed.
    pub rows: usize,
    /// The rows of the sample.
    pub sample: Vec<u32>,
    /// The mean.
    pub mean: Vec<f32>,
}

impl Spread {
    /// Of the rows of slots that are allowed; none where there are none.
    fn of(vectors: &VectorBlock, allowed: &[bool]) -> Option<Spread> {
        let rows = (0..).zip(vectors.owners()).filter(|(_, slot)| allowed[**slot as usize]);
        let all: Vec<u32> = rows.map(|(row, _)| row).collect();
        let taken = all.len().min(SAMPLE);
        let sample: Vec<u32> = (0..taken).map(|nth| all[nth * all.len() / taken]).collect();
        let mut sums = vec![0f32; vectors.dims()];
        for row in &sample {
            vectors.add_roughly(*row, &mut sums);
        }
        let mean = sums.into_iter().map(|sum| sum / taken as f32).collect();
        (taken > 0).then_some(Spread { rows: all.len(), sample, mean })
    }
}

/// What was worked out the last time. The next query mostly allows the same.
#[derive(Debug, Default)]
pub(super) struct Last(Mutex<Option<WorkedOut>>);

/// What was allowed, and how that lies.
type WorkedOut = (Arc<Vec<bool>>, Option<Arc<Spread>>);

impl Last {
    pub(super) fn spread(&self, vectors: &VectorBlock, allowed: &Arc<Vec<bool>>) -> Option<Arc<Spread>> {
        if vectors.owners().len() <= FEW {
            return Spread::of(vectors, allowed).map(Arc::new);
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, spread)) = known.filter(|(of, _)| Arc::ptr_eq(of, allowed)) {
            return spread;
        }
        let spread = Spread::of(vectors, allowed).map(Arc::new);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((allowed.clone(), spread.clone()));
        spread
    }
}
