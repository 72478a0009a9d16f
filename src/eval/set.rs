//! What does an evaluation set hold? Reads its three files; knows nothing of a store.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use crate::record::{Candidate, Episode, Kind, Source};
use crate::trust::Authority;

/// The time of a line that has none: before every other, and the same for all.
const UNDATED: &str = "2000-01-01T00:00:00Z";

/// A set: what is remembered, what is asked, and what should be found.
pub(super) struct Set {
    pub name: String,
    pub lines: Vec<Line>,
    pub questions: Vec<Question>,
    /// The lines that answer a question, by ids.
    pub judgements: HashMap<String, Vec<String>>,
}

/// One memory.
pub(super) struct Line {
    pub id: String,
    pub namespace: Namespace,
    pub candidate: Candidate,
    /// Whether it is forgotten again before anything is asked.
    pub forgotten: bool,
}

/// One question; without a time it is asked after everything in its namespace.
pub(super) struct Question {
    pub id: String,
    pub namespace: Namespace,
    pub text: String,
    pub category: String,
    pub at: Option<Timestamp>,
}

impl Set {
    /// Reads the set in a folder; the folder's name is the set's.
    pub(super) fn read(folder: &Path) -> Result<Set> {
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let lines: Vec<WrittenLine> = json_lines(&folder.join("corpus.jsonl"))?;
        let questions: Vec<WrittenQuestion> = json_lines(&folder.join("queries.jsonl"))?;
        Ok(Set {
            name,
            lines: lines.into_iter().map(WrittenLine::read).collect::<Result<_>>()?,
            questions: questions.into_iter().map(WrittenQuestion::read).collect::<Result<_>>()?,
            judgements: judgements(&folder.join("qrels.tsv"))?,
        })
    }

    /// The latest time that anything has.
    pub(super) fn end(&self) -> Result<Timestamp> {
        self.latest().into_values().max().map_or_else(|| Timestamp::from_micros(0), Ok)
    }

    /// The latest time that anything in each namespace has.
    pub(super) fn latest(&self) -> BTreeMap<&Namespace, Timestamp> {
        let mut latest = BTreeMap::new();
        for line in &self.lines {
            if let Some(at) = line.candidate.observed_at {
                let known = latest.entry(&line.namespace).or_insert(at);
                *known = at.max(*known);
            }
        }
        latest
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    tenant: String,
    user: Option<String>,
    project: Option<String>,
}

impl Parts {
    fn read(&self) -> Result<Namespace> {
        Namespace::from_parts(&self.tenant, self.user.as_deref(), self.project.as_deref(), None)
    }
}

#[derive(Deserialize)]
struct WrittenLine {
    id: String,
    namespace: Parts,
    text: String,
    timestamp: Option<String>,
    speaker: Option<String>,
    session: Option<String>,
    seq: Option<u32>,
    source: String,
    expires_at: Option<String>,
    #[serde(default)]
    forgotten: bool,
}

impl WrittenLine {
    /// A line is something that was said or happened: an observation, without a subject, from its place
    /// in the source.
    fn read(self) -> Result<Line> {
        let at = Timestamp::parse("timestamp", self.timestamp.as_deref().unwrap_or(UNDATED))?;
        let candidate = Candidate {
            source: Some(Source {
                id: self.source,
                locator: Some(self.id.clone()),
                speaker: self.speaker.filter(|speaker| !speaker.trim().is_empty()),
            }),
            episode: self.session.zip(self.seq).map(|(session, position)| Episode { session, position }),
            authority: Authority::UserExplicit,
            observed_at: Some(at),
            expires_at: self.expires_at.map(|at| Timestamp::parse("expires_at", &at)).transpose()?,
            ..Candidate::new(Kind::Episodic, self.text)
        };
        let (namespace, forgotten) = (self.namespace.read()?, self.forgotten);
        Ok(Line { id: self.id, namespace, candidate, forgotten })
    }
}

#[derive(Deserialize)]
struct WrittenQuestion {
    id: String,
    namespace: Parts,
    text: String,
    category: Option<String>,
    timestamp: Option<String>,
}

impl WrittenQuestion {
    fn read(self) -> Result<Question> {
        let at = self.timestamp.as_deref().map(|at| Timestamp::parse("timestamp", at)).transpose()?;
        Ok(Question {
            id: self.id,
            namespace: self.namespace.read()?,
            text: self.text,
            category: self.category.unwrap_or_else(|| "none".to_owned()),
            at,
        })
    }
}

fn json_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let line = |(number, line): (usize, &str)| serde_json::from_str(line).map_err(|_| bad(path, number));
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(line).collect()
}

/// Reads `query-id corpus-id relevance`, tab-separated, under a heading.
fn judgements(path: &Path) -> Result<HashMap<String, Vec<String>>> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let mut all: HashMap<String, Vec<String>> = HashMap::new();
    for (number, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
        let mut fields = line.split('\t');
        let (Some(question), Some(answer), Some(relevance)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(bad(path, number));
        };
        if relevance.trim() != "0" {
            all.entry(question.to_owned()).or_default().push(answer.to_owned());
        }
    }
    Ok(all)
}

/// Names file and line, and nothing of what stands there.
fn bad(path: &Path, number: usize) -> Error {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    Error::invalid("set", format!("is not in the expected format: {file}, line {}", number + 1))
}
