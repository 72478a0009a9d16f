//! Does any file of a folder hold a word? Looks at every byte of every file, in any case of ASCII letters.

use std::path::Path;

use recordari::{Error, Result};

/// How many files there are, and how many of them hold the word.
pub fn search(folder: &Path, word: &str) -> Result<(usize, usize)> {
    let wanted = word.to_ascii_lowercase();
    let (mut files, mut holding) = (0, 0);
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).map_err(Error::io(&folder))? {
            let path = entry.map_err(Error::io(&folder))?.path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).map_err(Error::io(&path))?.to_ascii_lowercase();
            files += 1;
            holding += usize::from(bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes()));
        }
    }
    Ok((files, holding))
}
