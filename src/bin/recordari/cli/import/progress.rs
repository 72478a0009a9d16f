//! How far is it? A bar on standard error, on a terminal only.

use std::path::Path;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over the bytes of a file; for standard input, whose end nobody knows, a count.
pub fn of_file(file: &Path) -> ProgressBar {
    match std::fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => {
            styled(ProgressBar::new(metadata.len()), "{bar:30} {percent:>3}%  {msg}")
        }
        _ => styled(ProgressBar::new_spinner(), "{spinner} {msg}"),
    }
}

/// A bar over a count that is learned on the way.
pub fn counted() -> ProgressBar {
    styled(ProgressBar::new(0), "{bar:30} {pos} of {len}  {eta} left")
}

/// Says how many lines there were, and how fast.
pub fn told(bar: &ProgressBar, lines: u64, started: Instant) {
    if !bar.is_hidden() {
        let rate = lines as f64 / started.elapsed().as_secs_f64().max(0.001);
        bar.set_message(format!("{lines} lines, {rate:.0} a second"));
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
