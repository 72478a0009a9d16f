//! Are the strings found that the rules' own patterns describe? Makes them from the patterns.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use toml::{Table, Value};

use super::super::entropy::shannon;
use super::super::find;
use super::super::pattern::compile;
use super::super::set::{EXTRA, GITLEAKS};
use super::full_width;

/// Strings that are made for each rule.
const EACH: usize = 30;

/// Rules whose own allowances let some of what their patterns describe pass: placeholders mostly.
const WITH_ALLOWANCES: [&str; 4] =
    ["connection-string-password", "curl-auth-user", "kubernetes-secret-yaml", "stated-password"];

/// A rule as the rule file has it, read a second time and by other means than [`RuleSet`] does.
struct Described {
    id: String,
    pattern: String,
    keywords: Vec<String>,
    min_entropy: f64,
    group: usize,
}

fn described() -> Vec<Described> {
    let files = [GITLEAKS, EXTRA].map(|file| file.parse::<Table>().unwrap());
    let disabled = files[1]["extend"]["disabledRules"].as_array().unwrap();
    let rules = files.iter().flat_map(|file| file["rules"].as_array().unwrap());
    let rules = rules.filter(|rule| !disabled.contains(&rule["id"]));
    rules.filter_map(|rule| rule.get("regex").map(|pattern| described_by(rule, pattern))).collect()
}

fn described_by(rule: &Value, pattern: &Value) -> Described {
    Described {
        id: rule["id"].as_str().unwrap().to_owned(),
        pattern: pattern.as_str().unwrap().to_owned(),
        keywords: rule["keywords"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect(),
        min_entropy: rule.get("entropy").map_or(0.0, |bits| bits.clone().try_into().unwrap()),
        group: rule.get("secretGroup").map_or(0, |group| group.clone().try_into().unwrap()),
    }
}

/// A small generator whose numbers are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

fn write(hir: &Hir, dice: &mut Dice, out: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
        HirKind::Class(Class::Bytes(class)) => {
            let all: Vec<u8> = class.iter().flat_map(|range| range.start()..=range.end()).collect();
            let seen: Vec<u8> = all.iter().copied().filter(|byte| byte.is_ascii_graphic()).collect();
            let from = if seen.is_empty() { all } else { seen };
            out.push(from[dice.below(from.len())]);
        }
        HirKind::Class(Class::Unicode(class)) => {
            let range = class.ranges()[dice.below(class.ranges().len())];
            out.push(u8::try_from(range.start()).unwrap());
        }
        HirKind::Repetition(repetition) => {
            let min = repetition.min as usize;
            let max = repetition.max.map_or(min + 8, |max| max as usize).min(min + 24);
            for _ in 0..min + dice.below(max - min + 1) {
                write(&repetition.sub, dice, out);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, dice, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, dice, out)),
        HirKind::Alternation(ways) => write(&ways[dice.below(ways.len())], dice, out),
    }
}

/// Strings that the rule's pattern matches as it was published, and that look random enough for it.
///
/// A rule wants one of its keywords in the text, which its pattern need not have: "airtable", say.
fn positives(rule: &Described) -> Vec<String> {
    let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(&rule.pattern).unwrap();
    let regex = compile(&rule.pattern);
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut made = Vec::new();
    for _ in 0..EACH * 40 {
        let mut bytes = Vec::new();
        write(&hir, &mut dice, &mut bytes);
        let Some(captures) = regex.captures(&bytes) else { continue };
        let secret = match rule.group {
            0 => captures
                .iter()
                .skip(1)
                .flatten()
                .find(|group| !group.is_empty())
                .unwrap_or_else(|| captures.get(0).unwrap()),
            group => captures.get(group).unwrap(),
        };
        if rule.min_entropy > 0.0 && shannon(secret.as_bytes()) <= rule.min_entropy {
            continue;
        }
        let text = String::from_utf8(bytes).unwrap();
        let lower = text.to_ascii_lowercase();
        let has_keyword = rule.keywords.iter().any(|keyword| lower.contains(keyword));
        made.push(if has_keyword { text } else { format!("{} {text}", rule.keywords[0]) });
        if made.len() == EACH {
            break;
        }
    }
    made
}

#[test]
fn of_the_strings_that_the_rules_describe_995_in_1000_are_found_wherever_they_stand() {
    let (mut made, mut found, mut allowed) = (0, 0, 0);
    let mut missed = String::new();
    for rule in described() {
        let positives = positives(&rule);
        assert!(positives.len() == EACH, "only {} strings for {}", positives.len(), rule.id);
        for positive in positives {
            if WITH_ALLOWANCES.contains(&rule.id.as_str()) && find(&positive).is_none() {
                allowed += 1;
                continue;
            }
            for (place, text) in placed(&positive) {
                made += 1;
                match find(&text) {
                    Some(_) => found += 1,
                    None => missed += &format!("{} {place}: {text:?}\n", rule.id),
                }
            }
        }
    }
    println!("{found} of {made} found, {allowed} strings allowed\n{missed}");
    assert!(made > 50_000, "{made}");
    assert!(found * 1000 >= made * 995, "{found} of {made} found\n{missed}");
}

/// The places in which a credential has to be found.
fn placed(credential: &str) -> [(&'static str, String); 8] {
    let wide: String = credential.chars().map(full_width).collect();
    let split: String = credential.chars().flat_map(|letter| [letter, '\u{200B}']).collect();
    [
        ("alone", credential.to_owned()),
        ("in a sentence", format!("Use {credential} for it.")),
        ("at its end", format!("It is {credential}.")),
        ("before a comma", format!("It is {credential}, I think")),
        ("in Chinese", format!("凭证为{credential}，请勿外传")),
        ("in Japanese", format!("キーは{credential}です")),
        ("in full width", format!("是{wide}的")),
        ("split", format!("是{split}的")),
    ]
}
