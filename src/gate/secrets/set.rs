//! Which rules are worth asking about a text? Those of which it has a keyword. Knows the rule files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use toml::{Table, Value};

use super::allow::{Allowance, Target};
use super::pattern::ending_as_in_prose;
use super::rule::Rule;
use super::view::View;

/// The published rules, unchanged; `ORIGIN.md` beside them says from where.
pub(super) const GITLEAKS: &str = include_str!("../rules/gitleaks.toml");
/// The few that they lack, each with its reason.
pub(super) const EXTRA: &str = include_str!("../rules/extra.toml");

/// All rules, with the automaton that tells which to ask.
pub(super) struct RuleSet {
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// For each keyword the rules that have it, by position.
    rules_of_keyword: Vec<Vec<usize>>,
    /// What is no secret, whichever rule says so.
    always: Allowance,
}

impl RuleSet {
    /// The rules of this build, read at the first call.
    pub(super) fn get() -> &'static RuleSet {
        static SET: OnceLock<RuleSet> = OnceLock::new();
        SET.get_or_init(|| RuleSet::read(GITLEAKS, EXTRA))
    }

    /// Finds the secrets in `view`: the rule's name and the place, by rule in the order of the files.
    pub(super) fn secrets<'v>(
        &'v self,
        view: &'v View<'_>,
    ) -> impl Iterator<Item = (&'static str, Range<usize>)> + 'v {
        self.asked_about(view)
            .flat_map(move |rule| rule.secrets(view, &self.always).map(|place| (rule.id(), place)))
    }

    /// The rules of which `view` has a keyword.
    fn asked_about(&self, view: &View<'_>) -> impl Iterator<Item = &Rule> {
        let mut asked = vec![false; self.rules.len()];
        for hit in self.keywords.find_overlapping_iter(view.bytes()) {
            for &rule in &self.rules_of_keyword[hit.pattern().as_usize()] {
                asked[rule] = true;
            }
        }
        self.rules.iter().zip(asked).filter_map(|(rule, asked)| asked.then_some(rule))
    }

    fn read(published: &'static str, extra: &'static str) -> RuleSet {
        let files =
            [published, extra].map(|file| file.parse::<Table>().expect("a test reads the rule files"));
        let always = files[0].get("allowlist").and_then(Value::as_table).and_then(read_allowance);
        let disabled: Vec<String> = files[1]
            .get("extend")
            .and_then(Value::as_table)
            .map_or_else(Vec::new, |extend| strings(extend, "disabledRules").collect());
        let mut rules: Vec<Rule> = Vec::new();
        let mut rules_of: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for table in files.iter().flat_map(|file| tables(file, "rules")) {
            // A rule without a pattern knows only the name of a file, which no memory has.
            let Some(rule) = read_rule(table) else { continue };
            if disabled.iter().any(|id| id == rule.id()) {
                continue;
            }
            for keyword in strings(table, "keywords") {
                rules_of.entry(keyword).or_default().push(rules.len());
            }
            rules.push(rule);
        }
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(rules_of.keys())
            .expect("the keywords of the rule files fit into one automaton");
        RuleSet {
            rules,
            keywords,
            rules_of_keyword: rules_of.into_values().collect(),
            always: always.expect("the rule file lists what is never a secret"),
        }
    }
}

fn read_rule(table: &Table) -> Option<Rule> {
    let pattern = ending_as_in_prose(string(table, "regex")?);
    // Rules live as long as the program and there is one set of them, so their names may too.
    let id: &'static str = Box::leak(string(table, "id")?.to_owned().into_boxed_str());
    let group = table.get("secretGroup").and_then(Value::as_integer).unwrap_or(0);
    let entropy =
        table.get("entropy").and_then(|value| value.as_float().or(value.as_integer().map(|n| n as f64)));
    let allowances = tables(table, "allowlists").filter_map(read_allowance).collect();
    Some(Rule::new(id, pattern, usize::try_from(group).ok()?, entropy.unwrap_or(0.0), allowances))
}

/// Reads a list of allowances; `None` if it asks for a path besides, and so never applies.
fn read_allowance(table: &Table) -> Option<Allowance> {
    if string(table, "condition").is_some_and(|condition| condition.eq_ignore_ascii_case("and"))
        && table.contains_key("paths")
    {
        return None;
    }
    let target = match string(table, "regexTarget") {
        Some("match") => Target::Match,
        Some("line") => Target::Line,
        _ => Target::Secret,
    };
    Some(Allowance::new(target, strings(table, "regexes").collect(), strings(table, "stopwords").collect()))
}

fn tables<'t>(table: &'t Table, key: &str) -> impl Iterator<Item = &'t Table> {
    table.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

fn strings(table: &Table, key: &str) -> impl Iterator<Item = String> {
    table
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
}

fn string<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
    table.get(key).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::super::pattern::compile;
    use super::{EXTRA, GITLEAKS, RuleSet, Table, string, strings, tables};

    #[test]
    fn every_rule_is_read_besides_the_disabled_one_and_the_one_for_a_file_name() {
        let set = RuleSet::get();
        let written = [GITLEAKS, EXTRA].map(|file| file.matches("[[rules]]").count());
        assert_eq!(written, [222, 3]);
        assert_eq!(set.rules.len(), 222 + 3 - 2);
        let ids = || set.rules.iter().map(|rule| rule.id());
        assert!(ids().all(|id| id != "pkcs12-file" && id != "hashicorp-tf-password"));
        let asked: usize =
            set.rules_of_keyword.iter().flatten().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(asked, set.rules.len(), "a rule without a keyword is never asked");
    }

    #[test]
    fn every_pattern_compiles() {
        for file in [GITLEAKS, EXTRA].map(|file| file.parse::<Table>().unwrap()) {
            let lists = || tables(&file, "rules").flat_map(|rule| tables(rule, "allowlists"));
            let always = file.get("allowlist").and_then(|list| list.as_table());
            tables(&file, "rules")
                .filter_map(|rule| string(rule, "regex"))
                .for_each(|pattern| drop(compile(pattern)));
            always
                .into_iter()
                .chain(lists())
                .flat_map(|list| strings(list, "regexes"))
                .for_each(|pattern| drop(compile(&pattern)));
        }
    }
}
