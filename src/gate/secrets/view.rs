//! What do the rules see of a text? ASCII, with the way back to the text's own bytes.
//!
//! Knows no rule. A view never shows a character that a reader of the text would not read there.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A text as ASCII bytes, each of which remembers the character that it stands for.
pub(super) struct View<'t> {
    text: &'t str,
    bytes: Cow<'t, [u8]>,
    /// For each byte of the view, where its character begins in the text; `None` when they are equal.
    origins: Option<Vec<usize>>,
}

impl<'t> View<'t> {
    /// Every way to look at `text`: one when it is plain, two when folding could hide a boundary, and one
    /// more when it speaks of a password in Chinese, Japanese or Korean.
    ///
    /// The first folds compatibility forms and drops what has no width, so that a disguised secret
    /// is whole again. The second has a blank for each character that is not ASCII, so that a secret
    /// is free of a full-width letter or a zero-width space which only stands beside it. The third is
    /// the first with "password is" in the place of those words.
    pub(super) fn all(text: &'t str) -> Views<'t> {
        if text.is_ascii() {
            return Views {
                folded: View { text, bytes: Cow::Borrowed(text.as_bytes()), origins: None },
                parted: None,
                spoken: None,
            };
        }
        let (folded, differs) = View::folded(text, &[]);
        let parted = differs.then(|| View::parted(text));
        let told = told(text);
        Views { folded, parted, spoken: (!told.is_empty()).then(|| View::folded(text, &told).0) }
    }

    /// Also tells whether folding put anything other than blanks in the place of a character. What lies in
    /// `told` is replaced.
    fn folded(text: &'t str, told: &[Range<usize>]) -> (View<'t>, bool) {
        let mut bytes = Vec::with_capacity(text.len());
        let mut origins = Vec::with_capacity(text.len());
        let mut differs = false;
        let mut told = told.iter().peekable();
        for (at, character) in text.char_indices() {
            while told.next_if(|place| place.end <= at).is_some() {}
            if let Some(place) = told.peek().filter(|place| place.contains(&at)) {
                if place.start == at {
                    bytes.extend_from_slice(PASSWORD_IS);
                    origins.extend(std::iter::repeat_n(at, PASSWORD_IS.len()));
                }
                continue;
            }
            if character.is_ascii() {
                bytes.push(character as u8);
                origins.push(at);
            } else if is_invisible(character) {
                differs = true;
            } else if is_letter_of_its_own(character) {
                bytes.push(b' ');
                origins.push(at);
            } else {
                for form in std::iter::once(character).nfkc() {
                    let byte = if form.is_ascii() { form as u8 } else { b' ' };
                    differs |= byte != b' ';
                    bytes.push(byte);
                    origins.push(at);
                }
            }
        }
        (View { text, bytes: Cow::Owned(bytes), origins: Some(origins) }, differs)
    }

    fn parted(text: &'t str) -> View<'t> {
        let (bytes, origins) = text
            .char_indices()
            .map(|(at, character)| (if character.is_ascii() { character as u8 } else { b' ' }, at))
            .unzip();
        View { text, bytes: Cow::Owned(bytes), origins: Some(origins) }
    }

    /// The bytes that the rules match against.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in the text the byte at `at` of this view comes from.
    pub(super) fn origin(&self, at: usize) -> usize {
        match &self.origins {
            None => at,
            Some(origins) => origins.get(at).copied().unwrap_or(self.text.len()),
        }
    }

    /// Where in the text a match ends that ends before `end` in this view.
    pub(super) fn origin_end(&self, end: usize) -> usize {
        match (&self.origins, end.checked_sub(1)) {
            (None, _) | (_, None) => end,
            (Some(_), Some(last)) => {
                let start = self.origin(last);
                start + self.text[start..].chars().next().map_or(0, char::len_utf8)
            }
        }
    }
}

/// The views of one text.
pub(super) struct Views<'t> {
    folded: View<'t>,
    parted: Option<View<'t>>,
    spoken: Option<View<'t>>,
}

impl<'t> Views<'t> {
    /// Each view, the folded one first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &View<'t>> {
        std::iter::once(&self.folded).chain(&self.parted).chain(&self.spoken)
    }
}

/// What a view has where a text says so in another language.
const PASSWORD_IS: &[u8] = b" password is ";
/// "Password" in Chinese, Japanese and Korean.
const PASSWORD: [&str; 7] = ["密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호"];
/// What may stand between it and the password, longer ones first.
const IS: [&str; 21] = [
    "已经改成",
    "设置为",
    "設置為",
    "修改为",
    "现在是",
    "现在为",
    "设为",
    "設為",
    "改为",
    "改為",
    "改成",
    "是",
    "为",
    "為",
    "は",
    "が",
    "：",
    ":",
    "는",
    "은",
    "=",
];

/// Where `text` tells of a password: the word and what joins it to what follows.
fn told(text: &str) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = PASSWORD
        .iter()
        .flat_map(|word| text.match_indices(word))
        .filter_map(|(start, word)| {
            let after = text[start + word.len()..].trim_start();
            let is = IS.iter().find(|is| after.starts_with(**is))?;
            Some(start..text.len() - after.len() + is.len())
        })
        .collect();
    places.sort_by_key(|place| place.start);
    places
}

/// Whether a character takes no room of its own: nobody sees that it splits a word.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
        || is_combining_mark(character)
}

/// Whether a character is of the scripts that have no ASCII form: decided here because asking the
/// Unicode tables for each character of a Chinese text costs more than all else.
fn is_letter_of_its_own(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FE}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

#[cfg(test)]
mod tests {
    use super::View;

    fn seen(text: &str) -> Vec<String> {
        View::all(text).iter().map(|view| String::from_utf8(view.bytes().to_vec()).unwrap()).collect()
    }

    #[test]
    fn a_plain_text_has_one_view_and_a_disguised_one_two() {
        for (text, views) in [
            ("sk_live", vec!["sk_live"]),
            ("钥sk匙", vec![" sk "]),
            ("ｓｋ", vec!["sk", "  "]),
            ("s\u{200B}k", vec!["sk", "s k"]),
            ("s\u{301}k", vec!["sk", "s k"]),
            ("é：x", vec![" :x", "  x"]),
            ("𝓈k", vec!["sk", " k"]),
        ] {
            assert_eq!(seen(text), views, "{text:?}");
        }
    }

    #[test]
    fn a_place_in_a_view_leads_back_to_whole_characters_of_the_text() {
        let text = "键ｓ\u{200B}k匙";
        let views = View::all(text);
        let view = views.iter().next().unwrap();
        assert_eq!(view.bytes(), b" sk ");
        assert_eq!(&text[view.origin(1)..view.origin_end(3)], "ｓ\u{200B}k");
        assert_eq!(view.origin_end(4), text.len());
        assert_eq!(view.origin(4), text.len());
        assert_eq!(view.origin_end(0), 0);
    }
}
