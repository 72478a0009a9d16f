//! What can be said of a model in an ONNX folder, and what is assumed where nothing is said. Reads
//! `recordari.toml`, runs no model.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::files::Files;
use crate::embed::Calibration;
use crate::error::{Error, Result};

/// The file in a model's folder that says how to use it.
const OPTIONS_FILE: &str = "recordari.toml";

/// What sentence-transformers says about pooling.
const POOLING_FILE: &str = "1_Pooling/config.json";

/// And about the window that the model was trained for.
const WINDOW_FILE: &str = "sentence_bert_config.json";

/// Tokens that are read at once by default, at most. Models that could read more seldom make better vectors so.
const MAX_TOKENS: usize = 512;

/// How to use a model in an ONNX folder. All of it can stand in `recordari.toml` in that folder:
///
/// ```toml
/// name = "bge-small-en-v1.5"
/// pooling = "cls"
/// query_prefix = "Represent this sentence for searching relevant passages: "
/// passage_prefix = ""
/// max_tokens = 512
/// calibration = { unrelated = 0.45, related = 0.75 }
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FastOptions {
    /// The name for people. None: that of the folder.
    pub name: Option<String>,
    /// How the vectors of the tokens become one. None: as `1_Pooling/config.json` says, otherwise the mean.
    /// A model whose output is one vector already is not pooled.
    pub pooling: Option<Pooling>,
    /// What the model wants before a question.
    pub query_prefix: String,
    /// What the model wants before a passage.
    pub passage_prefix: String,
    /// Tokens that the model reads at once, 64 to 8192. None: as `sentence_bert_config.json` or else the
    /// tokenizer's files say, at most 512.
    pub max_tokens: Option<usize>,
    /// How to read the model's cosines.
    #[serde(with = "CalibrationTable")]
    pub calibration: Calibration,
    /// Threads of ONNX Runtime. None: as many as there are processors.
    pub threads: Option<usize>,
    /// The library of ONNX Runtime. None: where `ORT_DYLIB_PATH` says, otherwise where the system looks. It is
    /// loaded once in the life of a program.
    pub library: Option<PathBuf>,
}

/// How the vectors of the tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Their mean: MiniLM, E5, GTE, nomic and most others.
    Mean,
    /// The first one: BGE, mxbai, Snowflake Arctic.
    Cls,
}

/// How a calibration stands in the file.
#[derive(Deserialize)]
#[serde(remote = "Calibration")]
struct CalibrationTable {
    unrelated: f32,
    related: f32,
}

impl Default for FastOptions {
    fn default() -> FastOptions {
        FastOptions {
            name: None,
            pooling: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            max_tokens: None,
            calibration: Calibration::GENERIC,
            threads: None,
            library: None,
        }
    }
}

impl FastOptions {
    /// What `recordari.toml` in that folder says; the defaults when there is none.
    pub fn of(folder: &Path) -> Result<FastOptions> {
        let path = folder.join(OPTIONS_FILE);
        if !path.exists() {
            return Ok(FastOptions::default());
        }
        let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
        toml::from_str(&text)
            .map_err(|error| Error::Embed(format!("{} is not usable: {}", path.display(), error.message())))
    }

    /// Checks the options and fills in what the files know.
    pub(super) fn completed(mut self, folder: &Path, files: &Files) -> Result<FastOptions> {
        if self.name.is_none() {
            let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_owned()));
            self.name =
                Some(name.map_or_else(|| "onnx".to_owned(), |name| name.to_string_lossy().into_owned()));
        }
        if self.name.as_ref().is_some_and(|name| name.is_empty() || name.len() > 200) {
            return Err(Error::invalid("the model's name", "must be 1 to 200 bytes long"));
        }
        if self.pooling.is_none() {
            self.pooling = Some(pooling_said(folder).unwrap_or(Pooling::Mean));
        }
        let most = files.max_tokens();
        let said = || window_said(folder).unwrap_or(MAX_TOKENS).min(MAX_TOKENS).min(most);
        let tokens = self.max_tokens.unwrap_or_else(said);
        if !(64..=8192).contains(&tokens) || tokens > most {
            let most = most.min(8192);
            return Err(Error::invalid("max_tokens", format!("must be from 64 to {most} for this model")));
        }
        self.max_tokens = Some(tokens);
        self.calibration.check()?;
        Ok(self)
    }
}

/// What sentence-transformers' own file says.
fn pooling_said(folder: &Path) -> Option<Pooling> {
    let said = json(&folder.join(POOLING_FILE))?;
    let is = |mode: &str| said.get(mode).and_then(Value::as_bool) == Some(true);
    if is("pooling_mode_cls_token") {
        return Some(Pooling::Cls);
    }
    is("pooling_mode_mean_tokens").then_some(Pooling::Mean)
}

fn window_said(folder: &Path) -> Option<usize> {
    let tokens = json(&folder.join(WINDOW_FILE))?.get("max_seq_length")?.as_u64()?;
    usize::try_from(tokens).ok()
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_and_its_mistakes_are_told() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(FastOptions::of(folder.path()).unwrap(), FastOptions::default());
        let write = |text: &str| std::fs::write(folder.path().join(OPTIONS_FILE), text).unwrap();
        write("pooling = \"cls\"\nquery_prefix = \"q: \"\ncalibration = { unrelated = 0.4, related = 0.7 }");
        let options = FastOptions::of(folder.path()).unwrap();
        assert_eq!((options.pooling, options.query_prefix.as_str()), (Some(Pooling::Cls), "q: "));
        assert_eq!(options.calibration, Calibration { unrelated: 0.4, related: 0.7 });
        for (text, why) in [("pooling = \"max\"", "max"), ("polling = \"cls\"", "polling"), ("= 1", "toml")] {
            write(text);
            let error = FastOptions::of(folder.path()).unwrap_err().to_string();
            assert!(error.contains(OPTIONS_FILE) && error.contains(why), "{error}");
        }
    }

    #[test]
    fn what_sentence_transformers_says_is_known() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!((pooling_said(folder.path()), window_said(folder.path())), (None, None));
        std::fs::write(folder.path().join(WINDOW_FILE), r#"{"max_seq_length": 256}"#).unwrap();
        assert_eq!(window_said(folder.path()), Some(256));
        std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        for (mode, pooling) in [
            ("pooling_mode_cls_token", Some(Pooling::Cls)),
            ("pooling_mode_mean_tokens", Some(Pooling::Mean)),
            ("pooling_mode_max_tokens", None),
        ] {
            std::fs::write(folder.path().join(POOLING_FILE), format!(r#"{{"{mode}": true}}"#)).unwrap();
            assert_eq!(pooling_said(folder.path()), pooling);
        }
    }
}
