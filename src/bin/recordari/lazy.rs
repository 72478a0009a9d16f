//! The embedding model of a command, loaded when something is embedded for the first time: what embeds
//! nothing doesn't pay for it.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use recordari::embed::{E5, ModelInfo, ModelSpec};
use recordari::{Embedder, Error, Result};

/// What a folder has that holds a model for the engine of this program.
const MANIFEST_FILE: &str = "MANIFEST.toml";
/// The key for a model behind an address; it is read when that model is opened, and kept nowhere.
const API_KEY: &str = "RECORDARI_API_KEY";

/// A model that is loaded on first use.
pub struct Lazy {
    info: ModelInfo,
    spec: ModelSpec,
    loaded: OnceLock<std::result::Result<Arc<dyn Embedder>, String>>,
    failed: Mutex<Option<String>>,
}

impl Lazy {
    /// The model that a setting names, not loaded yet where it can say which one it is without that; none
    /// when the setting is to use none.
    pub fn open(spec: &ModelSpec) -> Result<Option<Arc<Lazy>>> {
        let loaded = OnceLock::new();
        let info = match known(spec)? {
            Some(info) => info,
            None => match load(spec)? {
                Some(model) => {
                    let info = model.model().clone();
                    let _ = loaded.set(Ok(model));
                    info
                }
                None => return Ok(None),
            },
        };
        Ok(Some(Arc::new(Lazy { info, spec: spec.clone(), loaded, failed: Mutex::new(None) })))
    }

    /// Says which model that is; none when there is none.
    pub fn info(spec: &ModelSpec) -> Result<Option<ModelInfo>> {
        Ok(Lazy::open(spec)?.map(|model| model.info.clone()))
    }

    /// What went wrong with the model, if anything did: the engine goes on without it, a person wants
    /// to know.
    pub fn failure(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn noted<T>(&self, done: Result<T>) -> Result<T> {
        if let Err(error) = &done {
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        }
        done
    }

    fn loaded(&self) -> Result<&dyn Embedder> {
        let missing = || "there is no model".to_owned();
        let load = || load(&self.spec).map_err(|error| error.to_string())?.ok_or_else(missing);
        match self.loaded.get_or_init(load) {
            Ok(model) => Ok(model.as_ref()),
            Err(why) => Err(Error::Embed(why.trim_start_matches("the embedding model failed: ").to_owned())),
        }
    }
}

impl Embedder for Lazy {
    fn model(&self) -> &ModelInfo {
        &self.info
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vec<f32>>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        self.noted(self.loaded().and_then(|model| model.embed_passages(texts)))
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.noted(self.loaded().and_then(|model| model.embed_query(text)))
    }
}

/// Which model it is, where that can be told without loading it.
fn known(spec: &ModelSpec) -> Result<Option<ModelInfo>> {
    match spec {
        ModelSpec::Embedded => embedded_info(),
        ModelSpec::Folder(folder) if is_own(folder) => E5::folder_info(folder).map(Some),
        ModelSpec::Folder(_) | ModelSpec::Http(_) | ModelSpec::None => Ok(None),
    }
}

fn is_own(folder: &Path) -> bool {
    folder.join(MANIFEST_FILE).exists()
}

fn load(spec: &ModelSpec) -> Result<Option<Arc<dyn Embedder>>> {
    // A build without the embedded model searches by keyword until another is named.
    if *spec == ModelSpec::Embedded && !cfg!(feature = "embedded-model") {
        return Ok(None);
    }
    spec.open(std::env::var(API_KEY).ok().as_deref())
}

#[cfg(feature = "embedded-model")]
fn embedded_info() -> Result<Option<ModelInfo>> {
    E5::embedded_info().map(Some)
}

#[cfg(not(feature = "embedded-model"))]
fn embedded_info() -> Result<Option<ModelInfo>> {
    Ok(None)
}
