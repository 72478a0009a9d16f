//! How single values on the command line are read: the library's words, times, pairs, and texts that may
//! come from standard input.

use std::io::Read;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use recordari::json::meta_value_from_json;
use recordari::{Error, MetaValue, Result, Timestamp};

use super::Failure;
use crate::settings::NO_KEY;

/// The most that is read from standard input as one text: more than any content may have.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

/// A parser for one of the library's sets of words; help lists them.
pub fn word<T>(all: &'static [T], code: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + std::str::FromStr<Err = Error> + Send + Sync + 'static,
{
    let codes: Vec<&'static str> = all.iter().map(|word| code(*word)).collect();
    PossibleValuesParser::new(codes).try_map(|text| text.parse::<T>())
}

/// Reads a time with an offset.
pub fn time(text: &str) -> std::result::Result<Timestamp, String> {
    Timestamp::parse("it", text).map_err(|error| error.to_string())
}

/// A parser for the file of a cipher key. An empty name, as of a variable that is not set, must not pass for "no key".
pub fn key_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| match name.is_empty() {
        true => Err(format!("it must name a file; {NO_KEY} stands for no key")),
        false => Ok(PathBuf::from(name)),
    })
}

/// Reads `SUBJECT=VALUE`.
pub fn pair(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it must be NAME=VALUE".to_owned()),
    }
}

/// Reads `KEY=VALUE` for metadata: a value that is JSON (a number, true, null, a list of texts) is that,
/// everything else is text.
pub fn meta(text: &str) -> std::result::Result<(String, MetaValue), String> {
    let (key, value) = pair(text)?;
    let value = meta_value(&key, &value).map_err(|error| error.to_string())?;
    Ok((key, value))
}

/// Reads one metadata value.
pub fn meta_value(key: &str, text: &str) -> Result<MetaValue> {
    match serde_json::from_str(text) {
        Ok(value) => meta_value_from_json(key, &value),
        Err(_) => Ok(MetaValue::Text(text.to_owned())),
    }
}

/// The text of an argument, or of standard input for `-`.
pub fn text_or_stdin(text: &str) -> std::result::Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(STDIN_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| Error::Io { path: "standard input".into(), source })?;
    if bytes.len() as u64 > STDIN_BYTES_MAX {
        return Err(Error::invalid("content", format!("must be at most {STDIN_BYTES_MAX} bytes")).into());
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::invalid("content", "must be UTF-8"))?;
    // The line end that echo and editors add is not a part of what is said.
    let text = text.strip_suffix('\n').map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text));
    Ok(text.to_owned())
}
