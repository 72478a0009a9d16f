//! The embedder for models in ONNX folders: a wrapper of the fastembed crate that keeps the contract of
//! this crate. Loads nothing from a network.

mod files;
mod options;
mod runtime;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use fastembed::{InitOptionsUserDefined, TextEmbedding};
use ort::session::builder::AutoDevicePolicy;

use super::unit::unit;
use super::windows::{MAX_PASSAGE_BYTES, MAX_QUERY_BYTES, OVERLAP_TOKENS, beginning, windows};
use super::{Embedder, ModelInfo};
use crate::error::{Error, Result};
use files::Files;

pub use options::{FastOptions, Pooling};

/// Changes whenever this wrapper makes other vectors from the same files.
const ENGINE_VERSION: &str = "recordari onnx engine 1";

/// Room in a window of a long text for what its cut adds: a word cut in two may have more tokens.
const CUT_TOKENS: usize = 4;

/// Room that must be left for the text beside the prefix.
const MIN_ROOM_TOKENS: usize = 32;

/// A model in an ONNX folder, run by ONNX Runtime.
///
/// The folder holds `model.onnx` (or one other `.onnx` file) and, as Hugging Face has them, `tokenizer.json`,
/// `config.json`, `special_tokens_map.json` and `tokenizer_config.json`; [`FastOptions`] says what else can
/// be said of it. The library itself is not part of this program: it is loaded from
/// [`FastOptions::library`], or from where the environment variable `ORT_DYLIB_PATH` says, or by its name
/// from where the system looks for libraries.
///
/// A memory that is longer than the model reads at once gets a vector for each of several overlapping
/// windows, as with [`E5`](super::E5). Texts go through the network one by one, so that the company of other
/// texts changes nothing, not even in models that are quantised while they run. Another machine or another
/// version of ONNX Runtime may differ in the last bits.
pub struct FastEmbedder {
    info: ModelInfo,
    /// One at a time: the runtime has threads of its own.
    engine: Mutex<Engine>,
    /// Counts tokens; unlike the engine's it neither pads nor cuts.
    tokenizer: Tokenizer,
    max_tokens: usize,
    query: Prefix,
    passage: Prefix,
}

/// What fastembed calls its embedder.
type Engine = TextEmbedding;

/// What is put before a text, and how many tokens then still fit.
struct Prefix {
    text: String,
    room: usize,
}

impl FastEmbedder {
    /// Loads the model in a folder, as its `recordari.toml` says, if it has one.
    ///
    /// # Errors
    /// `Io` for a file that is missing, `Embed` when the library is missing (and how to get it) or when the
    /// files are no model.
    pub fn from_folder(folder: &Path) -> Result<FastEmbedder> {
        FastEmbedder::open(folder, FastOptions::of(folder)?)
    }

    /// Loads the model in a folder, as the options say; its `recordari.toml` is not read.
    ///
    /// # Errors
    /// As [`FastEmbedder::from_folder`], and `Invalid` for options out of bounds.
    pub fn open(folder: &Path, options: FastOptions) -> Result<FastEmbedder> {
        let files = Files::read(folder)?;
        let options = options.completed(folder, &files)?;
        runtime::load(options.library.as_deref())?;
        let max_tokens = options.max_tokens.expect("completed options have it");
        let pooling = options.pooling.expect("completed options have it");
        let mut settings = InitOptionsUserDefined::new()
            .with_max_length(max_tokens)
            .with_auto_device(AutoDevicePolicy::PreferCPU);
        if let Some(threads) = options.threads {
            settings = settings.with_intra_threads(threads);
        }
        let fingerprint = files.fingerprint(&options);
        let engine = TextEmbedding::try_new_from_user_defined(files.model(pooling), settings)
            .map_err(|error| Error::Embed(format!("{} is not usable: {error}", folder.display())))?;
        let tokenizer = Tokenizer::of(&engine)?;
        let around = tokenizer.count("", true)?;
        let prefix = |text: &str| -> Result<Prefix> {
            let room = max_tokens.saturating_sub(around + tokenizer.count(text, false)?);
            match room < MIN_ROOM_TOKENS + CUT_TOKENS {
                true => Err(Error::invalid("a prefix", "must leave room for a text")),
                false => Ok(Prefix { text: text.to_owned(), room }),
            }
        };
        let mut embedder = FastEmbedder {
            info: ModelInfo {
                name: options.name.expect("completed options have it"),
                fingerprint,
                dims: 0,
                calibration: options.calibration,
            },
            query: prefix(&options.query_prefix)?,
            passage: prefix(&options.passage_prefix)?,
            engine: Mutex::new(engine),
            tokenizer,
            max_tokens,
        };
        embedder.info.dims = embedder.run(&embedder.passage, "recordari")?.len();
        Ok(embedder)
    }

