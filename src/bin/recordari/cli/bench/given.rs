//! An embedder that embeds nothing: it hands out the vectors that the workload comes with.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use recordari::embed::{Calibration, ModelInfo};
use recordari::{Embedder, Error, Result};

/// Vectors by text, and that of the next query.
pub struct Given {
    model: ModelInfo,
    passages: Mutex<HashMap<String, Vec<f32>>>,
    query: Mutex<Vec<f32>>,
}

impl Given {
    pub fn new(dims: usize) -> Given {
        let model = ModelInfo {
            name: "given".to_owned(),
            fingerprint: "0000000000000001".to_owned(),
            dims,
            // Every cosine counts, in its order.
            calibration: Calibration { unrelated: -1.0, related: 1.0 },
        };
        Given { model, passages: Mutex::default(), query: Mutex::default() }
    }

    /// What the next texts mean.
    pub fn passages(&self, passages: HashMap<String, Vec<f32>>) {
        *self.passages.lock().unwrap_or_else(PoisonError::into_inner) = passages;
    }

    /// What the next query means.
    pub fn query(&self, vector: &[f32]) {
        let mut query = self.query.lock().unwrap_or_else(PoisonError::into_inner);
        query.clear();
        query.extend_from_slice(vector);
    }
}

impl Embedder for Given {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        let passages = self.passages.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = || Error::Embed("a text without a given vector".to_owned());
        texts.iter().map(|text| Ok(vec![passages.get(*text).ok_or_else(unknown)?.clone()])).collect()
    }

    fn embed_query(&self, _: &str) -> Result<Vec<f32>> {
        Ok(self.query.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
