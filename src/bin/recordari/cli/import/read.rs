//! What does the input hold? Tells JSON lines, an export and a document with a list apart, and reads one
//! candidate after the other. Messages say what is wrong with a line, never what it says.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use indicatif::ProgressBar;
use recordari::json::{candidate_from_json, source_from_json};
use recordari::{Authority, Candidate, Error, Evidence, Result, Timestamp};
use serde_json::{Map, Value};

/// The longest line: a content of 64 KiB with every character escaped fits.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// The longest document that is no JSON lines, for it is read at once.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024 * 1024;
/// The lists of a document.
const LISTS: &[&str] = &["memories", "data"];
const MANIFEST: &str = "recordari_export";
const SHAPE: &str = "must hold JSON lines of candidates, an export, or one JSON object with a list \"memories\" or \"data\"; recordari import --schema prints the shape of a candidate";

/// One line, or one item of a list, and what it holds.
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// The candidate; or what is wrong.
    pub entry: std::result::Result<Box<Entry>, String>,
}

/// A candidate as it was imported.
pub struct Entry {
    /// What is to be remembered.
    pub candidate: Candidate,
    /// The id that the record had where it was exported.
    pub old_id: Option<String>,
    /// Further sources that say the same.
    pub evidence: Vec<Evidence>,
}

/// The input, as an iterator over its lines.
pub struct Input {
    form: Form,
    number: u64,
    /// How many memories the manifest of an export names.
    promised: Option<u64>,
    read: u64,
}

enum Form {
    Lines { first: Option<Vec<u8>>, rest: Box<dyn BufRead> },
    List(std::vec::IntoIter<Value>),
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// `Io` when it can't be read, `Invalid` when it is nothing that can be imported.
    pub fn open(file: &Path, bar: &ProgressBar) -> Result<Input> {
        let reader: Box<dyn Read> = if file == Path::new("-") {
            Box::new(std::io::stdin())
        } else {
            Box::new(File::open(file).map_err(Error::io(file))?)
        };
        let mut rest: Box<dyn BufRead> = Box::new(BufReader::with_capacity(1 << 16, bar.wrap_read(reader)));
        let mut number = 0;
        let first = loop {
            number += 1;
            let Some(line) = read_line(&mut rest, DOCUMENT_BYTES_MAX)? else {
                return Err(Error::invalid("the input", format!("is empty; it {SHAPE}")));
            };
            let line = line.strip_prefix(b"\xef\xbb\xbf".as_slice()).map_or(line.clone(), <[u8]>::to_vec);
            if !line.trim_ascii().is_empty() {
                break line;
            }
        };
        let lines = |first, rest, number| Input {
            form: Form::Lines { first, rest },
            number,
            promised: None,
            read: 0,
        };
        match serde_json::from_slice::<Value>(&first) {
            Ok(Value::Object(object)) if object.contains_key(MANIFEST) => {
                if object[MANIFEST] != 1 {
                    return Err(Error::invalid(
                        "the input",
                        "is an export of a newer version: upgrade recordari",
                    ));
                }
                let promised = object.get("records").and_then(Value::as_u64);
                Ok(Input { promised, ..lines(None, rest, number) })
            }
            Ok(Value::Object(object)) if is_document(&object) => Input::of_document(object),
            Ok(Value::Object(_)) => Ok(lines(Some(first), rest, number - 1)),
            Ok(_) => Err(shape()),
            Err(error) if error.is_eof() => Input::of_many_lines(first, rest, number),
            Err(_) => Ok(lines(Some(first), rest, number - 1)),
        }
    }

    /// Whether this is what export wrote, so that every line says where it was learned.
    pub fn is_export(&self) -> bool {
        self.promised.is_some()
    }

    /// How many memories an export was to hold beyond those that were there.
    pub fn missing(&self) -> Option<u64> {
        self.promised.map(|promised| promised.saturating_sub(self.read)).filter(|missing| *missing > 0)
    }

    /// The first line is no whole JSON value: the whole input may be one, written over many lines.
    fn of_many_lines(mut first: Vec<u8>, mut rest: Box<dyn BufRead>, number: u64) -> Result<Input> {
        first.push(b'\n');
        let room = DOCUMENT_BYTES_MAX.saturating_sub(first.len()) as u64;
        let path = Path::new("the input");
        rest.by_ref().take(room).read_to_end(&mut first).map_err(Error::io(path))?;
        match serde_json::from_slice::<Value>(&first) {
            Ok(Value::Object(object)) => Input::of_document(object),
            Ok(_) => Err(shape()),
            Err(_) => {
                let rest: Box<dyn BufRead> = Box::new(Cursor::new(first).chain(rest));
                let form = Form::Lines { first: None, rest };
                Ok(Input { form, number: number - 1, promised: None, read: 0 })
            }
        }
    }

