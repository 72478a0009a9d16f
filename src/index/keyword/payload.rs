//! How far has the index come? Says it in the commit itself, so that both are durable or neither.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::ANALYSIS_VERSION;

/// What a commit says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Payload {
    /// How far the changes have been applied.
    pub watermark: u64,
    /// Names the history of which the watermark is a point; another store's is another.
    pub history: u64,
    /// Rises with every commit.
    pub generation: u64,
    /// Whether the commit is that of a purge: nothing was removed since.
    pub purged: bool,
}

/// How documents are numbered: 0, and not written, in the order of writes; 1 with their namespace in the number.
const NUMBERING: u32 = 1;

/// The payload as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    watermark: u64,
    history: u64,
    generation: u64,
    purged: bool,
    analysis: u32,
    /// How documents are numbered; see [`NUMBERING`].
    #[serde(default)]
    numbering: u32,
    /// Guards the numbers: one digit gone wrong would otherwise make an index claim what it doesn't hold.
    check: u32,
}

/// Why a payload is not accepted.
#[derive(Debug)]
pub(super) enum Refused {
    Unreadable,
    OtherAnalysis(u32),
    OtherNumbering,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Unreadable => f.write_str("its watermark can't be read"),
            Refused::OtherAnalysis(found) => {
                write!(f, "it was made by text analysis {found}, this version makes {ANALYSIS_VERSION}")
            }
            Refused::OtherNumbering => f.write_str("it numbers records as an earlier version did"),
        }
    }
}

impl Payload {
    pub(super) fn write(self) -> String {
        let Payload { watermark, history, generation, purged } = self;
        let written = Written {
            watermark,
            history,
            generation,
            purged,
            analysis: ANALYSIS_VERSION,
            numbering: NUMBERING,
            check: check(self, ANALYSIS_VERSION, NUMBERING),
        };
        serde_json::to_string(&written).expect("a struct of numbers can be written")
    }

    pub(super) fn read(text: &str) -> Result<Payload, Refused> {
        let Written { watermark, history, generation, purged, analysis, numbering, check: found } =
            serde_json::from_str(text).map_err(|_| Refused::Unreadable)?;
        let payload = Payload { watermark, history, generation, purged };
        if found != check(payload, analysis, numbering) {
            return Err(Refused::Unreadable);
        }
        if numbering != NUMBERING {
            return Err(Refused::OtherNumbering);
        }
        if analysis != ANALYSIS_VERSION {
            return Err(Refused::OtherAnalysis(analysis));
        }
        Ok(payload)
    }

    /// Looks for a generation in the bytes of a damaged description, so that the next index goes on
    /// counting where it can.
    pub(super) fn salvage_generation(bytes: &[u8]) -> u64 {
        let text = String::from_utf8_lossy(bytes);
        let Some((_, after)) = text.split_once("\\\"generation\\\":") else { return 0 };
        let digits = after.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        digits.parse().unwrap_or(0)
    }
}

/// FNV-1a over the numbers.
fn check(payload: Payload, analysis: u32, numbering: u32) -> u32 {
    let Payload { watermark, history, generation, purged } = payload;
    let numbers = [watermark, history, generation, u64::from(purged), u64::from(analysis)];
    let numbering = (numbering > 0).then_some(u64::from(numbering));
    let bytes: Vec<[u8; 8]> = numbers.into_iter().chain(numbering).map(u64::to_le_bytes).collect();
    bytes.iter().flatten().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_read_back_and_wrong_ones_refused() {
        let payload = Payload { watermark: 12_345, history: 99, generation: 7, purged: true };
        let text = payload.write();
        assert_eq!(Payload::read(&text).unwrap(), payload);
        assert!(matches!(Payload::read(&text.replace("12345", "12344")), Err(Refused::Unreadable)));
        assert!(matches!(Payload::read("{}"), Err(Refused::Unreadable)));

        let other = ANALYSIS_VERSION + 1;
        let tail = |analysis, numbering| {
            let found = check(payload, analysis, numbering);
            format!(r#""analysis":{analysis},"numbering":{numbering},"check":{found}"#)
        };
        let with = |new: String| text.replace(&tail(ANALYSIS_VERSION, NUMBERING), &new);
        let found = Payload::read(&with(tail(other, NUMBERING)));
        assert!(matches!(found, Err(Refused::OtherAnalysis(found)) if found == other));
        let earlier = with(tail(ANALYSIS_VERSION, 0)).replace(r#","numbering":0"#, "");
        assert!(matches!(Payload::read(&earlier), Err(Refused::OtherNumbering)));
    }

    #[test]
    fn a_generation_is_salvaged_from_damage() {
        let meta =
            serde_json::json!({ "payload": Payload { watermark: 1, generation: 41, ..Payload::default() }.write() }).to_string();
        assert_eq!(Payload::salvage_generation(&meta.as_bytes()[..meta.len() - 5]), 41);
        assert_eq!(Payload::salvage_generation(b"\xff\xff"), 0);
    }
}
