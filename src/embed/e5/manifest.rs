//! What `MANIFEST.toml` says of a model: how to use it, and which files it consists of. Does not open
//! those files.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{MANIFEST_FILE, unusable};
use crate::embed::Calibration;
use crate::error::{Error, Result};

/// The longest window that is read at once; attention grows with its square.
const MAX_TOKENS: usize = 2048;

/// The part of the manifest that the engine needs; the rest is for people.
#[derive(Debug, Deserialize)]
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) dims: usize,
    pub(super) query_prefix: String,
    pub(super) passage_prefix: String,
    pub(super) max_tokens: usize,
    calibration: CalibrationTable,
    /// The BLAKE3 digest of each file, in hexadecimal digits.
    #[serde(default)]
    pub(super) blake3: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct CalibrationTable {
    unrelated: f32,
    related: f32,
}

impl Manifest {
    /// Reads the text of a manifest and checks what can be checked without the files.
    pub(super) fn parse(text: &str) -> Result<Manifest> {
        let manifest: Manifest = toml::from_str(text).map_err(|error| bad(error.message()))?;
        let Calibration { unrelated, related } = manifest.calibration();
        if manifest.name.is_empty() || manifest.name.len() > 200 {
            return Err(bad("the name must be 1 to 200 bytes long"));
        }
        for prefix in [&manifest.query_prefix, &manifest.passage_prefix] {
            // The space keeps the tokens of the prefix apart from those of the text.
            if !prefix.is_empty() && !prefix.ends_with(' ') {
                return Err(bad("a prefix must end with a space"));
            }
        }
        if !(256..=MAX_TOKENS).contains(&manifest.max_tokens) {
            return Err(bad(format!("max_tokens must be from 256 to {MAX_TOKENS}")));
        }
        if !(-1.0..=1.0).contains(&unrelated) || !(-1.0..=1.0).contains(&related) || unrelated >= related {
            return Err(bad("calibration needs two cosines, unrelated below related"));
        }
        Ok(manifest)
    }

    /// Returns where the model's cosines lie.
    pub(super) fn calibration(&self) -> Calibration {
        Calibration { unrelated: self.calibration.unrelated, related: self.calibration.related }
    }
}

fn bad(what: impl std::fmt::Display) -> Error {
    unusable(MANIFEST_FILE, what)
}

#[cfg(test)]
mod tests {
    use super::Manifest;

    const GOOD: &str = r#"
        name = "small"
        dims = 384
        query_prefix = "query: "
        passage_prefix = "passage: "
        max_tokens = 512
        comment = "for people"
        [calibration]
        unrelated = 0.8
        related = 0.9
        [blake3]
        "model.gguf" = "00"
    "#;

    #[test]
    fn a_good_manifest_is_read() {
        let manifest = Manifest::parse(GOOD).unwrap();
        assert_eq!((manifest.name.as_str(), manifest.dims, manifest.max_tokens), ("small", 384, 512));
        assert_eq!(manifest.calibration().related, 0.9);
        assert_eq!(manifest.blake3["model.gguf"], "00");
    }

    #[test]
    fn a_bad_one_is_an_error_that_says_why() {
        let cases = [
            ("= 512", "= 1000000", "max_tokens"),
            ("= 0.8", "= nan", "calibration"),
            ("= 0.8", "= 0.95", "calibration"),
            ("\"small\"", "\"\"", "name"),
            ("\"query: \"", "\"query:\"", "prefix"),
            ("dims = 384", "", "dims"),
            ("dims = 384", "dims = -1", "-1"),
            ("[blake3]", "[blake3", "MANIFEST.toml"),
        ];
        for (from, to, why) in cases {
            let error = Manifest::parse(&GOOD.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
