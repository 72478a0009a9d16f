//! How figures grow with the number of records: one row per figure, one value per size, and the exponent.

use serde_json::{Value, json};

use super::report::{MODES, Report, classes_of};

/// One figure at every size.
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// The unit of its values.
    pub unit: &'static str,
    /// Its values in the order of the sizes; nothing where it was not measured.
    pub values: Vec<Option<f64>>,
    /// The power of the number of records that it grows with.
    pub exponent: Option<f64>,
}

impl Figure {
    /// One figure of every report.
    pub fn of(
        name: impl Into<String>,
        unit: &'static str,
        reports: &[Report],
        value: impl Fn(&Report) -> Option<f64>,
    ) -> Figure {
        let values: Vec<Option<f64>> = reports.iter().map(value).collect();
        let measured =
            reports.iter().zip(&values).filter_map(|(report, value)| Some((report.n as f64, (*value)?)));
        let exponent = exponent(&measured.collect::<Vec<_>>());
        Figure { name: name.into(), unit, values, exponent }
    }

    /// Whether it was measured at any size.
    pub fn is_measured(&self) -> bool {
        self.values.iter().any(Option::is_some)
    }

    fn json(&self) -> Value {
        json!({ "figure": self.name, "unit": self.unit, "values": self.values, "exponent": self.exponent })
    }
}

/// The figures of the scaling table.
pub fn figures(reports: &[Report]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for (mode, _) in MODES {
        figures.extend(recalls(reports, mode));
    }
    figures.extend(opening(reports));
    figures.extend(rates(reports));
    figures.extend(space(reports));
    figures.retain(Figure::is_measured);
    figures
}

/// The CPU time of a recall in each class, p50.
pub fn recalls(reports: &[Report], mode: &str) -> Vec<Figure> {
    let of = |class: &str| {
        let name = format!("{class}/{mode}, CPU p50");
        Figure::of(name, "ms", reports, |report| report.of_class(class, mode, "cpu.p50_ms"))
    };
    classes_of(reports).into_iter().map(of).collect()
}

/// What a process pays before it is warm, and for one write.
pub fn opening(reports: &[Report]) -> Vec<Figure> {
    [
        ("cold open", "query.cold_open_ms"),
        ("first recall, small scope, cold", "query.cold_first_small_ms"),
        ("first recall, wide scope, cold", "query.cold_first_query_ms"),
        ("one durable remember, p50", "query.insert_one.p50_ms"),
    ]
    .map(|(name, path)| Figure::of(name, "ms", reports, |report| report.number(path)))
    .into()
}

/// How fast many are written, and forgotten.
pub fn rates(reports: &[Report]) -> Vec<Figure> {
    vec![
        Figure::of("written", "records/s", reports, |report| report.rate("build.timers.insert_s")),
        Figure::of("written, by CPU time", "records/CPU s", reports, |report| {
            report.rate("build.load.insert_cpu_s")
        }),
        Figure::of("forgotten", "records/s", reports, |report| report.number("query.deletes_per_s")),
    ]
}

/// What a record takes.
pub fn space(reports: &[Report]) -> Vec<Figure> {
    vec![
        Figure::of("on the disk, each record", "bytes", reports, Report::disk_each),
        Figure::of("in memory, each record", "bytes", reports, Report::memory_each),
    ]
}

/// Several sizes as one JSON value.
pub fn json(reports: &[Report]) -> Value {
    json!({
        "n": reports.iter().map(|report| report.n).collect::<Vec<_>>(),
        "reports": reports.iter().map(Report::json).collect::<Vec<_>>(),
        "scaling": figures(reports).iter().map(Figure::json).collect::<Vec<_>>(),
    })
}

/// The slope of the least-squares line through (ln n, ln value): 1 is growth in proportion, 0 is none.
/// Nothing when a value is zero, which has no logarithm, or with fewer than two sizes.
fn exponent(measured: &[(f64, f64)]) -> Option<f64> {
    if measured.iter().any(|(n, value)| *n <= 0.0 || *value <= 0.0) {
        return None;
    }
    let points: Vec<(f64, f64)> = measured.iter().map(|(n, value)| (n.ln(), value.ln())).collect();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (middle_x, middle_y) = (mean(|point| point.0), mean(|point| point.1));
    let across: f64 = points.iter().map(|(x, _)| (x - middle_x).powi(2)).sum();
    let along: f64 = points.iter().map(|(x, y)| (x - middle_x) * (y - middle_y)).sum();
    (points.len() >= 2 && across > 0.0).then(|| along / across)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(found: Option<f64>, wanted: f64) {
        assert!((found.unwrap() - wanted).abs() < 1e-9, "{found:?} is not {wanted}");
    }

    #[test]
    fn the_exponent_is_the_slope_between_logarithms() {
        is(exponent(&[(1e4, 0.5), (1e5, 5.0)]), 1.0);
        is(exponent(&[(1e4, 7.0), (1e5, 7.0), (1e6, 7.0)]), 0.0);
        is(exponent(&[(100.0, 8.0), (400.0, 4.0)]), -0.5);
        // Not on a line: (0, 0), (1, 2), (2, 1) in powers of ten have the slope 1/2.
        is(exponent(&[(1.0, 1.0), (10.0, 100.0), (100.0, 10.0)]), 0.5);
    }

    #[test]
    fn without_two_sizes_or_with_a_zero_there_is_no_exponent() {
        assert_eq!(exponent(&[]), None);
        assert_eq!(exponent(&[(1e4, 0.5)]), None);
        assert_eq!(exponent(&[(1e4, 0.5), (1e5, 0.0)]), None);
        assert_eq!(exponent(&[(1e4, 0.5), (1e4, 0.7)]), None);
    }
}