    /// Tokens that the model reads at once.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Embeds one text that fits.
    fn run(&self, prefix: &Prefix, text: &str) -> Result<Vec<f32>> {
        let input = format!("{}{text}", prefix.text);
        // A panic in the runtime leaves nothing half done that a later call would see.
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        let vector = engine.embed([&input], None).map_err(|error| self.failed(&error))?.pop();
        unit(vector.unwrap_or_default(), &self.info.name)
    }

    /// What fastembed says, unless that may hold the text.
    fn failed(&self, error: &fastembed::Error) -> Error {
        let what = match error {
            fastembed::Error::Tokenization(_) => "a text can't be cut into tokens".to_owned(),
            error => error.to_string(),
        };
        Error::Embed(format!("{}: {what}", self.info.name))
    }
}

impl Embedder for FastEmbedder {
    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        let passage = |text: &&str| -> Result<Vec<Vec<f32>>> {
            let text = beginning(text, MAX_PASSAGE_BYTES);
            let parts = self.tokenizer.windows(text, self.passage.room)?;
            // The lock is taken for each window anew, so that a query need not wait for all of them.
            parts.into_iter().map(|part| self.run(&self.passage, part)).collect()
        };
        texts.iter().map(passage).collect()
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        // What does not fit is cut off by the engine.
        self.run(&self.query, beginning(text, MAX_QUERY_BYTES))
    }
}

/// The tokenizer of the model, made to show every token. Its type belongs to a crate that fastembed does not
/// pass on, so it is kept as what it does.
struct Tokenizer(Box<Cut>);

/// Says where each token of a text begins and ends, with or without those that stand around every text.
type Cut = dyn Fn(&str, bool) -> Result<Vec<(usize, usize)>> + Send + Sync;

impl Tokenizer {
    fn of(engine: &Engine) -> Result<Tokenizer> {
        let failed = |_| Error::Embed("a text can't be cut into tokens".to_owned());
        let mut tokenizer = engine.tokenizer.clone();
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(failed)?;
        Ok(Tokenizer(Box::new(move |text, around| {
            Ok(tokenizer.encode(text, around).map_err(failed)?.get_offsets().to_vec())
        })))
    }

    fn count(&self, text: &str, around: bool) -> Result<usize> {
        Ok(self.0(text, around)?.len())
    }

    /// Cuts a text into windows of at most `room` tokens, as few as possible.
    fn windows<'t>(&self, text: &'t str, room: usize) -> Result<Vec<&'t str>> {
        let tokens = self.0(text, false)?;
        if tokens.len() <= room {
            return Ok(vec![text]);
        }
        let room = room - CUT_TOKENS;
        let windows = windows(tokens.len(), room, OVERLAP_TOKENS.min(room / 4));
        let part = |window: std::ops::Range<usize>| {
            // Some tokenizers give bytes of a character as tokens, so the borders are put beside it.
            let start = text.floor_char_boundary(tokens[window.start].0);
            let end = text.ceil_char_boundary(tokens[window.end - 1].1);
            &text[start..end.max(start)]
        };
        Ok(windows.into_iter().map(part).collect())
    }
}
