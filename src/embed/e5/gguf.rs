//! Reads the table of contents of a GGUF file: settings and where each tensor lies. It does not read
//! tensors and does not know what a network is.
//!
//! The format is that of ggml's `docs/gguf.md`, versions 2 and 3, little-endian. Nothing in the file is
//! trusted: every length is held against the bytes that are left before it is used.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use super::unusable;
use crate::error::{Error, Result};

/// Settings and tensors that a file may have; a network of fifty layers has some 800.
const MAX_ENTRIES: u64 = 4096;

/// Dimensions that a tensor may have, as in ggml.
const MAX_DIMENSIONS: u32 = 4;

/// Arrays inside arrays that are followed.
const MAX_DEPTH: u32 = 4;

/// The table of contents of a GGUF file.
#[derive(Debug)]
pub(super) struct Gguf {
    settings: BTreeMap<String, Setting>,
    tensors: BTreeMap<String, TensorInfo>,
}

/// A setting, as far as the engine has a use for it.
#[derive(Clone, Debug, PartialEq)]
enum Setting {
    Integer(u64),
    Float(f64),
    Text(String),
    /// A list or a negative number.
    Other,
}

/// What a tensor looks like and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TensorInfo {
    /// The dimensions, the one whose elements are neighbours first.
    pub(super) shape: Vec<usize>,
    pub(super) format: TensorFormat,
    /// Its bytes in the file; never beyond its end, and as many as shape and format say.
    pub(super) bytes: Range<usize>,
}

/// How the numbers of a tensor are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TensorFormat {
    /// 32-bit floats.
    F32,
    /// Blocks of 32 numbers in 18 bytes: see `q4`.
    Q4,
}

impl Gguf {
    /// Reads the table of contents of `file`, which must be the whole file.
    pub(super) fn read(file: &[u8]) -> Result<Gguf> {
        let mut reader = Reader { file, at: 0 };
        if reader.take(4)? != b"GGUF" {
            return Err(bad("it does not begin with GGUF"));
        }
        let version = reader.u32()?;
        if !(2..=3).contains(&version) {
            return Err(bad(format!("its version is {version}, and 2 and 3 are known")));
        }
        let tensor_count = reader.count("tensors")?;
        let setting_count = reader.count("settings")?;
        let mut settings = BTreeMap::new();
        for _ in 0..setting_count {
            let key = reader.string()?.to_owned();
            let kind = reader.u32()?;
            settings.insert(key, reader.setting(kind, 0)?);
        }
        let alignment = match settings.get("general.alignment") {
            None => 32,
            Some(Setting::Integer(bytes)) if bytes.is_power_of_two() && *bytes <= 1 << 20 => *bytes as usize,
            Some(_) => return Err(bad("its alignment is not a small power of two")),
        };
        let entries = (0..tensor_count).map(|_| reader.tensor_entry()).collect::<Result<Vec<_>>>()?;
        let data = reader.at.next_multiple_of(alignment);
        let mut tensors = BTreeMap::new();
        for (name, entry) in entries {
            let tensor = entry.place(&name, data, alignment, file.len())?;
            if tensors.insert(name.clone(), tensor).is_some() {
                return Err(bad(format!("it has two tensors named {name}")));
            }
        }
        Ok(Gguf { settings, tensors })
    }

    /// Returns a setting that must be there and must be a whole number.
    pub(super) fn integer(&self, key: &str) -> Result<u64> {
        match self.settings.get(key) {
            Some(Setting::Integer(value)) => Ok(*value),
            _ => Err(bad(format!("it has no whole number {key}"))),
        }
    }

    /// Returns a setting that must be there and must be a number with a fraction.
    pub(super) fn float(&self, key: &str) -> Result<f64> {
        match self.settings.get(key) {
            Some(Setting::Float(value)) => Ok(*value),
            _ => Err(bad(format!("it has no float {key}"))),
        }
    }

    /// Returns a setting that must be there and must be a text.
    pub(super) fn text(&self, key: &str) -> Result<&str> {
        match self.settings.get(key) {
            Some(Setting::Text(value)) => Ok(value),
            _ => Err(bad(format!("it has no text {key}"))),
        }
    }

    /// Returns a tensor that must be there, with the given format and shape.
    pub(super) fn tensor(&self, name: &str, format: TensorFormat, shape: &[usize]) -> Result<&TensorInfo> {
        let tensor = self.tensors.get(name).ok_or_else(|| bad(format!("it has no tensor {name}")))?;
        if tensor.format != format || tensor.shape != shape {
            return Err(bad(format!(
                "tensor {name} is {:?} {:?}, and {format:?} {shape:?} is wanted",
                tensor.format, tensor.shape
            )));
        }
        Ok(tensor)
    }

    /// Returns the shape of a tensor that must be there.
    pub(super) fn shape(&self, name: &str) -> Result<&[usize]> {
        let tensor = self.tensors.get(name).ok_or_else(|| bad(format!("it has no tensor {name}")))?;
        Ok(&tensor.shape)
    }

