//! Asks the queries of a workload, and times each answer: the whole recall, with its trace.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use recordari::simd::dot_f32;
use recordari::{Forget, Memory, Mode, Outcome, Principal, Query, Reach, Recalled, Result, Selector};
use serde_json::{Value, json};

use super::data::{Data, Filter, Question, Row};
use super::given::Given;
use super::load::{self, everyone, row_of};
use super::phases::{MANY, ONE};
use super::{Arguments, machine};

/// How many memories a query asks for.
const LIMIT: usize = 10;
/// How many queries are asked before time is taken.
const WARM: usize = 10;
/// The fewest times that count as a measurement, whatever the budget.
const ENOUGH: usize = 40;
/// How many memories are written one by one at the end.
const SINGLES: usize = 50;

/// The stores of a workload, open.
struct Stores<'d> {
    data: &'d Data,
    given: Arc<Given>,
    many: Memory,
    one: Memory,
}

impl<'d> Stores<'d> {
    fn open(data: &'d Data, work: &Path) -> Result<Stores<'d>> {
        let given = Arc::new(Given::new(data.dims));
        let many = load::open(&work.join(MANY), &given, data.now, true)?;
        let one = load::open(&work.join(ONE), &given, data.now, true)?;
        Ok(Stores { data, given, many, one })
    }

    /// The store that a question is asked of, and who asks.
    fn of(&self, question: &Question) -> Result<(&Memory, Principal)> {
        match &question.filter {
            None => Ok((&self.one, everyone()?)),
            Some(filter) => Ok((&self.many, caller(filter)?)),
        }
    }

    /// Prepares a question, so that asking it is all that remains to be timed.
    fn query(&self, question: &Question, mode: Mode, exact: bool) -> Query {
        self.given.query(self.data.query_vector(question));
        Query { mode, exact, limit: Some(LIMIT), ..Query::new(question.keywords.join(" ")) }
    }

    fn rows(&self, question: &Question, mode: Mode, exact: bool) -> Result<Vec<u32>> {
        let (memory, caller) = self.of(question)?;
        Ok(rows_of(&memory.recall(&caller, &self.query(question, mode, exact))?))
    }
}

/// Asks one question by words and meaning, as its caller.
pub fn once(memory: &Memory, given: &Given, data: &Data, question: &Question) -> Result<Recalled> {
    given.query(data.query_vector(question));
    let query = Query { limit: Some(LIMIT), ..Query::new(question.keywords.join(" ")) };
    memory.recall(&caller_of(question)?, &query)
}

fn caller(filter: &Filter) -> Result<Principal> {
    let caller = load::principal(&filter.tenant, filter.user.as_deref(), filter.project.as_deref())?;
    Ok(if filter.project.is_some() { caller } else { caller.with_reach(Reach::Below) })
}

fn rows_of(answer: &Recalled) -> Vec<u32> {
    answer.hits.iter().filter_map(|hit| row_of(&hit.record)).collect()
}

pub fn query(data: &Data, work: &Path, arguments: &Arguments) -> Result<Value> {
    let (reps, budget) = (arguments.reps, arguments.budget);
    let before = machine::memory_mb();
    let started = Instant::now();
    let given = Arc::new(Given::new(data.dims));
    let many = load::open(&work.join(MANY), &given, data.now, true)?;
    let opened = started.elapsed();
    // The first query of the harness reads widely; one in a small scope is reported beside it.
    let small = data.queries.iter().find(|question| question.class == "s10rows");
    let mut first_small = None;
    if let Some(question) = small {
        let (caller, started) = (caller_of(question)?, Instant::now());
        given.query(data.query_vector(question));
        many.recall(&caller, &Query { limit: Some(LIMIT), ..Query::new(question.keywords.join(" ")) })?;
        first_small = Some(ms(started.elapsed()));
    }
    let started = Instant::now();
    let one = load::open(&work.join(ONE), &given, data.now, true)?;
    let opened_one = started.elapsed();
    let stores = Stores { data, given, many, one };
    let started = Instant::now();
    stores.rows(&data.queries[0], Mode::Hybrid, false)?;
    let first = started.elapsed();
    let truth = Truth::of(data)?;
    let mut classes = serde_json::Map::new();
    for (class, questions) in data.classes() {
        if !arguments.class.is_empty() && !arguments.class.iter().any(|wanted| wanted == class) {
            continue;
        }
        for (name, mode) in [("vec", Mode::Vector), ("hybrid", Mode::Hybrid)] {
            eprintln!("recordari: asking {class}/{name}");
            classes.insert(
                format!("{class}/{name}"),
                of_class(&stores, &truth, &questions, mode, reps, Duration::from_secs_f64(budget))?,
            );
        }
    }
    let after = machine::memory_mb();
    let grown = after.zip(before).map(|(after, before)| {
        json!({ "harness_before_open": before.0, "total": after.0, "engine_total": after.0 - before.0,
                "engine_anon": after.1 - before.1 })
    });
    let mut found = json!({
        "cold_open_ms": ms(opened), "cold_first_query_ms": ms(first), "cold_first_small_ms": first_small,
        "cold_open_one_ms": ms(opened_one), "classes": classes, "rss_mb": grown,
    });
    deletes(&stores, &truth, work, budget, &mut found)?;
    found["insert_one"] = singles(&stores)?;
    Ok(found)
}

fn caller_of(question: &Question) -> Result<Principal> {
    question.filter.as_ref().map_or_else(everyone, caller)
}

pub fn reopen(data: &Data, work: &Path) -> Result<Value> {
    let stores = Stores::open(data, work)?;
    let gone: BTreeSet<u32> = data.deletes.iter().copied().collect();
    let mut leaked = 0;
    for (_, questions) in data.classes() {
        for question in questions.iter().take(75) {
            let rows = stores.rows(question, Mode::Hybrid, false)?;
            leaked += rows.iter().filter(|row| gone.contains(row)).count();
        }
    }
    Ok(json!({ "deleted_rows_returned_after_reopen": leaked }))
}

/// What a query should find by its vector, worked out anew over the rows that were loaded.
struct Truth {
    /// Each row without its text: who it belongs to, and whether it is live.
    rows: Vec<Row>,
}

impl Truth {
    fn of(data: &Data) -> Result<Truth> {
        let bare = |row: Result<(Row, Vec<f32>)>| Ok(Row { text: String::new(), ..row?.0 });
        Ok(Truth { rows: data.rows()?.map(bare).collect::<Result<_>>()? })
    }

