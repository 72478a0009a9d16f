//! `recordari receipt`: a receipt printed anew, checked, and the key to check it with.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use recordari::{PublicKey, Reason, verify_receipt};
use serde_json::{Value, json};

use super::forget;
use super::open::Session;
use super::out::{self, shown};
use super::{Common, Failure, Out, show};
use crate::wire;

/// The largest file that is read: a receipt names every record, some forty bytes each.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

#[derive(Subcommand)]
pub enum Command {
    /// Print the receipt of a deletion as it stands now
    #[command(
        after_help = "Exit code 1 when there is no such deletion in the caller's scope.\n\nExample:\n  recordari receipt show rcp_01K6GZ5V0Q3S8TXWN4D7E2B9FA --json > receipt.json"
    )]
    Show {
        /// The receipt_id
        id: String,
    },
    /// Check that not a bit of a receipt was changed
    #[command(
        after_help = "FILE is what forget --json or receipt show --json printed, to the last byte; - reads standard input. Without --key it must be signed by this store; with it no store is needed. Exit code 1 when it is not as it was handed out.\n\nExamples:\n  recordari receipt verify receipt.json\n  recordari receipt verify receipt.json --key 3f0c…"
    )]
    Verify {
        /// The file
        file: PathBuf,
        /// The key of whoever handed it out, as receipt key prints it
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
    },
    /// Print the key by which others can check this store's receipts
    #[command(after_help = "Example:\n  recordari receipt key")]
    Key,
}

pub fn run(common: &Common, command: Command, out: &mut Out) -> Result<u8, Failure> {
    match command {
        Command::Show { id } => show_one(common, &id, out),
        Command::Verify { file, key } => verify(common, &file, key.as_deref(), out),
        Command::Key => {
            let key = Session::reading(common, out)?.memory.receipt_key();
            if out.is_json() {
                out.json(&json!({ "outcome": "found", "reason": null, "algorithm": "ed25519", "key": key.to_string() }))?;
            } else {
                out.line(key.to_string())?;
            }
            Ok(0)
        }
    }
}

fn show_one(common: &Common, id: &str, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::reading(common, out)?;
    let Some(receipt) = session.memory.receipt(&session.principal, id)? else {
        if out.is_json() {
            out.json(&wire::only_reason("not_found", Reason::NotFound))?;
        } else {
            out.line(format!(
                "There is no such deletion of {}.",
                show::namespace(&session.principal.namespace)
            ))?;
        }
        return Ok(1);
    };
    if out.is_json() {
        out.json(&json!({ "outcome": "found", "reason": null, "receipt": receipt.to_json() }))?;
    } else {
        out.line(format!("Forgotten: {}.", forget::counted(&receipt)))?;
        forget::print_receipt(&receipt, out)?;
        for (reason, who) in &receipt.left {
            let who = if who.is_empty() { String::new() } else { format!("{}: ", shown(who)) };
            out.line(format!("  left: {who}{}", show::reason(*reason)))?;
        }
        out.line(format!("  signed with {}", receipt.key))?;
    }
    Ok(0)
}

