//! In which ways may a text be written in a file? Knows texts and bytes, not files.

use unicode_normalization::UnicodeNormalization;

/// The shortest form that is looked for: fewer bytes stand anywhere by chance.
pub(super) const BYTES_MIN: usize = 5;

/// A text as it is and in other cases and normal forms, each as UTF-8, UTF-16 of both orders, with JSON, percent and
/// hexadecimal escapes, and in base 64 of both alphabets at all three alignments.
pub(super) fn forms(text: &str) -> Vec<Vec<u8>> {
    let composed: String = text.nfc().collect();
    let decomposed: String = text.nfd().collect();
    let compatible: String = text.nfkc().collect();
    let mut forms = Vec::new();
    for text in [text, &composed, &decomposed, &compatible] {
        for text in [text.to_owned(), text.to_lowercase(), text.to_uppercase()] {
            let units: Vec<u16> = text.encode_utf16().collect();
            forms.push(units.iter().flat_map(|unit| unit.to_le_bytes()).collect());
            forms.push(units.iter().flat_map(|unit| unit.to_be_bytes()).collect());
            forms.push(
                serde_json::Value::from(text.as_str()).to_string().trim_matches('"').as_bytes().to_vec(),
            );
            forms.push(units.iter().map(|unit| escaped(*unit)).collect::<String>().into_bytes());
            forms.push(text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>().into_bytes());
            forms.push(text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes());
            forms.push(text.bytes().map(|byte| format!("{byte:02X}")).collect::<String>().into_bytes());
            for shift in 0..3 {
                let digits = base64(text.as_bytes(), shift);
                // As it stands in addresses.
                forms.push(
                    digits
                        .iter()
                        .map(|digit| match digit {
                            b'+' => b'-',
                            b'/' => b'_',
                            other => *other,
                        })
                        .collect(),
                );
                forms.push(digits);
            }
            forms.push(text.into_bytes());
        }
    }
    forms.retain(|form| form.len() >= BYTES_MIN);
    forms.sort();
    forms.dedup();
    forms
}

/// The ways in which a part of a text is looked for: there are very many parts, so only those that are left by a file that
/// was overwritten in part, as it is and in other cases.
pub(super) fn few_forms(part: &str) -> Vec<Vec<u8>> {
    let units: Vec<u16> = part.encode_utf16().collect();
    let mut forms = vec![
        part.as_bytes().to_vec(),
        part.to_lowercase().into_bytes(),
        part.to_uppercase().into_bytes(),
        units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
        units.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
    ];
    forms.sort();
    forms.dedup();
    forms
}

/// As JSON writes what is not ASCII.
fn escaped(unit: u16) -> String {
    match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    }
}

/// The digits of base 64 that depend on the text alone when it begins at that byte of three.
fn base64(text: &[u8], shift: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = text.get((3 - shift) % 3..).unwrap_or_default();
    let digits = |three: &[u8]| {
        let number = u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2]);
        [18, 12, 6, 0].map(|bits| DIGITS[(number >> bits & 63) as usize])
    };
    text.chunks_exact(3).flat_map(digits).collect()
}

/// The parts of a text that may be left of it where the whole is not: its words, and stretches of [`STRETCH`] bytes,
/// from every character on, in a long text from every so manieth.
pub(super) fn parts(text: &str, bytes: usize) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        if word.len() >= bytes {
            parts.push(word.trim_matches(|c: char| c.is_ascii_punctuation()).to_owned());
        }
    }
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let every = if text.len() > LONG { APART } else { 1 };
    for (nth, start) in starts.iter().enumerate().step_by(every) {
        if let Some(end) = starts[nth..].iter().find(|end| **end - start >= STRETCH) {
            parts.push(text[*start..*end].to_owned());
        }
    }
    parts.retain(|part| part.len() >= bytes);
    parts.sort();
    parts.dedup();
    parts
}

/// How long a stretch of a text is that is looked for by itself, in bytes.
const STRETCH: usize = 12;
/// From so many bytes on a text is long, and its stretches begin so many characters apart.
const LONG: usize = 4096;
const APART: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_is_among_the_forms() {
        let forms = forms("Käse 奶酪");
        let has = |bytes: &[u8]| forms.iter().any(|form| form == bytes);
        assert!(has("käse 奶酪".as_bytes()) && has("KÄSE 奶酪".as_bytes()));
        assert!(has("Ka\u{308}se 奶酪".as_bytes()));
        assert!(has(b"K\\u00e4se \\u5976\\u916a"));
        assert!(has(b"%4B%C3%A4%73%65%20%E5%A5%B6%E9%85%AA"));
        assert!(has(b"4bc3a4736520e5a5b6e985aa"));
        // "Käse 奶酪" alone, and from the second and third byte of three on.
        for digits in [&b"S8Okc2Ug5aW26YWq"[..], b"w6RzZSDlpbbphaq", b"pHNlIOWltumF"] {
            assert!(
                forms.iter().any(|form| digits.starts_with(form) || form.starts_with(digits)),
                "{digits:?}"
            );
        }
    }

    #[test]
    fn parts_are_long_words_and_every_stretch() {
        let parts = parts("orders Marzipanforelle, 点了杏仁鳟鱼", 8);
        assert!(parts.contains(&"Marzipanforelle".to_owned()));
        assert!(parts.contains(&"点了杏仁".to_owned()) && parts.contains(&"杏仁鳟鱼".to_owned()));
        assert!(parts.contains(&"orders Marzi".to_owned()));
        assert!(parts.iter().all(|part| part.len() >= 8));
    }
}
