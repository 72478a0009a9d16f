//! Which records meet a filter: a typed tree turned into SQL with bound values, so that no value is
//! ever read as syntax. Lists them in pages with stable cursors and true totals.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};

use super::number::{doc_of, rows_of};
use super::{Snapshot, salvage};
use crate::change::{DocId, NamespaceId};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::namespace::Principal;
use crate::record::{Form, Kind, MetaValue, Record, RecordId, State};
use crate::trust::{Authority, Sensitivity};

/// How deep filters may be nested, and how many conditions one may hold.
const CONDITIONS_MAX: usize = 64;
/// The largest page.
pub const PAGE_MAX: usize = 1000;

/// A condition on records.
///
/// ```
/// use recordari::{Compare, Filter, Kind, MetaValue};
/// let filter = Filter::All(vec![
///     Filter::Kind(Kind::Semantic),
///     Filter::Not(Box::new(Filter::Meta("team".into(), Compare::Equal, MetaValue::Text("db".into())))),
/// ]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// Every one of these holds; an empty list always holds.
    All(Vec<Filter>),
    /// At least one of these holds; an empty list never holds.
    Any(Vec<Filter>),
    /// This does not hold.
    Not(Box<Filter>),
    /// It is of that kind.
    Kind(Kind),
    /// It came in that form.
    Form(Form),
    /// Its subject begins so.
    SubjectPrefix(String),
    /// It rests on that source.
    Source(String),
    /// It comes from that session.
    Session(String),
    /// It has that authority or a higher one.
    AuthorityAtLeast(Authority),
    /// It was observed at that instant or later.
    ObservedFrom(Timestamp),
    /// It was observed before that instant.
    ObservedBefore(Timestamp),
    /// It was recorded at that instant or later.
    RecordedFrom(Timestamp),
    /// It was recorded before that instant.
    RecordedBefore(Timestamp),
    /// It has an expiry, and that lies before the instant.
    ExpiresBefore(Timestamp),
    /// Its content holds these characters, in any case of ASCII letters.
    Contains(String),
    /// Its metadata has a value under that key that compares so. An absent key equals an empty list and
    /// null, and nothing else.
    Meta(String, Compare, MetaValue),
}

/// How a metadata value is compared: numbers with numbers, texts with texts; a list holds a text that
/// is one of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The same value.
    Equal,
    /// Smaller.
    Less,
    /// Smaller or the same.
    AtMost,
    /// Larger.
    Greater,
    /// Larger or the same.
    AtLeast,
    /// A list with that item.
    Holds,
}

/// In which states records are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateFilter {
    /// In force, expired ones included.
    Current,
    /// In these states.
    Only(Vec<State>),
}

/// Which page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// How many records, at most [`PAGE_MAX`].
    pub limit: usize,
    /// The cursor that the page before handed out.
    pub cursor: Option<String>,
}

/// A page of records, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The records.
    pub records: Vec<Record>,
    /// How many meet the filter in all.
    pub total: u64,
    /// Where the next page begins; none on the last.
    pub cursor: Option<String>,
    /// Those of this page that can't be shown, since they are not as they were written: restore them from a backup, or
    /// forget them.
    pub damaged: Vec<RecordId>,
    /// Whether parts of the database can't be read, so that there may be more of which nothing can be said, not even how
    /// many they are: verifying the store names them, and a backup brings them back.
    pub unreadable: bool,
}

