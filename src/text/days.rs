//! Which days does a text name? Dates, months and years, and words that count from today, in English and Chinese.
//! A day is its number since 1970-01-01.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use jiff::civil::{Date, date};
use regex::{Captures, Regex};

use super::traits::pattern;

/// From this many characters on, "yesterday" in a text is not the day that it asks about.
const LONG: usize = 300;
/// The same of a text with Han characters.
const LONG_HAN: usize = 100;
/// The most spans that are taken from one text.
const SPANS_MAX: usize = 16;
/// No year outside of these is taken for one.
const YEARS: RangeInclusive<i64> = 1000..=9000;

type Span = (Date, Date);
type Read = fn(&Captures<'_>, Date) -> Option<Span>;

/// What a text must hold to name any day: looking for it is a hundred times faster than for the days.
static HINTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = [
        "yesterday",
        " ago",
        "last ",
        "this ",
        "past ",
        "week",
        "month",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "jan ",
        "feb ",
        "mar ",
        "apr ",
        "jun ",
        "jul ",
        "aug ",
        "sep ",
        "sept",
        "oct ",
        "nov ",
        "dec ",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
        "天",
        "昨",
        "月",
        "年",
        "周",
        "星期",
        "礼拜",
    ];
    AhoCorasick::builder().ascii_case_insensitive(true).build(words).expect("the words are constants")
});

const MONTH: &str = "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const HAN: &str = "([0-9]{1,2}|[一二两三四五六七八九十]{1,3})";

/// Days that are named outright, the longer forms first: what one form has read is not read again.
static ABSOLUTE: LazyLock<Vec<(Regex, Read)>> = LazyLock::new(|| {
    vec![
        (pattern(r"\b(\d{4})-(\d{1,2})-(\d{1,2})(?:\b|t)"), |c, _| {
            day(number(c, 1)?, number(c, 2)?, number(c, 3)?)
        }),
        (
            pattern(&format!(r"\b{MONTH}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}}))?")),
            |c, today| day_of(c.get(3), month(c, 1)?, number(c, 2)?, today),
        ),
        (
            pattern(&format!(r"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH}\b(?:,?\s+(\d{{4}}))?")),
            |c, today| day_of(c.get(3), month(c, 2)?, number(c, 1)?, today),
        ),
        (pattern(&format!(r"\b{MONTH},?\s+(?:of\s+)?(\d{{4}})\b")), |c, _| {
            month_of(number(c, 2)?, month(c, 1)?)
        }),
        (
            pattern(&format!(r"\b(?:in|during|of|this|last|since|early|late|mid)[ -]+{MONTH}\b")),
            |c, today| {
                // "This may be so" names no month.
                let is_verb = &c[1] == "may" && c[0].to_ascii_lowercase().starts_with("this");
                let month = month(c, 1).filter(|_| !is_verb)?;
                month_of(last_year_with(today, month, 1), month)
            },
        ),
        (pattern(r"\b((?:19|20)\d\d)-(0[1-9]|1[0-2])\b"), |c, _| month_of(number(c, 1)?, number(c, 2)?)),
        (pattern(r"\b(?:in|during|of|since)\s+((?:19|20)\d\d)\b"), |c, _| year(number(c, 1)?)),
        (pattern(&format!("([0-9]{{4}})年{HAN}月{HAN}[日号]?")), |c, _| {
            day(number(c, 1)?, han(c, 2)?, han(c, 3)?)
        }),
        (pattern(&format!("{HAN}月{HAN}[日号]?")), |c, today| day_of(None, han(c, 1)?, han(c, 2)?, today)),
        (pattern(&format!("([0-9]{{4}})年{HAN}月份?")), |c, _| month_of(number(c, 1)?, han(c, 2)?)),
        (pattern("([0-9]{4})年"), |c, _| year(number(c, 1)?)),
        (pattern(&format!("(?:^|[^个]){HAN}月份?")), |c, today| {
            month_of(last_year_with(today, han(c, 1)?, 1), han(c, 1)?)
        }),
    ]
});

