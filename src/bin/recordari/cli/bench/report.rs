//! Reports: what one measurement of one size found, ours or that of another engine, just measured or read
//! from a file. Knows the keys of the format, and says what is wrong with a file that lacks them.

use std::io;
use std::path::Path;

use recordari::Error;
use serde_json::Value;

use super::super::Failure;

/// The classes that the workloads of this project have, from the narrowest scope to the widest, with what
/// they ask of.
pub const CLASSES: [(&str, &str); 4] = [
    ("s10rows", "some 10 rows, one namespace"),
    ("s01pct", "0.1 % of the rows, a user's projects"),
    ("s10pct", "10 % of the rows, a whole tenant"),
    ("none", "all live rows in one namespace"),
];
/// The ways to ask, as the report names them and for people.
pub const MODES: [(&str, &str); 2] = [("hybrid", "hybrid"), ("vec", "vectors alone")];
/// What can be a measurement, whatever its unit; no store takes an exabyte.
const MEASURED: std::ops::RangeInclusive<f64> = 0.0..=1e18;
/// Whose reports ours are.
pub const OURS: &str = "recordari";

/// One measurement of one size.
pub struct Report {
    /// How many records were written.
    pub n: u64,
    /// The engine that was measured.
    pub peer: String,
    value: Value,
}

impl Report {
    /// Takes a report for what it is, or says what it lacks.
    pub fn of(value: Value) -> Result<Report, String> {
        let n = value["n"].as_u64().filter(|n| *n > 0).ok_or("has no number of records `n`")?;
        let peer = value["peer"].as_str().ok_or("has no name of an engine `peer`")?.to_owned();
        if let Some(error) = value["error"].as_str() {
            return Err(format!("is of a run that failed: {}", first_line(error)));
        }
        let classes = value["query"]["classes"].as_object().ok_or("has no `query.classes`")?;
        if let Some((class, _)) = classes.iter().find(|(_, found)| !found["cpu"].is_object()) {
            return Err(format!("has no `cpu` in the class {class:?}"));
        }
        if !value["build"].is_object() {
            return Err("has no `build`".to_owned());
        }
        Ok(Report { n, peer, value })
    }

    /// The report as it is printed.
    pub fn json(&self) -> &Value {
        &self.value
    }

    /// The number at a path of keys joined by dots; nothing when it is missing or can be no measurement.
    pub fn number(&self, path: &str) -> Option<f64> {
        number_at(&self.value, path)
    }

    /// The text under a key of the build, such as its version.
    pub fn text(&self, path: &str) -> Option<&str> {
        at(&self.value, path).as_str()
    }

    /// A number of one class in one mode, such as `cpu.p50_ms`.
    pub fn of_class(&self, class: &str, mode: &str, path: &str) -> Option<f64> {
        number_at(&self.value["query"]["classes"][format!("{class}/{mode}")], path)
    }

    /// Whether a class was asked in a mode.
    pub fn is_asked(&self, class: &str, mode: &str) -> bool {
        self.value["query"]["classes"][format!("{class}/{mode}")].is_object()
    }

    /// How many records a second, for seconds at a path.
    pub fn rate(&self, path: &str) -> Option<f64> {
        self.number(path).filter(|seconds| *seconds > 0.0).map(|seconds| self.n as f64 / seconds)
    }

    /// Bytes on the disk for each record.
    pub fn disk_each(&self) -> Option<f64> {
        self.number("build.disk_bytes").map(|bytes| bytes / self.n as f64)
    }

    /// Bytes of memory that the engine took for each record, after all queries.
    pub fn memory_each(&self) -> Option<f64> {
        self.number("query.rss_mb.engine_total").map(|mb| mb * 1024.0 * 1024.0 / self.n as f64)
    }

    /// The names of its classes: those known from the narrowest to the widest, then the others by name.
    pub fn classes(&self) -> Vec<&str> {
        let keys = self.value["query"]["classes"].as_object().into_iter().flatten().map(|(key, _)| key);
        in_order(keys.filter_map(|key| Some(key.rsplit_once('/')?.0)).collect())
    }

    /// How many rows came back that must not have, or were missing though there were some.
    pub fn wrongs(&self) -> u64 {
        let query = &self.value["query"];
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let classes = query["classes"].as_object().into_iter().flatten();
        let outside = classes.map(|(_, found)| {
            count(&found["out_of_scope_rows"]).saturating_add(count(&found["short_answers"]))
        });
        let again = query["w3"].as_object().into_iter().flatten();
        let dead = again.map(|(_, found)| {
            count(&found["deleted_rows_returned_vec"])
                .saturating_add(count(&found["deleted_rows_returned_hybrid"]))
        });
        let after = count(&self.value["reopen"]["deleted_rows_returned_after_reopen"]);
        outside.chain(dead).fold(after, u64::saturating_add)
    }
}

