//! Where does a panic of the index library end? At this boundary, as an error.
//!
//! Damaged files can make the library panic, though their checksums are verified when they are opened.
//! An index is disposable, so its damage must not take the process along. The message of the panic
//! still goes to the panic hook; it names positions and lengths, never terms.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

/// Runs `work` and gives [`Error::Index`] when it panics.
///
/// What `work` holds must not be used after an error but to be dropped; callers see to that.
pub(super) fn contained<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Error::Index("the index library failed on its own files".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_here_as_an_error() {
        assert_eq!(contained(|| Ok(1)).unwrap(), 1);
        let empty: [u8; 0] = [];
        let at = empty.len();
        assert!(matches!(contained(|| Ok(empty[at])), Err(Error::Index(_))));
    }
}
