//! The tables of a measurement, as text.

use serde_json::Value;

use super::super::{Failure, Out};

const CLASSES: [(&str, &str); 4] = [
    ("s10rows", "some 10 rows, one namespace"),
    ("s01pct", "0.1 % of the rows, a user's projects"),
    ("s10pct", "10 % of the rows, a whole tenant"),
    ("none", "all live rows in one namespace"),
];

pub fn print(result: &Value, out: &mut Out) -> Result<(), Failure> {
    let number = |value: &Value, digits: usize| match value.as_f64() {
        Some(number) => format!("{number:.digits$}"),
        None => "-".to_owned(),
    };
    let n = result["n"].as_f64().unwrap_or(0.0);
    let (build, query) = (&result["build"], &result["query"]);
    let rate =
        |seconds: &Value| seconds.as_f64().map_or("-".to_owned(), |seconds| format!("{:.0}", n / seconds));
    out.line(format!("{n} memories"))?;
    out.line(format!(
        "  written        {} a second ({} a CPU second), keyword index {} a second",
        rate(&build["timers"]["insert_s"]),
        rate(&build["load"]["insert_cpu_s"]),
        rate(&build["timers"]["index_s"])
    ))?;
    out.line(format!(
        "  on the disk    {:.0} bytes each; in memory after all queries {} MB more",
        build["disk_bytes"].as_f64().unwrap_or(0.0) / n,
        number(&query["rss_mb"]["engine_total"], 0)
    ))?;
    out.line(format!(
        "  cold           open {} ms, first recall in a small scope {} ms, in a wide one {} ms",
        number(&query["cold_open_ms"], 1),
        number(&query["cold_first_small_ms"], 1),
        number(&query["cold_first_query_ms"], 1)
    ))?;
    out.line(format!(
        "  one remember   p50 {} ms, p95 {} ms; recalled at once {} of {}",
        number(&query["insert_one"]["p50_ms"], 2),
        number(&query["insert_one"]["p95_ms"], 2),
        query["insert_one"]["visible_at_once"],
        query["insert_one"]["n"]
    ))?;
    out.line(format!(
        "  forgotten      {} a second; rows returned that were deleted or out of scope: {}",
        number(&query["deletes_per_s"], 0),
        wrongs(result)
    ))?;
    out.line("")?;
    out.line("  recall, ms            CPU p50    p95    p99   wall p50    p99  recall@10  off topic  scope")?;
    for (class, meaning) in CLASSES {
        for mode in ["hybrid", "vec"] {
            let found = &query["classes"][format!("{class}/{mode}")];
            if found.is_null() {
                continue;
            }
            let cpu = &found["cpu"];
            out.line(format!(
                "  {:<20} {:>8} {:>6} {:>6} {:>10} {:>6} {:>10} {:>10}  {}",
                format!("{class}/{mode}"),
                number(&cpu["p50_ms"], 3),
                number(&cpu["p95_ms"], 2),
                number(&cpu["p99_ms"], 2),
                number(&found["p50_ms"], 3),
                number(&found["p99_ms"], 2),
                number(&found["recall10"], 4),
                number(&found["recall10_offtopic"], 4),
                if mode == "hybrid" { meaning } else { "" }
            ))?;
        }
    }
    Ok(())
}

/// How many rows came back that must not have, or were missing though there were some.
pub fn wrongs(result: &Value) -> u64 {
    let query = &result["query"];
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let classes = query["classes"].as_object().into_iter().flatten();
    let outside: u64 =
        classes.map(|(_, found)| count(&found["out_of_scope_rows"]) + count(&found["short_answers"])).sum();
    let again = query["w3"].as_object().into_iter().flatten();
    let dead: u64 = again
        .map(|(_, found)| {
            count(&found["deleted_rows_returned_vec"]) + count(&found["deleted_rows_returned_hybrid"])
        })
        .sum();
    outside + dead + count(&result["reopen"]["deleted_rows_returned_after_reopen"])
}