    fn of_document(mut object: Map<String, Value>) -> Result<Input> {
        let mut items = Vec::new();
        if object.contains_key("content") {
            items.push(Value::Object(object));
        } else {
            let mut named = false;
            for list in LISTS {
                match object.remove(*list) {
                    Some(Value::Array(list)) => (named, items) = (true, [items, list].concat()),
                    Some(_) => return Err(shape()),
                    None => {}
                }
            }
            if let Some((name, _)) = object.iter().find(|(_, value)| value.is_array() || value.is_object()) {
                return Err(Error::invalid(
                    "the input",
                    format!("has {name:?}, which would be lost; it {SHAPE}"),
                ));
            }
            if !named {
                return Err(shape());
            }
        }
        Ok(Input { form: Form::List(items.into_iter()), number: 0, promised: None, read: 0 })
    }
}

fn is_document(object: &Map<String, Value>) -> bool {
    let lists = || LISTS.iter().any(|list| object.contains_key(*list));
    let foreign = || {
        object.iter().any(|(name, value)| value.is_array() && name != "derived_from" && name != "evidence")
    };
    !object.contains_key("content") && (lists() || foreign())
}

fn shape() -> Error {
    Error::invalid("the input", SHAPE)
}

impl Iterator for Input {
    type Item = Result<Line>;

    fn next(&mut self) -> Option<Result<Line>> {
        loop {
            self.number += 1;
            let number = self.number;
            let entry = match &mut self.form {
                Form::List(items) => entry(items.next()?),
                Form::Lines { first, rest } => {
                    let line = match first.take() {
                        Some(line) => Ok(Some(line)),
                        None => read_line(rest, LINE_BYTES_MAX),
                    };
                    let line = match line {
                        Ok(line) => line?,
                        Err(error) => return Some(Err(error)),
                    };
                    if line.trim_ascii().is_empty() {
                        continue;
                    }
                    parse(&line).and_then(entry)
                }
            };
            self.read += 1;
            return Some(Ok(Line { number, entry }));
        }
    }
}

fn parse(line: &[u8]) -> std::result::Result<Value, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("is longer than {LINE_BYTES_MAX} bytes"));
    }
    serde_json::from_slice(line).map_err(|error| {
        let what = error.to_string();
        if what.contains("hex escape") {
            return format!(
                "is not JSON: an escape is damaged, or half of a surrogate pair, at byte {}",
                error.column()
            );
        }
        format!("is not JSON: {}", what.replace(" at line 1 column", ", at byte"))
    })
}

fn entry(value: Value) -> std::result::Result<Box<Entry>, String> {
    read_entry(value).map(Box::new).map_err(|error| error.to_string())
}

fn read_entry(mut value: Value) -> Result<Entry> {
    let (mut old_id, mut evidence) = (None, Vec::new());
    if let Some(object) = value.as_object_mut() {
        let id = object.shift_remove("record_id").filter(|id| !id.is_null());
        old_id = id
            .map(|id| {
                id.as_str().map(str::to_owned).ok_or_else(|| Error::invalid("record_id", "must be text"))
            })
            .transpose()?;
        let further = object.shift_remove("evidence").filter(|further| !further.is_null());
        if let Some(further) = further {
            let must = || {
                Error::invalid("evidence", "must be a list of objects with source, observed_at and authority")
            };
            for one in further.as_array().ok_or_else(must)? {
                let text = |name: &str| one.get(name).and_then(Value::as_str).ok_or_else(must);
                evidence.push(Evidence {
                    source: source_from_json(one.get("source").ok_or_else(must)?)?,
                    observed_at: Timestamp::parse("observed_at", text("observed_at")?)?,
                    authority: Authority::parse(text("authority")?)?,
                });
            }
        }
    }
    Ok(Entry { candidate: candidate_from_json(&value)?, old_id, evidence })
}

/// The next line without its end; none at the end of the input. Of a line longer than `most` bytes only
/// so much is kept that it is seen to be too long.
fn read_line(rest: &mut Box<dyn BufRead>, most: usize) -> Result<Option<Vec<u8>>> {
    let path = Path::new("the input");
    let mut line = Vec::new();
    rest.by_ref().take(most as u64 + 2).read_until(b'\n', &mut line).map_err(Error::io(path))?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') && line.len() > most {
        skip_line(rest).map_err(Error::io(path))?;
        return Ok(Some(line));
    }
    while matches!(line.last(), Some(b'\n' | b'\r')) {
        line.pop();
    }
    Ok(Some(line))
}

fn skip_line(rest: &mut Box<dyn BufRead>) -> std::io::Result<()> {
    loop {
        let buffer = rest.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                rest.consume(at + 1);
                return Ok(());
            }
            None => {
                let all = buffer.len();
                rest.consume(all);
            }
        }
    }
}
