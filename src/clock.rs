//! What time it is, so that tests can say when. Knows instants, not calendars or zones.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::error::{Error, Result};

/// What an instant must be.
const YEARS: &str = "must lie in the years -9999 to 9999";

/// An instant: microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant that many microseconds after the epoch; negative ones lie before it.
    ///
    /// # Errors
    /// `Invalid` outside the years -9999 to 9999.
    pub fn from_micros(micros: i64) -> Result<Timestamp> {
        jiff::Timestamp::from_microsecond(micros)
            .map(|_| Timestamp(micros))
            .map_err(|_| Error::invalid("time", YEARS))
    }

    /// Microseconds since the epoch.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339, for example `2026-03-01T10:00:00+09:00` or `2026-03-01T10:00Z`.
    /// Anything finer than a microsecond is cut off.
    ///
    /// # Errors
    /// `Invalid`, naming `field`; a time without an offset is refused, never guessed.
    pub fn parse(field: &'static str, text: &str) -> Result<Timestamp> {
        if let Ok(at) = text.parse::<jiff::Timestamp>() {
            // The library reads fractions of the last second, and writes none of them.
            let read = Timestamp::from_micros(at.as_microsecond());
            return read.map_err(|_| Error::invalid(field, YEARS));
        }
        let naive = text.parse::<jiff::civil::DateTime>().is_ok();
        let must = if naive {
            "must say its offset from UTC, for example 2026-03-01T10:00:00Z or 2026-03-01T10:00:00+09:00"
        } else {
            "must be a time in RFC 3339 with an offset, for example 2026-03-01T10:00:00Z"
        };
        Err(Error::invalid(field, must))
    }

    /// The instant that many seconds later, or the last one there is.
    pub fn plus_seconds(self, seconds: i64) -> Timestamp {
        let latest = jiff::Timestamp::MAX.as_second() * 1_000_000;
        let earliest = jiff::Timestamp::MIN.as_second() * 1_000_000;
        Timestamp(self.0.saturating_add(seconds.saturating_mul(1_000_000)).clamp(earliest, latest))
    }

    /// Days from `earlier` to this instant, with fractions; negative when it lies before.
    pub fn days_since(self, earlier: Timestamp) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 86_400e6
    }

    /// The day in UTC, as `2026-03-01`.
    pub fn date(self) -> String {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => jiff::tz::Offset::UTC.to_datetime(at).date().to_string(),
            Err(_) => self.to_string(),
        }
    }
}

/// Prints RFC 3339 in UTC.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at}"),
            Err(_) => f.write_str("out of range"),
        }
    }
}

/// Says what time it is.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_microsecond())
    }
}

/// A clock that stands still until it is set: for tests, replays and demonstrations.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: Timestamp) -> ManualClock {
        ManualClock(AtomicI64::new(now.0))
    }

    /// Moves the clock, forward or back.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_an_offset_is_refused_and_the_message_says_so() {
        let error = Timestamp::parse("valid_from", "2025-03-01T10:00").unwrap_err();
        assert!(error.to_string().contains("offset"), "{error}");
        assert!(Timestamp::parse("valid_from", "yesterday").is_err());
    }

    #[test]
    fn order_is_by_instant() {
        let tokyo = Timestamp::parse("t", "2025-03-01T10:00+09:00").unwrap();
        let utc = Timestamp::parse("t", "2025-03-01T10:00Z").unwrap();
        assert!(tokyo < utc);
        assert_eq!(tokyo.to_string(), "2025-03-01T01:00:00Z");
        assert_eq!(tokyo.date(), "2025-03-01");
    }

    #[test]
    fn far_times_saturate() {
        let far = Timestamp::parse("t", "9999-01-01T00:00:00Z").unwrap();
        assert!(far.plus_seconds(i64::MAX) >= far);
    }

    #[test]
    fn every_instant_reads_back_as_it_prints() {
        let some = Timestamp::parse("t", "2025-03-01T10:00Z").unwrap();
        for at in [some, some.plus_seconds(i64::MAX), some.plus_seconds(i64::MIN)] {
            assert_eq!(Timestamp::parse("t", &at.to_string()).unwrap(), at, "{at}");
        }
        // Such a one printed as "out of range".
        assert!(Timestamp::parse("t", "9999-12-30T22:00:00.5Z").is_err());
    }
}
