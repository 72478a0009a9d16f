//! Reports as Markdown: a table of figures, one of differences, one of categories.

use recordari::eval::{Difference, Metrics, ModeReport, Report};

/// Which figures of a difference are shown.
const SHOWN: [&str; 3] = ["recall@10", "mrr@10", "ndcg@10"];

/// Everything, and the comparison with an earlier run where there is one.
pub fn write(reports: &[Report], since: &[Difference]) -> String {
    let mut text = String::new();
    let names: Vec<&str> = Metrics::default().named().iter().map(|(name, _)| *name).collect();
    text += &format!("| set | mode | queries | {} | recall@10 lies in | p50 ms |\n", names.join(" | "));
    text += &format!("| --- | --- | --- |{} --- | --- |\n", " --- |".repeat(names.len()));
    for report in reports {
        for mode in &report.modes {
            text += &row(report, mode);
        }
    }
    let differences: Vec<Difference> = reports.iter().flat_map(Report::differences).collect();
    text += &table("Compared query by query", &differences);
    text += &table("Since the saved report", since);
    text += &categories(reports);
    text
}

fn row(report: &Report, mode: &ModeReport) -> String {
    let figures: Vec<String> = match mode.mean() {
        Some(mean) => mean.named().iter().map(|(_, value)| format!("{value:.3}")).collect(),
        None => Metrics::default().named().iter().map(|_| "-".to_owned()).collect(),
    };
    let range = mode.interval("recall@10");
    let range = range.map_or_else(|| "-".to_owned(), |of| format!("{:.3} to {:.3}", of.low, of.high));
    let latency = mode.latency_ms(50).map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    format!(
        "| {} | {} | {} | {} | {range} | {latency} |\n",
        cell(&report.name),
        cell(&mode.name),
        mode.each.len(),
        figures.join(" | ")
    )
}

fn table(heading: &str, differences: &[Difference]) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n{heading}, with the range that holds 95 of 100; in bold what lies on one side of nothing:\n\n"
    );
    text += &format!("| set | mode | with | queries | {} |\n", SHOWN.join(" | "));
    text += &format!("| --- | --- | --- | --- |{}\n", " --- |".repeat(SHOWN.len()));
    for difference in differences {
        let shown = SHOWN.map(|name| match difference.figure(name) {
            Some(of) if of.is_clear() => format!("**{:+.3}** ({:+.3} to {:+.3})", of.mean, of.low, of.high),
            Some(of) => format!("{:+.3} ({:+.3} to {:+.3})", of.mean, of.low, of.high),
            None => "-".to_owned(),
        });
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            cell(&difference.set),
            cell(&difference.mode),
            cell(&difference.with),
            difference.queries,
            shown.join(" | ")
        );
    }
    text
}

fn categories(reports: &[Report]) -> String {
    let with_some: Vec<&Report> =
        reports.iter().filter(|report| report.modes.iter().any(|mode| mode.categories.len() > 1)).collect();
    let mut text = String::new();
    for report in with_some {
        let modes: Vec<&ModeReport> = report.modes.iter().filter(|mode| !mode.is_ablated()).collect();
        let names: Vec<String> = modes.iter().map(|mode| cell(&mode.name)).collect();
        text += &format!("\nrecall@10 on {} by category:\n\n", cell(&report.name));
        text += &format!("| category | queries | {} |\n", names.join(" | "));
        text += &format!("| --- | --- |{}\n", " --- |".repeat(names.len()));
        let Some(first) = modes.first() else { continue };
        for (category, (count, _)) in &first.categories {
            let figures: Vec<String> = modes
                .iter()
                .map(|mode| match mode.categories.get(category) {
                    Some((_, metrics)) => format!("{:.3}", metrics.recall_10),
                    None => "-".to_owned(),
                })
                .collect();
            text += &format!("| {} | {count} | {} |\n", cell(category), figures.join(" | "));
        }
    }
    text
}

/// A text that stays in its cell.
fn cell(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('|', "\\|")
}
