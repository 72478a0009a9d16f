//! Reads `tokenizer.json` and makes sure that it asks for nothing but what is implemented.

use std::borrow::Cow;

use serde::Deserialize;

use super::Tokenizer;
use super::normalise::{Normaliser, Step};
use super::vocabulary::Vocabulary;
use crate::embed::e5::{TOKENIZER_FILE, unusable};
use crate::error::{Error, Result};

/// What stands for a space in the vocabulary.
pub(super) const SPACE: char = '\u{2581}';

/// Lists of normalisers inside lists that are followed.
const MAX_DEPTH: u32 = 4;

#[derive(Deserialize)]
struct File<'a> {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    normalizer: NormaliserEntry,
    pre_tokenizer: PreTokenizer,
    post_processor: PostProcessor,
    #[serde(borrow)]
    model: Model<'a>,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum NormaliserEntry {
    Sequence {
        normalizers: Vec<NormaliserEntry>,
    },
    Replace {
        pattern: Pattern,
        content: String,
    },
    #[serde(rename = "NFKC")]
    Nfkc,
}

#[derive(Deserialize)]
struct Pattern {
    #[serde(rename = "Regex")]
    regex: String,
}

#[derive(Deserialize)]
struct PreTokenizer {
    r#type: String,
    replacement: char,
    prepend_scheme: String,
    split: bool,
}

#[derive(Deserialize)]
struct PostProcessor {
    r#type: String,
    single: Vec<TemplateEntry>,
}

#[derive(Deserialize)]
enum TemplateEntry {
    SpecialToken { id: String },
    Sequence { id: String },
}

#[derive(Deserialize)]
struct Model<'a> {
    r#type: String,
    unk_id: u32,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(borrow)]
    vocab: Vec<Piece<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Piece<'a>(#[serde(borrow)] pub(super) Cow<'a, str>, pub(super) f64);

/// Reads the file.
pub(super) fn read(json: &[u8]) -> Result<Tokenizer> {
    let file: File<'_> = serde_json::from_slice(json).map_err(bad)?;
    let mut steps = Vec::new();
    add_steps(file.normalizer, 0, &mut steps)?;
    let space = file.pre_tokenizer;
    if space.r#type != "Metaspace"
        || space.replacement != SPACE
        || space.prepend_scheme != "always"
        || space.split
    {
        return Err(bad("the pre-tokenizer must be Metaspace with ▁, prepended always, not splitting"));
    }
    if file.model.r#type != "Unigram" || file.model.byte_fallback {
        return Err(bad("the model must be Unigram without byte fallback"));
    }
    let [begin, end] = ends(&file.post_processor, &file.model.vocab)?;
    let special: Vec<u32> = file.added_tokens.iter().map(|token| token.id).collect();
    let vocabulary = Vocabulary::new(&file.model.vocab, file.model.unk_id, &special).map_err(bad)?;
    Ok(Tokenizer { normaliser: Normaliser::new(steps), vocabulary, begin, end })
}

fn bad(what: impl std::fmt::Display) -> Error {
    unusable(TOKENIZER_FILE, what)
}

/// Flattens the normaliser of the file into steps.
fn add_steps(entry: NormaliserEntry, depth: u32, steps: &mut Vec<Step>) -> Result<()> {
    match entry {
        NormaliserEntry::Sequence { .. } if depth == MAX_DEPTH => {
            return Err(bad("normalisers are nested too deep"));
        }
        NormaliserEntry::Sequence { normalizers } => {
            for entry in normalizers {
                add_steps(entry, depth + 1, steps)?;
            }
        }
        NormaliserEntry::Nfkc => steps.push(Step::Nfkc),
        NormaliserEntry::Replace { pattern, content } if pattern.regex == " {2,}" && content == " " => {
            steps.push(Step::SingleSpaces);
        }
        NormaliserEntry::Replace { pattern, content } => {
            let characters = character_class(&pattern.regex)
                .ok_or_else(|| bad(format!("the pattern {:?} is not a list of characters", pattern.regex)))?;
            steps.push(Step::Replace { characters, by: content });
        }
    }
    Ok(())
}

/// Reads a pattern of the form `[\x{9}\x{a}]`.
fn character_class(pattern: &str) -> Option<Vec<char>> {
    let inner = pattern.strip_prefix('[')?.strip_suffix(']')?;
    let mut entries = inner.split("\\x{");
    if entries.next() != Some("") {
        return None;
    }
    let character = |entry: &str| char::from_u32(u32::from_str_radix(entry.strip_suffix('}')?, 16).ok()?);
    let mut characters = entries.map(character).collect::<Option<Vec<char>>>()?;
    characters.sort_unstable();
    Some(characters)
}

/// Returns the ids before and after a text.
fn ends(template: &PostProcessor, vocabulary: &[Piece<'_>]) -> Result<[u32; 2]> {
    use TemplateEntry::{Sequence, SpecialToken};
    match template.single.as_slice() {
        [SpecialToken { id: begin }, Sequence { id }, SpecialToken { id: end }]
            if template.r#type == "TemplateProcessing" && id == "A" =>
        {
            let id = |token: &str| {
                let id = vocabulary.iter().position(|piece| piece.0 == token);
                id.map(|id| id as u32).ok_or_else(|| bad(format!("{token} is not in the vocabulary")))
            };
            Ok([id(begin)?, id(end)?])
        }
        _ => Err(bad("the post-processor must put one token before a text and one behind it")),
    }
}
