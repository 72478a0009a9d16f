//! The embedding engine for small models of the E5 family (Wang et al. 2024, "Multilingual E5 text
//! embeddings"): reads the files of a model, cuts texts into windows of tokens, runs the network. Knows
//! nothing of what the vectors are for.

mod batch;
mod forward;
mod gguf;
mod manifest;
mod q4;
#[cfg(test)]
mod tests;
mod tokenizer;
mod weights;

use std::borrow::Cow;
use std::path::Path;

use rayon::prelude::*;

use super::windows::{MAX_PASSAGE_BYTES, MAX_QUERY_BYTES, OVERLAP_TOKENS, beginning, windows};
use super::{Embedder, ModelInfo};
use crate::error::{Error, Result};
use crate::simd::Level;
use crate::text::clip;
use manifest::Manifest;
use tokenizer::Tokenizer;
use weights::Weights;

/// Changes whenever the engine computes other vectors from the same files.
const ENGINE_VERSION: &str = "recordari e5 engine 1";

/// The files of a model, as they are called in its folder and in its manifest.
const MANIFEST_FILE: &str = "MANIFEST.toml";
const WEIGHTS_FILE: &str = "model.gguf";
const TOKENIZER_FILE: &str = "tokenizer.json";

#[cfg(feature = "embedded-model")]
macro_rules! embedded {
    ($name:literal) => {
        concat!(env!("CARGO_MANIFEST_DIR"), "/models/multilingual-e5-small-q4/", $name)
    };
}
#[cfg(feature = "embedded-model")]
static EMBEDDED_MANIFEST: &str = include_str!(embedded!("MANIFEST.toml"));
#[cfg(feature = "embedded-model")]
static EMBEDDED_WEIGHTS: &[u8] = include_bytes!(embedded!("model.gguf"));
#[cfg(feature = "embedded-model")]
static EMBEDDED_TOKENIZER: &[u8] = include_bytes!(embedded!("tokenizer.json"));

/// How much is said of what is wrong with a file.
const REASON_CHARACTERS: usize = 400;

/// Tokens of a prefix, which take room from every window.
const MAX_PREFIX_TOKENS: usize = 32;

/// An embedding model of the E5 family that runs inside this process, on the processor.
///
/// Its weights are bytes with one scale per row, its activations bytes with one scale per token; a vector
/// differs from that of the original weights by a cosine of about 0.999. It is fast with AVX-512 VNNI or
/// AVX2 and works without.
///
/// A passage of up to 512 tokens, about 350 words, gets one vector. A longer one gets a vector for each
/// window of at most 512 tokens; neighbouring windows share 64 tokens, are about equally long, and each
/// begins with the prefix of the model. What lies behind [`MAX_WINDOWS`](super::MAX_WINDOWS) windows is not embedded.
pub struct E5 {
    model: ModelInfo,
    level: Level,
    tokenizer: Tokenizer,
    weights: Weights,
    max_tokens: usize,
    query: Prefix,
    passage: Prefix,
}

/// What is put before a text, and its tokens.
struct Prefix {
    text: String,
    tokens: Vec<u32>,
}

impl Prefix {
    fn new(text: &str, tokenizer: &Tokenizer) -> Result<Prefix> {
        let tokens = tokenizer.pieces(text.trim_end());
        if tokens.len() > MAX_PREFIX_TOKENS {
            return Err(Error::Embed(format!("a prefix has more than {MAX_PREFIX_TOKENS} tokens")));
        }
        Ok(Prefix { text: text.to_owned(), tokens })
    }
}

impl E5 {
    /// Loads the model that is built into this program: multilingual-e5-small with 4-bit weights.
    #[cfg(feature = "embedded-model")]
    pub fn embedded() -> Result<E5> {
        let (manifest, digests) = embedded_manifest()?;
        E5::load(&manifest, &digests, Cow::Borrowed(EMBEDDED_WEIGHTS), EMBEDDED_TOKENIZER)
    }

    /// Says which model is built into this program, without loading it.
    #[cfg(feature = "embedded-model")]
    pub fn embedded_info() -> Result<ModelInfo> {
        let (manifest, digests) = embedded_manifest()?;
        Ok(info(&manifest, &digests))
    }

    /// Says which model lies in a folder, without loading it: at once where its manifest lists the
    /// digests of its files, otherwise the files are read. What [`E5::from_folder`] would refuse about
    /// the files themselves is not noticed here.
    pub fn folder_info(folder: &Path) -> Result<ModelInfo> {
        let manifest = Manifest::parse(&read_manifest(folder)?)?;
        let digests = match Digests::listed(&manifest) {
            Some(digests) => digests,
            None => Digests::of(&read(folder, WEIGHTS_FILE)?, &read(folder, TOKENIZER_FILE)?),
        };
        Ok(info(&manifest, &digests))
    }

