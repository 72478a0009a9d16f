//! Two hundred canaries, planted in every form in which something comes in, and nothing of them left; and ten thousand
//! questions whose answers do not tell that they were ever there.

use std::collections::BTreeMap;

use recordari::{
    AsOf, Candidate, Filter, Forget, Forgotten, Kind, MetaValue, Mode, Outcome, PageRequest, Principal,
    Query, Reach, Reason, RestoreFrom, Selector, Source, State, StateFilter, Written, restore,
};

use crate::numbers::Numbers;
use crate::remains::Canary;
use crate::world::{World, by, comparable, someone};

/// How many canaries are planted, unless `RECORDARI_CANARIES` says another number.
const CANARIES: usize = 200;
/// How many questions are compared, unless `RECORDARI_TWIN` says another number.
const QUESTIONS: usize = 1000;

fn of<'a, T>(numbers: &mut Numbers, all: &'a [T]) -> &'a T {
    &all[numbers.below(all.len())]
}

/// A word of sixteen letters that can be said and that nobody ever did.
fn new_word(numbers: &mut Numbers) -> String {
    let mut syllable = || [*of(numbers, b"bdfgklmnprstvz"), *of(numbers, b"aeiou")];
    (0..8).flat_map(|_| syllable()).map(char::from).collect()
}

fn new_han(numbers: &mut Numbers) -> String {
    (0..6).map(|_| char::from_u32(0x5000 + numbers.below(0x4000) as u32).unwrap()).collect()
}

/// A canary in a store: its words, each of which must be seen before and nowhere after, and how it came in.
struct Planted {
    words: Vec<String>,
    /// None: the gates refused it.
    written: Option<Written>,
    source: String,
    subject: Option<String>,
}

/// The forms that are planted in turn.
const FORMS: [&str; 10] = [
    "a word",
    "a sentence",
    "other scripts",
    "metadata",
    "a long text",
    "revisions",
    "contradicted",
    "in review",
    "refused",
    "derived",
];

fn plant(world: &World, who: &Principal, number: usize, numbers: &mut Numbers) -> Planted {
    let word = new_word(numbers);
    let subject = (number % 4 == 1).then(|| format!("habit {number}"));
    let source = format!("canary-{number}");
    let say = |content: &str| Candidate {
        subject: subject.clone(),
        ..world.said(None, content, &format!("{source}#7"))
    };
    let commit = |candidate: &Candidate| {
        let key = format!("key-{number}");
        let outcome = world.memory().remember_once(who, candidate, Some(&key)).unwrap();
        outcome.written().unwrap_or_else(|| panic!("{number}: {outcome:?}"))
    };
    let mut words = vec![word.clone()];
    let written = match FORMS[number % FORMS.len()] {
        "a word" => Some(commit(&say(&word))),
        "a sentence" => Some(commit(&say(&format!(
            "{word} lives at 17 Harbour Lane, third floor, and is called on 0791-{number:05}"
        )))),
        "other scripts" => {
            let han = new_han(numbers);
            words.push(han.clone());
            Some(commit(&say(&format!("每天早上{han}，{word} e\u{301}te\u{301} 🐟🦆"))))
        }
        "metadata" => {
            let (tag, address, speaker) = (new_word(numbers), new_word(numbers), new_word(numbers));
            words.extend([tag.clone(), address.clone(), speaker.clone()]);
            let candidate = Candidate {
                metadata: [("tags".to_owned(), MetaValue::Text(tag))].into(),
                source: Some(Source {
                    id: source.clone(),
                    locator: Some(format!("https://example.org/{address}?x=1")),
                    speaker: Some(speaker),
                }),
                ..say(&format!("was told of {word}"))
            };
            Some(commit(&candidate))
        }
        "a long text" => {
            let long =
                format!("{} {word} {}", "a long tale of rain ".repeat(500), "and of wind ".repeat(900));
            Some(commit(&say(&long)))
        }
        "revisions" => {
            let mut written = commit(&say(&format!("counts to {word}")));
            for _ in 0..7 {
                let next = new_word(numbers);
                let outcome = world.correct(who, &written, &format!("counts to {next}"), &source);
                written = outcome.written().unwrap();
                words.push(next);
            }
            Some(written)
        }
        "contradicted" => {
            let next = new_word(numbers);
            let written = commit(&say(&format!("trusts {word}")));
            words.push(next.clone());
            world.correct(who, &written, &format!("trusts {next} and nobody else"), &source).written()
        }
        "in review" => {
            let doubt = Candidate { confidence: 0.3, ..say(&format!("perhaps likes {word}")) };
            let outcome = world.remember(who, &doubt);
            assert!(matches!(outcome, Outcome::Review(..)), "{outcome:?}");
            None
        }
        "refused" => {
            let digits = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
            let token: String = (0..36).map(|_| char::from(*of(numbers, digits))).collect();
            let outcome = world.remember(who, &say(&format!("the token of {word} is ghp_{token}")));
            assert_eq!(outcome, Outcome::Rejected(Reason::SecretDetected));
            None
        }
        _ => {
            let summary = new_word(numbers);
            let from = commit(&say(&format!("saw {word} on the stairs")));
            words.push(summary.clone());
            let derived = Candidate {
                derived_from: vec![from.record_id.clone()],
                ..world.said(None, &format!("meets {summary}"), "summary")
            };
            world.commit(who, &derived);
            Some(from)
        }
    };
    Planted { words, written, source, subject }
}

