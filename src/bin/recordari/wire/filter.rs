//! Reads a filter from JSON: one key per condition, `all`, `any` and `not` to combine them. What it does
//! not know it refuses by name.

use recordari::json::meta_value_from_json;
use recordari::{Authority, Compare, Error, Filter, Form, Kind, Result, Timestamp};
use serde_json::{Map, Value};

const CONDITIONS: &str = "all, any, not, kind, form, subject_prefix, source, session, authority_at_least, observed_from, observed_before, recorded_from, recorded_before, expiring_before, contains, metadata";
/// The deepest nesting; the library bounds the number of conditions.
const DEPTH_MAX: usize = 16;

/// Reads a filter; an object with several keys asks for all of them.
pub fn filter_from_json(value: &Value) -> Result<Filter> {
    at_depth(value, 0)
}

fn at_depth(value: &Value, depth: usize) -> Result<Filter> {
    if depth > DEPTH_MAX {
        return Err(wrong(format!("must be nested at most {DEPTH_MAX} deep")));
    }
    let object = value.as_object().ok_or_else(|| wrong("must be a JSON object"))?;
    let conditions = object.iter().map(|(key, value)| condition(key, value, depth));
    let mut conditions = conditions.collect::<Result<Vec<_>>>()?;
    Ok(if conditions.len() == 1 { conditions.remove(0) } else { Filter::All(conditions) })
}

fn condition(key: &str, value: &Value, depth: usize) -> Result<Filter> {
    let text = || value.as_str().ok_or_else(|| wrong(format!("{key} must be text")));
    let owned = || text().map(str::to_owned);
    let time = || Timestamp::parse("filter", text()?);
    Ok(match key {
        "all" => Filter::All(list(key, value, depth)?),
        "any" => Filter::Any(list(key, value, depth)?),
        "not" => Filter::Not(Box::new(at_depth(value, depth + 1)?)),
        "kind" => Filter::Kind(Kind::parse(text()?)?),
        "form" => Filter::Form(Form::parse(text()?)?),
        "subject_prefix" => Filter::SubjectPrefix(owned()?),
        "source" => Filter::Source(owned()?),
        "session" => Filter::Session(owned()?),
        "authority_at_least" => Filter::AuthorityAtLeast(Authority::parse(text()?)?),
        "observed_from" => Filter::ObservedFrom(time()?),
        "observed_before" => Filter::ObservedBefore(time()?),
        "recorded_from" => Filter::RecordedFrom(time()?),
        "recorded_before" => Filter::RecordedBefore(time()?),
        "expiring_before" => Filter::ExpiresBefore(time()?),
        "contains" => Filter::Contains(owned()?),
        "metadata" => metadata(value)?,
        unknown => {
            return Err(wrong(format!("must not have the condition {unknown:?}; it has {CONDITIONS}")));
        }
    })
}

fn list(key: &str, value: &Value, depth: usize) -> Result<Vec<Filter>> {
    let items = value.as_array().ok_or_else(|| wrong(format!("{key} must be a list of conditions")))?;
    items.iter().map(|item| at_depth(item, depth + 1)).collect()
}

/// `{"key": K, "is": "equal", "value": V}`; `is` may be left out.
fn metadata(value: &Value) -> Result<Filter> {
    let must = "metadata must be {\"key\": …, \"is\": equal, not_equal, less, at_most, greater, at_least or holds, \"value\": …}";
    let object: &Map<String, Value> = value.as_object().ok_or_else(|| wrong(must))?;
    let known = ["key", "is", "value"];
    let key = object.get("key").and_then(Value::as_str).ok_or_else(|| wrong(must))?;
    let wanted = object.get("value").ok_or_else(|| wrong(must))?;
    if object.keys().any(|name| !known.contains(&name.as_str())) {
        return Err(wrong(must));
    }
    let wanted = meta_value_from_json(key, wanted)?;
    let compare = match object.get("is").map_or(Some("equal"), Value::as_str) {
        Some("equal") => Compare::Equal,
        Some("not_equal") => {
            return Ok(Filter::Not(Box::new(Filter::Meta(key.to_owned(), Compare::Equal, wanted))));
        }
        Some("less") => Compare::Less,
        Some("at_most") => Compare::AtMost,
        Some("greater") => Compare::Greater,
        Some("at_least") => Compare::AtLeast,
        Some("holds") => Compare::Holds,
        _ => return Err(wrong(must)),
    };
    Ok(Filter::Meta(key.to_owned(), compare, wanted))
}

fn wrong(must: impl Into<String>) -> Error {
    Error::invalid("filter", must)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_combine_and_unknown_ones_are_named() {
        let read = |text: &str| filter_from_json(&serde_json::from_str(text).unwrap());
        let tree =
            read(r#"{"any":[{"kind":"semantic"},{"not":{"metadata":{"key":"n","is":"less","value":3}}}]}"#);
        assert!(matches!(tree.unwrap(), Filter::Any(any) if any.len() == 2));
        assert!(
            matches!(read(r#"{"kind":"semantic","source":"a"}"#).unwrap(), Filter::All(all) if all.len() == 2)
        );
        assert!(read(r#"{"$ne":null}"#).unwrap_err().to_string().contains("$ne"));
        assert!(read(r#"{"metadata":{"key":"n"}}"#).is_err());
        assert!(read(r#"{"observed_from":"2026-03-01T10:00"}"#).unwrap_err().to_string().contains("offset"));
    }
}