    fn in_scope(&self, row: u32, question: &Question, now: i64) -> bool {
        let row = &self.rows[row as usize];
        question.filter.as_ref().map_or(row.is_live(now), |filter| row.passes(filter, now))
    }

    /// The best ten of each question by exact cosine, among the rows in its scope that are not `gone`.
    fn best(
        &self,
        data: &Data,
        questions: &[&Question],
        gone: &BTreeSet<u32>,
    ) -> Result<HashMap<usize, Vec<u32>>> {
        let mut best: HashMap<usize, Vec<(f32, u32)>> = HashMap::new();
        for (number, row) in data.rows()?.enumerate() {
            let (number, vector) = (number as u32, row?.1);
            if gone.contains(&number) {
                continue;
            }
            for question in questions.iter().filter(|question| self.in_scope(number, question, data.now)) {
                let score = dot_f32(data.query_vector(question), &vector);
                let kept = best.entry(question.qid).or_default();
                if kept.len() < LIMIT || kept.last().is_some_and(|last| score > last.0) {
                    let at = kept.partition_point(|(other, _)| *other >= score);
                    kept.insert(at, (score, number));
                    kept.truncate(LIMIT);
                }
            }
        }
        Ok(best
            .into_iter()
            .map(|(qid, rows)| (qid, rows.into_iter().map(|(_, row)| row).collect()))
            .collect())
    }
}

fn of_class(
    stores: &Stores<'_>,
    truth: &Truth,
    questions: &[&Question],
    mode: Mode,
    reps: usize,
    budget: Duration,
) -> Result<Value> {
    let data = stores.data;
    for question in questions.iter().take(WARM) {
        stores.rows(question, mode, false)?;
    }
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let mut answers: HashMap<usize, Vec<u32>> = HashMap::new();
    let stop = Instant::now() + budget;
    'asking: for round in 0..reps {
        for question in questions {
            let (memory, caller) = stores.of(question)?;
            let query = stores.query(question, mode, false);
            let (worked, started) = (machine::cpu_seconds(), Instant::now());
            let answer = memory.recall(&caller, &query)?;
            wall.push(started.elapsed().as_secs_f64());
            cpu.push(machine::cpu_seconds() - worked);
            if round == 0 {
                answers.insert(question.qid, rows_of(&answer));
            }
            if Instant::now() > stop && wall.len() >= ENOUGH {
                break 'asking;
            }
        }
    }
    let unfiltered = questions.iter().any(|question| question.filter.is_none());
    let recomputed = match mode {
        Mode::Vector if unfiltered => Some(truth.best(data, questions, &BTreeSet::new())?),
        _ => None,
    };
    let (mut recalls, mut off_topic, mut hits) = (Vec::new(), Vec::new(), Vec::new());
    let (mut outside, mut short) = (0, 0);
    for question in questions {
        let Some(rows) = answers.get(&question.qid) else { continue };
        let wanted = match (mode, &recomputed) {
            (Mode::Vector, Some(best)) => best.get(&question.qid).cloned().unwrap_or_default(),
            (Mode::Vector, None) => question.truth_vec.clone(),
            _ => stores.rows(question, mode, true)?,
        };
        let found = rows.iter().filter(|row| wanted.contains(row)).count();
        let recall = found as f64 / wanted.len().max(1) as f64;
        recalls.push(recall);
        match question.target {
            None => off_topic.push(recall),
            Some(target) => {
                // A target that was deleted or has expired can't be found in the store of live rows.
                if truth.in_scope(target, question, data.now) {
                    hits.push(f64::from(u8::from(rows.contains(&target))));
                }
            }
        }
        outside += rows.iter().filter(|row| !truth.in_scope(**row, question, data.now)).count();
        short += usize::from(rows.len() < LIMIT.min(question.scope_rows));
    }
    let mut found = stats(&wall);
    found["cpu"] = stats(&cpu);
    found["queries_scored"] = json!(recalls.len());
    found["recall10"] = json!(mean(&recalls));
    found["recall10_min"] = json!(recalls.iter().copied().reduce(f64::min));
    found["recall10_offtopic"] = json!(mean(&off_topic));
    found["target_hit10"] = json!(mean(&hits));
    found["out_of_scope_rows"] = json!(outside);
    found["short_answers"] = json!(short);
    found["scope_rows_median"] =
        json!(median(questions.iter().map(|question| question.scope_rows).collect()));
    Ok(found)
}

