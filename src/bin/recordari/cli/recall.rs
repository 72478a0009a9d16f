//! `recordari recall QUERY`.

use clap::Args;
use recordari::embed::ModelSpec;
use recordari::{Mode, Query, Reason, Recalled, Timestamp};

use super::filters::Filters;
use super::open::Session;
use super::values::{pair, text_or_stdin, time, word};
use super::{Common, Failure, Out, show};
use crate::wire;

#[derive(Args)]
#[command(
    after_help = "Nothing found is an answer, with a reason and exit code 0; with --quiet it is exit code 1.\n\nExamples:\n  recordari recall \"which language should examples use?\"\n  recordari recall \"deploy the website\" --tag deploy --observed deploy_target=staging --explain\n  recordari recall \"what did we decide?\" --form decision --meta 'team=db' --json"
)]
pub struct Arguments {
    /// The question or the task at hand, in any language; text, never syntax
    #[arg(allow_hyphen_values = true)]
    query: String,
    /// How many memories at most [default: as the policy says]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
    /// How many characters the text for a model may take [default: as the policy says]
    #[arg(long, value_name = "CHARS")]
    budget: Option<usize>,
    /// Only memories with this score or more, from 0 to 1
    #[arg(long, value_name = "SCORE")]
    min_score: Option<f64>,
    /// Of what is in force, only what held at that time instead of now, with an offset; `history` tells of earlier versions
    #[arg(long, value_name = "TIME", value_parser = time)]
    as_of: Option<Timestamp>,
    /// Which searches take part
    #[arg(long, default_value = "hybrid", hide_default_value = true, value_parser = word(Mode::ALL, Mode::code))]
    mode: Mode,
    /// Say what was left out and why, and how many memories the filters kept out
    #[arg(long)]
    explain: bool,
    /// A tag of the task, which may meet the read trigger of a memory; may be given more than once
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// What you observe now; memories that contradict it are marked; may be given more than once
    #[arg(long, value_name = "SUBJECT=VALUE", value_parser = pair)]
    observed: Vec<(String, String)>,
    /// The id of the task, for the trace
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Print the text for a model and nothing else
    #[arg(long, conflicts_with = "json")]
    projection: bool,
    /// Print nothing; the exit code says whether anything was found
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    filters: Filters,
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::searching(common, out)?;
    let query = Query {
        limit: arguments.limit,
        characters: arguments.budget,
        kinds: arguments.filters.kind.clone(),
        minimum_score: arguments.min_score,
        filter: arguments.filters.without_kinds()?,
        valid_at: arguments.as_of,
        mode: arguments.mode,
        explain: arguments.explain,
        tags: arguments.tag,
        observed: arguments.observed,
        task: arguments.task,
        ..Query::new(text_or_stdin(&arguments.query)?)
    };
    let answer = session.memory.recall(&session.principal, &query)?;
    if arguments.quiet {
        return Ok(u8::from(answer.hits.is_empty()));
    }
    session.report_model(out, "the search was by keyword alone");
    if out.is_json() {
        out.json(&wire::recalled(&answer))?;
    } else if arguments.projection {
        if !answer.projection.is_empty() {
            out.line(&answer.projection)?;
        }
    } else {
        print(&session, &query, &answer, out)?;
    }
    Ok(0)
}

fn print(session: &Session, query: &Query, answer: &Recalled, out: &mut Out) -> Result<(), Failure> {
    // Who chose to do without a model knows; who asks for its search is told.
    let chosen = session.settings.model == ModelSpec::None && query.mode != Mode::Vector;
    for reason in &answer.plan.degraded {
        if !(chosen && *reason == Reason::EmbedderUnavailable) {
            out.notice(show::reason(*reason));
        }
    }
    if let Some(reason) = answer.reason {
        out.line(format!("Nothing found. {}", show::reason(reason)))?;
        out.line(format!("  asked as {}", show::namespace(&session.principal.namespace)))?;
    }
    for (place, hit) in answer.hits.iter().enumerate() {
        let record = &hit.record;
        out.line(format!("{}. {}", place + 1, show::content(record)))?;
        out.line(format!("   {}", show::facts(record)))?;
        if record.namespace != session.principal.namespace {
            out.line(format!("   shared: {}", show::namespace(&record.namespace)))?;
        }
        if hit.refresh_required {
            out.line(format!("   ! {}", show::reason(Reason::RefreshRequired)))?;
        }
        if record.reverify_before_effect {
            out.line("   ! to be verified before anything is done on its strength")?;
        }
        if let Some(group) = &hit.group {
            let standing = if group.prevails { "prevails" } else { "stands behind another" };
            let why = group.why.replace('_', " ");
            out.line(format!("   one of {} about its subject; {standing} ({why})", group.size))?;
        }
        out.line(format!("   score {:.3} = {}", hit.score, show::parts(hit, show::PARTS_SHOWN)))?;
        out.line(format!("   {}", show::ids(record)))?;
    }
    if !answer.standing.is_empty() {
        out.line("Stands, whatever is asked:")?;
    }
    for record in answer.standing.iter().map(|hit| &hit.record) {
        out.line(format!("-  {}", show::content(record)))?;
        out.line(format!("   {}", show::facts(record)))?;
        out.line(format!("   {}", show::ids(record)))?;
    }
    if query.explain {
        explain(answer, out)?;
    }
    Ok(())
}

fn explain(answer: &Recalled, out: &mut Out) -> Result<(), Failure> {
    let plan = &answer.plan;
    out.line("")?;
    let searched = show::counted(plan.allowed, "memory", "memories");
    out.line(format!("Searched {searched} by {}.", plan.searches.join(" and ").replace('_', " ")))?;
    for looked in plan.vectors.iter().filter(|looked| looked.how == "sketch") {
        let rows = show::counted(looked.rows, "vector", "vectors");
        out.line(format!("Of {rows} a sketch left {} to be compared.", looked.compared))?;
    }
    for looked in plan.vectors.iter().filter(|looked| looked.how == "graph") {
        let rows = show::counted(looked.rows, "vector", "vectors");
        let tail = looked.graph.map_or(0, |(_, tail)| tail);
        out.line(format!(
            "Of {rows} a graph left {} to be compared, {tail} that it does not know among them.",
            looked.compared
        ))?;
    }
    for (reason, count) in &plan.kept_out {
        out.line(format!("  {count} kept out: {}", show::reason(*reason)))?;
    }
    for (record, reason) in &answer.left_out {
        out.line(format!("  {record} left out: {}", show::reason(*reason)))?;
    }
    if let Some(trace_id) = &answer.trace_id {
        out.line(format!("  recordari trace show {trace_id}"))?;
    }
    Ok(())
}