#[test]
fn of_two_hundred_canaries_in_every_form_nothing_is_left_anywhere() {
    let canaries =
        std::env::var("RECORDARI_CANARIES").ok().map_or(CANARIES, |number| number.parse().unwrap());
    let world = World::new();
    let (mei, kitchen) = (someone("acme", "mei", None), someone("acme", "mei", Some("kitchen")));
    let mut numbers = Numbers::new(0x00C0_FFEE);
    let mut planted = Vec::new();
    for number in 0..canaries {
        let who = if number % 5 == 4 { &kitchen } else { &mei };
        world.say(&mei, None, &format!("ordinary note {number} about the garden"), "diary");
        planted.push(plant(&world, who, number, &mut numbers));
        if number % 60 == 30 {
            world.drain();
        }
    }
    world.drain();
    world.ask(&mei, &planted[0].words[0]);
    let backup = world.path().with_extension("backup");
    world.memory().backup(&backup).unwrap();

    // What was refused never reached the disk; all else is seen, word by word, and in each class of place.
    let words: Vec<&str> = planted.iter().flat_map(|one| one.words.iter().map(String::as_str)).collect();
    let canary = Canary::new(&words);
    let seen = canary.words_seen(world.path());
    let is_refused = |number: usize| FORMS[number % FORMS.len()] == "refused";
    for (number, one) in planted.iter().enumerate() {
        for word in &one.words {
            assert_eq!(seen.contains(word.as_str()), !is_refused(number), "{number} {word}");
        }
    }
    let classes = canary.remains(world.path());
    let in_database = |name: &str| name.starts_with("recordari.db");
    assert!(classes.keys().any(|name| in_database(name)) && classes["terms"] > canaries, "{classes:?}");
    let in_backup = canary.remains(&backup);
    assert!(in_backup.keys().any(|name| in_database(name)), "{in_backup:?}");

    // A third by id, a third by source, those with a subject by it, and the project as a whole.
    for (number, one) in planted.iter().enumerate().filter(|(number, _)| number % 5 != 4) {
        let selector = match (&one.written, &one.subject) {
            (Some(written), None) if number % 3 == 0 => Selector::Memory(written.memory_id.clone()),
            (_, Some(subject)) => Selector::Subject(subject.clone()),
            _ => Selector::Source(one.source.clone()),
        };
        let done = world.forget(&mei, selector.clone());
        assert!(matches!(done, Forgotten::Done(_)) || is_refused(number), "{number} {selector:?}: {done:?}");
    }
    let project = kitchen.clone().with_reach(Reach::Below);
    let done = world.memory().forget(&project, &Forget::new(Selector::Below, "the kitchen closed")).unwrap();
    assert!(matches!(done, Forgotten::Done(_)), "{done:?}");

    assert_eq!(canary.remains(world.path()), [].into());
    let texts: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    // A probe is asked for some hundred texts at most.
    for texts in texts.chunks(300) {
        let probed = world.memory().probe(&mei, texts, &[], &mut |_, _| {}).unwrap();
        assert!(!probed.is_found() && !probed.is_blind(), "{probed:?}");
        assert!(!probed.control.is_empty());
    }
    let page = PageRequest { limit: 1, cursor: None };
    let listed = world.memory().list(&mei, &Filter::All(Vec::new()), &StateFilter::Current, &page).unwrap();
    assert_eq!(listed.total as usize, canaries, "the ordinary notes are there");
    world.assert_sound();

    // A store that is made of the backup forgets them again before it can be read.
    let restored = world.path().with_extension("restored");
    let from = RestoreFrom {
        ledger: Some(world.path().join("ledger.db")),
        key: Some(world.path().join("store.key")),
        ..crate::world::restoring()
    };
    restore(&backup, &restored, &from, world.memory().now()).unwrap();
    assert_eq!(canary.remains(&restored), [].into());
    std::fs::remove_dir_all(backup).unwrap();
    std::fs::remove_dir_all(restored).unwrap();
}

