//! What went wrong, sorted by who must act. Knows nothing of how a door prints it.
//!
//! Expected outcomes are not errors: a refused candidate is a verdict, nothing found is an empty
//! answer, forgetting twice is `already_forgotten`, and an index that lags is a line in the trace.

use std::path::{Path, PathBuf};

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An operation could not be carried out. The state is as it was before.
///
/// No message carries memory text or query text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is not acceptable: which one, and what it must be.
    #[error("{field} {must}")]
    Invalid {
        /// The field or argument, as the caller names it.
        field: &'static str,
        /// What it must be, as the rest of a sentence: "must be 1 to 200 bytes long".
        must: String,
    },
    /// The policy file can't be used, so nothing is written until it is mended.
    #[error("the policy can't be used: {0}")]
    Policy(String),
    /// Another process holds the store's lock for longer than the wait allows; try again.
    #[error("{0} is in use by another process")]
    Locked(&'static str),
    /// A file could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The store was written by a newer version of this program.
    #[error("the store has format {found}, this version reads up to {supported}: upgrade recordari")]
    FormatTooNew {
        /// The format that the store has.
        found: u32,
        /// The newest format that this version reads.
        supported: u32,
    },
    /// The store's vectors come from another model than the one in use.
    #[error(
        "the store's vectors were made by {stored}, the model in use is {in_use}: run `recordari reembed` to change over, or use the first"
    )]
    ModelMismatch {
        /// Name, width and fingerprint of the model that made the store's vectors.
        stored: String,
        /// Name, width and fingerprint of the model in use.
        in_use: String,
    },
    /// The embedding model failed or can't be loaded.
    #[error("the embedding model failed: {0}")]
    Embed(String),
    /// A derived index failed. It can be deleted and built again: `recordari rebuild`.
    #[error("the derived index failed: {0}")]
    Index(String),
    /// The database refused: disk full, or damaged beyond what it repairs by itself.
    #[error("the database refused: {0}")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store contradicts itself; `recordari verify` lists where.
    #[error("the store contradicts itself: {0}")]
    Corrupt(String),
}

/// Who has to act on an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller: the request must change.
    Caller,
    /// Nobody: the same request can succeed later.
    Busy,
    /// The operator: disk, permissions, configuration, model files.
    Environment,
    /// The operator, soon: the store's data are not sound.
    Data,
}

impl Error {
    /// Says who has to act.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Invalid { .. } => ErrorKind::Caller,
            Error::Locked(_) => ErrorKind::Busy,
            Error::Corrupt(_) => ErrorKind::Data,
            Error::Policy(_)
            | Error::Io { .. }
            | Error::FormatTooNew { .. }
            | Error::ModelMismatch { .. }
            | Error::Embed(_)
            | Error::Index(_)
            | Error::Database(_) => ErrorKind::Environment,
        }
    }

    /// An argument that is not acceptable; `must` completes the sentence that `field` begins.
    pub fn invalid(field: &'static str, must: impl Into<String>) -> Error {
        Error::Invalid { field, must: must.into() }
    }

    /// A name that was read where none of this name may be, in quotes: its beginning, whoever wrote it knows the rest.
    pub(crate) fn quoted(name: &str) -> String {
        const CHARACTERS: usize = 60;
        match name.char_indices().nth(CHARACTERS) {
            Some((end, _)) => format!("{:?}…", &name[..end]),
            None => format!("{name:?}"),
        }
    }

    /// Wraps what the operating system said about `path`.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_owned(), source }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
        };
        // The schema keeps types, so such a value was not written by this program.
        if matches!(
            error,
            FromSqlConversionFailure(..)
                | IntegralValueOutOfRange(..)
                | InvalidColumnType(..)
                | Utf8Error(..)
        ) {
            return Error::Corrupt(
                "a value in the database is not what it must be; recordari verify says where".to_owned(),
            );
        }
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                Error::Locked("the store")
            }
            // What is wrong stands in the message, and never what is in the file.
            Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
                Error::Corrupt(format!(
                    "{error}: part of the database is damaged; recordari verify says what, and a restored backup mends it"
                ))
            }
            _ => Error::Database(Box::new(error)),
        }
    }
}

impl From<tantivy::TantivyError> for Error {
    fn from(error: tantivy::TantivyError) -> Error {
        Error::Index(error.to_string())
    }
}
