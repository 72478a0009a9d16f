//! `recordari correct`: a new version, if the caller saw the one that is in force.

use clap::Args;
use recordari::{Authority, Correction, MemoryId, MetaValue, Reason, RecordId, Source, Timestamp};

use super::open::Session;
use super::values::{meta, text_or_stdin, time, word};
use super::{Common, Failure, Out, remember, show};
use crate::wire;

#[derive(Args)]
#[command(
    after_help = "Exit code 1 when another version is in force by now, the text is refused, or there is no such memory.\n\nExample:\n  recordari correct --memory mem_01K6GZ5V0Q3S8TXWN4D7E2B9FA --expected rec_01K6GZ5V0R6Y1H9MC2PKJ8WQTN \\\n    --content \"prefers TypeScript in code examples\""
)]
pub struct Arguments {
    /// The memory
    #[arg(long, value_name = "ID")]
    memory: String,
    /// The version that you saw
    #[arg(long, value_name = "RECORD_ID")]
    expected: String,
    /// What holds now; - reads it from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: String,
    /// Where that comes from [default: cli, at this moment]
    #[arg(long, value_name = "ID[#LOCATOR]")]
    source: Option<String>,
    /// Who said it
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,
    /// What happened to the evidence [default: user_explicit]
    #[arg(long, value_parser = word(Authority::ALL, Authority::code))]
    authority: Option<Authority>,
    /// How sure that is, from 0 to 1
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0)]
    confidence: f64,
    /// When it was seen or said, with an offset [default: now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    observed_at: Option<Timestamp>,
    /// From when it holds [default: when it was observed]
    #[arg(long, value_name = "TIME", value_parser = time)]
    valid_from: Option<Timestamp>,
    /// Until when it holds
    #[arg(long, value_name = "TIME", value_parser = time)]
    expires_at: Option<Timestamp>,
    /// New metadata in place of the old: KEY=VALUE; may be given more than once
    #[arg(long, value_name = "KEY=VALUE", value_parser = meta)]
    meta: Vec<(String, MetaValue)>,
    /// Why it is corrected
    #[arg(long, value_name = "TEXT")]
    write_reason: Option<String>,
    /// Bring back on purpose words that were forgotten; without it they stay out
    #[arg(long)]
    renew_consent: bool,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::with_model(common, out)?;
    let here = || remember::source_here(session.memory.now().to_string());
    let correction = Correction {
        expected: RecordId::new(&arguments.expected),
        memory: MemoryId::new(&arguments.memory),
        content: text_or_stdin(&arguments.content)?,
        source: Source {
            speaker: arguments.speaker,
            ..arguments.source.as_deref().map_or_else(here, Source::parse)
        },
        observed_at: arguments.observed_at.unwrap_or_else(|| session.memory.now()),
        authority: arguments.authority.unwrap_or(Authority::UserExplicit),
        confidence: arguments.confidence,
        metadata: (!arguments.meta.is_empty()).then(|| arguments.meta.into_iter().collect()),
        valid_from: arguments.valid_from,
        expires_at: arguments.expires_at,
        write_reason: arguments.write_reason,
        renew_consent: arguments.renew_consent,
    };
    let corrected = session.memory.correct(&session.principal, &correction)?;
    session.report_model(out, "it is stored, found by keyword, and gets its vector from recordari reembed");
    match corrected {
        Some(outcome) => remember::answer(&outcome, false, out),
        None if out.is_json() => {
            out.json(&wire::only_reason("not_found", Reason::NotFound))?;
            Ok(1)
        }
        None => {
            out.line(show::reason(Reason::NotFound))?;
            Ok(1)
        }
    }
}
