//! What can still be read of the records when a page of the database is damaged?

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::{Error, Result};

/// Gives the rows of a query over the records from `:first` to `:last`, whose first column is the id and which comes in its
/// order; `?1` and so on are `further`. What lies on pages that can't be read is passed over: it costs itself, and whoever
/// verifies the store is told. Whether there was any.
pub(super) fn each_record(
    connection: &Connection,
    sql: &str,
    further: &[Value],
    (first, last): (i64, i64),
    mut each: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<bool> {
    let mut statement = connection.prepare_cached(sql)?;
    let (mut from, mut passed_over) = (first, false);
    loop {
        statement.clear_bindings();
        for (place, value) in further.iter().enumerate() {
            statement.raw_bind_parameter(place + 1, value)?;
        }
        for (name, value) in [(":first", from), (":last", last)] {
            let place = statement.parameter_index(name)?.expect("the query is over a range of records");
            statement.raw_bind_parameter(place, value)?;
        }
        let mut rows = statement.raw_query();
        let mut at = from - 1;
        let failed = loop {
            match rows.next() {
                Ok(Some(row)) => {
                    at = row.get(0)?;
                    each(row)?;
                }
                Ok(None) => return Ok(passed_over),
                Err(error) => break Error::from(error),
            }
        };
        if !matches!(failed, Error::Corrupt(_)) {
            return Err(failed);
        }
        passed_over = true;
        match next_readable(connection, at, last)? {
            // The place of a row can be read and the row itself can't.
            Some(next) => from = next + i64::from(next == from),
            None => return Ok(passed_over),
        }
    }
}

/// The first record after one that a search can come to.
fn next_readable(connection: &Connection, after: i64, last: i64) -> Result<Option<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT 1")?;
    let mut look = |from: i64| -> Result<Option<Option<i64>>> {
        match statement.query_row([from, last], |row| row.get(0)).optional().map_err(Error::from) {
            Ok(found) => Ok(Some(found)),
            Err(Error::Corrupt(_)) => Ok(None),
            Err(error) => Err(error),
        }
    };
    // Further and further away until something can be read, then back to where that begins.
    let (mut damaged, mut step) = (after, 1i64);
    let mut found = loop {
        let from = damaged.saturating_add(step);
        if from > last {
            return Ok(None);
        }
        match look(from)? {
            Some(found) => break (from, found),
            None => (damaged, step) = (from, step.saturating_mul(2)),
        }
    };
    while found.0 - damaged > 1 {
        let middle = damaged + (found.0 - damaged) / 2;
        match look(middle)? {
            Some(nearer) => found = (middle, nearer),
            None => damaged = middle,
        }
    }
    Ok(found.1)
}
