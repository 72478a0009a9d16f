//! How a person names a model in one word, and how that becomes an embedder. Reads no settings and no
//! environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{E5, Embedder, HttpOptions};
use crate::error::{Error, Result};

/// Which model to use, as it stands in a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSpec {
    /// `embedded`: the model that is built into the program.
    Embedded,
    /// `none`: search by keyword alone.
    None,
    /// A folder with the files of a model: GGUF for the engine of this program, or ONNX.
    Folder(PathBuf),
    /// `http://host/v1#model`: a model behind an address.
    Http(Box<HttpOptions>),
}

impl ModelSpec {
    /// Reads `embedded`, `none`, an address with a model's name behind `#`, or a folder.
    ///
    /// Behind the name may follow settings, each with `&`: `dims=768`, `tokens=512`,
    /// `query=search_query:%20`, `passage=search_document:%20`, `unrelated=0.4`, `related=0.7`. In them and in
    /// the name `%20` is a space, as in any address. A folder called `none` is written `./none`.
    ///
    /// ```
    /// use recordari::embed::ModelSpec;
    /// assert_eq!(ModelSpec::parse("embedded")?, ModelSpec::Embedded);
    /// let spec = ModelSpec::parse("http://localhost:11434/v1#nomic-embed-text&dims=768")?;
    /// assert!(matches!(spec, ModelSpec::Http(options) if options.dims == Some(768)));
    /// # Ok::<(), recordari::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<ModelSpec> {
        let text = text.trim();
        Ok(match text {
            "" => return Err(bad("must be `embedded`, `none`, a folder, or http://host/v1#model")),
            "embedded" => ModelSpec::Embedded,
            "none" => ModelSpec::None,
            _ if text.contains("://") => ModelSpec::Http(Box::new(http(text)?)),
            _ => ModelSpec::Folder(PathBuf::from(text)),
        })
    }

    /// Loads the model; none for `none`. The key is for an address alone.
    ///
    /// # Errors
    /// `Invalid` when there is no such model or this program was built without what it needs, `Embed` when
    /// it can't be loaded. An address without `dims` has to answer now; a caller for whom writes matter more
    /// than vectors goes on with no embedder then.
    pub fn open(&self, api_key: Option<&str>) -> Result<Option<Arc<dyn Embedder>>> {
        match self {
            ModelSpec::None => Ok(None),
            ModelSpec::Embedded => embedded().map(Some),
            ModelSpec::Folder(folder) => open_folder(folder).map(Some),
            ModelSpec::Http(options) => {
                let api_key = api_key.filter(|key| !key.is_empty()).map(str::to_owned);
                open_http(HttpOptions { api_key, ..options.as_ref().clone() }).map(Some)
            }
        }
    }
}

fn bad(must: impl Into<String>) -> Error {
    Error::invalid("the model", must)
}

/// Reads an address, the name behind `#`, and the settings behind that.
fn http(text: &str) -> Result<HttpOptions> {
    let Some((url, fragment)) = text.split_once('#') else {
        return Err(bad("must have its name behind the address: http://localhost:11434/v1#nomic-embed-text"));
    };
    let mut parts = fragment.split('&');
    let mut options = HttpOptions::new(url, decoded(parts.next().unwrap_or_default())?);
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = decoded(value)?;
        match key {
            "dims" => options.dims = Some(number(key, &value)?),
            "tokens" => options.max_tokens = number(key, &value)?,
            "query" => options.query_prefix = value,
            "passage" => options.passage_prefix = value,
            "unrelated" => options.calibration.unrelated = number(key, &value)?,
            "related" => options.calibration.related = number(key, &value)?,
            _ => {
                return Err(bad(
                    "must have no other settings than dims, tokens, query, passage, unrelated and related behind its name",
                ));
            }
        }
    }
    options.checked()
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| bad(format!("must have a number behind {key}=")))
}