/// Forgets the rows that are to be deleted, in both stores, and asks again.
fn deletes(stores: &Stores<'_>, truth: &Truth, work: &Path, budget: f64, found: &mut Value) -> Result<()> {
    let data = stores.data;
    let mut took = 0.0;
    let mut forgotten = 0;
    for (memory, folder) in [(&stores.many, MANY), (&stores.one, ONE)] {
        let ids = load::ids(&work.join(folder))?;
        let mut requests = Vec::new();
        for row in &data.deletes {
            let Some(id) = &ids[*row as usize] else { continue };
            let owner = &truth.rows[*row as usize];
            let who = match folder {
                ONE => everyone()?,
                _ => load::principal(&owner.tenant, Some(&owner.user), Some(&owner.project))?,
            };
            requests.push((who, Forget::new(Selector::Memory(id.clone()), "deleted")));
        }
        let requests: Vec<(&Principal, &Forget)> = requests.iter().map(|(who, what)| (who, what)).collect();
        let started = Instant::now();
        memory.forget_all(&requests)?.into_iter().collect::<Result<Vec<_>>>()?;
        if folder == MANY {
            took = started.elapsed().as_secs_f64();
            forgotten = requests.len();
        }
    }
    found["delete_5pct_s"] = json!(took);
    found["deletes_per_s"] = json!(forgotten as f64 / took.max(1e-9));
    let gone: BTreeSet<u32> = data.deletes.iter().copied().collect();
    let mut again = serde_json::Map::new();
    for class in ["none", "s10pct"] {
        let questions: Vec<&Question> =
            data.queries.iter().filter(|question| question.class == class).take(100).collect();
        let best = truth.best(data, &questions, &gone)?;
        let (mut wall, mut recalls, mut back, mut back_hybrid) = (Vec::new(), Vec::new(), 0, 0);
        let stop = Instant::now() + Duration::from_secs_f64(budget);
        for question in &questions {
            let (memory, caller) = stores.of(question)?;
            let query = stores.query(question, Mode::Vector, false);
            let started = Instant::now();
            let rows = rows_of(&memory.recall(&caller, &query)?);
            wall.push(started.elapsed().as_secs_f64());
            let hybrid = stores.rows(question, Mode::Hybrid, false)?;
            back += rows.iter().filter(|row| gone.contains(row)).count();
            back_hybrid += hybrid.iter().filter(|row| gone.contains(row)).count();
            let wanted = best.get(&question.qid).cloned().unwrap_or_default();
            let same = rows.iter().filter(|row| wanted.contains(row)).count();
            recalls.push(same as f64 / wanted.len().max(1) as f64);
            if Instant::now() > stop {
                break;
            }
        }
        let mut of_class = stats(&wall);
        of_class["recall10"] = json!(mean(&recalls));
        of_class["deleted_rows_returned_vec"] = json!(back);
        of_class["deleted_rows_returned_hybrid"] = json!(back_hybrid);
        again.insert(class.to_owned(), of_class);
    }
    found["w3"] = Value::Object(again);
    Ok(())
}

