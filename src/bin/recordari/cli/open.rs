//! Opens the memory of a command, with or without a model, and tells the person what opening found.

use std::path::Path;
use std::sync::Arc;

use recordari::{Embedder, Error, Memory, Options, Principal};

use super::{Common, Failure, Out};
use crate::lazy::Lazy;
use crate::settings::Settings;

/// What a folder has that holds a store, or what is left of one.
const STORE_FILES: &[&str] = &["recordari.db", "store.key"];
/// What to know when a store can't be written.
const WRITES: &str = "recordari needs to write there, even to read (locks and leases)";

/// An open memory and who asks it.
pub struct Session {
    /// The memory.
    pub memory: Memory,
    /// Who asks.
    pub principal: Principal,
    /// The settings it was opened with.
    pub settings: Settings,
    /// Whether the store was created.
    pub created: bool,
    /// What opening found and saw to.
    pub notices: Vec<String>,
    model: Option<Arc<Lazy>>,
}

impl Session {
    /// For commands that embed nothing.
    pub fn without_model(common: &Common, out: &Out) -> Result<Session, Failure> {
        Ok(Session::open(Settings::of(common)?, None)?.told(out))
    }

    /// For commands that may embed; the model is loaded when it is needed.
    pub fn with_model(common: &Common, out: &Out) -> Result<Session, Failure> {
        let settings = Settings::of(common)?;
        let model = Session::model_or_none(&settings, out);
        Ok(Session::open(settings, model)?.told(out))
    }

    /// A model that can't be used costs vectors, never a write; reembed makes up for it.
    fn model_or_none(settings: &Settings, out: &Out) -> Option<Arc<Lazy>> {
        Lazy::open(&settings.model).unwrap_or_else(|error| {
            out.notice(format!("{error}; going on by keyword alone, see recordari model show"));
            None
        })
    }

    /// As [`Session::without_model`], for commands that only read.
    pub fn reading(common: &Common, out: &Out) -> Result<Session, Failure> {
        must_be_there(common)?;
        Session::without_model(common, out)
    }

    /// As [`Session::with_model`], for commands that only read.
    pub fn searching(common: &Common, out: &Out) -> Result<Session, Failure> {
        must_be_there(common)?;
        Session::with_model(common, out)
    }

    /// For mending: as [`Session::checking`], with the model, if it can be used.
    pub fn mending(common: &Common, out: &Out) -> Result<Session, Failure> {
        must_be_there(common)?;
        let settings = Settings::of(common)?;
        let model = Session::model_or_none(&settings, out);
        Session::open(settings, model)
    }

    /// For a check: what opening found belongs to its answer and is not told beside it.
    pub fn checking(common: &Common) -> Result<Session, Failure> {
        must_be_there(common)?;
        Session::open(Settings::of(common)?, None)
    }

    fn open(settings: Settings, model: Option<Arc<Lazy>>) -> Result<Session, Failure> {
        let (memory, opening) = Memory::open(Options {
            embedder: model.clone().map(|model| model as Arc<dyn Embedder>),
            policy: settings.policy(),
            cipher: settings.cipher()?,
            // A command is over before a background thread could be of use.
            background: false,
            ..Options::new(&settings.store)
        })
        .map_err(|error| unopened(&settings.store, error))?;
        let principal = settings.principal.clone();
        Ok(Session { memory, principal, settings, created: opening.created, notices: opening.notices, model })
    }

    fn told(self, out: &Out) -> Session {
        for notice in &self.notices {
            out.notice(notice);
        }
        self
    }

    /// Tells the person if the model failed on the way, and what that means.
    pub fn report_model(&self, out: &Out, meaning: &str) {
        if let Some(failure) = self.model.as_ref().and_then(|model| model.failure()) {
            out.notice(format!("{failure}; {meaning}"));
        }
    }
}

/// A store that was named and is not there is a mistake in its name; to read it would make an empty one.
fn must_be_there(common: &Common) -> Result<(), Failure> {
    match &common.store {
        Some(store) if !STORE_FILES.iter().any(|file| store.join(file).try_exists().unwrap_or(true)) => {
            Err(Failure::NoStore(store.clone()))
        }
        _ => Ok(()),
    }
}

/// Says of which store an error is, where a store can't be written.
fn unopened(store: &Path, error: Error) -> Failure {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let said = match &error {
        Error::Io { path, source }
            if path.starts_with(store) && matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) =>
        {
            source.to_string()
        }
        Error::Database(said) => match said.to_string() {
            said if said.contains("readonly database") || said.contains("unable to open database") => said,
            _ => return Failure::Unopened(error),
        },
        _ => return Failure::Unopened(error),
    };
    let source = std::io::Error::new(PermissionDenied, format!("{said}; {WRITES}"));
    Failure::Unopened(Error::Io { path: store.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_written_is_named() {
        let store = Path::new("/srv/memory");
        let said = |error: Error| unopened(store, error).message();
        let database = |text: &str| Error::Database(text.into());
        let message = said(database("attempt to write a readonly database"));
        assert!(message.starts_with("/srv/memory: ") && message.contains("even to read"), "{message}");
        let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let message = said(Error::Io { path: store.join("ledger.db"), source: denied });
        assert!(message.starts_with("/srv/memory: ") && message.contains("even to read"), "{message}");
        assert_eq!(said(database("disk full")), "the database refused: disk full");
    }
}
