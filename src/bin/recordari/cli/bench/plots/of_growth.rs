//! The plots of several sizes: what grows with the number of records, and with which power of it.

use super::super::growth::{self, Figure};
use super::super::report::{MODES, Report};
use super::super::tables::{decimals_signed, grouped, significant};
use super::chart::{Across, Chart, Series};
use super::scale::Scale;
use super::{COLOURS, SHAPES, origin, short};
use crate::cli::svg::{Line, Shape};

/// The charts of growth with their names, those without a figure left out.
pub fn charts(reports: &[Report]) -> Vec<(String, Chart)> {
    let mut all: Vec<(String, &str, String, Vec<Figure>)> = Vec::new();
    for (mode, meaning) in MODES {
        let title = format!("CPU time of a recall, {meaning}, by the number of records");
        let figures = growth::recalls(reports, mode).into_iter().map(|figure| {
            let class = figure.name.rsplit_once('/').map_or("", |(class, _)| class);
            Figure { name: short(class), ..figure }
        });
        all.push((format!("growth-{mode}"), "CPU time, p50, ms", title, figures.collect()));
    }
    let title = |what: &str| format!("{what}, by the number of records");
    all.push((
        "growth-open".to_owned(),
        "time, ms",
        title("Opening and single writes"),
        growth::opening(reports),
    ));
    all.push(("growth-rate".to_owned(), "records a second", title("Rates"), growth::rates(reports)));
    all.push((
        "growth-space".to_owned(),
        "bytes a record",
        title("Space of a record"),
        growth::space(reports),
    ));
    let charts = all.into_iter().map(|(name, y_label, title, mut figures)| {
        figures.retain(Figure::is_measured);
        Some((name, chart(reports, y_label, title, &figures)?))
    });
    charts.flatten().collect()
}

fn chart(reports: &[Report], y_label: &str, title: String, figures: &[Figure]) -> Option<Chart> {
    let sizes: Vec<f64> = reports.iter().map(|report| report.n as f64).collect();
    let series = figures.iter().enumerate().map(|(at, figure)| {
        let points = sizes.iter().zip(&figure.values).filter_map(|(n, value)| {
            let value = (*value)?;
            let note = format!(
                "{}, {} records: {} {}",
                figure.name,
                grouped(*n as u64),
                significant(value),
                figure.unit
            );
            Some((*n, value, note))
        });
        let power = figure.exponent.map(|_| format!(" ~ n^{}", decimals_signed(figure.exponent, 2)));
        Series {
            name: format!("{}{}", figure.name, power.unwrap_or_default()),
            colour: COLOURS[at % COLOURS.len()],
            shape: if at == 0 { Shape::Circle } else { SHAPES[(at - 1) % SHAPES.len()] },
            filled: true,
            line: Some(Line::Solid),
            points: points.collect(),
        }
    });
    let series: Vec<Series> = series.collect();
    let values = figures.iter().flat_map(|figure| figure.values.iter().flatten().copied());
    Some(Chart {
        title,
        subtitle: "both axes logarithmic; a straight line is growth with a power of the number n of records"
            .to_owned(),
        footer: origin(reports.last()?),
        x: Across::Numbers { label: "records in the store, n".to_owned(), scale: Scale::at(&sizes)? },
        y_label: y_label.to_owned(),
        y: Scale::logarithmic(values)?,
        series,
    })
}
