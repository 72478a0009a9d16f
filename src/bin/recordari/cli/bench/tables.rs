//! Measurements as text: the tables of one size, of one engine beside ours, and of growth.

use serde_json::Value;

use super::super::out::shown;
use super::super::{Failure, Out};
use super::growth::{self, Figure};
use super::report::{CLASSES, MODES, Report};

/// The tables of one size.
pub fn print(report: &Report, out: &mut Out) -> Result<(), Failure> {
    let (n, rate) = (report.n, |path| decimals(report.rate(path), 0));
    let number = |path, digits| decimals(report.number(path), digits);
    let query = &report.json()["query"];
    let count = |value: &Value| value.as_u64().map_or("-".to_owned(), |count| count.to_string());
    out.line(format!("{n} memories"))?;
    out.line(format!(
        "  written        {} a second ({} a CPU second), keyword index {} a second",
        rate("build.timers.insert_s"),
        rate("build.load.insert_cpu_s"),
        rate("build.timers.index_s")
    ))?;
    out.line(format!(
        "  on the disk    {} bytes each; in memory after all queries {} MB more",
        decimals(report.disk_each(), 0),
        number("query.rss_mb.engine_total", 0)
    ))?;
    out.line(format!(
        "  cold           open {} ms, first recall in a small scope {} ms, in a wide one {} ms",
        number("query.cold_open_ms", 1),
        number("query.cold_first_small_ms", 1),
        number("query.cold_first_query_ms", 1)
    ))?;
    out.line(format!(
        "  one remember   p50 {} ms, p95 {} ms; recalled at once {} of {}",
        number("query.insert_one.p50_ms", 2),
        number("query.insert_one.p95_ms", 2),
        count(&query["insert_one"]["visible_at_once"]),
        count(&query["insert_one"]["n"])
    ))?;
    out.line(format!(
        "  forgotten      {} a second; rows returned that were deleted or out of scope: {}",
        number("query.deletes_per_s", 0),
        report.wrongs()
    ))?;
    let beside = |path: &str| report.number(&format!("beside_writer.{path}"));
    if let (Some(alone), Some(both)) = (beside("quiet.p99_ms"), beside("beside.p99_ms")) {
        out.line(format!(
            "  beside         a writer of {} a second, small scopes: p99 {} ms, alone {} ms",
            decimals(beside("writer.a_second"), 0),
            decimals(Some(both), 2),
            decimals(Some(alone), 2)
        ))?;
    }
    out.line("")?;
    out.line("  recall, ms            CPU p50    p95    p99   wall p50    p99  recall@10  off topic  scope")?;
    for (class, mode) in asked(report) {
        let number = |path, digits| decimals(report.of_class(class, mode, path), digits);
        let meaning = CLASSES.iter().find(|(known, _)| *known == class && mode == "hybrid");
        out.line(format!(
            "  {:<20} {:>8} {:>6} {:>6} {:>10} {:>6} {:>10} {:>10}  {}",
            shown(&format!("{class}/{mode}")),
            number("cpu.p50_ms", 3),
            number("cpu.p95_ms", 2),
            number("cpu.p99_ms", 2),
            number("p50_ms", 3),
            number("p99_ms", 2),
            number("recall10", 4),
            number("recall10_offtopic", 4),
            meaning.map_or("", |(_, meaning)| meaning)
        ))?;
    }
    Ok(())
}

/// Our CPU times and recall beside those of another engine at the same size.
pub fn beside(ours: &Report, theirs: &Report, out: &mut Out) -> Result<(), Failure> {
    out.line("")?;
    out.line(format!(
        "  beside {}: CPU ms, ours / theirs = ratio (below 1: ours takes less)",
        shown(&theirs.peer)
    ))?;
    out.line(
        "                        p50 ours  theirs   ratio   p99 ours  theirs   ratio   recall@10  theirs",
    )?;
    for (class, mode) in asked(ours) {
        let both = |path| (ours.of_class(class, mode, path), theirs.of_class(class, mode, path));
        let times = |path, digits| {
            let (own, other) = both(path);
            let ratio = decimals(ratio(own, other), 2);
            format!("{:>10} {:>7} {ratio:>7}", decimals(own, digits), decimals(other, digits))
        };
        let (own, other) = both("recall10");
        out.line(format!(
            "  {:<20} {} {} {:>11} {:>7}",
            shown(&format!("{class}/{mode}")),
            times("cpu.p50_ms", 3),
            times("cpu.p99_ms", 3),
            decimals(own, 4),
            decimals(other, 4)
        ))?;
    }
    Ok(())
}

