//! The plots of one size: the time of a recall by the size of its scope, and how much of the exact answer
//! comes back, with other engines beside.

use super::super::report::{MODES, OURS, Report};
use super::super::tables::{grouped, significant};
use super::chart::{Across, Chart, Series};
use super::scale::Scale;
use super::{COLOURS, SHAPES, cut, origin, short};
use crate::cli::svg::{Line, Shape};

/// Our times from the middle to the slowest, as lines: percentile, colour, mark, line.
const TIMES: [(&str, &str, Shape, Line); 3] = [
    ("p50", "#0b5fa5", Shape::Circle, Line::Solid),
    ("p95", "#3d8fd1", Shape::Square, Line::Dashed),
    ("p99", "#7a8fa6", Shape::Triangle, Line::Dotted),
];
/// The most of a group that its columns take, and how far they are apart at most, as shares of the group.
const COLUMNS_MAX: f64 = 0.8;
const APART_MAX: f64 = 0.16;

/// Characters of the name of another engine; the rest of a longer one is left out.
const NAME_MAX: usize = 24;

/// The charts of one size with their names, those without a figure left out.
pub fn charts(report: &Report, peers: &[&Report]) -> Vec<(String, Chart)> {
    let named = |what: &str, chart: Option<Chart>| Some((format!("n{}-{what}", report.n), chart?));
    let times = MODES.iter().map(|(mode, meaning)| named(mode, times(report, peers, mode, meaning)));
    times.chain([named("recall", recall(report, peers))]).flatten().collect()
}

/// CPU time by scope: our p50, p95 and p99, and the p50 of others.
fn times(report: &Report, peers: &[&Report], mode: &str, meaning: &str) -> Option<Chart> {
    let classes: Vec<&str> =
        report.classes().into_iter().filter(|class| report.is_asked(class, mode)).collect();
    let columns = 1 + peers.len();
    let column = places(columns);
    let of = |report: &Report, at: usize, percentile: &str| {
        let points = classes.iter().enumerate().filter_map(|(group, class)| {
            let value = report.of_class(class, mode, &format!("cpu.{percentile}_ms"))?;
            let note = format!("{} {percentile}, {class}: {} ms", report.peer, significant(value));
            Some((group as f64 + column(at), value, note))
        });
        points.collect::<Vec<_>>()
    };
    let mut series: Vec<Series> = TIMES
        .map(|(percentile, colour, shape, line)| Series {
            name: format!("Recordari, {percentile}"),
            colour,
            shape,
            filled: true,
            line: Some(line),
            points: of(report, 0, percentile),
        })
        .into();
    for (at, peer) in peers.iter().enumerate() {
        let look = look(at);
        series.push(Series { name: format!("{}, p50", name(peer)), points: of(peer, at + 1, "p50"), ..look });
    }
    series.retain(|series| !series.points.is_empty());
    let captions = classes.iter().map(|class| {
        let value = |percentile: &str| {
            let value = report.of_class(class, mode, &format!("cpu.{percentile}_ms"));
            value.map_or("-".to_owned(), significant)
        };
        let mut lines = caption(report, class, mode);
        lines.push(format!("{} / {} / {}", value("p50"), value("p95"), value("p99")));
        lines
    });
    let title = format!("CPU time of a recall, {meaning}, {} records", grouped(report.n));
    Some(Chart {
        title,
        subtitle: "by the size of the scope; logarithmic axis, lower is faster".to_owned(),
        footer: origin(report),
        x: Across::Groups {
            label: "scope of the query; below it Recordari's p50 / p95 / p99 in ms".to_owned(),
            columns,
            captions: captions.collect(),
        },
        y_label: "CPU time, ms".to_owned(),
        y: Scale::logarithmic(values(&series))?,
        series,
    })
}

/// The share of the exact ten that came back, by scope and way to ask.
fn recall(report: &Report, peers: &[&Report]) -> Option<Chart> {
    let classes = report.classes();
    let reports: Vec<&Report> = [report].into_iter().chain(peers.iter().copied()).collect();
    let columns = reports.len() * MODES.len();
    let column = places(columns);
    let mut series = Vec::new();
    for (of, one) in reports.iter().enumerate() {
        for (at, (mode, meaning)) in MODES.iter().enumerate() {
            let points = classes.iter().enumerate().filter_map(|(group, class)| {
                let value = one.of_class(class, mode, "recall10")?;
                let note = format!("{}, {class}/{mode}: {value:.4}", one.peer);
                Some((group as f64 + column(of * MODES.len() + at), value, note))
            });
            let (who, look) = match of {
                0 => ("Recordari".to_owned(), ours()),
                _ => (name(one), look(of - 1)),
            };
            let (name, filled) = (format!("{who}, {meaning}"), at == 0);
            series.push(Series { name, filled, points: points.collect(), ..look });
        }
    }
    series.retain(|series| !series.points.is_empty());
    let captions = classes.iter().map(|class| {
        let asked = MODES.iter().find(|(mode, _)| report.is_asked(class, mode));
        caption(report, class, asked.map_or("", |(mode, _)| mode))
    });
    let y = Scale::linear(values(&series), 0.9, 1.0)?;
    let reference = match peers {
        [] => "",
        _ => " (hybrid: ours of our exact plan, others of the workload's reference)",
    };
    let cut = if y.place(0.0) == Some(0.0) { "" } else { "; the axis does not begin at 0" };
    Some(Chart {
        title: format!("Recall@10, {} records", grouped(report.n)),
        subtitle: format!("share of the exact ten that came back{reference}{cut}"),
        footer: origin(report),
        x: Across::Groups { label: "scope of the query".to_owned(), columns, captions: captions.collect() },
        y_label: "recall@10".to_owned(),
        y,
        series,
    })
}

/// What a class is called, and how much it asks of.
fn caption(report: &Report, class: &str, mode: &str) -> Vec<String> {
    let of_all = match report.of_class(class, mode, "scope_rows_median") {
        _ if class == "none" => "live, in one namespace".to_owned(),
        Some(rows) => format!("{} of {} rows", grouped(rows.round() as u64), grouped(report.n)),
        None => String::new(),
    };
    vec![short(class), of_all]
}

/// Where each of so many columns lies from the middle of its group.
fn places(count: usize) -> impl Fn(usize) -> f64 {
    let apart = (COLUMNS_MAX / count.max(1) as f64).min(APART_MAX);
    move |at| (at as f64 - (count as f64 - 1.0) / 2.0) * apart
}

/// How the marks of ours look where there is one of each report.
fn ours() -> Series {
    let (name, points) = (String::new(), Vec::new());
    Series { name, colour: COLOURS[0], shape: Shape::Circle, filled: true, line: None, points }
}

/// How the marks of another engine look.
fn look(at: usize) -> Series {
    let colour = COLOURS[1 + at % (COLOURS.len() - 1)];
    Series { colour, shape: SHAPES[at % SHAPES.len()], filled: false, ..ours() }
}

/// What another engine is called; an earlier measurement of ours is told from this one.
fn name(peer: &Report) -> String {
    if peer.peer == OURS { "Recordari, beside".to_owned() } else { cut(&peer.peer, NAME_MAX) }
}

fn values(series: &[Series]) -> Vec<f64> {
    series.iter().flat_map(|series| series.points.iter().map(|(_, value, _)| *value)).collect()
}
