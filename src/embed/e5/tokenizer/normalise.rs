//! Brings a text into the form in which the vocabulary was made. Does not know the vocabulary.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::file::SPACE;

/// One change to a text.
pub(super) enum Step {
    /// Replaces each of these characters, which are sorted.
    Replace {
        /// The characters, in ascending order.
        characters: Vec<char>,
        /// What comes in their place.
        by: String,
    },
    /// Applies Unicode's compatibility composition.
    Nfkc,
    /// Makes one space of several.
    SingleSpaces,
}

/// The changes that a text goes through, in order.
pub(super) struct Normaliser {
    steps: Vec<Step>,
}

impl Normaliser {
    pub(super) fn new(steps: Vec<Step>) -> Normaliser {
        Normaliser { steps }
    }

    /// Applies all steps; then each space becomes a `▁`, and one is put in front where none is. An empty
    /// text stays empty.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for step in &self.steps {
            match step {
                Step::Replace { characters, by } => {
                    if text.chars().any(|c| characters.binary_search(&c).is_ok()) {
                        text = replace(&text, characters, by);
                    }
                }
                Step::Nfkc => {
                    if is_nfkc_quick(text.chars()) != IsNormalized::Yes {
                        text = text.nfkc().collect();
                    }
                }
                Step::SingleSpaces => {
                    let mut last = '\0';
                    text.retain(|c| {
                        let is_second = c == ' ' && last == ' ';
                        last = c;
                        !is_second
                    });
                }
            }
        }
        let mut marked = String::with_capacity(text.len() * 3 / 2 + SPACE.len_utf8());
        if !text.is_empty() && !text.starts_with([' ', SPACE]) {
            marked.push(SPACE);
        }
        marked.extend(text.chars().map(|c| if c == ' ' { SPACE } else { c }));
        marked
    }
}

fn replace(text: &str, characters: &[char], by: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    for c in text.chars() {
        if characters.binary_search(&c).is_ok() {
            replaced.push_str(by);
        } else {
            replaced.push(c);
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_applied_in_order() {
        let normaliser = Normaliser::new(vec![
            Step::Replace { characters: vec!['\0', '\u{7}'], by: String::new() },
            Step::Replace { characters: vec!['\t', '\n'], by: " ".to_owned() },
            Step::Nfkc,
            Step::SingleSpaces,
        ]);
        let cases = [
            ("", ""),
            (" ", "▁"),
            ("a  b", "▁a▁b"),
            (" a   \t\n b ", "▁a▁b▁"),
            ("a\0 \u{7} b", "▁a▁b"),
            ("ﬁ ½", "▁fi▁1⁄2"),
            ("▁a", "▁a"),
            ("aa  bb  c", "▁aa▁bb▁c"),
        ];
        for (text, want) in cases {
            assert_eq!(normaliser.apply(text), want, "{text:?}");
        }
    }
}
