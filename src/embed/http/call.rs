//! One request and its repetitions: how long to wait, what to try again, how to say what went wrong. Knows
//! nothing of vectors.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::Response;
use ureq::tls::{RootCerts, TlsConfig};

use super::options::HttpOptions;

/// The longest pause between two attempts, whatever the endpoint asks for.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// An endpoint that can be asked. Keeps connections open between requests.
pub(super) struct Endpoint {
    agent: Agent,
    address: String,
    authorization: Option<String>,
    attempts: u32,
    backoff: Duration,
    answer_bytes_max: u64,
}

impl Endpoint {
    pub(super) fn new(options: &HttpOptions) -> Endpoint {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            // The texts and the key go where the operator said and nowhere else.
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("recordari/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(options.connect_timeout))
            .build();
        Endpoint {
            agent: config.new_agent(),
            address: format!("{}/embeddings", options.url),
            authorization: options.api_key.as_ref().map(|key| format!("Bearer {key}")),
            attempts: options.attempts,
            backoff: options.backoff,
            answer_bytes_max: options.answer_bytes_max,
        }
    }

    /// Sends a body and returns that of the answer; all attempts together take at most `timeout`.
    ///
    /// Tried again is only what the endpoint itself calls temporary. An endpoint that can't be reached
    /// would cost every write its pauses, and one that does not answer in time has had its time.
    pub(super) fn ask(&self, body: &str, timeout: Duration) -> Result<Vec<u8>, String> {
        let deadline = Instant::now() + timeout;
        let mut pause = self.backoff;
        for attempt in 1.. {
            let left = deadline.saturating_duration_since(Instant::now());
            let late = || format!("no answer within {} ms", timeout.as_millis());
            if left.is_zero() {
                return Err(late());
            }
            let mut answer = self.send(body, left).map_err(|error| said(&error, late))?;
            let status = answer.status().as_u16();
            if status == 200 {
                let body = answer.body_mut().with_config().limit(self.answer_bytes_max).read_to_vec();
                return body.map_err(|error| said(&error, late));
            }
            let temporary = status == 429 || (500..600).contains(&status);
            let wait = asked_pause(&answer).unwrap_or(pause).min(PAUSE_MAX);
            if !temporary || attempt >= self.attempts || deadline <= Instant::now() + wait {
                return Err(refusal(status, attempt));
            }
            drop(answer);
            std::thread::sleep(wait);
            pause = pause.saturating_mul(2);
        }
        unreachable!("the loop ends at the last attempt")
    }

    fn send(&self, body: &str, timeout: Duration) -> Result<Response<ureq::Body>, ureq::Error> {
        let mut request = self
            .agent
            .post(&self.address)
            .config()
            .timeout_global(Some(timeout))
            .build()
            .header("content-type", "application/json")
            .header("accept", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        request.send(body)
    }
}

/// How long the endpoint asks to be left alone, if it says so in seconds.
fn asked_pause(answer: &Response<ureq::Body>) -> Option<Duration> {
    let seconds: u64 = answer.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// What a failed connection means. No error of the client's that can occur here repeats what was sent.
fn said(error: &ureq::Error, late: impl FnOnce() -> String) -> String {
    match error {
        ureq::Error::Timeout(ureq::Timeout::Connect) => "it can't be reached in time".to_owned(),
        ureq::Error::Timeout(_) => late(),
        ureq::Error::HostNotFound => "its host is unknown".to_owned(),
        ureq::Error::BodyExceedsLimit(limit) => format!("its answer has more than {limit} bytes"),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            "nothing listens there: is it running?".to_owned()
        }
        ureq::Error::Io(error) => format!("the connection failed: {error}"),
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => "its address is not usable".to_owned(),
        error => format!("the request failed: {error}"),
    }
}

/// What a status means. What the endpoint says beside it is left out: it may repeat text or key.
fn refusal(status: u16, attempts: u32) -> String {
    let meaning = match status {
        401 | 403 => "the API key is missing or not accepted",
        404 | 405 => "there is no such model, or the address is not that of the API (most end in /v1)",
        400 | 413 | 422 => "the request was refused: no embedding model, or one that reads less at once",
        429 => "too many requests, or the quota is used up",
        300..=399 => "it wants to send the texts elsewhere; give the final address",
        500..=599 => "the endpoint is broken or overloaded",
        _ => "that is no answer to an embeddings request",
    };
    match attempts {
        1 => format!("status {status}: {meaning}"),
        _ => format!("status {status} after {attempts} attempts: {meaning}"),
    }
}