/// Days that are counted from today.
static RELATIVE: LazyLock<Vec<(Regex, Read)>> = LazyLock::new(|| {
    vec![
        (pattern(r"\bday before yesterday\b"), |_, today| before(today, 2)),
        (pattern(r"\byesterday\b"), |_, today| before(today, 1)),
        (
            pattern(
                r"\b(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|couple of|several) (day|week|month|year)s? ago\b",
            ),
            |c, today| ago(today, counted(&c[1])?, &c[2]),
        ),
        (pattern(r"\blast week\b"), |_, today| week(today, 1)),
        (pattern(r"\bthis week\b"), |_, today| week(today, 0)),
        (pattern(r"\blast weekend\b"), |_, today| {
            between(shifted(monday(today)?, -2)?, shifted(monday(today)?, -1)?)
        }),
        (pattern(r"\blast month\b"), |_, today| month_before(today)),
        (pattern(r"\bthis month\b"), |_, today| month_of(today.year().into(), today.month().into())),
        (pattern(r"\blast year\b"), |_, today| year(i64::from(today.year()) - 1)),
        (
            pattern(r"\b(?:on|last|this past) (monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b"),
            |c, today| {
                weekday(today, WEEKDAYS.iter().position(|name| c[1].eq_ignore_ascii_case(name))? as i64)
            },
        ),
        (pattern("大前天"), |_, today| before(today, 3)),
        (pattern("前天"), |_, today| before(today, 2)),
        (pattern("昨天|昨晚"), |_, today| before(today, 1)),
        (pattern(&format!("{HAN}天之?前")), |c, today| before(today, han(c, 1)?)),
        (pattern("(上上|上|这)个?(?:周|星期|礼拜)([一二三四五六日天])?"), |c, today| {
            let weeks = match &c[1] {
                "上上" => 2,
                "上" => 1,
                _ => 0,
            };
            let (first, last) = week(today, weeks)?;
            match c.get(2) {
                Some(day) => one(shifted(first, han_digit(day.as_str().chars().next()?)? - 1)?),
                None => Some((first, last)),
            }
        }),
        (
            // Not "every Wednesday", nor "five times a week".
            pattern("(?:^|[^每一二两三四五六七八九十几0-9])(?:周|星期|礼拜)([一二三四五六日天])"),
            |c, today| weekday(today, han_digit(c[1].chars().next()?)? - 1),
        ),
        (pattern("上个?月"), |_, today| month_before(today)),
        (pattern("这个月|本月"), |_, today| month_of(today.year().into(), today.month().into())),
        (pattern("去年"), |_, today| year(i64::from(today.year()) - 1)),
    ]
});

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// The days that a text names, as seen on a day; each from and to. A date without a year is the last such day.
pub fn days_named(text: &str, today: i32) -> Vec<RangeInclusive<i32>> {
    let Some(today) = of_number(today).filter(|_| HINTS.is_match(text)) else { return Vec::new() };
    let is_han = |c: char| matches!(c, '\u{4e00}'..='\u{9fff}');
    let long = if text.contains(is_han) { LONG_HAN } else { LONG };
    let forms: &[&[(Regex, Read)]] = match text.chars().nth(long) {
        None => &[&ABSOLUTE, &RELATIVE],
        Some(_) => &[&ABSOLUTE],
    };
    let (mut rest, mut found) = (text.to_owned(), Vec::new());
    for (form, read) in forms.iter().copied().flatten() {
        if !form.is_match(&rest) {
            continue;
        }
        let without = form.replace_all(&rest, |captures: &Captures<'_>| match read(captures, today) {
            Some(span) => {
                found.push(span);
                " ; ".to_owned()
            }
            None => captures[0].to_owned(),
        });
        rest = without.into_owned();
    }
    found.truncate(SPANS_MAX);
    found.into_iter().map(|(from, to)| number_of(from)..=number_of(to)).collect()
}

const EPOCH: Date = date(1970, 1, 1);

fn of_number(number: i32) -> Option<Date> {
    EPOCH.checked_add(jiff::Span::new().try_days(number).ok()?).ok()
}

fn number_of(day: Date) -> i32 {
    (day - EPOCH).get_days()
}

fn one(day: Date) -> Option<Span> {
    Some((day, day))
}

fn between(from: Date, to: Date) -> Option<Span> {
    Some((from, to))
}

