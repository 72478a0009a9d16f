//! The plots of reports: which there are, and what they show.

mod chart;
mod of_growth;
mod of_size;
mod scale;

use std::path::Path;

use recordari::Error;

use super::super::Failure;
use super::report::Report;
use crate::cli::svg::Shape;
use chart::Chart;

/// Colours that are told apart by those who see few, on white; ours is the first.
const COLOURS: [&str; 7] = ["#0b5fa5", "#d55e00", "#008060", "#a2468f", "#b07d00", "#4a4f55", "#c2185b"];
/// The marks of others: with six colours, 30 look different.
const SHAPES: [Shape; 5] = [Shape::Diamond, Shape::Square, Shape::Triangle, Shape::Tip, Shape::Cross];

/// What the known classes are called where there is little room.
const SHORT: [(&str, &str); 4] = [
    ("s10rows", "some 10 rows"),
    ("s01pct", "0.1 %, a user"),
    ("s10pct", "10 %, a tenant"),
    ("none", "everything"),
];
/// Characters of the name of another class; the rest of a longer one is left out.
const SHORT_MAX: usize = 18;

/// Writes the plots of each size, and of growth if there are several, into a folder that is there; how many.
pub fn write(folder: &Path, reports: &[Report], besides: &[Report]) -> Result<usize, Failure> {
    let mut charts: Vec<(String, Chart)> = Vec::new();
    for report in reports {
        let peers: Vec<&Report> = besides.iter().filter(|theirs| theirs.n == report.n).collect();
        charts.extend(of_size::charts(report, &peers));
    }
    if reports.len() > 1 {
        charts.extend(of_growth::charts(reports));
    }
    for (name, chart) in &charts {
        let path = folder.join(format!("{name}.svg"));
        std::fs::write(&path, chart.draw()).map_err(Error::io(&path))?;
    }
    Ok(charts.len())
}

/// A class in a few words.
fn short(class: &str) -> String {
    let known = SHORT.iter().find(|(known, _)| *known == class);
    known.map_or_else(|| cut(class, SHORT_MAX), |(_, short)| (*short).to_owned())
}

/// A text of so many characters at most; what was left out is marked.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Where the figures of a report come from.
fn origin(report: &Report) -> String {
    let version = report.text("build.version").unwrap_or("recordari");
    let date = report.text("date").map(|date| format!(", measured {date}"));
    let cores = report.text("cpus_used").filter(|cores| !cores.is_empty());
    let cores = cores.map(|cores| format!(", held to core {cores}"));
    format!("{version}{}{}", date.unwrap_or_default(), cores.unwrap_or_default())
}
