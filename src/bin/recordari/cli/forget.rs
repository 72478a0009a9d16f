//! `recordari forget`: for good, with a receipt.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use recordari::{
    Filter, Forget, Forgotten, MemoryId, Namespace, PageRequest, Preview, Promise, Reach, Reason, Receipt,
    RecordId, Selector, Source, State, StateFilter,
};
use serde_json::Value;

use super::open::Session;
use super::out::shown;
use super::place::Place;
use super::remember::HERE;
use super::{Common, Failure, Out, show};
use crate::{interrupt, wire};

/// How many ids of a preview are shown to a person.
const IDS_SHOWN: usize = 20;

#[derive(Args)]
#[command(
    after_help = "Exit code 1 when there is nothing like that or a preview is stale, 75 when the clean-up could not be finished yet (it is tried again whenever the store is open; --wait waits for it, recordari jobs tells how far it is).\n\nExamples:\n  recordari forget --subject preferred_language --reason \"asked for by the user\"\n  recordari forget --memory mem_01K6GZ5V0Q3S8TXWN4D7E2B9FA --reason outdated --request-id r-17\n  recordari forget --source chat-7 --reason \"the conversation was deleted\"\n  recordari forget --namespace --project website --dry-run\n  recordari forget --namespace --project website --apply pre_0b6e…\n  recordari forget --everything --user mei --wait --json > receipt.json"
)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    how: How,
}

/// How something is forgotten, whatever it is.
#[derive(Args)]
pub struct How {
    /// Why; kept in the receipt, so it must not repeat what is to be forgotten
    #[arg(long, value_name = "TEXT", default_value = "asked for")]
    reason: String,
    /// Your id of the request: the same id gives the same receipt
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Tell what would be forgotten, and a token for --apply; nothing is forgotten
    #[arg(long, conflicts_with_all = ["apply", "request_id"])]
    dry_run: bool,
    /// Forget exactly what the dry run of that token named, or nothing
    #[arg(long, value_name = "TOKEN")]
    apply: Option<String>,
    /// Wait until every copy is gone, however long another process holds one; Ctrl-C ends the waiting
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
    /// Forget a whole namespace without being asked; needed where nobody can be, except with --json
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    place: Place,
}

impl Arguments {
    /// To forget what rests on a source.
    pub(super) fn of_source(source: String, how: How) -> Arguments {
        let target =
            Target { memory: None, subject: None, source: Some(source), namespace: false, everything: false };
        Arguments { target, how }
    }
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// One memory, in all its versions; the id of a version names its memory
    #[arg(long, value_name = "ID")]
    memory: Option<String>,
    /// Every memory about this subject
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Every memory that rests on this source alone, as a whole; the source may not come back
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Every memory of the namespace
    #[arg(long)]
    namespace: bool,
    /// Every memory of the namespace and of all narrower ones: all of a user, a project (with --no-user) or a tenant
    #[arg(long)]
    everything: bool,
}

impl Target {
    fn selector(self, session: &Session) -> Result<Selector, Failure> {
        Ok(match (self.memory, self.subject, self.source) {
            (Some(id), ..) => {
                let named = session.memory.memory_of(&session.principal, &RecordId::new(&id))?;
                Selector::Memory(named.unwrap_or(MemoryId::new(id)))
            }
            (_, Some(subject), _) => Selector::Subject(subject),
            (_, _, Some(source)) => Selector::Source(whole(session, source)?),
            _ if self.everything => Selector::Below,
            _ => Selector::Everything,
        })
    }
}

/// The source, if it is named as a whole. It is blocked, so it can't be the one of what is typed here.
fn whole(session: &Session, text: String) -> Result<String, Failure> {
    let source = Source::parse(&text);
    if source.id == HERE {
        return Err(Failure::usage(format!(
            "{HERE} is the source of everything typed at the command line, which would be refused from then on: forget by --memory, --subject or --namespace"
        )));
    }
    if source.locator.is_some() && !is_id(session, &text)? {
        return Err(Failure::usage(format!(
            "a source is forgotten as a whole: name it without the place, --source {}, or one memory with --memory",
            source.id
        )));
    }
    Ok(text)
}

