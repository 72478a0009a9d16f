//! The files of a model in an ONNX folder: which they are, and what they are worth as a fingerprint. Knows
//! nothing of what the network does with them.

use std::path::Path;

use fastembed::{TokenizerFiles, UserDefinedEmbeddingModel};
use serde_json::Value;

use super::{ENGINE_VERSION, FastOptions, Pooling};
use crate::embed::spec::onnx_file;
use crate::error::{Error, Result};

/// The content of the files.
pub(super) struct Files {
    weights: Vec<u8>,
    /// Weights of large models that lie beside the ONNX file, by the name that it gives them.
    beside: Vec<(String, Vec<u8>)>,
    tokenizer: Vec<u8>,
    config: Vec<u8>,
    special_tokens: Vec<u8>,
    tokenizer_config: Vec<u8>,
}

impl Files {
    pub(super) fn read(folder: &Path) -> Result<Files> {
        let Some(onnx) = onnx_file(folder)? else {
            return Err(Error::Embed(format!("{} holds no .onnx file", folder.display())));
        };
        let read = |path: &Path| std::fs::read(path).map_err(Error::io(path));
        Ok(Files {
            tokenizer: read(&folder.join("tokenizer.json"))?,
            config: read(&folder.join("config.json"))?,
            special_tokens: read(&folder.join("special_tokens_map.json"))?,
            tokenizer_config: read(&folder.join("tokenizer_config.json"))?,
            beside: beside(&onnx)?,
            weights: read(&onnx)?,
        })
    }

    /// The most tokens that the model can read at once, as far as its files say.
    pub(super) fn max_tokens(&self) -> usize {
        let said = |bytes: &[u8], key: &str| {
            let value: Value = serde_json::from_slice(bytes).ok()?;
            // Written as a float of thirty digits where there is no limit.
            value.get(key)?.as_f64().filter(|tokens| *tokens >= 1.0).map(|tokens| tokens as usize)
        };
        let tokenizer = said(&self.tokenizer_config, "model_max_length").unwrap_or(usize::MAX);
        tokenizer.min(said(&self.config, "max_position_embeddings").unwrap_or(usize::MAX))
    }

    /// Sums up everything that a vector depends on, in sixteen hexadecimal digits.
    pub(super) fn fingerprint(&self, options: &FastOptions) -> String {
        let FastOptions { pooling, query_prefix, passage_prefix, max_tokens, .. } = options;
        let mut parts =
            format!("{ENGINE_VERSION}\n{pooling:?}\n{query_prefix:?}\n{passage_prefix:?}\n{max_tokens:?}\n");
        let named =
            [&self.weights, &self.tokenizer, &self.config, &self.special_tokens, &self.tokenizer_config];
        for bytes in named.into_iter().chain(self.beside.iter().map(|(_, bytes)| bytes)) {
            parts.push_str(&blake3::hash(bytes).to_hex());
            parts.push('\n');
        }
        blake3::hash(parts.as_bytes()).to_hex()[..16].to_owned()
    }

    /// As fastembed wants them.
    pub(super) fn model(self, pooling: Pooling) -> UserDefinedEmbeddingModel {
        let tokenizer = TokenizerFiles {
            tokenizer_file: self.tokenizer,
            config_file: self.config,
            special_tokens_map_file: self.special_tokens,
            tokenizer_config_file: self.tokenizer_config,
        };
        let pooling = match pooling {
            Pooling::Mean => fastembed::Pooling::Mean,
            Pooling::Cls => fastembed::Pooling::Cls,
        };
        let model = UserDefinedEmbeddingModel::new(self.weights, tokenizer).with_pooling(pooling);
        self.beside
            .into_iter()
            .fold(model, |model, (name, bytes)| model.with_external_initializer(name, bytes))
    }
}

/// The files of weights beside an ONNX file, `model.onnx_data` or `model.onnx.data`, in the order of their
/// names.
fn beside(onnx: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let folder = onnx.parent().unwrap_or(Path::new("."));
    let stem = onnx.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let rest = name.strip_prefix(&stem).unwrap_or_default();
        if rest.starts_with("_data") || rest.starts_with(".data") {
            found.push((name, std::fs::read(&path).map_err(Error::io(&path))?));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let needed = [
            ("model.onnx", "weights"),
            ("tokenizer.json", "{}"),
            ("config.json", r#"{"max_position_embeddings": 400}"#),
            ("special_tokens_map.json", "{}"),
            ("tokenizer_config.json", r#"{"model_max_length": 1000000000000000019884624838656}"#),
        ];
        for (name, text) in needed.iter().chain(files) {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn fingerprint(files: &[(&str, &str)], options: FastOptions) -> String {
        let folder = folder(files);
        let files = Files::read(folder.path()).unwrap();
        let completed = options.completed(folder.path(), &files).unwrap();
        files.fingerprint(&completed)
    }

    #[test]
    fn the_fingerprint_changes_with_all_that_changes_a_vector() {
        let same = || fingerprint(&[], FastOptions::default());
        assert_eq!(same().len(), 16);
        // Each time in another folder, which is the model's name; that does not matter.
        assert_eq!(same(), same());
        for name in ["model.onnx", "model.onnx_data", "tokenizer.json", "special_tokens_map.json"] {
            assert_ne!(fingerprint(&[(name, "[]")], FastOptions::default()), same(), "{name}");
        }
        let with = |change: fn(&mut FastOptions)| {
            let mut options = FastOptions::default();
            change(&mut options);
            fingerprint(&[], options)
        };
        assert_eq!(with(|o| o.threads = Some(1)), same());
        assert_eq!(with(|o| o.pooling = Some(Pooling::Mean)), same());
        assert_ne!(with(|o| o.pooling = Some(Pooling::Cls)), same());
        assert_ne!(with(|o| o.query_prefix = "q: ".to_owned()), same());
        assert_ne!(with(|o| o.passage_prefix = "q: ".to_owned()), same());
        assert_ne!(with(|o| o.max_tokens = Some(100)), same());
    }

    #[test]
    fn the_limit_is_the_least_that_the_files_say() {
        let folder = folder(&[]);
        let files = Files::read(folder.path()).unwrap();
        assert_eq!(files.max_tokens(), 400);
        let options = FastOptions { max_tokens: Some(500), ..FastOptions::default() };
        let error = options.completed(folder.path(), &files).unwrap_err().to_string();
        assert!(error.contains("64 to 400"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = folder(&[]);
        std::fs::remove_file(folder.path().join("special_tokens_map.json")).unwrap();
        let error = Files::read(folder.path()).err().unwrap().to_string();
        assert!(error.contains("special_tokens_map.json"), "{error}");
        std::fs::remove_file(folder.path().join("model.onnx")).unwrap();
        assert!(Files::read(folder.path()).err().unwrap().to_string().contains("no .onnx file"));
    }
}