/// The same life twice, with and without canaries among it, which are forgotten in every way there is.
fn live(with_canaries: bool) -> (World, Principal, Vec<String>) {
    let world = World::new();
    let (mei, kitchen) = (someone("acme", "mei", None), someone("acme", "mei", Some("kitchen")));
    let (mut numbers, mut ordinary) = (Numbers::new(0xBEAD), Numbers::new(0xFEED));
    let mut planted = Vec::new();
    let things = ["garden", "market", "train", "harbour", "orchestra", "bicycle", "kitchen", "letter"];
    let verbs = ["waters", "sells", "misses", "paints", "hears", "repairs", "cleans", "writes"];
    for number in 0..160 {
        let text = format!(
            "{} the {} near the {} at {number}",
            of(&mut ordinary, &verbs),
            of(&mut ordinary, &things),
            of(&mut ordinary, &things)
        );
        let candidate = Candidate {
            kind: if number % 7 == 0 { Kind::Episodic } else { Kind::Semantic },
            subject: (number % 9 == 0).then(|| format!("theme {number}")),
            ..world.said(None, &text, &format!("diary-{}", number % 11))
        };
        let written = world.commit(&mei, &candidate);
        if number % 8 == 3 {
            world.correct(&mei, &written, &format!("{text}, and again"), "letter");
        }
        if with_canaries {
            let who = if number % 5 == 4 { &kitchen } else { &mei };
            planted.push(plant(&world, who, number, &mut numbers));
        }
        if number == 90 {
            world.drain();
        }
    }
    for (number, one) in planted.iter().enumerate() {
        let selector = match (&one.written, &one.subject) {
            (_, _) if number % 5 == 4 => continue,
            (Some(written), None) if number % 3 == 0 => Selector::Memory(written.memory_id.clone()),
            (_, Some(subject)) => Selector::Subject(subject.clone()),
            _ => Selector::Source(one.source.clone()),
        };
        world.forget(&mei, selector);
    }
    if with_canaries {
        let project = kitchen.with_reach(Reach::Below);
        world.memory().forget(&project, &Forget::new(Selector::Below, "asked for")).unwrap();
    }
    for number in 0..10 {
        world.say(&mei, None, &format!("a late note {number} on the harbour"), "diary-late");
    }
    (world, mei, planted.into_iter().flat_map(|one| one.words).collect())
}

/// What both stores are asked: exact texts, parts, misspelt ones, words of canaries with ordinary ones, in every mode, with
/// filters, at other times, explained; lists and pages, histories and old states, counts.
fn question(numbers: &mut Numbers, words: &[String], said: &[String]) -> (Query, Filter, StateFilter) {
    let text = match numbers.below(6) {
        0 => of(numbers, words).clone(),
        1 => format!("{} {}", of(numbers, words), of(numbers, said)),
        2 => of(numbers, said).clone(),
        3 => {
            let text = of(numbers, said);
            text.split(' ').filter(|_| numbers.below(3) > 0).collect::<Vec<_>>().join(" ")
        }
        4 => {
            let word = of(numbers, words);
            word.chars().take(2 + numbers.below(12)).collect()
        }
        _ => {
            let mut letters: Vec<char> = of(numbers, said).chars().collect();
            let (a, b) = (numbers.below(letters.len()), numbers.below(letters.len()));
            letters.swap(a, b);
            letters.into_iter().collect()
        }
    };
    let filter = match numbers.below(8) {
        0 => Filter::Source(format!("canary-{}", numbers.below(160))),
        1 => Filter::Source(format!("diary-{}", numbers.below(11))),
        2 => Filter::Contains(of(numbers, words).chars().take(4).collect()),
        3 => Filter::SubjectPrefix(if numbers.below(2) == 0 { "habit" } else { "theme" }.to_owned()),
        4 => Filter::Not(Box::new(Filter::Kind(Kind::Episodic))),
        _ => Filter::All(Vec::new()),
    };
    let states = match numbers.below(3) {
        0 => StateFilter::Only(State::ALL.to_vec()),
        _ => StateFilter::Current,
    };
    let mode = *of(numbers, Mode::ALL);
    let query = Query {
        filter: filter.clone(),
        explain: numbers.below(2) == 0,
        limit: Some(1 + numbers.below(40)),
        exact: numbers.below(4) == 0,
        ..by(mode, &text)
    };
    (query, filter, states)
}