/// Whether something rests on exactly that id: one that came as JSON may hold a # itself.
fn is_id(session: &Session, source: &str) -> Result<bool, Failure> {
    let rests_on_it = Filter::Source(source.to_owned());
    let states = StateFilter::Only(State::ALL.to_vec());
    let one = PageRequest { limit: 1, cursor: None };
    Ok(session.memory.list(&session.principal, &rests_on_it, &states, &one)?.total > 0)
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let mut session = Session::without_model(common, out)?;
    if arguments.target.everything {
        // It names what is narrower as well.
        session.principal = session.principal.with_reach(Reach::Below);
    }
    let session = session;
    let selector = arguments.target.selector(&session)?;
    let mut namespace = arguments.how.place.chosen(&session.principal)?;
    if namespace.is_none()
        && let Selector::Memory(memory) = &selector
    {
        // An id says where its memory lives; a damaged one is forgotten there all the same.
        let found = session.memory.get(&session.principal, memory);
        namespace = found.ok().flatten().map(|record| record.namespace);
    }
    let place = namespace.clone().unwrap_or_else(|| session.principal.namespace.clone());
    // Who names a preview has seen what it is.
    let is_sure = arguments.how.yes || arguments.how.dry_run || arguments.how.apply.is_some();
    let is_whole = matches!(selector, Selector::Everything | Selector::Below);
    if is_whole && !is_sure && !confirmed(&place, selector == Selector::Below, out)? {
        return Err(Failure::usage("nothing was forgotten"));
    }
    let request = Forget {
        namespace,
        selector,
        reason: arguments.how.reason,
        request_id: arguments.how.request_id,
        preview: arguments.how.apply,
    };
    if arguments.how.dry_run {
        let preview = session.memory.preview_forget(&session.principal, &request)?;
        match (&preview, out.is_json()) {
            (preview, true) => out.json(&wire::preview(preview.as_ref()))?,
            (Some(preview), false) => print_preview(preview, out)?,
            (None, false) => print_nothing(&place, out)?,
        }
        return Ok(u8::from(preview.is_none()));
    }
    let mut done = session.memory.forget(&session.principal, &request)?;
    if arguments.how.wait
        && let Forgotten::Incomplete(receipt) = done
    {
        done = wait(&session, receipt, out)?;
    }
    if out.is_json() {
        out.json(&wire::forgotten(&done))?;
    } else {
        print(&done, &place, out)?;
    }
    Ok(match done {
        Forgotten::Done(_) | Forgotten::Already(_) => 0,
        Forgotten::Incomplete(_) => wire::exit_code(recordari::ErrorKind::Busy),
        Forgotten::NotFound | Forgotten::RequestIdConflict | Forgotten::StalePreview => 1,
    })
}

/// Waits until a deletion has been cleaned up after, and tells what it waits for.
fn wait(session: &Session, receipt: Receipt, out: &Out) -> Result<Forgotten, Failure> {
    interrupt::listen();
    if !out.is_json() {
        let left = receipt.left.first().map_or("", |(reason, _)| reason.meaning());
        eprintln!("recordari: waiting for the clean-up: {left} Ctrl-C ends the waiting.");
    }
    let mut go_on = || !interrupt::asked();
    let now = session.memory.await_deletion(&session.principal, &receipt.receipt_id, &mut go_on)?;
    let now = now.unwrap_or(receipt);
    Ok(if now.finished_at.is_some() { Forgotten::Done(now) } else { Forgotten::Incomplete(now) })
}

/// Asks the person at the terminal. A program that reads JSON knows what it does; of a script that is
/// not certain.
fn confirmed(place: &Namespace, below: bool, out: &Out) -> Result<bool, Failure> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return if out.is_json() {
            Ok(true)
        } else {
            Err(Failure::usage(
                "a whole namespace needs --yes where nobody can be asked; nothing was forgotten",
            ))
        };
    }
    let below = if below { " and everything below it" } else { "" };
    eprint!("Forget everything in {}{below} for good? [y/N] ", show::namespace(place));
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn print(done: &Forgotten, place: &Namespace, out: &mut Out) -> Result<(), Failure> {
    match done {
        Forgotten::NotFound => print_nothing(place, out)?,
        Forgotten::StalePreview => out.line(show::reason(Reason::StalePreview))?,
        Forgotten::RequestIdConflict => out.line(show::reason(Reason::RequestIdConflict))?,
        Forgotten::Done(receipt) if only_blocked(receipt) => {
            out.line("Nothing rested on this source; it may not come back from now on.")?;
            print_id(receipt, out)?;
        }
        Forgotten::Already(receipt) if only_blocked(receipt) => {
            out.line("Nothing rested on this source; it may not come back, as was asked for before.")?;
            print_id(receipt, out)?;
        }
        Forgotten::Done(receipt) => {
            out.line(format!("Forgotten: {}.", counted(receipt)))?;
            print_receipt(receipt, out)?;
        }
        Forgotten::Already(receipt) => {
            out.line(format!("Forgotten before: {}.", counted(receipt)))?;
            print_receipt(receipt, out)?;
        }
        Forgotten::Incomplete(receipt) => {
            out.line(format!(
                "Recall returns nothing of it any more: {}. Left to clean up:",
                counted(receipt)
            ))?;
            for (reason, who) in &receipt.left {
                let who = if who.is_empty() { String::new() } else { format!("{who}: ") };
                out.line(format!("  {who}{}", show::reason(*reason)))?;
            }
            print_receipt(receipt, out)?;
        }
    }
    Ok(())
}

fn print_nothing(place: &Namespace, out: &mut Out) -> Result<(), Failure> {
    out.line(format!("Nothing to forget in {}.", show::namespace(place)))?;
    out.line(format!("  {}", show::reason(Reason::NotFound)))
}

