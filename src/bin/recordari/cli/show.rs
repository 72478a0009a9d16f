//! How memories, reasons and outcomes look to a person. Knows text, not where it is printed.

use recordari::text::clip;
use recordari::{Hit, Namespace, Outcome, Reason, Record};

use super::out::shown;

/// How many characters of a memory stand on one line of a list.
const LINE_CHARACTERS: usize = 200;

/// A memory on one line.
pub fn content(record: &Record) -> String {
    shown(&clip(&record.content, LINE_CHARACTERS))
}

/// What a memory is, on one line.
pub fn facts(record: &Record) -> String {
    let mut facts = Vec::new();
    facts.extend(record.subject.as_deref().map(shown));
    facts.push(format!("{} {}", record.kind, record.form));
    facts.push(record.authority.to_string());
    facts.push(record.observed_at.date());
    if let Some(first) = record.evidence.first() {
        let more = record.evidence.len() - 1;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        facts.push(format!("source {}{more}", shown(&first.source.to_string())));
    }
    if let Some(expires_at) = record.expires_at {
        facts.push(format!("until {expires_at}"));
    }
    facts.join(" · ")
}

/// The ids of a memory, on one line.
pub fn ids(record: &Record) -> String {
    format!("{} · {} · version {}", record.memory_id, record.record_id, record.version)
}

/// How many parts of a score are told where there is little room.
pub const PARTS_SHOWN: usize = 4;

/// Parts that nearly every memory has in full, so that they say little of one.
const USUAL: [&str; 2] = ["role", "statement"];

/// What the score of a hit is made of: so many parts that matter most, the largest first, and the others together.
pub fn parts(hit: &Hit, most: usize) -> String {
    let mut parts: Vec<_> = hit.parts.iter().filter(|part| part.contribution >= 0.0005).collect();
    let is_usual = |part: &recordari::Part| USUAL.contains(&part.name) && part.value == 1.0;
    parts.sort_by(|a, b| is_usual(a).cmp(&is_usual(b)).then(b.contribution.total_cmp(&a.contribution)));
    let (shown, others) = parts.split_at(parts.len().min(most));
    let mut told: Vec<String> =
        shown.iter().map(|part| format!("{} {:.3}", part.name, part.contribution)).collect();
    if !others.is_empty() {
        let sum: f64 = others.iter().map(|part| part.contribution).sum();
        told.push(format!("{} {sum:.3}", counted(others.len() as u64, "other", "others")));
    }
    told.join(" + ")
}

/// A count with its noun.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A namespace in the words of the flags.
pub fn namespace(namespace: &Namespace) -> String {
    shown(&namespace.to_string())
}

/// A reason: what it means and what to do.
pub fn reason(reason: Reason) -> String {
    let remedy = match reason.remedy() {
        "Nothing." => String::new(),
        remedy => format!(" What to do: {}{}", remedy[..1].to_lowercase(), &remedy[1..]),
    };
    format!("{}{remedy} ({reason})", reason.meaning())
}

/// How a write went, in lines.
pub fn outcome(outcome: &Outcome, dry_run: bool) -> Vec<String> {
    let written = |word: &str, written: &recordari::Written| {
        if dry_run || written.record_id.as_str().is_empty() {
            format!("would be {word}")
        } else {
            format!("{word}: {} · {} · version {}", written.memory_id, written.record_id, written.version)
        }
    };
    let mut lines = match outcome {
        Outcome::Committed(ids) => vec![written("remembered", ids)],
        Outcome::Corrected(ids) => vec![written("corrected", ids)],
        Outcome::Idempotent(ids, _) => vec![written("remembered already", ids)],
        Outcome::Review(_, Some(id)) => vec![format!("waits for review: {id}")],
        Outcome::Review(_, None) => vec!["would wait for review".to_owned()],
        Outcome::Rejected(_) => vec!["not kept".to_owned()],
        Outcome::Conflict(_, None) => vec!["not written: another record is in force".to_owned()],
        Outcome::Conflict(_, Some(current)) => vec![
            "not written: another record is in force".to_owned(),
            format!("  {}", content(current)),
            format!("  {}", facts(current)),
            format!("  {}", ids(current)),
        ],
    };
    lines.extend(outcome.reason().map(|why| format!("  {}", reason(why))));
    lines
}