/// Every figure at every size, and the exponent that it grows with.
pub fn scaling(reports: &[Report], out: &mut Out) -> Result<(), Failure> {
    let figures = growth::figures(reports);
    let named = |figure: &Figure| shown(&format!("{}, {}", figure.name, figure.unit));
    let width = figures.iter().map(|figure| named(figure).chars().count()).max().unwrap_or(0).max(20);
    let row = |name: &str, values: Vec<String>, exponent: &str| {
        let values: String = values.iter().map(|value| format!(" {value:>12}")).collect();
        format!("  {name:<width$}{values} {exponent:>9}")
    };
    out.line("growth with the number n of memories: a figure grows as n to the power of its exponent")?;
    out.line(row("", reports.iter().map(|report| grouped(report.n)).collect(), "exponent"))?;
    for figure in &figures {
        let values = figure.values.iter().map(|value| value.map_or("-".to_owned(), significant));
        out.line(row(&named(figure), values.collect(), &decimals_signed(figure.exponent, 2)))?;
    }
    Ok(())
}

/// The classes and modes of a report that were asked, in order.
fn asked(report: &Report) -> Vec<(&str, &'static str)> {
    let all = report.classes().into_iter().flat_map(|class| MODES.map(|(mode, _)| (class, mode)));
    all.filter(|(class, mode)| report.is_asked(class, mode)).collect()
}

/// Ours divided by theirs; nothing when either is missing or theirs is zero.
pub fn ratio(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    let theirs = theirs.filter(|theirs| *theirs > 0.0)?;
    Some(ours? / theirs)
}

/// A number with so many decimals, or a hyphen.
pub fn decimals(number: Option<f64>, digits: usize) -> String {
    number.map_or("-".to_owned(), |number| format!("{number:.digits$}"))
}

/// The same, where a small negative number must not be written as minus nothing.
pub fn decimals_signed(number: Option<f64>, digits: usize) -> String {
    let text = decimals(number, digits);
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') && text.len() > 1 {
        return text.trim_start_matches('-').to_owned();
    }
    text
}

/// A number with three significant digits or more, in groups of thousands.
pub fn significant(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        number if number >= 1e15 => format!("{number:.2e}"),
        number if number >= 99.95 => grouped(number.round() as u64),
        number if number >= 9.995 => format!("{number:.1}"),
        number if number >= 0.9995 => format!("{number:.2}"),
        number if number >= 0.001 => format!("{number:.3}"),
        number => format!("{number:.1e}"),
    }
}

/// A whole number in groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_both_and_divides_by_no_zero() {
        assert_eq!(ratio(Some(3.0), Some(2.0)), Some(1.5));
        assert_eq!(ratio(Some(0.0), Some(2.0)), Some(0.0));
        assert_eq!(ratio(Some(3.0), Some(0.0)), None);
        assert_eq!((ratio(None, Some(2.0)), ratio(Some(3.0), None)), (None, None));
    }

    #[test]
    fn numbers_are_short_and_exact_enough() {
        let written =
            [0.0, 0.1304, 0.99949, 1.2, 9.99, 9.996, 99.94, 99.96, 1234.5, 1e6, 2e-5].map(significant);
        let wanted =
            ["0", "0.130", "0.999", "1.20", "9.99", "10.0", "99.9", "100", "1,235", "1,000,000", "2.0e-5"];
        assert_eq!(written, wanted);
        assert_eq!([1, 12, 123, 1234, 1_234_567].map(grouped), ["1", "12", "123", "1,234", "1,234,567"]);
        assert_eq!(decimals_signed(Some(-0.001), 2), "0.00");
        assert_eq!(decimals_signed(Some(-0.26), 2), "-0.26");
        assert_eq!(decimals_signed(None, 2), "-");
    }
}