fn verify(common: &Common, file: &Path, key: Option<&str>, out: &mut Out) -> Result<u8, Failure> {
    let text = read(file)?;
    let key = match key {
        Some(key) => PublicKey::parse(key)?,
        None => Session::reading(common, out)?.memory.receipt_key(),
    };
    let checked = receipt_in(&text).and_then(|receipt| verify_receipt(&receipt, &key).map(|()| receipt));
    if out.is_json() {
        let id = checked.as_ref().ok().map(|receipt| receipt["receipt_id"].clone());
        let reason = checked.as_ref().err().map(|reason| reason.code());
        let outcome = if checked.is_ok() { "valid" } else { "invalid" };
        out.json(&json!({ "outcome": outcome, "reason": reason, "receipt_id": id, "key": key.to_string() }))?;
    } else {
        match &checked {
            Ok(receipt) => {
                let text = |name: &str| shown(receipt[name].as_str().unwrap_or_default());
                out.line(format!("As it was handed out: {}, {}.", text("receipt_id"), text("promise")))?;
                out.line(format!("  signed with {key}"))?;
            }
            Err(reason) => out.line(show::reason(*reason))?,
        }
    }
    Ok(u8::from(checked.is_err()))
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let from: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(file).map_err(recordari::Error::io(file))?)
    };
    from.take(BYTES_MAX + 1).read_to_end(&mut text).map_err(recordari::Error::io(file))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(Failure::usage(format!("a receipt has at most {BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// The receipt in what was printed: by itself, or within the answer that it came with. What can't be told from the
/// receipt must be as it was printed too, to the last byte.
fn receipt_in(text: &[u8]) -> Result<Value, Reason> {
    let value: Value = serde_json::from_slice(text).map_err(|_| Reason::ReceiptAltered)?;
    let printed = format!("{}\n", out::line_of(&value));
    if text != printed.as_bytes() && text != printed.trim_end().as_bytes() {
        return Err(Reason::ReceiptAltered);
    }
    let Some(receipt) = value.get("receipt") else {
        return Ok(value);
    };
    let left = receipt["left"][0]["reason"].clone();
    let reason = match value["outcome"].as_str() {
        Some("forgotten") if receipt["promise"] == "erased" => Value::Null,
        Some("already_forgotten") if receipt["promise"] == "erased" => json!("already_forgotten"),
        Some("incomplete") if receipt["promise"] == "unreadable" => left,
        Some("found") => Value::Null,
        _ => return Err(Reason::ReceiptAltered),
    };
    let answer = json!({ "outcome": value["outcome"], "reason": reason, "receipt": receipt });
    if answer == value { Ok(receipt.clone()) } else { Err(Reason::ReceiptAltered) }
}

#[cfg(test)]
mod tests {
    use recordari::{
        Authority, Candidate, Forget, Kind, Memory, Namespace, Options, Outcome, Principal, Selector, Source,
    };

    use super::*;

    /// What forget prints, and the key that it is signed with.
    fn printed() -> (tempfile::TempDir, Vec<u8>, PublicKey) {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { background: false, ..Options::new(folder.path()) };
        let (memory, _) = Memory::open(options).unwrap();
        let mei = Principal::new(Namespace::from_parts("acme", Some("mei"), None, None).unwrap());
        let candidate = Candidate {
            subject: Some("lunch".to_owned()),
            source: Some(Source::parse("chat-1")),
            observed_at: Some(memory.now()),
            authority: Authority::UserExplicit,
            ..Candidate::new(Kind::Semantic, "orders dumplings")
        };
        assert!(matches!(memory.remember(&mei, &candidate).unwrap(), Outcome::Committed(_)));
        // A reason that is printed with escapes: those are part of what may not change.
        let request = Forget::new(Selector::Everything, "vorbei \u{1b}[31m 忘了 🗑 \"so\"");
        let done = memory.forget(&mei, &request).unwrap();
        let text = format!("{}\n", out::line_of(&wire::forgotten(&done))).into_bytes();
        (folder, text, memory.receipt_key())
    }

    fn check(text: &[u8], key: &PublicKey) -> Result<(), Reason> {
        receipt_in(text).and_then(|receipt| verify_receipt(&receipt, key))
    }

    #[test]
    fn every_changed_bit_of_what_was_printed_is_found() {
        let (_folder, text, key) = printed();
        assert_eq!(check(&text, &key), Ok(()));
        let receipt = receipt_in(&text).unwrap();
        let alone = format!("{}\n", out::line_of(&receipt)).into_bytes();
        assert_eq!(check(&alone, &key), Ok(()));
        for text in [text, alone] {
            for bit in 0..8 * text.len() {
                let mut changed = text.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(check(&changed, &key).is_err(), "bit {bit}: {}", String::from_utf8_lossy(&changed));
            }
            for length in 0..text.len() - 1 {
                assert!(check(&text[..length], &key).is_err(), "cut off at {length}");
            }
            assert_eq!(check(&text[..text.len() - 1], &key), Ok(()), "the end of the line may be missing");
        }
    }

    #[test]
    fn no_receipt_of_another_store_and_nothing_else_is_taken_for_one() {
        let ((_a, text, key), (_b, of_another, other)) = (printed(), printed());
        assert_ne!(key, other);
        assert_eq!(check(&of_another, &key), Err(Reason::ReceiptOtherKey));
        assert_eq!(check(&of_another, &other), Ok(()));
        // Somebody else's signature under the right name.
        let receipt = receipt_in(&text).unwrap();
        let mut forged = receipt_in(&of_another).unwrap();
        forged["signature"]["key"] = receipt["signature"]["key"].clone();
        assert_eq!(verify_receipt(&forged, &key), Err(Reason::ReceiptAltered));
        let mut unsigned = receipt.clone();
        unsigned.as_object_mut().unwrap().remove("signature");
        assert_eq!(verify_receipt(&unsigned, &key), Err(Reason::ReceiptAltered));
        for nothing in ["", "{}\n", "[]\n", "null\n", "7\n", "{\"receipt\":{}}\n", "\u{feff}{}", "not json"] {
            assert_eq!(check(nothing.as_bytes(), &key), Err(Reason::ReceiptAltered), "{nothing}");
        }
        // Said to be finished when it is not.
        let mut answer: Value = serde_json::from_slice(&text).unwrap();
        answer["outcome"] = json!("incomplete");
        assert_eq!(check(out::line_of(&answer).as_bytes(), &key), Err(Reason::ReceiptAltered));
    }
}
