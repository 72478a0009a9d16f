//! The filter flags that list and recall share.

use clap::Args;
use recordari::{Authority, Compare, Error, Filter, Form, Kind, Result, Source, Timestamp};

use super::values::{meta_value, time, word};
use crate::wire::filter_from_json;

/// Which memories.
#[derive(Args)]
#[command(next_help_heading = "Filters")]
pub struct Filters {
    /// Only this kind; may be given more than once
    #[arg(long, value_parser = word(Kind::ALL, Kind::code))]
    pub kind: Vec<Kind>,
    /// Only this form; may be given more than once
    #[arg(long, value_parser = word(Form::ALL, Form::code))]
    form: Vec<Form>,
    /// Only subjects that begin so
    #[arg(long, value_name = "TEXT")]
    subject_prefix: Option<String>,
    /// Only what rests on this source, as a whole
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Only what comes from this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only what was observed then or later
    #[arg(long, value_name = "TIME", value_parser = time)]
    observed_from: Option<Timestamp>,
    /// Only what was observed before
    #[arg(long, value_name = "TIME", value_parser = time)]
    observed_before: Option<Timestamp>,
    /// Only what was recorded then or later
    #[arg(long, value_name = "TIME", value_parser = time)]
    recorded_from: Option<Timestamp>,
    /// Only what was recorded before
    #[arg(long, value_name = "TIME", value_parser = time)]
    recorded_before: Option<Timestamp>,
    /// Only what has an expiry before
    #[arg(long, value_name = "TIME", value_parser = time)]
    expiring_before: Option<Timestamp>,
    /// Only this authority or a higher one
    #[arg(long, value_name = "AUTHORITY", value_parser = word(Authority::ALL, Authority::code))]
    authority_at_least: Option<Authority>,
    /// Only memories whose text holds this
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
    /// Metadata: KEY=VALUE, KEY!=VALUE, KEY<VALUE, KEY<=VALUE, KEY>VALUE, KEY>=VALUE, or KEY~TEXT for a
    /// list that holds a text; VALUE is JSON or text; may be given more than once
    #[arg(long, value_name = "CONDITION")]
    meta: Vec<String>,
    /// A tree of conditions as JSON, combined with all, any and not
    #[arg(long = "where", value_name = "JSON")]
    tree: Option<String>,
}

impl Filters {
    /// The filter that the flags amount to, kinds left out.
    pub fn without_kinds(&self) -> Result<Filter> {
        let mut all = Vec::new();
        if !self.form.is_empty() {
            all.push(Filter::Any(self.form.iter().copied().map(Filter::Form).collect()));
        }
        all.extend(self.subject_prefix.clone().map(Filter::SubjectPrefix));
        all.extend(self.source.as_deref().map(source).transpose()?);
        all.extend(self.session.clone().map(Filter::Session));
        all.extend(self.observed_from.map(Filter::ObservedFrom));
        all.extend(self.observed_before.map(Filter::ObservedBefore));
        all.extend(self.recorded_from.map(Filter::RecordedFrom));
        all.extend(self.recorded_before.map(Filter::RecordedBefore));
        all.extend(self.expiring_before.map(Filter::ExpiresBefore));
        all.extend(self.authority_at_least.map(Filter::AuthorityAtLeast));
        all.extend(self.contains.clone().map(Filter::Contains));
        for condition in &self.meta {
            all.push(meta(condition)?);
        }
        if let Some(tree) = &self.tree {
            let tree = serde_json::from_str(tree)
                .map_err(|error| Error::invalid("--where", format!("must be JSON: {error}")))?;
            all.push(filter_from_json(&tree)?);
        }
        Ok(Filter::All(all))
    }

    /// The whole filter.
    pub fn filter(&self) -> Result<Filter> {
        let rest = self.without_kinds()?;
        if self.kind.is_empty() {
            return Ok(rest);
        }
        let kinds = Filter::Any(self.kind.iter().copied().map(Filter::Kind).collect());
        Ok(Filter::All(vec![kinds, rest]))
    }
}

/// Reads the id of a source. The filter knows no places in it: one that was named would find nothing.
fn source(text: &str) -> Result<Filter> {
    let source = Source::parse(text);
    match source.locator {
        None => Ok(Filter::Source(text.to_owned())),
        Some(_) => Err(Error::invalid(
            "--source",
            format!(
                "must name a source as a whole, without the place: --source {} (an id that holds a # goes into --where)",
                source.id
            ),
        )),
    }
}

/// Reads a condition on metadata. The first operator in the text counts, so that values may hold any.
fn meta(condition: &str) -> Result<Filter> {
    const OPERATORS: &[(&str, Compare, bool)] = &[
        ("!=", Compare::Equal, true),
        ("<=", Compare::AtMost, false),
        (">=", Compare::AtLeast, false),
        ("=", Compare::Equal, false),
        ("<", Compare::Less, false),
        (">", Compare::Greater, false),
        ("~", Compare::Holds, false),
    ];
    let must = || Error::invalid("--meta", "must be KEY, then =, !=, <, <=, >, >= or ~, then VALUE");
    let at = condition.find(['!', '<', '>', '=', '~']).filter(|at| *at > 0).ok_or_else(must)?;
    let (key, rest) = condition.split_at(at);
    let (operator, compare, negated) =
        OPERATORS.iter().find(|(operator, ..)| rest.starts_with(operator)).ok_or_else(must)?;
    let text = &rest[operator.len()..];
    let value = match compare {
        Compare::Holds => recordari::MetaValue::Text(text.to_owned()),
        _ => meta_value(key, text)?,
    };
    let filter = Filter::Meta(key.to_owned(), *compare, value);
    Ok(if *negated { Filter::Not(Box::new(filter)) } else { filter })
}

#[cfg(test)]
mod tests {
    use recordari::MetaValue;

    use super::*;

    #[test]
    fn metadata_conditions_are_read_by_their_first_operator() {
        let cases = [
            ("n<=5", Filter::Meta("n".into(), Compare::AtMost, MetaValue::Number(5.0))),
            ("tags~wanted", Filter::Meta("tags".into(), Compare::Holds, MetaValue::Text("wanted".into()))),
            ("tags=[]", Filter::Meta("tags".into(), Compare::Equal, MetaValue::List(Vec::new()))),
            ("a=b<c", Filter::Meta("a".into(), Compare::Equal, MetaValue::Text("b<c".into()))),
            (
                "a!=\"5\"",
                Filter::Not(Box::new(Filter::Meta("a".into(), Compare::Equal, MetaValue::Text("5".into())))),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(meta(text).unwrap(), expected, "{text}");
        }
        assert!(meta("nothing").is_err() && meta("=x").is_err());
    }
}
