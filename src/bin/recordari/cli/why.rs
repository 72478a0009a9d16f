//! `recordari why RECORD QUERY`.

use clap::Args;
use recordari::{Mode, Query, Reason, RecordId, Timestamp, Why};

use super::filters::Filters;
use super::open::Session;
use super::values::{time, word};
use super::{Common, Failure, Out, show};
use crate::wire;

#[derive(Args)]
#[command(
    after_help = "Exit code 1 when there is no such record.\n\nExample:\n  recordari why rec_01K6GZ5V0R6Y1H9MC2PKJ8WQTN \"which language should examples use?\""
)]
pub struct Arguments {
    /// The record
    record: String,
    /// The query
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// As in recall
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// As in recall
    #[arg(long, value_name = "SCORE")]
    min_score: Option<f64>,
    /// As in recall
    #[arg(long, value_name = "TIME", value_parser = time)]
    as_of: Option<Timestamp>,
    /// As in recall
    #[arg(long, default_value = "hybrid", hide_default_value = true, value_parser = word(Mode::ALL, Mode::code))]
    mode: Mode,
    /// As in recall
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    #[command(flatten)]
    filters: Filters,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::searching(common, out)?;
    let query = Query {
        limit: arguments.limit,
        kinds: arguments.filters.kind.clone(),
        minimum_score: arguments.min_score,
        filter: arguments.filters.without_kinds()?,
        valid_at: arguments.as_of,
        mode: arguments.mode,
        tags: arguments.tag,
        ..Query::new(arguments.query)
    };
    let record = RecordId::new(&arguments.record);
    let why = session.memory.why(&session.principal, &query, &record)?;
    session.report_model(out, "the search was by keyword alone");
    if out.is_json() {
        out.json(&wire::why(&record, &why))?;
    } else {
        match &why {
            Why::Returned(place, hit) => {
                out.line(format!("It is in the answer, at position {place}."))?;
                out.line(format!("  score {:.3} = {}", hit.score, show::parts(hit, usize::MAX)))?;
            }
            Why::Standing(hit) => {
                out.line("It stands in the answer whatever is asked: it says what to do, or what somebody prefers.")?;
                out.line(format!("  score {:.3} = {}", hit.score, show::parts(hit, usize::MAX)))?;
            }
            Why::LeftOut(reason, score) => {
                let score = score.map(|score| format!(" Its score is {score:.2}.")).unwrap_or_default();
                out.line(format!("It is not in the answer. {}{score}", show::reason(*reason)))?;
            }
            Why::NotFound => out.line(show::reason(Reason::NotFound))?,
        }
    }
    Ok(u8::from(why == Why::NotFound))
}