/// Writes memories one by one, and asks for each at once.
fn singles(stores: &Stores<'_>) -> Result<Value> {
    let data = stores.data;
    let step = (data.n / SINGLES).max(1);
    let (mut wall, mut seen) = (Vec::new(), 0);
    for (number, row) in data.rows()?.enumerate().step_by(step).take(SINGLES) {
        let (mut row, mut vector) = row?;
        // Not quite the same as the row that it is made from, of which it would otherwise be a repetition.
        vector[0] += 0.2;
        let length = dot_f32(&vector, &vector).sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        let caller = load::principal(&row.tenant, Some(&row.user), Some(&row.project))?;
        row.id = (data.n + number) as u32;
        row.expires_at = None;
        row.text = format!("{} written alone {number}", row.text);
        let candidate = load::candidate(&row)?;
        stores.given.passages([(row.text.clone(), vector.clone())].into());
        let started = Instant::now();
        let outcome = stores.many.remember(&caller, &candidate)?;
        wall.push(started.elapsed().as_secs_f64());
        stores.given.query(&vector);
        let query = Query { limit: Some(LIMIT), mode: Mode::Vector, ..Query::new(row.text.clone()) };
        let rows = rows_of(&stores.many.recall(&caller, &query)?);
        seen += usize::from(matches!(outcome, Outcome::Committed(_)) && rows.contains(&row.id));
    }
    let mut found = stats(&wall);
    found["visible_at_once"] = json!(seen);
    Ok(found)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn median(mut values: Vec<usize>) -> usize {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

fn stats(seconds: &[f64]) -> Value {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = ((share * sorted.len() as f64) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(place).map(|seconds| seconds * 1e3)
    };
    json!({
        "n": sorted.len(), "p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99),
        "mean_ms": mean(seconds).map(|seconds| seconds * 1e3),
    })
}
