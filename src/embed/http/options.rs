//! How to reach a model behind an address, and how to use it. Opens no connection.

use std::fmt;
use std::time::Duration;

use crate::embed::Calibration;
use crate::error::{Error, Result};

/// Longest address, name and prefix, in bytes.
const FIELD_BYTES_MAX: usize = 1_000;

/// Widths of vectors that are accepted.
pub(super) const DIMS: std::ops::RangeInclusive<usize> = 1..=16_384;

/// How to reach a model that answers `POST {url}/embeddings` as OpenAI's does, and how to use it.
#[derive(Clone, PartialEq)]
pub struct HttpOptions {
    /// The address without `/embeddings`: `http://localhost:11434/v1`.
    pub url: String,
    /// The model's name, as the endpoint knows it.
    pub model: String,
    /// What the endpoint asks for, sent as `Authorization: Bearer …`. Appears in no message.
    pub api_key: Option<String>,
    /// What the model wants before a question: `search_query: ` for some, nothing for most.
    pub query_prefix: String,
    /// What the model wants before a passage.
    pub passage_prefix: String,
    /// The length of a vector. None: the endpoint is asked when the model is opened, so it must be up then.
    pub dims: Option<usize>,
    /// Tokens that the model reads at once, 64 to 8192. A longer memory is embedded in windows of at most
    /// so many by a careful estimate. More than 512 seldom helps: a vector of a long text is vague.
    pub max_tokens: usize,
    /// Texts in one request, 1 to 2048.
    pub batch: usize,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long a question may take, with all attempts. Recall waits for it.
    pub query_timeout: Duration,
    /// How long one request with passages may take, with all attempts.
    pub passage_timeout: Duration,
    /// How often a request is tried, 1 to 10, when the endpoint is overloaded (429) or broken (5xx).
    pub attempts: u32,
    /// The pause before the second attempt; it doubles with each.
    pub backoff: Duration,
    /// The largest answer that is read, in bytes.
    pub answer_bytes_max: u64,
    /// How to read the model's cosines. The default suits many models badly, since theirs differ widely:
    /// compare a dozen questions with passages that answer them and with passages that do not, and give
    /// the median of the latter and the upper quartile of the former.
    pub calibration: Calibration,
}

impl HttpOptions {
    /// That model at that address; no key, no prefixes, defaults that suit a model on the same machine or
    /// network.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> HttpOptions {
        HttpOptions {
            url: url.into(),
            model: model.into(),
            api_key: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            dims: None,
            max_tokens: 512,
            batch: 32,
            connect_timeout: Duration::from_secs(3),
            query_timeout: Duration::from_secs(10),
            passage_timeout: Duration::from_secs(60),
            attempts: 3,
            backoff: Duration::from_millis(250),
            answer_bytes_max: 32 << 20,
            calibration: Calibration::GENERIC,
        }
    }

    /// Checks what can be checked without the endpoint, and brings the address into its one form.
    pub(in crate::embed) fn checked(mut self) -> Result<HttpOptions> {
        self.url = normal_url(&self.url)?;
        let between = |field, value: usize, from: usize, to: usize| match (from..=to).contains(&value) {
            true => Ok(()),
            false => Err(Error::invalid(field, format!("must be from {from} to {to}"))),
        };
        between("the model's name", self.model.len(), 1, FIELD_BYTES_MAX)?;
        between("the query prefix's length", self.query_prefix.len(), 0, FIELD_BYTES_MAX)?;
        between("the passage prefix's length", self.passage_prefix.len(), 0, FIELD_BYTES_MAX)?;
        between("max_tokens", self.max_tokens, 64, 8192)?;
        between("batch", self.batch, 1, 2048)?;
        between("attempts", self.attempts as usize, 1, 10)?;
        if let Some(dims) = self.dims {
            between("dims", dims, *DIMS.start(), *DIMS.end())?;
        }
        if let Some(key) = &self.api_key
            && (key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(Error::invalid("the API key", "must be of visible ASCII characters, without spaces"));
        }
        self.calibration.check()?;
        Ok(self)
    }
}

/// The key is shown as present or absent, never as it is.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions")
            .field("url", &self.url)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("query_prefix", &self.query_prefix)
            .field("passage_prefix", &self.passage_prefix)
            .field("dims", &self.dims)
            .field("max_tokens", &self.max_tokens)
            .finish_non_exhaustive()
    }
}

/// Returns an address without what does not matter, or refuses it. It goes into messages and into the
/// store, so nothing secret may be in it.
fn normal_url(url: &str) -> Result<String> {
    let bad = |must: &str| Err(Error::invalid("the model's address", must));
    let url = url.trim_end_matches('/');
    let url = url.strip_suffix("/embeddings").unwrap_or(url).trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else {
        return bad("must begin with http:// or https://");
    };
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "http" && scheme != "https" {
        return bad("must begin with http:// or https://");
    }
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if host.contains('@') {
        return bad("must not hold a name or password; give an API key instead");
    }
    if host.is_empty() || url.len() > FIELD_BYTES_MAX || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return bad("must be one host and path of visible ASCII characters, like http://localhost:11434/v1");
    }
    if path.contains(['?', '#']) || host.contains(['?', '#']) {
        return bad("must not hold a query or fragment");
    }
    Ok(format!("{scheme}://{}{path}", host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        for url in [
            "http://localhost:8080/v1",
            "HTTP://LocalHost:8080/v1/",
            "http://localhost:8080/v1/embeddings",
            "http://localhost:8080/v1/embeddings/",
        ] {
            assert_eq!(normal_url(url).unwrap(), "http://localhost:8080/v1");
        }
        assert_eq!(normal_url("https://Host/A/b").unwrap(), "https://host/A/b");
    }

    #[test]
    fn what_may_not_be_in_an_address_is_refused_and_not_repeated() {
        for url in [
            "localhost:8080",
            "ftp://host/v1",
            "http://",
            "http:///v1",
            "http://me:hunter2@host/v1",
            "http://host/v1?key=hunter2",
            "http://host/v1#hunter2",
            "http://ho st/hunter2",
            "http://主机/hunter2",
        ] {
            let error = normal_url(url).unwrap_err().to_string();
            assert!(error.contains("address") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn options_out_of_bounds_are_refused() {
        let with = |change: fn(&mut HttpOptions)| {
            let mut options = HttpOptions::new("http://host/v1", "m");
            change(&mut options);
            options.checked().map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(with(|_| ()), Ok(()));
        assert!(with(|o| o.model.clear()).is_err());
        assert!(with(|o| o.batch = 0).unwrap_err().contains("1 to 2048"));
        assert!(with(|o| o.attempts = 11).is_err());
        assert!(with(|o| o.max_tokens = 3).is_err());
        assert!(with(|o| o.dims = Some(0)).is_err());
        assert!(with(|o| o.calibration.related = 0.0).is_err());
        let key = with(|o| o.api_key = Some("hunter2\r\nX: y".to_owned())).unwrap_err();
        assert!(key.contains("API key") && !key.contains("hunter2"), "{key}");
    }

    #[test]
    fn the_key_is_not_in_debug() {
        let options =
            HttpOptions { api_key: Some("hunter2".to_owned()), ..HttpOptions::new("http://host/v1", "m") };
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}
