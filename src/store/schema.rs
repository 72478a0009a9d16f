//! The tables and how they came to be: formats in order, and the way from each to the next.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Error, Result};

/// The format that this version writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 2;

/// Brings an empty or older database to the present format, in one transaction.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    if format(connection)? == FORMAT {
        return Ok(());
    }
    // Another process may be creating the same store: look again once the lock is held.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match format(&transaction)? {
        0 => transaction.execute_batch(include_str!("schema.sql"))?,
        1 => super::migrate::from_1(&transaction)?,
        FORMAT => {}
        found => return Err(Error::FormatTooNew { found, supported: FORMAT }),
    }
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()?;
    Ok(())
}

fn format(connection: &Connection) -> Result<u32> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