fn day(year: i64, month: i64, day: i64) -> Option<Span> {
    let whole = |number: i64| i8::try_from(number).ok();
    let year = YEARS.contains(&year).then(|| i16::try_from(year).ok())??;
    one(Date::new(year, whole(month)?, whole(day)?).ok()?)
}

/// A day of a month; in the year that is named, or in the last one that had it.
fn day_of(named: Option<regex::Match<'_>>, month: i64, of_month: i64, today: Date) -> Option<Span> {
    let year = match named {
        Some(year) => year.as_str().parse().ok()?,
        None => last_year_with(today, month, of_month),
    };
    day(year, month, of_month)
}

fn last_year_with(today: Date, month: i64, day: i64) -> i64 {
    let year = i64::from(today.year());
    let is_to_come = (month, day) > (i64::from(today.month()), i64::from(today.day()));
    year - i64::from(is_to_come)
}

fn month_of(year: i64, month: i64) -> Option<Span> {
    let (first, _) = day(year, month, 1)?;
    between(first, first.last_of_month())
}

fn year(year: i64) -> Option<Span> {
    let (first, _) = day(year, 1, 1)?;
    between(first, first.last_of_year())
}

fn shifted(day: Date, days: i64) -> Option<Date> {
    day.checked_add(jiff::Span::new().try_days(days).ok()?).ok()
}

fn before(today: Date, days: i64) -> Option<Span> {
    one(shifted(today, -days)?)
}

fn monday(today: Date) -> Option<Date> {
    shifted(today, -i64::from(today.weekday().to_monday_zero_offset()))
}

/// The week so many weeks before this one, from Monday on.
fn week(today: Date, before: i64) -> Option<Span> {
    let first = shifted(monday(today)?, -7 * before)?;
    between(first, shifted(first, 6)?)
}

/// The last such day before today; 0 is Monday.
fn weekday(today: Date, wanted: i64) -> Option<Span> {
    let now = i64::from(today.weekday().to_monday_zero_offset());
    before(today, (now - wanted - 1).rem_euclid(7) + 1)
}

fn month_before(today: Date) -> Option<Span> {
    let last = shifted(today.first_of_month(), -1)?;
    between(last.first_of_month(), last)
}

/// So long ago, give or take half a unit.
fn ago(today: Date, count: i64, unit: &str) -> Option<Span> {
    let (days, about) = match unit.to_ascii_lowercase().as_str() {
        "day" => (count, 0),
        "week" => (7 * count, 3),
        "month" => (30 * count, 15),
        _ => (365 * count, 180),
    };
    between(shifted(today, -days - about)?, shifted(today, about - days)?)
}

fn counted(word: &str) -> Option<i64> {
    const WORDS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    let word = word.to_ascii_lowercase();
    Some(match word.as_str() {
        "a" | "an" => 1,
        "couple of" => 2,
        "a few" => 3,
        "several" => 5,
        word => match WORDS.iter().position(|name| *name == word) {
            Some(at) => at as i64 + 1,
            None => word.parse().ok()?,
        },
    })
}

fn number(captures: &Captures<'_>, at: usize) -> Option<i64> {
    captures.get(at)?.as_str().parse().ok()
}

fn month(captures: &Captures<'_>, at: usize) -> Option<i64> {
    const NAMES: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = captures.get(at)?.as_str().to_ascii_lowercase();
    NAMES.iter().position(|short| name.starts_with(short)).map(|at| at as i64 + 1)
}

fn han_digit(c: char) -> Option<i64> {
    Some(match c {
        '一' => 1,
        '二' | '两' => 2,
        '三' => 3,
        '四' => 4,
        '五' => 5,
        '六' => 6,
        '七' | '日' | '天' => 7,
        '八' => 8,
        '九' => 9,
        _ => return None,
    })
}

