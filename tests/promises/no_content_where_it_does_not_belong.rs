//! Ids, traces, errors, receipts and reasons never carry memory text or query text.

use recordari::{
    Candidate, Episode, Error, Forget, MetaValue, Mode, Principal, Query, Reason, Selector, Sensitivity,
    Source,
};

use crate::remains::Canary;
use crate::world::{World, at, by, correction, someone};

/// Words that are content, each in another field; and words of the query.
const WORDS: [&str; 9] = [
    "Marzipanforelle",
    "Quittenbroetchen",
    "Walzerkomet",
    "Nebelhornfisch",
    "Kupferlibelle",
    "Zimtorakel",
    "Moosgondel",
    "Perlhuhntango",
    "Lavendelanker",
];

fn assert_free(what: &str, text: &str) {
    let text = text.to_lowercase();
    for word in WORDS {
        assert!(!text.contains(&word.to_lowercase()), "{what} speaks of {word}: {text}");
    }
}

fn candidate(world: &World) -> Candidate {
    let [content, subject, metadata, locator, speaker, session, reason, ..] = WORDS;
    Candidate {
        metadata: [("note".to_owned(), MetaValue::Text(metadata.to_owned()))].into(),
        source: Some(Source {
            id: "chat-1".to_owned(),
            locator: Some(locator.to_owned()),
            speaker: Some(speaker.to_owned()),
        }),
        episode: Some(Episode { session: session.to_owned(), position: 1 }),
        write_reason: Some(reason.to_owned()),
        ..world.said(Some(subject), &format!("orders {content}"), "-")
    }
}

fn question() -> Query {
    let [content, subject, .., observed, word] = WORDS;
    Query {
        explain: true,
        observed: vec![(subject.to_owned(), observed.to_owned())],
        tags: vec![observed.to_owned()],
        ..by(Mode::Hybrid, &format!("does {content} go with {word}?"))
    }
}

#[test]
fn traces_receipts_and_ids_hold_ids_numbers_and_reasons() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let written = world.commit(&mei, &candidate(&world));
    let other = world.say(&mei, None, &format!("{} again", WORDS[0]), "chat-2");
    let answer = world.recall(&mei, &question());
    assert_eq!(answer.hits.len(), 2);
    let trace = world.memory().trace(&mei, answer.trace_id.as_ref().unwrap()).unwrap().unwrap();
    assert_free("a trace", &format!("{trace:?}"));
    assert_free("an id", &format!("{written:?}{other:?}"));
    let outcome = world.memory().correct(&mei, &correction(&written, WORDS[3], "x", world.memory().now()));
    assert!(outcome.is_ok());
    // Only the erased content may be in these files at no time.
    let canary = Canary::new(&WORDS);
    let clean = |world: &World| {
        let remains = canary.remains(world.path());
        for file in ["traces.db", "ledger.db", "store.key"] {
            assert!(!remains.contains_key(file), "{remains:?}");
        }
        assert!(!remains.keys().any(|place| place.contains("leases")), "{remains:?}");
    };
    clean(&world);
    for selector in [
        Selector::Subject(WORDS[1].to_owned()),
        Selector::Memory(other.memory_id),
        Selector::Source("chat-2".to_owned()),
        Selector::Everything,
    ] {
        let forgotten = world.forget(&mei, selector);
        assert_free("a receipt", &format!("{forgotten:?} {:?}", forgotten.receipt().map(|r| r.to_json())));
    }
    clean(&world);
    assert_free("stats", &world.memory().stats(&mei).unwrap().to_string());
}

#[test]
fn errors_name_fields_and_never_what_is_in_them() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let sound = candidate(&world);
    let written = world.commit(&mei, &sound);
    let long = WORDS[0].repeat(10_000);
    let mut errors: Vec<Error> = Vec::new();
    let broken: [fn(&mut Candidate, String); 8] = [
        |c, long| c.content = long,
        |c, long| c.subject = Some(long),
        |c, long| c.source = Some(Source::parse(&long)),
        |c, long| c.episode = Some(Episode { session: long, position: 0 }),
        |c, long| drop(c.metadata.insert("n".to_owned(), MetaValue::Text(long))),
        |c, _| c.confidence = 2.0,
        |c, _| c.expires_at = Some(at("2020-01-01T00:00:00Z")),
        |c, _| c.namespace = Some(recordari::Namespace::new("globex").unwrap()),
    ];
    for change in broken {
        let mut candidate = sound.clone();
        change(&mut candidate, long.clone());
        errors.push(world.memory().remember(&mei, &candidate).unwrap_err());
    }
    let queries = [
        Query { text: long.clone(), ..question() },
        Query { limit: Some(0), ..question() },
        Query { minimum_score: Some(2.0), ..question() },
        Query { tags: vec![WORDS[0].to_owned(); 100], ..question() },
        Query { tags: vec![long.clone()], ..question() },
        Query { observed: vec![(WORDS[1].to_owned(), long.clone())], ..question() },
        Query { task: Some(long.clone()), ..question() },
        Query {
            filter: recordari::Filter::Meta("k".to_owned(), recordari::Compare::Holds, MetaValue::Null),
            ..question()
        },
    ];
    for query in queries {
        errors.push(world.memory().recall(&mei, &query).unwrap_err());
    }
    errors.push(world.memory().forget(&mei, &Forget::new(Selector::Everything, long.clone())).unwrap_err());
    errors.push(
        world.memory().correct(&mei, &correction(&written, &long, "x", world.memory().now())).unwrap_err(),
    );
    errors.push(world.memory().remember_once(&mei, &sound, Some(&long)).unwrap_err());
    errors.push(recordari::Timestamp::parse("observed_at", WORDS[0]).unwrap_err());
    errors.push(recordari::Kind::parse(WORDS[0]).unwrap_err());
    errors.extend(damaged_record(&world, &mei));
    for error in errors {
        assert_free("an error", &format!("{error} {error:?}"));
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            assert_free("a cause", &format!("{cause} {cause:?}"));
            source = cause.source();
        }
    }
}

/// What reading and verifying say about a record that was changed on the disk.
fn damaged_record(world: &World, mei: &Principal) -> Vec<Error> {
    let id = world.listed(mei)[0].record_id.clone();
    let database = crate::world::database(&world.path().join("recordari.db"));
    database.execute("UPDATE records SET content = content || ?1", [WORDS[7]]).unwrap();
    let findings = world.memory().verify().unwrap();
    assert!(!findings.is_empty());
    assert_free("a finding", &format!("{findings:?}"));
    let error = world.memory().get_record(mei, &id).unwrap_err();
    let recall = world.memory().recall(mei, &question());
    [Some(error), recall.err()].into_iter().flatten().collect()
}

#[test]
fn reasons_are_words_of_a_closed_list() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let secret = Candidate { sensitivity: Sensitivity::Sensitive, ..candidate(&world) };
    let outcome = world.remember(&mei, &secret);
    assert_free("an outcome", &format!("{outcome:?}"));
    for reason in Reason::ALL {
        assert_free("a reason", &format!("{reason:?} {} {}", reason.meaning(), reason.remedy()));
    }
}