    /// Returns every tensor; for tests of the bounds.
    #[cfg(test)]
    pub(super) fn tensors(&self) -> impl Iterator<Item = &TensorInfo> {
        self.tensors.values()
    }
}

/// An error that says what is wrong with the file.
pub(super) fn bad(what: impl std::fmt::Display) -> Error {
    unusable("the GGUF file", what)
}

/// A tensor as the file describes it, before anything is known to be true.
struct TensorEntry {
    shape: Vec<u64>,
    kind: u32,
    offset: u64,
}

impl TensorEntry {
    /// Checks the entry against the length of the file and finds the tensor's bytes.
    fn place(self, name: &str, data: usize, alignment: usize, file_length: usize) -> Result<TensorInfo> {
        let (format, block, block_bytes) = match self.kind {
            0 => (TensorFormat::F32, 1, 4),
            2 => (TensorFormat::Q4, 32, 18),
            kind => {
                return Err(bad(format!("tensor {name} has format {kind}; 0 (F32) and 2 (Q4_0) are known")));
            }
        };
        let beyond = || bad(format!("tensor {name} does not fit into the file"));
        let elements = self
            .shape
            .iter()
            .try_fold(1u64, |product, side| product.checked_mul(*side))
            .ok_or_else(beyond)?;
        if !self.shape.first().is_some_and(|side| side.is_multiple_of(block)) || elements == 0 {
            return Err(bad(format!("tensor {name} is empty or has half a block")));
        }
        if !self.offset.is_multiple_of(alignment as u64) {
            return Err(bad(format!("tensor {name} is not aligned")));
        }
        let length = (elements / block).checked_mul(block_bytes).ok_or_else(beyond)?;
        let start = (data as u64).checked_add(self.offset).ok_or_else(beyond)?;
        let end = start.checked_add(length).filter(|end| *end <= file_length as u64).ok_or_else(beyond)?;
        // All of these are at most the length of the file, so they fit a usize.
        let shape = self.shape.iter().map(|side| *side as usize).collect();
        Ok(TensorInfo { shape, format, bytes: start as usize..end as usize })
    }
}

/// A place in the file, from which it is read forwards.
struct Reader<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let rest = &self.file[self.at..];
        let taken = rest
            .get(..length)
            .ok_or_else(|| bad(format!("it ends too early, at byte {}", self.file.len())))?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("N bytes were taken"))
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads how many entries of a kind follow.
    fn count(&mut self, what: &str) -> Result<u64> {
        match self.u64()? {
            count if count <= MAX_ENTRIES => Ok(count),
            count => Err(bad(format!("it says that it has {count} {what}, more than {MAX_ENTRIES}"))),
        }
    }

    fn length(&mut self) -> Result<usize> {
        let length = self.u64()?;
        usize::try_from(length).map_err(|_| bad(format!("it has a text of {length} bytes")))
    }

    fn string(&mut self) -> Result<&'a str> {
        let length = self.length()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| bad("it has a text that is not UTF-8"))
    }

    fn setting(&mut self, kind: u32, depth: u32) -> Result<Setting> {
        let signed = |value: i64| u64::try_from(value).map_or(Setting::Other, Setting::Integer);
        Ok(match kind {
            0 | 7 => Setting::Integer(self.array::<1>()?[0].into()),
            1 => signed(i8::from_le_bytes(self.array()?).into()),
            2 => Setting::Integer(u16::from_le_bytes(self.array()?).into()),
            3 => signed(i16::from_le_bytes(self.array()?).into()),
            4 => Setting::Integer(self.u32()?.into()),
            5 => signed(i32::from_le_bytes(self.array()?).into()),
            6 => Setting::Float(f32::from_le_bytes(self.array()?).into()),
            8 => Setting::Text(self.string()?.to_owned()),
            9 => {
                self.skip_list(depth)?;
                Setting::Other
            }
            10 => Setting::Integer(self.u64()?),
            11 => signed(i64::from_le_bytes(self.array()?)),
            12 => Setting::Float(f64::from_le_bytes(self.array()?)),
            kind => return Err(bad(format!("it has a setting of the unknown type {kind}"))),
        })
    }

    /// Passes over a list. Every element has at least one byte, so the loop ends with the file.
    fn skip_list(&mut self, depth: u32) -> Result<()> {
        if depth == MAX_DEPTH {
            return Err(bad(format!("it has lists inside lists, more than {MAX_DEPTH} deep")));
        }
        let kind = self.u32()?;
        for _ in 0..self.u64()? {
            self.setting(kind, depth + 1)?;
        }
        Ok(())
    }

    fn tensor_entry(&mut self) -> Result<(String, TensorEntry)> {
        let name = self.string()?.to_owned();
        let dimensions = self.u32()?;
        if dimensions > MAX_DIMENSIONS {
            return Err(bad(format!("tensor {name} has {dimensions} dimensions")));
        }
        let shape = (0..dimensions).map(|_| self.u64()).collect::<Result<_>>()?;
        Ok((name, TensorEntry { shape, kind: self.u32()?, offset: self.u64()? }))
    }
}
