//! Remembers what the last questions meant, so that an agent that asks the same before every step embeds it
//! once. Keeps no question: a digest finds its vector.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Embedder, ModelInfo};
use crate::error::Result;

/// An embedder that keeps the vectors of the last questions in memory; passages pass through.
pub struct QueryCache {
    inner: Arc<dyn Embedder>,
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    vectors: HashMap<[u8; 32], (Vec<f32>, u64)>,
    uses: u64,
}

impl QueryCache {
    /// Keeps at most so many vectors, the latest used.
    pub fn new(inner: Arc<dyn Embedder>, most: usize) -> QueryCache {
        QueryCache { inner, most, kept: Mutex::default() }
    }

    fn found(&self, key: &[u8; 32]) -> Option<Vec<f32>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.uses += 1;
        let now = kept.uses;
        let (vector, used) = kept.vectors.get_mut(key)?;
        *used = now;
        Some(vector.clone())
    }

    fn keep(&self, key: [u8; 32], vector: &[f32]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.vectors.len() >= self.most {
            let oldest = kept.vectors.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key);
            oldest.map(|oldest| kept.vectors.remove(&oldest));
        }
        let now = kept.uses;
        kept.vectors.insert(key, (vector.to_vec(), now));
    }
}

impl Embedder for QueryCache {
    fn model(&self) -> &ModelInfo {
        self.inner.model()
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        self.inner.embed_passages(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let key = *blake3::hash(text.as_bytes()).as_bytes();
        if let Some(vector) = self.found(&key) {
            return Ok(vector);
        }
        // What fails is asked for again.
        let vector = self.inner.embed_query(text)?;
        self.keep(key, &vector);
        Ok(vector)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::embed::HashingEmbedder;
    use crate::error::Error;

    /// Counts what it is asked, and fails when the question says so.
    struct Counting(HashingEmbedder, AtomicUsize);

    impl Embedder for Counting {
        fn model(&self) -> &ModelInfo {
            self.0.model()
        }

        fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
            self.0.embed_passages(texts)
        }

        fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
            self.1.fetch_add(1, Ordering::SeqCst);
            if text == "fail" { Err(Error::Embed("down".to_owned())) } else { self.0.embed_query(text) }
        }
    }

    #[test]
    fn the_last_questions_are_embedded_once_and_failures_again() {
        let counting = Arc::new(Counting(HashingEmbedder::new(64).unwrap(), AtomicUsize::new(0)));
        let cache = QueryCache::new(counting.clone(), 2);
        let asked = || counting.1.load(Ordering::SeqCst);
        let tea = cache.embed_query("tea").unwrap();
        assert_eq!(cache.embed_query("tea").unwrap(), tea);
        assert_eq!(tea, counting.0.embed_query("tea").unwrap());
        assert_eq!(asked(), 1);
        cache.embed_query("milk").unwrap();
        cache.embed_query("tea").unwrap();
        // The third one drops the one that was not used for the longest time.
        cache.embed_query("salt").unwrap();
        cache.embed_query("tea").unwrap();
        assert_eq!(asked(), 3);
        cache.embed_query("milk").unwrap();
        assert_eq!(asked(), 4);
        for _ in 0..2 {
            assert!(cache.embed_query("fail").is_err());
        }
        assert_eq!(asked(), 6);
    }
}
