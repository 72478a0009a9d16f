//! Finds and loads the library of ONNX Runtime, and says how to get it. Has to come before anything else
//! that uses it: left to itself, the `ort` crate panics when the library is missing.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The variable in which the `ort` crate looks too.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// Loads the library, unless this program has it already.
pub(super) fn load(library: Option<&Path>) -> Result<()> {
    // The one place below the command line that reads the environment, because it is where everyone who has
    // ONNX Runtime tells it to programs.
    let named = library
        .map(Path::to_owned)
        .or_else(|| std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from));
    if let Some(path) = &named
        && !path.is_file()
    {
        return Err(missing(&format!("{} is not there", path.display())));
    }
    let path = named.unwrap_or_else(|| {
        format!("{}onnxruntime{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX).into()
    });
    // What it returns would set up the environment, which fastembed does.
    let loaded = ort::init_from(&path).map(|_| ());
    loaded.map_err(|error| missing(&error.to_string()))
}

fn missing(what: &str) -> Error {
    Error::Embed(format!(
        "ONNX Runtime can't be loaded: {what}. Install it (`pip install onnxruntime`, a package of your system, or an archive from its releases) and set {VARIABLE} to the file libonnxruntime.so, libonnxruntime.dylib or onnxruntime.dll; from pip it is onnxruntime/capi/libonnxruntime.so.* in site-packages"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No panic, no hang: an error that helps.
    #[test]
    fn a_missing_or_broken_library_is_an_error_that_says_how_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let broken = folder.path().join("libonnxruntime.so");
        std::fs::write(&broken, "not a library").unwrap();
        for path in [folder.path().join("nowhere.so"), broken] {
            let error = load(Some(&path)).unwrap_err().to_string();
            assert!(error.contains(path.to_str().unwrap()), "{error}");
            assert!(error.contains("pip install onnxruntime") && error.contains(VARIABLE), "{error}");
        }
    }
}
