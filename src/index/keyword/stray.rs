//! Which terms does a segment hold that no index knows of? Decodes what a crash has left, and what others are building.

use std::path::Path;

use tantivy::directory::{CompositeFile, ManagedDirectory};
use tantivy::termdict::TermDictionary;

use crate::error::{Error, Result};

use super::contain::contained;
use super::home::Home;
use super::partition::Partition;
use super::schema::FIELDS;

/// The terms of a file of terms, without their partitions. Where files are encrypted it may be one that is, or one that
/// was written before.
///
/// # Errors
/// When it is not whole, or not as it was written.
pub fn stray_terms(file: &Path, key: Option<[u8; 32]>) -> Result<Vec<Vec<u8>>> {
    let plain = || read(file, None);
    match key {
        None => plain(),
        Some(_) => read(file, key).or_else(|_| plain()),
    }
}

fn read(file: &Path, key: Option<[u8; 32]>) -> Result<Vec<Vec<u8>>> {
    let damaged = |error: &dyn std::fmt::Display| Error::Index(error.to_string());
    let name = Path::new(file.file_name().unwrap_or_default());
    let home = Home::new(file.parent().unwrap_or(Path::new(".")), key);
    contained(|| {
        let directory = ManagedDirectory::wrap(home.directory()?)?;
        if !directory.validate_checksum(name).map_err(|error| damaged(&error))? {
            return Err(Error::Index("a file does not match its checksum".to_owned()));
        }
        let content = tantivy::Directory::open_read(&directory, name).map_err(|error| damaged(&error))?;
        let fields = CompositeFile::open(&content).map_err(|error| damaged(&error))?;
        // A segment without a single term has no dictionary.
        let Some(dictionary) = fields.open_read(FIELDS.terms) else { return Ok(Vec::new()) };
        let dictionary = TermDictionary::open(dictionary).map_err(|error| damaged(&error))?;
        let mut stream = dictionary.stream().map_err(|error| damaged(&error))?;
        let mut terms = Vec::new();
        while stream.advance() {
            let (_, term) = Partition::split(stream.key())
                .ok_or_else(|| Error::Index("a term without a partition".to_owned()))?;
            terms.push(term.to_vec());
        }
        Ok(terms)
    })
}
