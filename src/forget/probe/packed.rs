//! What do packed streams in a file say? They are told by how they begin, wherever that is, since files lie in files.
//! Streams within such streams are not looked for.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use aho_corasick::AhoCorasick;
use flate2::read::{DeflateDecoder, GzDecoder, ZlibDecoder};
use lz4_flex::frame::FrameDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::error::Result;
use crate::store::open_beside;

/// How much of one file is unpacked at most, in bytes, so that nobody keeps a probe busy with a stream that has no end.
pub(super) const UNPACKED_MAX: u64 = 1 << 30;
/// How far back a stream may point, in bytes, and so how much memory it takes.
const WINDOW_MAX: u64 = 128 << 20;

/// How streams are packed, and how those begin. Of two bytes every so manieth place begins like a stream and is none.
const BEGINNINGS: [(Packing, &[u8]); 8] = [
    (Packing::Gzip, &[0x1f, 0x8b, 8]),
    (Packing::Zip, b"PK\x03\x04"),
    (Packing::Zstandard, &[0x28, 0xb5, 0x2f, 0xfd]),
    (Packing::Lz4, &[0x04, 0x22, 0x4d, 0x18]),
    (Packing::Zlib, &[0x78, 0x01]),
    (Packing::Zlib, &[0x78, 0x5e]),
    (Packing::Zlib, &[0x78, 0x9c]),
    (Packing::Zlib, &[0x78, 0xda]),
];
/// How long the longest of them is.
pub(super) const BEGINNING_BYTES: usize = 4;

/// A way of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Zip,
    Zstandard,
    Lz4,
    Zlib,
}

/// Where a stream may begin in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub at: u64,
    packing: Packing,
}

impl Stream {
    /// The beginning that was met, at that place of a file.
    pub(super) fn at(at: u64, beginning: usize) -> Stream {
        Stream { at, packing: BEGINNINGS[beginning].0 }
    }

    /// What it unpacks to, up to its end or to where it can't be unpacked further.
    pub(super) fn unpacked(self, path: &Path) -> io::Result<impl Read> {
        let mut file = BufReader::new(open_beside(path)?);
        file.seek(SeekFrom::Start(self.at))?;
        let unpacked: Option<Box<dyn Read>> = match self.packing {
            Packing::Gzip => Some(Box::new(GzDecoder::new(file))),
            Packing::Zlib => Some(Box::new(ZlibDecoder::new(file))),
            Packing::Lz4 => Some(Box::new(FrameDecoder::new(file))),
            Packing::Zstandard => match StreamingDecoder::new_with_max_window_size(file, WINDOW_MAX) {
                Ok(decoder) => Some(Box::new(decoder)),
                Err(_) => None,
            },
            Packing::Zip => match is_deflated(&mut file)? {
                true => Some(Box::new(DeflateDecoder::new(file))),
                false => None,
            },
        };
        Ok(UntilBroken(unpacked))
    }
}

/// The searcher for beginnings.
pub(super) fn beginnings() -> Result<AhoCorasick> {
    AhoCorasick::new(BEGINNINGS.map(|(_, beginning)| beginning)).map_err(super::needles::refused)
}

/// Reads the head of a file in an archive, up to its content: whether that is packed in the common way.
fn is_deflated(file: &mut impl Read) -> io::Result<bool> {
    const DEFLATE: [u8; 2] = [8, 0];
    let mut head = [0; 30];
    let is_whole = file.read_exact(&mut head).is_ok();
    let length = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let more = length(26) + length(28);
    Ok(is_whole && head[8..10] == DEFLATE && io::copy(&mut file.take(more), &mut io::sink())? == more)
}

/// How much is unpacked at once, in bytes: what came before a break in the same piece is lost.
const PIECE: usize = 1024;

/// What is no stream, or is broken, ends where it can't be read.
struct UntilBroken(Option<Box<dyn Read>>);

impl Read for UntilBroken {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let piece = into.len().min(PIECE);
        Ok(self.0.as_mut().and_then(|stream| stream.read(&mut into[..piece]).ok()).unwrap_or(0))
    }
}
