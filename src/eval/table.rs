//! A report for a person to read: one table of modes, one of categories.

use std::fmt;

use super::metrics::FIGURES;
use super::{Metrics, ModeReport, Report};

/// What stands above the figures, in the order of [`Metrics::named`].
const HEADS: [&str; FIGURES] = ["R@5", "R@10", "R@20", "all@10", "MRR", "nDCG", "stand"];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused: usize = self.refused.values().sum();
        write!(
            f,
            "{}: {} memories, {} duplicates, {refused} refused",
            self.name, self.lines, self.duplicates
        )?;
        if refused > 0 {
            let reasons: Vec<String> =
                self.refused.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
            write!(f, " ({})", reasons.join(", "))?;
        }
        writeln!(f, ", {} queries", self.queries)?;
        let width = self.modes.iter().map(|mode| mode.name.len()).max().unwrap_or(0).max(8);
        writeln!(
            f,
            "  {:<width$} {} {:>8} {:>8} {:>7} {:>6} {:>6}",
            "mode",
            HEADS.map(|head| format!("{head:>6}")).join(" "),
            "p50 ms",
            "p95 ms",
            "wrong",
            "folded",
            "floor"
        )?;
        for mode in &self.modes {
            writeln!(
                f,
                "  {:<width$} {} {:>8} {:>8} {:>7} {:>6} {:>6}",
                mode.name,
                row(mode.mean().as_ref()),
                milliseconds(mode.latency_ms(50)),
                milliseconds(mode.latency_ms(95)),
                mode.wrongly_seen(),
                mode.folded,
                mode.below_floor
            )?;
        }
        self.fmt_differences(f)?;
        self.fmt_unanswerable(f)?;
        self.fmt_categories(f)
    }
}

impl Report {
    fn fmt_unanswerable(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with: Vec<&ModeReport> = self.modes.iter().filter(|mode| mode.unanswerable > 0).collect();
        let Some(first) = with.first() else { return Ok(()) };
        let empty: Vec<String> =
            with.iter().map(|mode| format!("{} {}", mode.name, mode.unanswerable_empty)).collect();
        writeln!(
            f,
            "  of {} queries without an answer, answered with nothing: {}",
            first.unanswerable,
            empty.join(", ")
        )
    }

    /// What the recall by everything is better or worse by, for the reader of one line.
    fn fmt_differences(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in self.differences() {
            let Some(of) = difference.figure("recall@10") else { continue };
            let clear = if of.is_clear() { "" } else { ", which may be chance" };
            writeln!(
                f,
                "  hybrid over {}: R@10 {:+.3} ({:+.3} to {:+.3}{clear})",
                difference.with.trim_start_matches("hybrid "),
                of.mean,
                of.low,
                of.high
            )?;
        }
        Ok(())
    }

    /// Recall@10 by category, if there is more than one.
    fn fmt_categories(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modes: Vec<&ModeReport> = self.modes.iter().filter(|mode| !mode.is_ablated()).collect();
        let Some(first) = modes.first().filter(|mode| mode.categories.len() > 1) else {
            return Ok(());
        };
        write!(f, "  R@10 by category                  ")?;
        for mode in &modes {
            write!(f, " {:>9}", mode.name)?;
        }
        writeln!(f)?;
        for (category, (count, _)) in &first.categories {
            write!(f, "    {category:<28} {count:>5}")?;
            for mode in &modes {
                match mode.categories.get(category) {
                    Some((_, metrics)) => write!(f, " {:>9.3}", metrics.recall_10)?,
                    None => write!(f, " {:>9}", "-")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn row(metrics: Option<&Metrics>) -> String {
    match metrics {
        Some(metrics) => metrics.named().map(|(_, value)| format!("{value:>6.3}")).join(" "),
        None => ["     -"; FIGURES].join(" "),
    }
}

fn milliseconds(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}
