//! The files of a workload. Rows and vectors are read as they are needed: a million of them need not fit.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use recordari::{Error, Result};
use serde::Deserialize;

/// A workload.
pub struct Data {
    folder: PathBuf,
    /// How many rows.
    pub n: usize,
    /// How wide the vectors are.
    pub dims: usize,
    /// The clock of every query, in seconds.
    pub now: i64,
    /// The queries, in order.
    pub queries: Vec<Question>,
    query_vectors: Vec<f32>,
    /// The rows to be deleted.
    pub deletes: Vec<u32>,
}

#[derive(Deserialize)]
struct Meta {
    format: u32,
    n: usize,
    dim: usize,
    now: i64,
}

/// One memory of the workload.
#[derive(Deserialize)]
pub struct Row {
    /// Its number.
    pub id: u32,
    pub tenant: String,
    pub user: String,
    pub project: String,
    pub kind: String,
    pub sensitivity: u8,
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub deleted: bool,
    pub text: String,
}

/// One query.
#[derive(Deserialize)]
pub struct Question {
    pub qid: usize,
    pub class: String,
    pub filter: Option<Filter>,
    pub keywords: Vec<String>,
    pub scope_rows: usize,
    pub target: Option<u32>,
    pub truth_vec: Vec<u32>,
}

#[derive(Clone, Deserialize, PartialEq)]
pub struct Filter {
    pub tenant: String,
    pub user: Option<String>,
    pub project: Option<String>,
}

impl Row {
    /// Whether a filter lets it pass at that time.
    pub fn passes(&self, filter: &Filter, now: i64) -> bool {
        let is = |wanted: &Option<String>, own: &str| wanted.as_deref().is_none_or(|wanted| wanted == own);
        self.is_live(now)
            && self.tenant == filter.tenant
            && is(&filter.user, &self.user)
            && is(&filter.project, &self.project)
    }

    /// Neither deleted nor expired.
    pub fn is_live(&self, now: i64) -> bool {
        !self.deleted && self.expires_at.is_none_or(|end| end > now)
    }
}

impl Data {
    pub fn open(folder: &Path) -> Result<Data> {
        let text = |name: &str| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).map_err(Error::io(&path))
        };
        let meta: Meta = parse("meta.json", &text("meta.json")?)?;
        if meta.format != 1 || meta.dim == 0 {
            return Err(Error::invalid("meta.json", "must be of format 1, with vectors of some width"));
        }
        let queries: Vec<Question> =
            text("queries.jsonl")?.lines().map(|line| parse("queries.jsonl", line)).collect::<Result<_>>()?;
        let query_vectors = floats(&bytes(&folder.join("queries.bin"))?);
        if query_vectors.len() != queries.len() * meta.dim {
            return Err(Error::invalid("queries.bin", "must hold one vector for each query"));
        }
        let deletes = bytes(&folder.join("deletes.bin"))?;
        let deletes = deletes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let (n, dims, now) = (meta.n, meta.dim, meta.now);
        Ok(Data { folder: folder.to_owned(), n, dims, now, queries, query_vectors, deletes })
    }

    pub fn query_vector(&self, question: &Question) -> &[f32] {
        &self.query_vectors[question.qid * self.dims..(question.qid + 1) * self.dims]
    }

    /// The queries of each class, in the order of the file.
    pub fn classes(&self) -> BTreeMap<&str, Vec<&Question>> {
        let mut classes: BTreeMap<&str, Vec<&Question>> = BTreeMap::new();
        for question in &self.queries {
            classes.entry(&question.class).or_default().push(question);
        }
        classes
    }

    /// Every row with its vector, in order.
    pub fn rows(&self) -> Result<Rows> {
        let open = |name: &str| {
            let path = self.folder.join(name);
            File::open(&path).map_err(Error::io(&path))
        };
        Ok(Rows {
            lines: BufReader::with_capacity(1 << 20, open("memories.jsonl")?),
            vectors: BufReader::with_capacity(1 << 20, open("vectors.bin")?),
            folder: self.folder.clone(),
            dims: self.dims,
            line: String::new(),
        })
    }
}

/// Reads rows one after the other.
pub struct Rows {
    lines: BufReader<File>,
    vectors: BufReader<File>,
    folder: PathBuf,
    dims: usize,
    line: String,
}

impl Rows {
    fn read(&mut self) -> Result<Option<(Row, Vec<f32>)>> {
        self.line.clear();
        let read = self.lines.read_line(&mut self.line).map_err(Error::io(&self.folder))?;
        if read == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; self.dims * 4];
        self.vectors.read_exact(&mut bytes).map_err(Error::io(&self.folder))?;
        Ok(Some((parse("memories.jsonl", &self.line)?, floats(&bytes))))
    }
}

impl Iterator for Rows {
    type Item = Result<(Row, Vec<f32>)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn parse<'t, T: Deserialize<'t>>(name: &'static str, text: &'t str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::invalid(name, error.to_string()))
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(Error::io(path))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}
