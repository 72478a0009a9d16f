//! The embedder that asks an endpoint: windows, batches, and which model it says it is.

use std::fmt;
use std::time::Duration;

use serde_json::json;

use super::answer;
use super::call::Endpoint;
use super::options::HttpOptions;
use crate::embed::windows::{estimated_beginning, estimated_tokens, estimated_windows};
use crate::embed::{Embedder, ModelInfo};
use crate::error::{Error, Result};

/// Changes whenever this client asks for other vectors of the same text.
const CLIENT_VERSION: &str = "recordari http client 1";

/// Room in every window for what a model puts around a text.
const SPECIAL_TOKENS: usize = 4;

/// Room that must be left for the text beside the prefix.
const MIN_ROOM_TOKENS: usize = 32;

/// An embedding model behind an address that speaks OpenAI's protocol: llama.cpp, Ollama, vLLM, text
/// embeddings inference, hosted services.
///
/// A memory that is longer than the model reads at once gets a vector for each of several overlapping
/// windows, cut by an estimate of its tokens. An endpoint that is down or slow costs an error after the
/// timeout, which a write survives: the memory waits for its vector.
///
/// Redirects are not followed and proxies of the environment not used. Whether the same text always gives
/// the same vector is up to the endpoint; the fingerprint is made of what can be known of it from outside:
/// address, name, width, prefixes and window. Another model of the same width behind the same name goes
/// unnoticed, so give names that say the version.
pub struct HttpEmbedder {
    info: ModelInfo,
    endpoint: Endpoint,
    options: HttpOptions,
}

impl HttpEmbedder {
    /// Makes the embedder. Where the options give the width, nothing is sent; otherwise the endpoint is
    /// asked for one vector.
    ///
    /// # Errors
    /// `Invalid` for options out of bounds, `Embed` when the endpoint has to answer and does not.
    pub fn open(options: HttpOptions) -> Result<HttpEmbedder> {
        let options = options.checked()?;
        for prefix in [&options.query_prefix, &options.passage_prefix] {
            if room(&options, prefix) < MIN_ROOM_TOKENS {
                return Err(Error::invalid("a prefix", "must leave room for a text"));
            }
        }
        let endpoint = Endpoint::new(&options);
        let name = format!("{} at {}", options.model, options.url);
        let info = ModelInfo {
            name,
            fingerprint: String::new(),
            dims: options.dims.unwrap_or_default(),
            calibration: options.calibration,
        };
        let mut embedder = HttpEmbedder { info, endpoint, options };
        if embedder.options.dims.is_none() {
            embedder.info.dims = embedder.learn_dims()?;
        }
        embedder.info.fingerprint = fingerprint(&embedder.options, embedder.info.dims);
        Ok(embedder)
    }

    /// Asks for one vector to see its length.
    fn learn_dims(&self) -> Result<usize> {
        let asked = self.request(&["recordari"], None, self.options.query_timeout);
        let vectors = asked.map_err(|error| match error {
            Error::Embed(what) => Error::Embed(format!(
                "{what} (it need not answer now if the length of its vectors is given, as dims)"
            )),
            error => error,
        })?;
        Ok(vectors.first().map_or(0, Vec::len))
    }

    /// Embeds inputs in one request.
    fn request(&self, inputs: &[&str], dims: Option<usize>, timeout: Duration) -> Result<Vec<Vec<f32>>> {
        let body = json!({ "model": self.options.model, "input": inputs, "encoding_format": "float" });
        self.endpoint
            .ask(&body.to_string(), timeout)
            .and_then(|bytes| answer::read(&bytes, inputs.len(), dims))
            .map_err(|what| Error::Embed(format!("{}: {what}", self.info.name)))
    }

    /// Embeds inputs in as many requests as it takes. A blank one is not sent, since endpoints refuse it: it
    /// gets a vector that means nothing.
    fn embed(&self, inputs: &[String], timeout: Duration) -> Result<Vec<Vec<f32>>> {
        let (blank, told): (Vec<usize>, Vec<usize>) =
            (0..inputs.len()).partition(|at| inputs[*at].trim().is_empty());
        let mut vectors = vec![Vec::new(); inputs.len()];
        for at in blank {
            vectors[at] = vec![0.0; self.info.dims];
            vectors[at][0] = 1.0;
        }
        for places in told.chunks(self.options.batch) {
            let texts: Vec<&str> = places.iter().map(|at| inputs[*at].as_str()).collect();
            for (at, vector) in places.iter().zip(self.request(&texts, Some(self.info.dims), timeout)?) {
                vectors[*at] = vector;
            }
        }
        Ok(vectors)
    }
}

impl Embedder for HttpEmbedder {
    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        let prefix = &self.options.passage_prefix;
        let room = room(&self.options, prefix);
        let mut inputs = Vec::new();
        let mut counts = Vec::with_capacity(texts.len());
        for text in texts {
            let parts = estimated_windows(text, room);
            counts.push(parts.len());
            inputs.extend(parts.into_iter().map(|part| format!("{prefix}{part}")));
        }
        let mut vectors = self.embed(&inputs, self.options.passage_timeout)?.into_iter();
        Ok(counts.into_iter().map(|count| vectors.by_ref().take(count).collect()).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let prefix = &self.options.query_prefix;
        let text = estimated_beginning(text, room(&self.options, prefix));
        let vector = self.embed(&[format!("{prefix}{text}")], self.options.query_timeout)?.pop();
        Ok(vector.expect("an input has a vector"))
    }
}

/// Nothing of the options that is secret is shown.
impl fmt::Debug for HttpEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpEmbedder").field("info", &self.info).field("options", &self.options).finish()
    }
}

/// Tokens of a text that fit beside a prefix.
fn room(options: &HttpOptions, prefix: &str) -> usize {
    options.max_tokens.saturating_sub(SPECIAL_TOKENS + estimated_tokens(prefix))
}

/// Sums up what can be known of the vectors.
fn fingerprint(options: &HttpOptions, dims: usize) -> String {
    let HttpOptions { url, model, query_prefix, passage_prefix, max_tokens, .. } = options;
    let parts = format!(
        "{CLIENT_VERSION}\n{url}\n{model:?}\n{dims}\n{query_prefix:?}\n{passage_prefix:?}\n{max_tokens}"
    );
    blake3::hash(parts.as_bytes()).to_hex()[..16].to_owned()
}