/// The records that are there, by text, with what leads to them.
fn records(world: &World, mei: &Principal) -> BTreeMap<String, (recordari::MemoryId, recordari::RecordId)> {
    let listed = world.listed(mei).into_iter();
    listed.map(|record| (record.content, (record.memory_id, record.record_id))).collect()
}

#[test]
fn no_question_tells_a_store_that_forgot_from_one_that_never_knew() {
    let questions = std::env::var("RECORDARI_TWIN").ok().map_or(QUESTIONS, |number| number.parse().unwrap());
    let ((forgot, mei, words), (never, ..)) = (live(true), live(false));
    let stores = [&forgot, &never];
    let there = stores.map(|world| records(world, &mei));
    let only = |one: usize, other: usize| -> Vec<&String> {
        there[one].keys().filter(|text| !there[other].contains_key(*text)).collect()
    };
    assert_eq!((only(0, 1), only(1, 0)), (Vec::new(), Vec::new()));
    let said: Vec<String> = there[0].keys().cloned().collect();
    let started = std::time::Instant::now();
    let mut numbers = Numbers::new(0xD15C0);
    let mut hits = 0;
    for number in 0..questions {
        if number == questions / 2 {
            // With all of it in the index, as without.
            stores.iter().for_each(|world| world.drain());
        }
        let (query, filter, states) = question(&mut numbers, &words, &said);
        let answers = stores.map(|world| world.recall(&mei, &query));
        hits += answers[0].hits.len();
        let answers = answers.map(|answer| comparable(&answer));
        assert_eq!(answers[0], answers[1], "question {number}: {query:?}");
        let limit = 1 + numbers.below(30);
        let pages = stores.map(|world| pages(world, &mei, &filter, &states, limit));
        assert_eq!(pages[0], pages[1], "list {number}: {filter:?}");
        let text = of(&mut numbers, &said);
        let at = world_time(&mut numbers);
        let told = [0, 1].map(|one| about(stores[one], &mei, &there[one][text], at));
        assert_eq!(told[0], told[1], "{text}");
    }
    let counts = stores.map(|world| {
        let stats = world.memory().stats(&mei).unwrap();
        format!(
            "{} {} {} {}",
            stats["namespaces"], stats["embedded"], stats["waiting_for_review"], stats["records"]
        )
    });
    assert_eq!(counts[0], counts[1]);
    assert!(hits > questions, "the questions find something");
    println!(
        "{questions} questions, {hits} memories in their answers, none tells them apart; {:?}",
        started.elapsed()
    );
}

fn world_time(numbers: &mut Numbers) -> AsOf {
    let day =
        |numbers: &mut Numbers| crate::world::at(&format!("2026-0{}-01T10:00:00Z", 1 + numbers.below(5)));
    AsOf { known_at: Some(day(numbers)), valid_at: Some(day(numbers)) }
}

/// Every page of a list, with where each ends.
fn pages(world: &World, mei: &Principal, filter: &Filter, states: &StateFilter, limit: usize) -> Vec<String> {
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let page =
            world.memory().list(mei, filter, states, &PageRequest { limit, cursor: cursor.take() }).unwrap();
        let contents: Vec<String> = page.records.into_iter().map(|record| record.content).collect();
        pages.push(format!("{} {contents:?} {}", page.total, page.cursor.is_some()));
        match page.cursor {
            Some(next) if pages.len() < 4 => cursor = Some(next),
            _ => return pages,
        }
    }
}

/// What is told of one memory.
fn about(
    world: &World,
    mei: &Principal,
    (memory, record): &(recordari::MemoryId, recordari::RecordId),
    at: AsOf,
) -> String {
    let told = |record: Option<recordari::Record>| {
        record.map(|record| (record.content, record.version, record.state))
    };
    let history = world.memory().history(mei, memory).unwrap();
    let versions: Vec<String> =
        history.iter().map(|entry| format!("{} {:?}", entry.version, entry.state)).collect();
    format!(
        "{:?} {:?} {:?} {versions:?}",
        told(world.memory().get(mei, memory).unwrap()),
        told(world.memory().get_record(mei, record).unwrap()),
        told(world.memory().as_of(mei, memory, at).unwrap())
    )
}