    /// Loads a model from a folder with `MANIFEST.toml`, `model.gguf` and `tokenizer.json`.
    ///
    /// Where the manifest lists BLAKE3 digests, the files must have them.
    pub fn from_folder(folder: &Path) -> Result<E5> {
        E5::from_bytes(&read_manifest(folder)?, read(folder, WEIGHTS_FILE)?, &read(folder, TOKENIZER_FILE)?)
    }

    /// Loads a model from the content of its three files.
    ///
    /// Where the manifest lists BLAKE3 digests, the files must have them.
    pub fn from_bytes(
        manifest: &str,
        gguf: impl Into<Cow<'static, [u8]>>,
        tokenizer_json: &[u8],
    ) -> Result<E5> {
        let manifest = Manifest::parse(manifest)?;
        let gguf = gguf.into();
        let digests = Digests::of(&gguf, tokenizer_json);
        digests.check(&manifest)?;
        E5::load(&manifest, &digests, gguf, tokenizer_json)
    }

    /// Makes the engine use other instructions than the fastest. The vectors stay the same.
    pub fn with_level(self, level: Level) -> E5 {
        E5 { level, ..self }
    }

    fn load(
        manifest: &Manifest,
        digests: &Digests,
        gguf: Cow<'static, [u8]>,
        tokenizer: &[u8],
    ) -> Result<E5> {
        let level = Level::detect();
        let (weights, tokenizer) =
            rayon::join(|| Weights::read(gguf, level), || Tokenizer::from_json(tokenizer));
        let (weights, tokenizer) = (weights?, tokenizer?);
        if weights.width != manifest.dims {
            return Err(mismatch(format!("vectors of {} dimensions", manifest.dims), weights.width));
        }
        if weights.positions.len() / weights.width < manifest.max_tokens {
            let places = weights.positions.len() / weights.width;
            return Err(mismatch(format!("windows of {} tokens", manifest.max_tokens), places));
        }
        if weights.embeddings.rows() < tokenizer.size() {
            return Err(mismatch(format!("a vocabulary of {}", tokenizer.size()), weights.embeddings.rows()));
        }
        let model = info(manifest, digests);
        let query = Prefix::new(&manifest.query_prefix, &tokenizer)?;
        let passage = Prefix::new(&manifest.passage_prefix, &tokenizer)?;
        Ok(E5 { model, level, weights, max_tokens: manifest.max_tokens, query, passage, tokenizer })
    }

    /// Returns the input of the network for each window of a passage.
    fn passage_inputs(&self, text: &str) -> Vec<Vec<u32>> {
        let content = self.content(&self.passage, beginning(text, MAX_PASSAGE_BYTES));
        windows(content.len(), self.room(&self.passage), OVERLAP_TOKENS)
            .into_iter()
            .map(|window| self.input(&self.passage, &content[window]))
            .collect()
    }

    /// Returns the only input of the network for a query.
    fn query_input(&self, text: &str) -> Vec<u32> {
        let mut content = self.content(&self.query, beginning(text, MAX_QUERY_BYTES));
        content.truncate(self.room(&self.query));
        self.input(&self.query, &content)
    }

    /// Returns the tokens of a text, those of its prefix left out.
    ///
    /// They are made together, as in the model's training. No piece reaches over the space between them,
    /// so the first tokens are always those of the prefix.
    fn content(&self, prefix: &Prefix, text: &str) -> Vec<u32> {
        let mut pieces = self.tokenizer.pieces(&format!("{}{text}", prefix.text));
        pieces.drain(..prefix.tokens.len().min(pieces.len()));
        pieces
    }

    /// Returns how many tokens of a text one input can hold beside prefix, begin and end.
    fn room(&self, prefix: &Prefix) -> usize {
        self.max_tokens - prefix.tokens.len() - 2
    }

    /// Puts together begin, prefix, content and end.
    fn input(&self, prefix: &Prefix, content: &[u32]) -> Vec<u32> {
        let mut input = Vec::with_capacity(prefix.tokens.len() + content.len() + 2);
        input.push(self.tokenizer.begin());
        input.extend_from_slice(&prefix.tokens);
        input.extend_from_slice(content);
        input.push(self.tokenizer.end());
        input
    }