fn print_preview(preview: &Preview, out: &mut Out) -> Result<(), Failure> {
    let (memories, records) = (preview.memories.len() as u64, preview.records.len() as u64);
    out.line(format!(
        "Would be forgotten in {}: {}, {}{}. Nothing was.",
        show::namespace(&preview.namespace),
        show::counted(memories, "memory", "memories"),
        show::counted(records, "version", "versions"),
        match preview.candidates {
            0 => String::new(),
            waiting => format!(", {}", show::counted(waiting, "waiting candidate", "waiting candidates")),
        },
    ))?;
    for memory in preview.memories.iter().take(IDS_SHOWN) {
        out.line(format!("  {}", shown(memory.as_str())))?;
    }
    if preview.memories.len() > IDS_SHOWN {
        let more = (preview.memories.len() - IDS_SHOWN) as u64;
        out.line(format!("  and {more} more: --json lists all"))?;
    }
    for (ids, what) in [
        (&preview.kept, "would stay: they rest on other sources too"),
        (&preview.held, "would be held back: what they were derived from would be gone"),
    ] {
        if !ids.is_empty() {
            out.line(format!("  {} {what}", ids.len()))?;
        }
    }
    if preview.elsewhere > 0 {
        let namespaces = show::counted(preview.elsewhere as u64, "other namespace", "other namespaces");
        out.line(format!("  what was derived from it in {namespaces} would go too, or be held back"))?;
    }
    if preview.blocks_source {
        out.line("  the source could not come back")?;
    }
    out.line(format!("To forget exactly this, repeat the command with --apply {}", preview.token))
}

fn count(receipt: &Receipt, name: &str) -> u64 {
    receipt.details["counts"][name].as_u64().unwrap_or(0)
}

/// Whether a source was kept out of the future, and nothing was there to be erased.
fn only_blocked(receipt: &Receipt) -> bool {
    let none = |name: &str| receipt.details[name].as_array().is_none_or(Vec::is_empty);
    receipt.details["source_blocked"] == Value::Bool(true)
        && ["memories", "records", "candidates"].iter().all(|name| count(receipt, name) == 0)
        && none("kept_with_other_sources")
        && none("held")
}

pub(super) fn counted(receipt: &Receipt) -> String {
    let count = |name: &str| count(receipt, name);
    let mut parts = vec![show::counted(count("memories"), "memory", "memories")];
    // Who sees one memory of a deletion alone is not told of its versions.
    if receipt.details["counts"]["records"].is_u64() {
        parts.push(show::counted(count("records"), "version", "versions"));
    }
    if count("candidates") > 0 {
        parts.push(show::counted(count("candidates"), "waiting candidate", "waiting candidates"));
    }
    parts.join(", ")
}

fn print_id(receipt: &Receipt, out: &mut Out) -> Result<(), Failure> {
    out.line(format!("  receipt {} · asked for {}", receipt.receipt_id, receipt.requested_at))
}

pub(super) fn print_receipt(receipt: &Receipt, out: &mut Out) -> Result<(), Failure> {
    print_id(receipt, out)?;
    let promise = match receipt.promise {
        Promise::Erased => {
            "erased: no file of the store holds a byte of it; copies and backups that others made are not covered"
        }
        Promise::Unreadable => {
            "unreadable: no answer returns it; files may still hold bytes of it until the clean-up is done"
        }
    };
    out.line(format!("  {promise}"))?;
    let probe = &receipt.details["probe"];
    if let Some(looked_for) = probe["looked_for"].as_u64().filter(|looked_for| *looked_for > 0) {
        let control = match probe["control"].as_str() {
            Some("met") => "; a memory that is there was met",
            _ => "; nothing else is there",
        };
        let found = probe["found"].as_u64().unwrap_or(0);
        let versions = show::counted(looked_for, "version", "versions");
        out.line(format!("  looked for {versions} in the database and the index, found {found}{control}"))?;
    }
    let kept = receipt.details["kept_with_other_sources"].as_array().map_or(0, Vec::len);
    if kept > 0 {
        out.line(format!("  {kept} kept: they rest on other sources too"))?;
    }
    let held = receipt.details["held"].as_array().map_or(0, Vec::len);
    if held > 0 {
        out.line(format!("  {held} held back: what they were derived from is gone"))?;
    }
    if receipt.details["source_blocked"] == Value::Bool(true) {
        out.line("  the source may not come back")?;
    }
    let elsewhere = count(receipt, "namespaces_elsewhere");
    if elsewhere > 0 {
        let namespaces = show::counted(elsewhere, "other namespace", "other namespaces");
        out.line(format!("  what was derived from it in {namespaces} went too, or is held back"))?;
    }
    if receipt.details["selector"] == "below" && receipt.details["places"].is_object() {
        out.line("  recordari jobs --below lists it: its ids are for those who see what is below")?;
    }
    if let Some([.., last]) = receipt.details["backups"].as_array().map(Vec::as_slice) {
        let older = receipt.details["older_backups"].as_u64().unwrap_or(0);
        let backups = receipt.details["backups"].as_array().map_or(0, Vec::len) as u64 + older;
        let last = shown(last.as_str().unwrap_or_default());
        out.line(format!(
            "  {} may hold it until deleted (the last of {last}); a restore forgets it again",
            show::counted(backups, "backup", "backups")
        ))?;
    }
    Ok(())
}
