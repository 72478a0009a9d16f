//! Makes odd inputs of sound ones: by the tree where they are JSON, by bytes in any case.

use serde_json::{Map, Value, json};

use crate::numbers::Numbers;

/// No input is longer; the doors have bounds of their own below that.
pub const INPUT_MAX: usize = 1 << 20;
/// How deep something is nested now and then.
const DEEP: usize = 20_000;

/// What has been trouble somewhere.
const TRICKY: &[&str] = &[
    "\0",
    "\u{1}",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\u{fffd}",
    "\u{ffff}",
    "\u{10ffff}",
    "e\u{301}\u{301}\u{301}",
    "\u{2028}",
    "👩\u{200d}👩\u{200d}👧",
    "🏳\u{fe0f}\u{200d}🌈",
    "中文",
    "각\u{1100}\u{1161}",
    "ﷺ",
    "İ",
    "ß",
    "\\ud800",
    "\\u0000",
    "\"",
    "\\",
    "'",
    "--",
    "%",
    "#",
    "$ne",
    "null",
    "true",
    "NaN",
    "Infinity",
    "0",
    "-0",
    "-1",
    "1e309",
    "5e-324",
    "2147483648",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551616",
    "0.1",
    "[]",
    "{}",
    "[[",
    "}}",
    ",",
    ":",
    "\r\n",
    "\n\n",
    "\t",
    " ",
    "../../",
    "2026-02-30T24:00:60Z",
    "-9999-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    "+23:59",
    "<memories>",
    "</memories>",
    "rec_00000000000000000000000000",
    "mem_00000000000000000000000000",
    "password=hunter2hunter2",
    "AND 1=1; DROP TABLE records",
];

/// An input made of one of the seeds, and of what the others hold.
pub fn mutated(seeds: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let seed = &seeds[numbers.below(seeds.len())];
    let tree = serde_json::from_slice::<Value>(seed).ok().filter(|_| numbers.below(2) == 0);
    let mut bytes = match tree {
        Some(mut tree) => {
            for _ in 0..=numbers.below(3) {
                change(&mut tree, numbers);
            }
            tree.to_string().into_bytes()
        }
        None => seed.clone(),
    };
    let is_changed = bytes != *seed;
    let times = match numbers.below(16) {
        0 => 16,
        // Unchanged too, once in a while: what is sound must be taken.
        1 => 0,
        _ if is_changed => numbers.below(2),
        _ => 1 + numbers.below(3),
    };
    for _ in 0..times {
        change_bytes(&mut bytes, seeds, numbers);
        bytes.truncate(INPUT_MAX);
    }
    bytes
}

/// A text to put where a text is wanted: made of an input, or something odd.
pub fn text(input: &[u8], numbers: &mut Numbers) -> String {
    match numbers.below(8) {
        0 => odd_text(numbers),
        1 => String::new(),
        2 => {
            let whole = String::from_utf8_lossy(input);
            let from = (0..=numbers.below(whole.len() + 1)).rev().find(|at| whole.is_char_boundary(*at));
            whole[from.unwrap_or(0)..].to_owned()
        }
        _ => String::from_utf8_lossy(input).into_owned(),
    }
}

fn tricky(numbers: &mut Numbers) -> &'static str {
    TRICKY[numbers.below(TRICKY.len())]
}

fn odd_text(numbers: &mut Numbers) -> String {
    let mut text = String::new();
    for _ in 0..=numbers.below(3) {
        text.push_str(tricky(numbers));
    }
    match numbers.below(40) {
        0 => text.repeat(1 + 70_000 / text.len()),
        1..4 => text.repeat(1 + 250 / text.len()),
        _ => text,
    }
}

fn odd_value(numbers: &mut Numbers) -> Value {
    match numbers.below(14) {
        0 => Value::Null,
        1 => json!(numbers.below(2) == 0),
        2 => json!([i64::MIN, -1, 0, 1, i64::MAX][numbers.below(5)]),
        3 => json!(u64::MAX),
        4 => json!([0.1, -0.0, 1e308, 5e-324, 1.000_000_1, 4_294_967_296.5][numbers.below(6)]),
        5 => json!([]),
        6 => json!({}),
        7 => (0..numbers.below(60)).fold(json!(odd_text(numbers)), |inner, _| json!([inner])),
        8 => (0..numbers.below(60)).fold(json!(1), |inner, _| json!({ "not": inner })),
        9 => json!(vec![odd_text(numbers); numbers.below(40)]),
        10 if numbers.below(10) == 0 => json!(vec![0; 5_000]),
        _ => json!(odd_text(numbers)),
    }
}