/// Replaces `%20` and its like.
fn decoded(text: &str) -> Result<String> {
    let wrong = || bad("must be UTF-8 with two hexadecimal digits behind each %");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        bytes.push(*byte);
        if *byte == b'%' {
            let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            let digits = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            *bytes.last_mut().expect("a byte was pushed") = value.ok_or_else(wrong)?;
            rest = &tail[2..];
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(feature = "embedded-model")]
fn embedded() -> Result<Arc<dyn Embedder>> {
    Ok(Arc::new(E5::embedded()?))
}

#[cfg(not(feature = "embedded-model"))]
fn embedded() -> Result<Arc<dyn Embedder>> {
    Err(bad(
        "`embedded` is not in this program: build with the cargo feature embedded-model, or name a folder",
    ))
}

#[cfg(feature = "http-embedder")]
fn open_http(options: HttpOptions) -> Result<Arc<dyn Embedder>> {
    Ok(Arc::new(super::HttpEmbedder::open(options)?))
}

#[cfg(not(feature = "http-embedder"))]
fn open_http(_: HttpOptions) -> Result<Arc<dyn Embedder>> {
    Err(bad("can't be behind an address: build this program with the cargo feature http-embedder"))
}

fn open_folder(folder: &Path) -> Result<Arc<dyn Embedder>> {
    if !folder.is_dir() {
        return Err(bad(format!(
            "must be `embedded`, `none`, http://host/v1#model or a folder that exists: {} does not. No model is downloaded; fetch its files first",
            folder.display()
        )));
    }
    if folder.join("model.gguf").is_file() {
        return Ok(Arc::new(E5::from_folder(folder)?));
    }
    match onnx_file(folder)? {
        Some(_) => open_onnx(folder),
        None => Err(bad(format!(
            "must have model.gguf and MANIFEST.toml, or model.onnx and its tokenizer, in its folder; {} has neither",
            folder.display()
        ))),
    }
}

#[cfg(feature = "fastembed")]
fn open_onnx(folder: &Path) -> Result<Arc<dyn Embedder>> {
    Ok(Arc::new(super::FastEmbedder::from_folder(folder)?))
}

#[cfg(not(feature = "fastembed"))]
fn open_onnx(_: &Path) -> Result<Arc<dyn Embedder>> {
    Err(bad("can't be an ONNX file: build this program with the cargo feature fastembed"))
}

/// The weights in an ONNX folder: `model.onnx`, the same in `onnx/`, or the only file of that kind.
pub(super) fn onnx_file(folder: &Path) -> Result<Option<PathBuf>> {
    for name in ["model.onnx", "onnx/model.onnx"] {
        if folder.join(name).is_file() {
            return Ok(Some(folder.join(name)));
        }
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "onnx") {
            found.push(path);
        }
    }
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(bad(format!(
            "must be one: {} has several .onnx files and none is called model.onnx",
            folder.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn each_kind_of_name_is_read() {
        assert_eq!(ModelSpec::parse(" embedded ").unwrap(), ModelSpec::Embedded);
        assert_eq!(ModelSpec::parse("none").unwrap(), ModelSpec::None);
        assert_eq!(ModelSpec::parse("./none").unwrap(), ModelSpec::Folder("./none".into()));
        assert_eq!(ModelSpec::parse("/a b/模型").unwrap(), ModelSpec::Folder("/a b/模型".into()));
        let spec = ModelSpec::parse(
            "http://Box:8080/v1/#org/name:1%2B&dims=768&query=ask:%20&passage=p%3D%20&tokens=256&unrelated=0.4&related=0.7",
        );
        let ModelSpec::Http(options) = spec.unwrap() else { panic!("not http") };
        assert_eq!((options.url.as_str(), options.model.as_str()), ("http://box:8080/v1", "org/name:1+"));
        assert_eq!((options.query_prefix.as_str(), options.passage_prefix.as_str()), ("ask: ", "p= "));
        assert_eq!((options.dims, options.max_tokens), (Some(768), 256));
        assert_eq!((options.calibration.unrelated, options.calibration.related), (0.4, 0.7));
    }

    #[test]
    fn a_name_that_makes_no_sense_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "folder"),
            ("http://box/v1", "behind the address"),
            ("http://box/v1#", "the model's name"),
            ("ftp://box/v1#m", "http://"),
            ("http://me:pass@box/v1#m", "API key"),
            ("http://box/v1#m&dims=many", "dims="),
            ("http://box/v1#m&api_key=x", "no other settings"),
            ("http://box/v1#m%2", "hexadecimal"),
            ("http://box/v1#m%+1", "hexadecimal"),
            ("http://box/v1#m%ff", "UTF-8"),
            ("http://box/v1#m&related=0.1", "calibration"),
        ] {
            let error = ModelSpec::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Caller);
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }

    fn refusal(spec: &ModelSpec) -> String {
        match spec.open(None) {
            Ok(_) => panic!("opened {spec:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_folder_is_opened_by_what_lies_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let spec = ModelSpec::Folder(folder.path().to_owned());
        assert!(refusal(&spec).contains("model.gguf"));
        std::fs::write(folder.path().join("a.onnx"), "no model").unwrap();
        // With the feature something else is missing: the tokenizer or the runtime.
        let error = refusal(&spec);
        assert_eq!(error.contains("cargo feature fastembed"), !cfg!(feature = "fastembed"), "{error}");
        std::fs::write(folder.path().join("b.onnx"), "no model").unwrap();
        assert!(refusal(&spec).contains("several"));
        std::fs::write(folder.path().join("model.gguf"), "no model").unwrap();
        assert!(refusal(&spec).contains("MANIFEST.toml"));
        assert!(
            refusal(&ModelSpec::parse("BAAI/bge-small-en-v1.5").unwrap()).contains("No model is downloaded")
        );
    }

    #[test]
    fn none_opens_nothing() {
        assert!(ModelSpec::None.open(Some("key")).unwrap().is_none());
    }

    #[cfg(feature = "embedded-model")]
    #[test]
    fn the_folder_of_the_default_model_opens_as_the_default_model() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models/multilingual-e5-small-q4");
        let opened = ModelSpec::parse(folder).unwrap().open(None).unwrap().unwrap();
        let embedded = ModelSpec::Embedded.open(None).unwrap().unwrap();
        assert_eq!(opened.model(), embedded.model());
    }
}
