//! The client of an endpoint: what it sends, what it believes, what it tries again, what it says.

use std::time::{Duration, Instant};

use recordari::embed::{Embedder, HttpEmbedder, HttpOptions, ModelSpec};
use recordari::{Error, ErrorKind};
use serde_json::json;

use crate::stub::{Reply, Stub, data, nowhere, ok, status, vectors};

fn open(options: HttpOptions) -> HttpEmbedder {
    HttpEmbedder::open(options).unwrap()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What asking about marmalade with the key hunter2 fails with; neither may be in it.
fn failure(options: HttpOptions) -> String {
    let options = HttpOptions { api_key: Some("hunter2".to_owned()), dims: Some(64), ..options };
    let error = open(options).embed_passages(&["marmalade"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Environment);
    let Error::Embed(message) = error else { panic!("{error:?}") };
    assert!(!message.contains("hunter2") && !message.contains("marmalade"), "{message}");
    assert!(message.starts_with("stub at http://127.0.0.1:"), "{message}");
    message
}

#[test]
fn texts_become_vectors_of_unit_length_in_their_order() {
    let stub = Stub::start(|asked| vectors(asked, 64));
    let embedder = open(HttpOptions {
        api_key: Some("hunter2".to_owned()),
        query_prefix: "ask: ".to_owned(),
        passage_prefix: "say: ".to_owned(),
        ..stub.options()
    });
    assert_eq!(embedder.model().dims, 64, "learned from the first answer");
    assert!(!format!("{embedder:?}").contains("hunter2"));
    let texts = ["the cat sat on the mat", "quarterly figures", "the dog lay in the yard"];
    let passages = embedder.embed_passages(&texts).unwrap();
    let query = embedder.embed_query("quarterly figures").unwrap();
    assert_eq!(passages.len(), 3);
    for passage in &passages {
        assert_eq!(passage.len(), 1);
        assert!((dot(&passage[0], &passage[0]) - 1.0).abs() < 1e-5);
    }
    assert!(dot(&query, &passages[1][0]) > 0.5);
    assert!(dot(&query, &passages[0][0]) < 0.3);
    let seen = stub.seen();
    assert_eq!(seen.len(), 3, "one request for the width, one for the passages, one for the query");
    assert!(seen.iter().all(|asked| asked.path == "/v1/embeddings"));
    assert!(seen.iter().all(|asked| asked.authorization.as_deref() == Some("Bearer hunter2")));
    assert_eq!(seen[1].body["model"], "stub");
    assert_eq!(seen[1].body["input"][0], "say: the cat sat on the mat");
    assert_eq!(seen[2].body["input"], json!(["ask: quarterly figures"]));
}

#[test]
fn many_texts_go_in_batches_and_a_blank_one_stays_here() {
    let stub = Stub::start(|asked| vectors(asked, 64));
    let embedder = open(HttpOptions { dims: Some(64), batch: 3, ..stub.options() });
    assert!(stub.seen().is_empty(), "with the width given, opening asks nothing");
    let texts = ["one", "two", "", "three", "four", " \n", "five", "six", "seven"];
    let vectors = embedder.embed_passages(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        assert_eq!(vector.len(), 1);
        if !text.trim().is_empty() {
            assert!(dot(&vector[0], &embedder.embed_query(text).unwrap()) > 0.999, "{text}");
        }
    }
    let sizes: Vec<usize> =
        stub.seen()[..3].iter().map(|asked| asked.body["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [3, 3, 1]);
    assert!(embedder.embed_passages(&[]).unwrap().is_empty());
}

#[test]
fn vectors_that_come_in_another_order_are_sorted() {
    let stub = Stub::start(|asked| {
        let mut data = data(asked, 64);
        data.reverse();
        ok(json!({ "data": data }).to_string())
    });
    let embedder = open(stub.options());
    let texts = ["apples and pears", "wind and rain", "bread and butter"];
    for (text, vector) in texts.iter().zip(embedder.embed_passages(&texts).unwrap()) {
        assert!(dot(&vector[0], &embedder.embed_query(text).unwrap()) > 0.999);
    }
}

#[test]
fn a_long_text_has_windows_and_is_found_by_its_tail() {
    let stub = Stub::start(|asked| vectors(asked, 256));
    let embedder = open(HttpOptions { max_tokens: 128, ..stub.options() });
    let text = format!("{} the secret word is xylophone", "nothing to see here ".repeat(100));
    let windows = &embedder.embed_passages(&[&text]).unwrap()[0];
    assert!(windows.len() > 3);
    let query = embedder.embed_query("the secret word is xylophone").unwrap();
    let best =
        (0..windows.len()).max_by(|a, b| dot(&query, &windows[*a]).total_cmp(&dot(&query, &windows[*b])));
    assert_eq!(best, Some(windows.len() - 1));
    let long_query = "nothing to see here ".repeat(100);
    embedder.embed_query(&long_query).unwrap();
    let sent = stub.seen().pop().unwrap().body["input"][0].as_str().unwrap().to_owned();
    assert!(sent.len() < 400 && long_query.starts_with(&sent), "only its beginning counts");
}

#[test]
fn an_answer_of_another_width_is_refused() {
    let stub = Stub::start(|asked| vectors(asked, 32));
    assert!(failure(stub.options()).contains("32 dimensions instead of 64"));
}

#[test]
fn an_endpoint_that_stumbles_is_asked_again() {
    let mut asked_before = 0;
    let stub = Stub::start(move |asked| {
        asked_before += 1;
        match asked_before {
            1 => status(500),
            2 => Reply { headers: "retry-after: 0\r\n", ..status(429) },
            _ => vectors(asked, 64),
        }
    });
    let embedder = open(HttpOptions { dims: Some(64), ..stub.options() });
    assert_eq!(embedder.embed_passages(&["a text"]).unwrap().len(), 1);
    assert_eq!(stub.seen().len(), 3);
}

#[test]
fn it_is_asked_only_a_few_times() {
    let stub = Stub::start(|_| status(503));
    assert!(failure(stub.options()).contains("status 503 after 3 attempts"));
    assert_eq!(stub.seen().len(), 3);
}

#[test]
fn a_long_pause_that_the_endpoint_asks_for_is_not_waited_for() {
    let stub = Stub::start(|_| Reply { headers: "retry-after: 3600\r\n", ..status(429) });
    let started = Instant::now();
    let options = HttpOptions { passage_timeout: Duration::from_secs(3), ..stub.options() };
    assert!(failure(options).contains("status 429"));
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[test]
fn what_will_not_change_is_asked_once_and_explained() {
    for (code, why) in [(401, "API key"), (404, "/v1"), (400, "refused"), (302, "elsewhere"), (204, "204")] {
        let stub = Stub::start(move |_| match code {
            302 => Reply { headers: "location: http://127.0.0.1:9/\r\n", ..status(302) },
            204 => Reply { body: Vec::new(), ..status(204) },
            _ => status(code),
        });
        let message = failure(stub.options());
        assert!(message.contains(why) && message.contains(&code.to_string()), "{message}");
        assert_eq!(stub.seen().len(), 1);
    }
}

#[test]
fn an_endpoint_that_is_slow_or_gone_costs_no_more_than_the_timeout() {
    let stub = Stub::start(|asked| Reply { delay: Duration::from_secs(20), ..vectors(asked, 64) });
    let started = Instant::now();
    let timeout = Duration::from_millis(300);
    let options = HttpOptions { passage_timeout: timeout, query_timeout: timeout, ..stub.options() };
    assert!(failure(options.clone()).contains("no answer within 300 ms"));
    let error = open(HttpOptions { dims: Some(64), ..options }).embed_query("marmalade").unwrap_err();
    assert!(error.to_string().contains("no answer within 300 ms"), "{error}");
    assert!(failure(nowhere()).contains("nothing listens there"));
    let error = HttpEmbedder::open(nowhere()).unwrap_err().to_string();
    assert!(error.contains("nothing listens there") && error.contains("dims"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn an_answer_that_is_none_is_refused() {
    for garbage in
        ["", "marmalade hunter2", "{\"data\":\"hunter2\"}", "{\"data\":[{\"embedding\":[\"marmalade\"]}]}"]
    {
        let stub = Stub::start(move |_| ok(garbage));
        assert!(failure(stub.options()).contains("not the JSON of an embeddings endpoint"));
    }
    let stub =
        Stub::start(|_| ok(json!({ "data": [{ "index": 0, "embedding": vec![0.0; 64] }] }).to_string()));
    assert!(failure(stub.options()).contains("no direction"));
}

#[test]
fn an_answer_that_is_too_large_is_not_read_to_its_end() {
    let stub = Stub::start(|_| ok(vec![b' '; 100_000]));
    let options = HttpOptions { answer_bytes_max: 50_000, ..stub.options() };
    assert!(failure(options).contains("more than 50000 bytes"));
}

#[test]
fn the_fingerprint_changes_with_all_that_can_be_known() {
    let stub = Stub::start(|asked| vectors(asked, 64));
    let fingerprint = |change: &dyn Fn(&mut HttpOptions)| {
        let mut options = HttpOptions { dims: Some(64), ..stub.options() };
        change(&mut options);
        open(options).model().fingerprint.clone()
    };
    let same = fingerprint(&|_| ());
    assert_eq!(same.len(), 16);
    assert_eq!(fingerprint(&|o| o.dims = None), same, "learned or given");
    assert_eq!(fingerprint(&|o| o.url.push('/')), same);
    assert_eq!(fingerprint(&|o| o.api_key = Some("key".to_owned())), same);
    assert_eq!(fingerprint(&|o| o.batch = 1), same);
    let others = [
        fingerprint(&|o| o.url.push_str("/other")),
        fingerprint(&|o| o.model.push('2')),
        fingerprint(&|o| o.dims = Some(65)),
        fingerprint(&|o| o.query_prefix.push_str("q: ")),
        fingerprint(&|o| o.passage_prefix.push_str("q: ")),
        fingerprint(&|o| o.max_tokens = 256),
    ];
    let all: std::collections::BTreeSet<&String> = others.iter().chain([&same]).collect();
    assert_eq!(all.len(), 7);
}

#[test]
fn an_address_in_a_setting_opens_the_endpoint_with_its_key() {
    let stub = Stub::start(|asked| vectors(asked, 64));
    let spec = ModelSpec::parse(&format!("{}#stub&query=ask:%20", stub.url())).unwrap();
    let embedder = spec.open(Some("hunter2")).unwrap().unwrap();
    embedder.embed_query("anything").unwrap();
    let seen = stub.seen();
    assert_eq!(seen[1].body["input"][0], "ask: anything");
    assert_eq!(seen[1].authorization.as_deref(), Some("Bearer hunter2"));
    assert_eq!(embedder.model().name, format!("stub at {}", stub.url()));
    spec.open(Some("")).unwrap();
    assert_eq!(stub.seen()[2].authorization, None, "an empty key is none");
}
