//! `recordari probe`: is anything left of what was forgotten?

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use clap::Args;
use recordari::{MemoryId, Place, Probed, RecordId, verify_receipt};
use serde_json::{Value, json};

use super::import::progress;
use super::open::Session;
use super::out::shown;
use super::{Common, Failure, Out, receipt, show};

/// The most that is read of the texts.
const BYTES_MAX: u64 = 1 << 20;

#[derive(Args)]
#[command(
    after_help = "Reads the texts to look for from standard input, one a line; they are kept nowhere and shown nowhere. Every byte of every file is looked at, free pages, journals and deleted files that are still open included, for each text in the ways in which it may be written, and for parts of it that no memory has; then what only a decoder sees, and what recall answers. A memory that is there is looked for too, to show that the search sees.\n\nExit code 0: clean. 1: something was found. 2: a place could not be read, so nothing can be said of it.\n\nExamples:\n  recordari probe --receipt receipt.json < texts.txt\n  recordari probe --memory mem_01K6GZ5V0Q3S8TXWN4D7E2B9FA --folder /mnt/backups < texts.txt"
)]
pub struct Arguments {
    #[command(flatten)]
    about: About,
    /// A further folder to look through, such as a backup; can be given several times
    #[arg(long, value_name = "DIR")]
    folder: Vec<PathBuf>,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct About {
    /// The receipt of the deletion, as forget --json printed it
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// A memory, before it is forgotten: to see what the search would find
    #[arg(long, value_name = "ID")]
    memory: Option<String>,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::searching(common, out)?;
    let memories = match (&arguments.about.receipt, arguments.about.memory) {
        (Some(file), _) => memories_of(file, &session)?,
        (_, Some(id)) => vec![known(id, &session)?],
        _ => Vec::new(),
    };
    let texts = texts()?;
    let bar = progress::counted();
    let mut probed =
        session.memory.probe(&session.principal, &texts, &arguments.folder, &mut |done, of| {
            bar.set_length(of);
            bar.set_position(done);
        })?;
    bar.finish_and_clear();
    let mut by_id = 0;
    for id in &memories {
        by_id += u64::from(session.memory.get(&session.principal, &MemoryId::new(id))?.is_some());
    }
    probed.places.push(Place {
        name: "the memory itself, by its id".to_owned(),
        looked_at: memories.len() as u64,
        copies: by_id,
        parts: 0,
        unreadable: None,
    });
    session.report_model(out, "what is found by meaning was not looked at");
    let (outcome, code) = match (probed.is_found(), probed.is_blind()) {
        (true, _) => ("found", 1),
        (false, true) => ("blind", 2),
        (false, false) => ("clean", 0),
    };
    if out.is_json() {
        let places: Vec<Value> = probed.places.iter().map(place).collect();
        out.json(&json!({ "outcome": outcome, "reason": null, "places": places, "control": probed.control, "blind": probed.blind }))?;
    } else {
        print(&probed, outcome, out)?;
    }
    Ok(code)
}

/// The memories of a receipt that was handed out by this store, and not changed since.
fn memories_of(file: &std::path::Path, session: &Session) -> Result<Vec<String>, Failure> {
    let text = receipt::read(file)?;
    let value: Value = serde_json::from_slice(&text)
        .map_err(|_| Failure::usage("the receipt must be as forget --json printed it"))?;
    let receipt = value.get("receipt").unwrap_or(&value);
    verify_receipt(receipt, &session.memory.receipt_key()).map_err(|reason| {
        Failure::usage(format!("the receipt is none of this store, or was changed ({})", reason.code()))
    })?;
    let ids =
        receipt["memory_ids"].as_array().ok_or_else(|| Failure::usage("the receipt names no memories"))?;
    Ok(ids.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The id of a memory that is or was there: of one that never was nothing is left anywhere.
fn known(id: String, session: &Session) -> Result<String, Failure> {
    let (memory, principal) = (&session.memory, &session.principal);
    let named = memory.memory_of(principal, &RecordId::new(&id))?.unwrap_or(MemoryId::new(&id));
    match memory.get(principal, &named)?.is_some() || memory.forgotten(principal, &named)?.is_some() {
        true => Ok(named.as_str().to_owned()),
        false => Err(Failure::usage("there is no such memory of the caller, and none was forgotten")),
    }
}

fn texts() -> Result<Vec<String>, Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!("The texts to look for, one a line; end with Ctrl-D:");
    }
    let mut bytes = Vec::new();
    std::io::stdin().take(BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("the texts must be UTF-8"))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

fn place(place: &Place) -> Value {
    json!({
        "name": place.name,
        "looked_at": place.looked_at,
        "copies": place.copies,
        "parts": place.parts,
        "unreadable": place.unreadable,
    })
}

fn print(probed: &Probed, outcome: &str, out: &mut Out) -> Result<(), Failure> {
    out.line(format!("{:>8} {:>8}  place", "copies", "parts"))?;
    for place in &probed.places {
        let name = shown(&place.name);
        match &place.unreadable {
            Some(why) => out.line(format!("{:>8} {:>8}  {name}: {}", "?", "?", shown(why)))?,
            None => out.line(format!("{:>8} {:>8}  {name}", place.copies, place.parts))?,
        }
    }
    let files = show::counted(probed.places.len() as u64, "place", "places");
    out.line(match (probed.control.as_slice(), probed.blind) {
        (_, true) => {
            "A memory that is there was not met in the database: the search does not see.".to_owned()
        }
        ([], false) => "There is no memory left to show that the search sees.".to_owned(),
        (seen, false) => {
            format!("A memory that is there was met in {}: the search sees.", shown(&seen.join(", ")))
        }
    })?;
    out.line(match outcome {
        "clean" => format!("Nothing is left in {files}."),
        "found" => "Something is left.".to_owned(),
        _ => "Nothing was found, but not every place could be read.".to_owned(),
    })
}