    /// Runs the network over inputs that go through it together.
    fn run(&self, inputs: &[&[u32]]) -> Vec<Vec<f32>> {
        forward::embed(&self.weights, self.level, inputs)
    }

    /// Refuses what only nonsensical weights can produce.
    fn finite(&self, vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>> {
        match vectors.iter().flatten().all(|x| x.is_finite()) {
            true => Ok(vectors),
            false => Err(Error::Embed(format!("{} made a vector that is not finite", self.model.name))),
        }
    }
}

impl Embedder for E5 {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        let inputs: Vec<Vec<Vec<u32>>> = texts.par_iter().map(|text| self.passage_inputs(text)).collect();
        let counts: Vec<usize> = inputs.iter().map(Vec::len).collect();
        let vectors = batch::in_groups(&inputs.concat(), |group| self.run(group));
        let mut vectors = self.finite(vectors)?.into_iter();
        Ok(counts.into_iter().map(|count| vectors.by_ref().take(count).collect()).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let input = self.query_input(text);
        // On this thread: a query must not wait for passages that keep the thread pool busy.
        let vector = self.finite(self.run(&[&input]))?.pop();
        Ok(vector.expect("an input has a vector"))
    }
}

fn info(manifest: &Manifest, digests: &Digests) -> ModelInfo {
    ModelInfo {
        name: manifest.name.clone(),
        fingerprint: digests.fingerprint(manifest),
        dims: manifest.dims,
        calibration: manifest.calibration(),
    }
}

/// The manifest of the embedded model, and the digests of its files.
#[cfg(feature = "embedded-model")]
fn embedded_manifest() -> Result<(Manifest, Digests)> {
    let manifest = Manifest::parse(EMBEDDED_MANIFEST)?;
    // A test compares these files with the digests in the manifest, so they need not be read here.
    let digests =
        Digests::listed(&manifest).unwrap_or_else(|| Digests::of(EMBEDDED_WEIGHTS, EMBEDDED_TOKENIZER));
    Ok((manifest, digests))
}

fn read_manifest(folder: &Path) -> Result<String> {
    String::from_utf8(read(folder, MANIFEST_FILE)?)
        .map_err(|_| Error::Embed(format!("{MANIFEST_FILE} is not UTF-8")))
}

fn read(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let path = folder.join(name);
    std::fs::read(&path).map_err(Error::io(&path))
}

fn mismatch(manifest: String, weights: usize) -> Error {
    Error::Embed(format!(
        "the files do not belong together: {manifest} are wanted, {WEIGHTS_FILE} has {weights}"
    ))
}

/// An error that says what is wrong with a file. It may quote the file, so it is cut short.
fn unusable(file: &str, what: impl std::fmt::Display) -> Error {
    Error::Embed(format!("{file} is not usable: {}", clip(&what.to_string(), REASON_CHARACTERS)))
}

/// The BLAKE3 digests of the two large files, in hexadecimal digits.
struct Digests {
    weights: String,
    tokenizer: String,
}

impl Digests {
    fn of(weights: &[u8], tokenizer: &[u8]) -> Digests {
        let digest = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
        Digests { weights: digest(weights), tokenizer: digest(tokenizer) }
    }

    /// Returns the digests that the manifest lists, if it lists both.
    fn listed(manifest: &Manifest) -> Option<Digests> {
        let digest = |name: &str| manifest.blake3.get(name).cloned();
        Some(Digests { weights: digest(WEIGHTS_FILE)?, tokenizer: digest(TOKENIZER_FILE)? })
    }

    fn check(&self, manifest: &Manifest) -> Result<()> {
        for (name, digest) in [(WEIGHTS_FILE, &self.weights), (TOKENIZER_FILE, &self.tokenizer)] {
            if manifest.blake3.get(name).is_some_and(|listed| listed != digest) {
                return Err(Error::Embed(format!(
                    "{name} is damaged: its BLAKE3 digest is not the manifest's"
                )));
            }
        }
        Ok(())
    }

    /// Sums up everything that a vector depends on.
    fn fingerprint(&self, manifest: &Manifest) -> String {
        let Manifest { query_prefix, passage_prefix, max_tokens, .. } = manifest;
        let (weights, tokenizer) = (&self.weights, &self.tokenizer);
        let parts = format!(
            "{ENGINE_VERSION}\n{weights}\n{tokenizer}\n{query_prefix:?}\n{passage_prefix:?}\n{max_tokens}"
        );
        blake3::hash(parts.as_bytes()).to_hex()[..16].to_owned()
    }
}