impl Snapshot<'_> {
    /// Lists what a caller may see and what meets the filter, newest first.
    pub fn list(
        &self,
        principal: &Principal,
        filter: &Filter,
        states: &StateFilter,
        page: &PageRequest,
    ) -> Result<Page> {
        if !(1..=PAGE_MAX).contains(&page.limit) {
            return Err(Error::invalid("limit", format!("must lie between 1 and {PAGE_MAX}")));
        }
        let Some((places, query)) = self.visible(principal, filter, states)? else {
            let (records, damaged) = (Vec::new(), Vec::new());
            return Ok(Page { records, total: 0, cursor: None, damaged, unreadable: false });
        };
        let after = page.cursor.as_ref().map(|cursor| self.position(cursor, principal)).transpose()?;
        let (ids, total, unreadable) = match self.found(&query, after, page.limit + 1) {
            Ok((ids, total)) => (ids, total, false),
            Err(Error::Corrupt(_)) => {
                let (ids, total) = self.salvaged(&places, &query, after, page.limit + 1)?;
                (ids, total, true)
            }
            Err(error) => return Err(error),
        };
        let more = ids.len() > page.limit;
        let ids = &ids[..ids.len().min(page.limit)];
        let cursor = if more { ids.last().map(|(_, id)| id.clone()) } else { None };
        let mut records = Vec::with_capacity(ids.len());
        let mut damaged = Vec::new();
        for (doc, id) in ids {
            match self.resolve(*doc, principal) {
                Err(Error::Corrupt(_)) => damaged.push(RecordId::new(id)),
                record => records.extend(record?),
            }
        }
        Ok(Page { records, total, cursor, damaged, unreadable })
    }

    /// The first records of a query that were written before an instant of the order of writes, newest first, and how
    /// many there are in all.
    fn found(&self, query: &Sql, before: Option<i64>, limit: usize) -> Result<(Vec<(DocId, String)>, u64)> {
        let Sql { sql, values, .. } = query;
        let mut statement = self.connection().prepare(&format!("SELECT count(*) {FROM} WHERE {sql}"))?;
        let total: i64 = statement.query_row(params_from_iter(values), |row| row.get(0))?;
        let written = before.map(|before| format!("AND {WRITTEN} < {before}")).unwrap_or_default();
        let mut statement = self.connection().prepare(&format!(
            "SELECT r.id, r.record_id {FROM} WHERE {sql} {written} ORDER BY {WRITTEN} DESC LIMIT {limit}"
        ))?;
        let ids = statement
            .query_map(params_from_iter(values), |row| Ok((doc_of(row.get(0)?), row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        Ok((ids, total as u64))
    }

    /// The same where parts of the database can't be read: what lies there is passed over.
    fn salvaged(
        &self,
        places: &[NamespaceId],
        query: &Sql,
        before: Option<i64>,
        limit: usize,
    ) -> Result<(Vec<(DocId, String)>, u64)> {
        let sql = format!(
            "SELECT r.id, r.record_id FROM records r WHERE {} AND r.id BETWEEN :first AND :last ORDER BY r.id",
            query.sql
        );
        let mut all: Vec<(DocId, String)> = Vec::new();
        for place in places {
            salvage::each_record(self.connection(), &sql, &query.values, rows_of(*place), |row| {
                all.push((doc_of(row.get(0)?), row.get(1)?));
                Ok(())
            })?;
        }
        let total = all.len() as u64;
        let written = |(doc, _): &(DocId, String)| doc.made_by().0;
        all.retain(|found| before.is_none_or(|before| (written(found) as i64) < before));
        all.sort_by_key(|found| std::cmp::Reverse(written(found)));
        all.truncate(limit);
        Ok((all, total))
    }

    /// The documents in force in these namespaces that meet the filter, in order.
    pub fn docs_meeting(&self, namespaces: &[NamespaceId], filter: &Filter) -> Result<Vec<DocId>> {
        let mut query = Sql::default();
        query.within(namespaces.iter().copied());
        query.push_str("r.state = 'current' AND ");
        query.filter(filter, 0)?;
        let mut statement =
            self.connection().prepare(&format!("SELECT r.id {FROM} WHERE {} ORDER BY r.id", query.sql))?;
        let docs = statement.query_map(params_from_iter(&query.values), |row| Ok(doc_of(row.get(0)?)))?;
        Ok(docs.collect::<rusqlite::Result<_>>()?)
    }

    /// The namespaces that a caller may see, and the conditions; none where nothing was ever written.
    fn visible(
        &self,
        principal: &Principal,
        filter: &Filter,
        states: &StateFilter,
    ) -> Result<Option<(Vec<NamespaceId>, Sql)>> {
        let places = self.places(&principal.scope())?;
        if places.is_empty() {
            return Ok(None);
        }
        let mut query = Sql::default();
        query.within(places.iter().map(|place| place.id));
        query.push_str("r.content IS NOT NULL AND r.sensitivity IN (");
        let readable = Sensitivity::ALL.iter().filter(|sensitivity| **sensitivity <= principal.clearance);
        query.list(readable.map(|sensitivity| Value::from(sensitivity.code().to_owned())));
        query.push_str(") AND r.state IN (");
        match states {
            StateFilter::Current => query.list([Value::from(State::Current.code().to_owned())]),
            StateFilter::Only(states) => {
                query.list(states.iter().map(|state| Value::from(state.code().to_owned())))
            }
        }
        query.push_str(") AND ");
        query.filter(filter, 0)?;
        Ok(Some((places.iter().map(|place| place.id).collect(), query)))
    }

    fn position(&self, cursor: &str, principal: &Principal) -> Result<i64> {
        let found: Option<i64> = self
            .connection()
            .prepare_cached("SELECT id FROM records WHERE record_id = ?1")?
            .query_row([cursor], |row| row.get(0))
            .optional()?;
        let visible = self.places(&principal.scope())?;
        found
            .map(doc_of)
            .filter(|doc| visible.iter().any(|place| place.id == doc.namespace()))
            .map(|doc| doc.made_by().0 as i64)
            .ok_or_else(|| {
                Error::invalid("cursor", "must be one that an earlier page of this caller handed out")
            })
    }
}

/// The records of the namespaces that `?1` lists: each is a range of ids, and there may be more of them than a
/// statement takes values.
const FROM: &str = "FROM json_each(?1) n CROSS JOIN records r
     ON r.id BETWEEN n.value << 36 AND (n.value << 36) + 0xFFFFFFFFF";
/// In the order of writes, whichever namespace.
const WRITTEN: &str = "r.id & 0xFFFFFFFFF";

#[derive(Default)]
struct Sql {
    sql: String,
    values: Vec<Value>,
    conditions: usize,
}

impl Sql {
    fn push_str(&mut self, sql: &str) {
        self.sql.push_str(sql);
    }

    fn bind(&mut self, value: impl Into<Value>) {
        self.values.push(value.into());
        self.sql.push('?');
        self.sql.push_str(&self.values.len().to_string());
    }

    /// Binds the numbers of the namespaces; see [`FROM`].
    fn within(&mut self, ids: impl Iterator<Item = NamespaceId>) {
        debug_assert!(self.values.is_empty(), "they are the first value");
        let ids: Vec<u32> = ids.map(|id| id.0).collect();
        self.values.push(Value::from(serde_json::Value::from(ids).to_string()));
    }

    fn list(&mut self, values: impl IntoIterator<Item = Value>) {
        for (place, value) in values.into_iter().enumerate() {
            if place > 0 {
                self.push_str(", ");
            }
            self.bind(value);
        }
    }

    fn compare(&mut self, column: &str, value: impl Into<Value>) {
        self.push_str(column);
        self.bind(value);
    }

    fn filter(&mut self, filter: &Filter, depth: usize) -> Result<()> {
        self.conditions += 1;
        if self.conditions > CONDITIONS_MAX || depth > CONDITIONS_MAX / 4 {
            return Err(Error::invalid("filter", format!("must hold at most {CONDITIONS_MAX} conditions")));
        }
        match filter {
            Filter::All(all) => self.joined(all, " AND ", "1", depth)?,
            Filter::Any(any) => self.joined(any, " OR ", "0", depth)?,
            Filter::Not(inner) => {
                self.push_str("NOT ");
                self.filter(inner, depth + 1)?;
            }
            Filter::Kind(kind) => self.compare("r.kind = ", kind.code().to_owned()),
            Filter::Form(form) => self.compare("r.form = ", form.code().to_owned()),
            Filter::SubjectPrefix(prefix) => {
                // By bytes: of a text SQLite takes what stands before a zero byte.
                self.push_str("ifnull(substr(CAST(r.subject AS BLOB), 1, ");
                self.bind(prefix.len() as i64);
                self.compare(") = ", prefix.as_bytes().to_vec());
                self.push_str(", 0)");
            }
            Filter::Source(source) => {
                self.compare("(ifnull(r.source = ", source.clone());
                self.compare(
                    ", 0) OR EXISTS (SELECT 1 FROM evidence e WHERE e.record = r.id AND e.source = ",
                    source.clone(),
                );
                self.push_str("))");
            }
            Filter::Session(session) => {
                self.compare("ifnull(r.session = ", session.clone());
                self.push_str(", 0)");
            }
            Filter::AuthorityAtLeast(least) => {
                self.push_str("r.authority IN (");
                let enough = Authority::ALL.iter().filter(|authority| *authority >= least);
                self.list(enough.map(|authority| Value::from(authority.code().to_owned())));
                self.push_str(")");
            }
            Filter::ObservedFrom(at) => self.compare("r.observed_at >= ", at.as_micros()),
            Filter::ObservedBefore(at) => self.compare("r.observed_at < ", at.as_micros()),
            Filter::RecordedFrom(at) => self.compare("r.recorded_at >= ", at.as_micros()),
            Filter::RecordedBefore(at) => self.compare("r.recorded_at < ", at.as_micros()),
            Filter::ExpiresBefore(at) => {
                self.compare("ifnull(r.expires_at < ", at.as_micros());
                self.push_str(", 0)");
            }
            Filter::Contains(text) => {
                self.compare("instr(lower(r.content), ", text.to_ascii_lowercase());
                self.push_str(") > 0");
            }
            Filter::Meta(key, compare, value) => self.meta(key, *compare, value)?,
        }
        Ok(())
    }

    fn joined(&mut self, filters: &[Filter], between: &str, empty: &str, depth: usize) -> Result<()> {
        self.push_str("(");
        if filters.is_empty() {
            self.push_str(empty);
        }
        for (place, filter) in filters.iter().enumerate() {
            if place > 0 {
                self.push_str(between);
            }
            self.filter(filter, depth + 1)?;
        }
        self.push_str(")");
        Ok(())
    }

    fn meta(&mut self, key: &str, compare: Compare, value: &MetaValue) -> Result<()> {
        let empty = matches!(value, MetaValue::Null) || *value == MetaValue::List(Vec::new());
        if compare == Compare::Equal && empty {
            self.compare("NOT EXISTS (SELECT 1 FROM json_each(r.metadata) j WHERE j.key = ", key.to_owned());
            self.push_str(
                " AND j.type <> 'null' AND NOT (j.type = 'array' AND json_array_length(j.value) = 0))",
            );
            return Ok(());
        }
        self.compare("EXISTS (SELECT 1 FROM json_each(r.metadata) j WHERE j.key = ", key.to_owned());
        self.push_str(" AND ");
        let operator = match compare {
            Compare::Equal => "=",
            Compare::Less => "<",
            Compare::AtMost => "<=",
            Compare::Greater => ">",
            Compare::AtLeast => ">=",
            Compare::Holds => {
                let MetaValue::Text(text) = value else {
                    return Err(Error::invalid("filter", "must ask whether a list holds a text"));
                };
                self.compare(
                    "j.type = 'array' AND EXISTS (SELECT 1 FROM json_each(j.value) i WHERE i.value = ",
                    text.clone(),
                );
                self.push_str("))");
                return Ok(());
            }
        };
        match value {
            MetaValue::Text(text) => {
                self.compare(&format!("j.type = 'text' AND j.value {operator} "), text.clone())
            }
            MetaValue::Number(number) => {
                self.compare(&format!("j.type IN ('integer', 'real') AND j.value {operator} "), *number);
            }
            MetaValue::Bool(flag) if compare == Compare::Equal => {
                self.compare("j.type = ", if *flag { "true".to_owned() } else { "false".to_owned() });
            }
            MetaValue::List(items) if compare == Compare::Equal => {
                self.compare(
                    "j.type = 'array' AND j.value = ",
                    serde_json::Value::from(items.clone()).to_string(),
                );
            }
            MetaValue::Null | MetaValue::Bool(_) | MetaValue::List(_) => {
                return Err(Error::invalid("filter", "must compare sizes of numbers or texts only"));
            }
        }
        self.push_str(")");
        Ok(())
    }
}