/// A number below a hundred in digits or Han numerals.
fn han(captures: &Captures<'_>, at: usize) -> Option<i64> {
    let text = captures.get(at)?.as_str();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let digit = |text: &str, otherwise: i64| match text.chars().next() {
        Some(c) => han_digit(c),
        None => Some(otherwise),
    };
    match text.split_once('十') {
        Some((tens, ones)) => Some(digit(tens, 1)? * 10 + digit(ones, 0)?),
        None if text.chars().count() == 1 => digit(text, 0),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2024-05-15 is a Wednesday.
    fn named(text: &str) -> Vec<(String, String)> {
        let today = number_of(date(2024, 5, 15));
        let told = |number: i32| of_number(number).unwrap().to_string();
        days_named(text, today).iter().map(|span| (told(*span.start()), told(*span.end()))).collect()
    }

    fn one_day(text: &str, day: &str) {
        assert_eq!(named(text), [(day.to_owned(), day.to_owned())], "{text}");
    }

    fn span(text: &str, from: &str, to: &str) {
        assert_eq!(named(text), [(from.to_owned(), to.to_owned())], "{text}");
    }

    #[test]
    fn dates_are_read_in_english_and_chinese() {
        for text in [
            "on 2023-07-09",
            "at 2023-07-09T10:00:00Z",
            "on July 9, 2023",
            "9th of July 2023",
            "2023年7月9日",
            "2023年七月九号",
        ] {
            one_day(text, "2023-07-09");
        }
        // Without a year: the last one.
        for text in ["on May 3", "the 3rd of May", "5月3日", "五月三号"] {
            one_day(text, "2024-05-03");
        }
        one_day("on June 3rd", "2023-06-03");
        one_day("十二月二十五日", "2023-12-25");
        span("in 2022-08", "2022-08-01", "2022-08-31");
        span("this May", "2024-05-01", "2024-05-31");
        span("in August 2022", "2022-08-01", "2022-08-31");
        span("during February", "2024-02-01", "2024-02-29");
        span("since 2019", "2019-01-01", "2019-12-31");
        span("2019年", "2019-01-01", "2019-12-31");
        span("7月份", "2023-07-01", "2023-07-31");
        span("2023年2月", "2023-02-01", "2023-02-28");
    }

    #[test]
    fn days_are_counted_from_today_in_english_and_chinese() {
        for (text, day) in [
            ("what did I say yesterday?", "2024-05-14"),
            ("the day before yesterday", "2024-05-13"),
            ("three days ago", "2024-05-12"),
            ("昨天", "2024-05-14"),
            ("前天", "2024-05-13"),
            ("大前天", "2024-05-12"),
            ("三天前", "2024-05-12"),
            ("on Monday", "2024-05-13"),
            ("last Wednesday", "2024-05-08"),
            ("上周五", "2024-05-10"),
            ("星期日", "2024-05-12"),
            ("这周一", "2024-05-13"),
        ] {
            one_day(text, day);
        }
        span("last week", "2024-05-06", "2024-05-12");
        span("上个星期", "2024-05-06", "2024-05-12");
        span("last weekend", "2024-05-11", "2024-05-12");
        span("last month", "2024-04-01", "2024-04-30");
        span("上个月", "2024-04-01", "2024-04-30");
        span("last year", "2023-01-01", "2023-12-31");
        span("去年", "2023-01-01", "2023-12-31");
        span("two weeks ago", "2024-04-28", "2024-05-04");
        span("a year ago", "2022-11-17", "2023-11-12");
    }

    #[test]
    fn what_names_no_day_is_none() {
        for text in [
            "which tea do I like?",
            "I may go, you may march",
            "version 2024",
            "三个月",
            "0000-00-00",
            "2023-13-45",
            "on February 30, 2023",
            "99月99日",
            "999 years ago but 99999 days",
            "十十月",
            "",
        ] {
            assert!(named(text).len() <= 1, "{text}: {:?}", named(text));
        }
        for text in [
            "this may be",
            "每周三开会",
            "一周五次",
            "which tea do I like?",
            "2023-13-45",
            "on February 30, 2023",
            "99月99日",
            "",
        ] {
            assert_eq!(named(text), [], "{text}");
        }
        // Of a long text "yesterday" says nothing of when it is asked about.
        assert_eq!(named(&format!("yesterday {}", "and so on ".repeat(40))), []);
        assert!(named(&"2023-01-01 ".repeat(100)).len() <= SPANS_MAX);
        assert_eq!(days_named("yesterday", i32::MAX), []);
        assert_eq!(days_named("yesterday", i32::MIN), []);
    }
}
