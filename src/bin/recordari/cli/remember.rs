//! `recordari remember`: one candidate, and what the gates say to it.

use clap::Args;
use recordari::{
    Authority, Candidate, Cardinality, Episode, Form, Kind, Lifetime, MetaValue, Outcome, RecordId,
    Sensitivity, Source, Timestamp,
};
use serde_json::json;

use super::open::Session;
use super::place::Place;
use super::values::{meta, text_or_stdin, time, word};
use super::{Common, Failure, Out, show};
use crate::wire;

#[derive(Args)]
#[command(
    after_help = "Exit code 1 when it is not kept (rejected, conflict); a candidate that waits for review is done.\n\nExamples:\n  recordari remember \"prefers Python in code examples\"\n  recordari remember --subject preferred_language --form preference --source chat-7#12 \\\n    \"prefers Python in code examples\"\n  git log -1 --format=%B | recordari remember --kind episodic --source git --content -"
)]
pub struct Arguments {
    /// What to remember; - reads it from standard input
    #[arg(value_name = "TEXT", required_unless_present = "content", conflicts_with = "content")]
    text: Option<String>,
    /// What to remember, as an option
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    content: Option<String>,
    /// What it is about; another value for the same subject is a correction
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// The subject may have several values at one time
    #[arg(long)]
    multi: bool,
    /// What sort of knowledge it is
    #[arg(long, default_value = "semantic", hide_default_value = true, value_parser = word(Kind::ALL, Kind::code))]
    kind: Kind,
    /// In which form it came
    #[arg(long, value_parser = word(Form::ALL, Form::code))]
    form: Option<Form>,
    /// Where it comes from [default: cli, at this moment or under the idempotency key]
    #[arg(long, value_name = "ID[#LOCATOR]")]
    source: Option<String>,
    /// Who said it
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,
    /// What happened to the evidence [default: user_explicit]
    #[arg(long, value_parser = word(Authority::ALL, Authority::code))]
    authority: Option<Authority>,
    /// How sure that is, from 0 to 1
    #[arg(long, value_name = "NUMBER")]
    confidence: Option<f64>,
    /// How much it matters, from 0 to 1
    #[arg(long, value_name = "NUMBER")]
    importance: Option<f64>,
    /// Who may read it
    #[arg(long, value_parser = word(Sensitivity::ALL, Sensitivity::code))]
    sensitivity: Option<Sensitivity>,
    /// For how long it is meant to hold
    #[arg(long, value_parser = word(Lifetime::ALL, Lifetime::code))]
    lifetime: Option<Lifetime>,
    /// When it was seen or said, with an offset [default: now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    observed_at: Option<Timestamp>,
    /// From when it holds [default: when it was observed]
    #[arg(long, value_name = "TIME", value_parser = time)]
    valid_from: Option<Timestamp>,
    /// Until when it holds
    #[arg(long, value_name = "TIME", value_parser = time)]
    expires_at: Option<Timestamp>,
    /// A fact for filtering: KEY=VALUE, the value JSON or text; may be given more than once
    #[arg(long, value_name = "KEY=VALUE", value_parser = meta)]
    meta: Vec<(String, MetaValue)>,
    /// The session that it comes from
    #[arg(long, value_name = "ID", requires = "position")]
    session: Option<String>,
    /// Its position in the session, from 0
    #[arg(long, value_name = "NUMBER", requires = "session")]
    position: Option<u32>,
    /// A record that it was derived from; may be given more than once
    #[arg(long, value_name = "RECORD")]
    derived_from: Vec<String>,
    /// Why it is written
    #[arg(long, value_name = "TEXT")]
    write_reason: Option<String>,
    /// A task tag, or words of a query, without which it is not read
    #[arg(long, value_name = "TEXT")]
    read_trigger: Option<String>,
    /// How it is to be revised or revoked
    #[arg(long, value_name = "TEXT")]
    revision_path: Option<String>,
    /// It must be checked against the world before anything is done on its strength
    #[arg(long)]
    reverify: bool,
    /// Bring back on purpose what was forgotten; without it the same words stay out
    #[arg(long)]
    renew_consent: bool,
    /// Repeating the request with its key gives the same answer
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Say what would become of it, and store nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: Place,
}

impl Arguments {
    fn source(&self, session: &Session) -> Source {
        let here =
            || source_here(self.idempotency_key.clone().unwrap_or_else(|| session.memory.now().to_string()));
        self.source.as_deref().map_or_else(here, Source::parse)
    }

    fn candidate(&self, session: &Session) -> Result<Candidate, Failure> {
        let text = self.content.as_ref().or(self.text.as_ref()).map_or("", String::as_str);
        let defaults = Candidate::new(self.kind, text_or_stdin(text)?);
        let episode = self.session.clone().zip(self.position);
        Ok(Candidate {
            namespace: self.place.chosen(&session.principal)?,
            form: self.form.unwrap_or(defaults.form),
            subject: self.subject.clone(),
            cardinality: if self.multi { Cardinality::Multi } else { Cardinality::Single },
            metadata: self.meta.iter().cloned().collect(),
            source: Some(Source { speaker: self.speaker.clone(), ..self.source(session) }),
            episode: episode.map(|(session, position)| Episode { session, position }),
            authority: self.authority.unwrap_or(Authority::UserExplicit),
            confidence: self.confidence.unwrap_or(defaults.confidence),
            importance: self.importance.unwrap_or(defaults.importance),
            sensitivity: self.sensitivity.unwrap_or(defaults.sensitivity),
            lifetime: self.lifetime.unwrap_or(defaults.lifetime),
            observed_at: Some(self.observed_at.unwrap_or_else(|| session.memory.now())),
            valid_from: self.valid_from,
            expires_at: self.expires_at,
            write_reason: self.write_reason.clone(),
            read_trigger: self.read_trigger.clone(),
            revision_path: self.revision_path.clone(),
            reverify_before_effect: self.reverify,
            renew_consent: self.renew_consent,
            derived_from: self.derived_from.iter().map(RecordId::new).collect(),
            ..defaults
        })
    }
}

/// The id of the source of what is typed here.
pub(super) const HERE: &str = "cli";

/// What is typed here, as a source. Each statement has a place of its own: forgetting one must not keep the
/// next one out.
pub(super) fn source_here(place: String) -> Source {
    Source { id: HERE.to_owned(), locator: Some(place), speaker: None }
}

pub fn run(common: &Common, arguments: Arguments, out: &mut Out) -> Result<u8, Failure> {
    let session = Session::with_model(common, out)?;
    let candidate = arguments.candidate(&session)?;
    let (memory, principal) = (&session.memory, &session.principal);
    let outcome = if arguments.dry_run {
        memory.judge(principal, &candidate)?
    } else {
        memory.remember_once(principal, &candidate, arguments.idempotency_key.as_deref())?
    };
    session.report_model(out, "it is stored, found by keyword, and gets its vector from recordari reembed");
    if session.created && !out.is_json() {
        out.notice(format!("a new store was made in {}", session.settings.store.display()));
    }
    answer(&outcome, arguments.dry_run, out)
}

/// Prints how a write went; its exit code.
pub fn answer(outcome: &Outcome, dry_run: bool, out: &mut Out) -> Result<u8, Failure> {
    if out.is_json() {
        let mut answer = wire::outcome(outcome);
        if dry_run {
            answer["dry_run"] = json!(true);
        }
        out.json(&answer)?;
    } else {
        for line in show::outcome(outcome, dry_run) {
            out.line(line)?;
        }
    }
    Ok(wire::outcome_exit_code(outcome))
}
