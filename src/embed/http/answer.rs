//! Reads the answer of an embeddings endpoint, and believes nothing that it can check.

use serde::Deserialize;

use super::options::DIMS;
use crate::embed::unit::unit;

/// The part of the answer that matters.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Which text it is for. Some endpoints leave it out and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Returns one vector of unit length and of `dims` numbers, if that is known, for each of `count` texts, in
/// their order. Otherwise says what is wrong, in words that repeat nothing of the answer.
pub(super) fn read(bytes: &[u8], count: usize, dims: Option<usize>) -> Result<Vec<Vec<f32>>, String> {
    // What serde_json says would quote the answer, which might quote the text.
    let answer: Answer = serde_json::from_slice(bytes)
        .map_err(|_| "its answer is not the JSON of an embeddings endpoint".to_owned())?;
    if answer.data.len() != count {
        return Err(format!("it made {} vectors of {count} texts", answer.data.len()));
    }
    let indexed = answer.data.iter().filter(|item| item.index.is_some()).count();
    if indexed != 0 && indexed != count {
        return Err("it numbered only some of its vectors".to_owned());
    }
    let wanted = dims.unwrap_or_else(|| answer.data.first().map_or(0, |item| item.embedding.len()));
    if !DIMS.contains(&wanted) {
        return Err(format!("it made vectors of {wanted} dimensions"));
    }
    let mut placed: Vec<Option<Vec<f32>>> = vec![None; count];
    for (at, item) in answer.data.into_iter().enumerate() {
        let place = item.index.unwrap_or(at);
        if item.embedding.len() != wanted {
            let found = item.embedding.len();
            return Err(format!("it made a vector of {found} dimensions instead of {wanted}"));
        }
        let free = placed.get_mut(place).filter(|free| free.is_none());
        *free.ok_or("it numbered its vectors wrongly")? =
            Some(unit(item.embedding, "it").map_err(|_| "it made a vector that has no direction")?);
    }
    Ok(placed.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::read;

    fn fails(answer: &str, count: usize, dims: Option<usize>) -> String {
        read(answer.as_bytes(), count, dims).unwrap_err()
    }

    #[test]
    fn vectors_are_put_in_the_order_of_their_numbers() {
        let answer =
            r#"{"object":"list","data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3,0]}]}"#;
        assert_eq!(read(answer.as_bytes(), 2, None).unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
        let unnumbered = r#"{"data":[{"embedding":[1,0]},{"embedding":[0,1]}]}"#;
        assert_eq!(read(unnumbered.as_bytes(), 2, Some(2)).unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
    }

    #[test]
    fn what_can_be_checked_is() {
        let one = |embedding: &str| format!(r#"{{"data":[{{"index":0,"embedding":{embedding}}}]}}"#);
        assert!(fails("<html>secret text</html>", 1, None).contains("not the JSON"));
        assert!(fails(&one(r#"["secret"]"#), 1, None).contains("not the JSON"));
        assert!(fails(&one("[NaN]"), 1, None).contains("not the JSON"));
        assert!(fails(&one("[1,2]"), 2, None).contains("1 vectors of 2 texts"));
        assert!(fails(&one("[1,2]"), 1, Some(3)).contains("2 dimensions instead of 3"));
        assert!(fails(&one("[]"), 1, None).contains("0 dimensions"));
        assert!(fails(&one("[1e39,1]"), 1, None).contains("not the JSON"));
        assert!(fails(&one("[0,0]"), 1, None).contains("no direction"));
        let pair =
            |a: &str, b: &str| format!(r#"{{"data":[{{{a}"embedding":[1,0]}},{{{b}"embedding":[0,1]}}]}}"#);
        assert!(fails(&pair(r#""index":0,"#, r#""index":0,"#), 2, None).contains("wrongly"));
        assert!(fails(&pair(r#""index":1,"#, r#""index":2,"#), 2, None).contains("wrongly"));
        assert!(fails(&pair(r#""index":0,"#, ""), 2, None).contains("only some"));
    }
}