/// Changes one place of a tree.
fn change(tree: &mut Value, numbers: &mut Numbers) {
    let goes_on = numbers.below(4) > 0;
    match tree {
        Value::Object(object) if goes_on && !object.is_empty() => change_object(object, numbers),
        Value::Array(items) if goes_on && !items.is_empty() => {
            let at = numbers.below(items.len());
            match numbers.below(5) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                2 => items.insert(at, odd_value(numbers)),
                _ => change(&mut items[at], numbers),
            }
        }
        Value::String(text) if goes_on => {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let at = places[numbers.below(places.len())];
            match numbers.below(3) {
                0 => text.truncate(at),
                1 => *text = text.repeat(2 + numbers.below(20)),
                _ => text.insert_str(at, &odd_text(numbers)),
            }
        }
        _ => *tree = odd_value(numbers),
    }
}

fn change_object(object: &mut Map<String, Value>, numbers: &mut Numbers) {
    let keys: Vec<String> = object.keys().cloned().collect();
    let key = &keys[numbers.below(keys.len())];
    let other = &keys[numbers.below(keys.len())];
    match numbers.below(8) {
        0 => drop(object.remove(key)),
        1 => drop(object.insert(odd_text(numbers), odd_value(numbers))),
        2 => {
            let value = object[key].clone();
            object.insert(other.clone(), value);
        }
        _ => change(&mut object[key], numbers),
    }
}

/// A stretch of the bytes; near their beginning as often as anywhere, since that is where heads of files are.
fn stretch(length: usize, numbers: &mut Numbers) -> std::ops::Range<usize> {
    let near = if numbers.below(2) == 0 { length.min(512) } else { length };
    let from = numbers.below(near + 1);
    let most = [1, 8, 64, 4096][numbers.below(4)];
    from..(from + numbers.below(most) + 1).min(length).max(from)
}

fn change_bytes(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], numbers: &mut Numbers) {
    let range = stretch(bytes.len(), numbers);
    let from = range.start;
    match numbers.below(14) {
        0 | 1 if from < bytes.len() => bytes[from] ^= 1 << numbers.below(8),
        2 if from < bytes.len() => bytes[from] = numbers.below(256) as u8,
        3 => drop(bytes.drain(range)),
        4 => {
            let times = if numbers.below(16) == 0 { 3000 } else { [2, 3, 50][numbers.below(3)] };
            let part = bytes[range].to_vec();
            let times = times.min(INPUT_MAX / part.len().max(1));
            bytes.splice(from..from, part.repeat(times));
        }
        5 | 6 => drop(bytes.splice(from..from, tricky(numbers).bytes())),
        7 => {
            // The beginning of this one and the end of another.
            let other = &seeds[numbers.below(seeds.len())];
            bytes.truncate(from);
            bytes.extend_from_slice(&other[numbers.below(other.len() + 1)..]);
        }
        8 => bytes.truncate(from),
        9 => {
            let digits = bytes.iter().position(u8::is_ascii_digit).map_or(from, |first| first.max(from));
            let length = bytes[digits..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let extreme = ["0", "-1", "4294967296", "18446744073709551615", "1e999", "0.5"];
            bytes.splice(digits..digits + length, extreme[numbers.below(extreme.len())].bytes());
        }
        10 => {
            let (open, close) =
                [("[", "]"), ("{\"not\":", "}"), ("{\"all\":[", "]}"), ("(", ")")][numbers.below(4)];
            let depth = if numbers.below(8) == 0 { DEEP } else { [1, 20, 130][numbers.below(3)] };
            let inner = std::mem::take(bytes);
            *bytes = [open.repeat(depth).as_bytes(), &inner, close.repeat(depth).as_bytes()].concat();
        }
        11 => {
            let other = stretch(bytes.len(), numbers);
            let part = bytes[range].to_vec();
            bytes.splice(other, part);
        }
        12 => {
            let extreme = [0, 1, u32::MAX as u64, 1 << 31, 1 << 62, u64::MAX][numbers.below(6)].to_le_bytes();
            let width = [1, 2, 4, 8][numbers.below(4)].min(bytes.len() - from.min(bytes.len()));
            bytes[from..from + width].copy_from_slice(&extreme[..width]);
        }
        _ => {
            for byte in &mut bytes[range] {
                *byte = numbers.below(256) as u8;
            }
        }
    }
}

#[test]
fn inputs_repeat_by_their_seed_and_keep_to_their_bound() {
    let seeds =
        [br#"{"a":[1,"two"],"b":{"c":null}}"#.to_vec(), "中文 und Emoji 👩\u{200d}👧".as_bytes().to_vec()];
    let make = |seed| mutated(&seeds, &mut Numbers::new(seed));
    for seed in 0..2000 {
        let input = make(seed);
        assert_eq!(input, make(seed));
        assert!(input.len() <= INPUT_MAX);
    }
}
