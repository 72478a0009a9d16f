//! Reports as pictures: for each set the figure of every mode, with its range.

use std::path::Path;

use recordari::Error;
use recordari::eval::Report;

use crate::cli::Failure;
use crate::cli::svg::{Anchor, INK, Line, PALE, Set, Shape, Svg};

/// The figures that have a picture.
const FIGURES: [&str; 3] = ["recall@5", "recall@10", "ndcg@10"];
const WIDTH: f64 = 760.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 76.0;
const ROW: f64 = 20.0;
const GAP: f64 = 14.0;
/// What is the recall by everything, what is less of it, and what lacks a part.
const COLOURS: [&str; 3] = ["#0b5fa5", "#d55e00", "#4a4f55"];

/// Writes the pictures into a folder that is there; how many.
pub fn write(folder: &Path, reports: &[Report]) -> Result<usize, Failure> {
    for figure in FIGURES {
        let path = folder.join(format!("eval-{}.svg", figure.replace('@', "-")));
        std::fs::write(&path, draw(reports, figure)).map_err(Error::io(&path))?;
    }
    Ok(FIGURES.len())
}

fn draw(reports: &[Report], figure: &str) -> String {
    let rows: usize = reports.iter().map(|report| report.modes.len()).sum();
    let height = TOP + rows as f64 * ROW + reports.len() as f64 * (ROW + GAP) + 40.0;
    let title = format!("{figure} by set and mode");
    let mut svg = Svg::new(
        WIDTH,
        height,
        &title,
        "The mean over the queries and the range that holds it with 95 of 100.",
    );
    let bold = Set { size: 16.0, colour: INK, anchor: Anchor::Start, bold: true };
    svg.text(20.0, 30.0, &bold, &title);
    let pale = Set { size: 12.0, colour: PALE, anchor: Anchor::Start, bold: false };
    svg.text(
        20.0,
        50.0,
        &pale,
        "the mean over the queries; the line is the range that holds it with 95 of 100",
    );
    let across = |value: f64| LEFT + value * (WIDTH - LEFT - RIGHT);
    let bottom = height - 30.0;
    for step in 0..=10 {
        let x = across(f64::from(step) / 10.0);
        svg.rule((x, TOP - 8.0), (x, bottom), "#d1d9e0");
        let tick = Set { size: 11.0, colour: PALE, anchor: Anchor::Middle, bold: false };
        svg.text(x, bottom + 16.0, &tick, &format!("{:.1}", f64::from(step) / 10.0));
    }
    let mut y = TOP;
    for report in reports {
        y += ROW;
        let set = Set { size: 13.0, colour: INK, anchor: Anchor::Start, bold: true };
        svg.text(20.0, y - 5.0, &set, &report.name);
        for mode in &report.modes {
            y += ROW;
            let name = Set { size: 12.0, colour: INK, anchor: Anchor::End, bold: false };
            svg.text(LEFT - 12.0, y - 5.0, &name, &mode.name);
            let Some(of) = mode.interval(figure) else { continue };
            let colour = match (mode.is_ablated(), mode.name == "hybrid") {
                (true, _) => COLOURS[2],
                (false, true) => COLOURS[0],
                (false, false) => COLOURS[1],
            };
            let middle = y - 9.0;
            svg.path(&[(across(of.low), middle), (across(of.high), middle)], colour, Line::Solid);
            let note =
                format!("{}, {}: {:.3} ({:.3} to {:.3})", report.name, mode.name, of.mean, of.low, of.high);
            svg.mark((across(of.mean), middle), Shape::Circle, colour, true, &note);
        }
        y += GAP;
    }
    svg.finish()
}