/// The classes of several reports, each once, in the order of [`Report::classes`].
pub fn classes_of(reports: &[Report]) -> Vec<&str> {
    in_order(reports.iter().flat_map(Report::classes).collect())
}

fn in_order(mut classes: Vec<&str>) -> Vec<&str> {
    let place = |class: &str| CLASSES.iter().position(|(known, _)| *known == class).unwrap_or(CLASSES.len());
    classes.sort_unstable_by_key(|class| (place(class), *class));
    classes.dedup();
    classes
}

fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(value, |value, key| &value[key])
}

fn number_at(value: &Value, path: &str) -> Option<f64> {
    at(value, path).as_f64().filter(|number| MEASURED.contains(number))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Our reports from a file that `--json` printed: one, or several sizes.
pub fn ours(path: &Path) -> Result<Vec<Report>, Failure> {
    let hint = "--from takes what recordari bench FOLDER --json printed";
    let mut value = read(path, hint)?;
    let values = match value.get_mut("reports").map(Value::take) {
        Some(Value::Array(values)) => values,
        _ => vec![value],
    };
    if values.is_empty() {
        return Err(wrong(path, "holds no report", hint));
    }
    let report = |value| {
        let report = Report::of(value).map_err(|what| wrong(path, &what, hint))?;
        if report.peer != OURS {
            let what = format!("is a report of {}, not of {OURS}", report.peer);
            return Err(wrong(path, &what, "name it after --beside"));
        }
        Ok(report)
    };
    values.into_iter().map(report).collect()
}

/// The report of another engine, from a file in the format of ours.
pub fn theirs(path: &Path) -> Result<Report, Failure> {
    let hint = "--beside takes a report of one engine at one size, with the keys of recordari bench --json";
    Report::of(read(path, hint)?).map_err(|what| wrong(path, &what, hint))
}

fn read(path: &Path, hint: &str) -> Result<Value, Failure> {
    if path.is_dir() {
        let what = format!(
            "{}: a folder where a report must be; workloads come before --from and --beside",
            path.display()
        );
        return Err(Failure::usage(what));
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        let error = io::Error::new(error.kind(), format!("{error}; {hint}"));
        Failure::from(Error::io(path)(error))
    })?;
    serde_json::from_str(&text)
        .map_err(|error| wrong(path, &format!("is not one JSON value ({error})"), hint))
}

fn wrong(path: &Path, what: &str, hint: &str) -> Failure {
    Failure::usage(format!("{}: the file {what}; {hint}", path.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value() -> Value {
        json!({
            "n": 200, "peer": "recordari",
            "build": { "disk_bytes": 1000, "timers": { "insert_s": 0.5, "index_s": 0 } },
            "query": { "classes": {
                "zz/vec": { "cpu": { "p50_ms": 2 } }, "none/vec": { "cpu": { "p50_ms": -1 } },
                "s10rows/hybrid": { "cpu": {}, "out_of_scope_rows": 2 }, "s10rows/vec": { "cpu": {} },
            }, "rss_mb": { "engine_total": 1 } },
            "reopen": { "deleted_rows_returned_after_reopen": 3 },
        })
    }

    #[test]
    fn figures_are_read_and_what_is_missing_is_none() {
        let report = Report::of(value()).unwrap();
        assert_eq!(report.classes(), ["s10rows", "none", "zz"]);
        assert_eq!(report.of_class("zz", "vec", "cpu.p50_ms"), Some(2.0));
        assert_eq!(report.of_class("none", "vec", "cpu.p50_ms"), None, "no time is negative");
        assert_eq!(report.of_class("s10rows", "vec", "cpu.p50_ms"), None);
        assert_eq!(report.rate("build.timers.insert_s"), Some(400.0));
        assert_eq!(report.rate("build.timers.index_s"), None, "nothing is divided by zero");
        assert_eq!(report.disk_each(), Some(5.0));
        assert_eq!(report.memory_each(), Some(5242.88));
        assert_eq!(report.wrongs(), 5);
    }

    #[test]
    fn what_a_report_lacks_is_named() {
        for (key, named) in
            [("n", "`n`"), ("peer", "`peer`"), ("query", "query.classes"), ("build", "`build`")]
        {
            let mut value = value();
            value[key] = Value::Null;
            let what = Report::of(value).err().unwrap();
            assert!(what.contains(named), "{what}");
        }
        assert!(Report::of(json!([1])).is_err());
        let mut failed = value();
        failed["error"] = json!("build: exit 1: out of memory\nat line 3");
        assert_eq!(
            Report::of(failed).err().unwrap(),
            "is of a run that failed: build: exit 1: out of memory"
        );
        let mut without = value();
        without["query"]["classes"]["s10rows/vec"] = json!({});
        assert!(Report::of(without).err().unwrap().contains("s10rows/vec"));
    }
}
