//! A store that forgot answers like a store that never knew: the same memories, in the same order, with the
//! same scores to the last bit, and the same counts.

use recordari::{
    AsOf, Candidate, Filter, MemoryId, Mode, PageRequest, Principal, Query, Reach, Record, RecordId,
    Selector, StateFilter, Timestamp, Why,
};

use crate::world::{World, at, by, comparable, someone};

/// The canaries word by word, in other words and in part; what is left, and what nobody said.
const QUERIES: [&str; 16] = [
    "orders Marzipanforelle every Tuesday",
    "each tuesday another marzipanforelle is ordered",
    "what does she have for lunch once a week",
    "at which stand do they sell marzipan trout",
    "on sale: the Marzipanforellen",
    "Tuesdays order",
    "Marzipan",
    "a note on gardening",
    "Marzipanforelle",
    "who orders fish",
    "garden note",
    "note 7 about the garden",
    "Tuesday market",
    "lunch",
    "something that nobody ever wrote",
    "the of and",
];

/// A life with or without canaries.
struct Life {
    world: World,
    mei: Principal,
    /// What was forgotten, or ids that nobody ever gave.
    forgotten: Vec<(MemoryId, RecordId)>,
    /// Where a list of the newest record ended, before anything was forgotten.
    cursor: Option<String>,
}

/// An hour of both lives.
fn hour(number: usize) -> Timestamp {
    at("2026-03-01T10:00:00Z").plus_seconds(3600 * number as i64)
}

/// The same life twice, hour by hour; with the canaries in one of them, forgotten in each of the four ways.
fn live(with_canaries: bool, drained: bool) -> Life {
    let world = World::new();
    let mei = someone("acme", "mei", Some("home"));
    let mut forgotten = Vec::new();
    let drain = || {
        if drained {
            world.drain()
        }
    };
    let mut canary = |subject: Option<&str>, text: &str, source: &str| {
        if with_canaries {
            let written = world.say(&mei, subject, text, source);
            forgotten.push((written.memory_id, written.record_id));
        }
    };
    world.say(&someone("acme", "tom", Some("home")), Some("lunch"), "eats at his desk", "chat-9");
    canary(Some("lunch"), "orders Marzipanforelle every Tuesday", "chat-1#1");
    drain();
    for number in 0..25 {
        world.clock.set(hour(number));
        let text = format!("note {number} about the {}", ["garden", "market", "fish pond"][number % 3]);
        let written = world.say(&mei, None, &text, &format!("diary-{}", number % 5));
        canary(None, &format!("Marzipanforelle is on sale at stand {number}"), "flyer");
        if number % 6 == 1 {
            world.clock.set(hour(number).plus_seconds(1800));
            world.correct(&mei, &written, &format!("{text} on a Tuesday"), "letter");
        }
        if number == 12 {
            drain();
        }
    }
    canary(Some("secret dish"), "Marzipanforelle with mustard", "chat-1#3");
    let first = PageRequest { limit: 1, cursor: None };
    let first = world.memory().list(&mei, &Filter::All(Vec::new()), &StateFilter::Current, &first).unwrap();
    world.clock.set(hour(30));
    if with_canaries {
        assert_eq!(first.records[0].content, "Marzipanforelle with mustard");
        world.ask(&mei, "Marzipanforelle");
        world.forget(&mei, Selector::Subject("lunch".to_owned()));
        world.forget(&mei, Selector::Source("flyer".to_owned()));
        let memory = world.listed(&mei)[0].memory_id.clone();
        assert_eq!(world.forget_memory(&mei, &memory).code(), "forgotten");
    }
    // Life goes on after the forget.
    world.clock.set(hour(31));
    for number in 0..5 {
        world.say(&mei, None, &format!("late note {number} from the market"), "diary-9");
    }
    drain();
    Life { world, mei, forgotten, cursor: first.cursor }
}

/// The contents of every page from a cursor on, with where each ends.
fn pages(
    world: &World,
    mei: &Principal,
    filter: &Filter,
    states: &StateFilter,
    mut request: PageRequest,
) -> Vec<String> {
    let mut pages = Vec::new();
    loop {
        let page = world.memory().list(mei, filter, states, &request).unwrap();
        let contents: Vec<String> = page.records.into_iter().map(|record| record.content).collect();
        pages.push(format!("{} {contents:?} {}", page.total, page.cursor.is_some()));
        if page.cursor.is_none() {
            return pages;
        }
        request.cursor = page.cursor;
    }
}

/// A version without its ids.
fn told(record: Option<Record>) -> String {
    let told = |record: Record| {
        format!("{} {} {:?} {}", record.content, record.version, record.state, record.valid_from)
    };
    record.map(told).unwrap_or_default()
}

/// What became of a record in an answer, to the last bit of its score.
fn fate(why: Why) -> String {
    match why {
        Why::Returned(place, hit) => format!("{place} {:016x}", hit.score.to_bits()),
        Why::Standing(hit) => format!("stands {:016x}", hit.score.to_bits()),
        Why::LeftOut(reason, score) => format!("{} {:?}", reason.code(), score.map(f64::to_bits)),
        Why::NotFound => "not found".to_owned(),
    }
}

/// The past of every memory that is there: its versions, and what was known and held at moments before, between and
/// after them.
fn pasts(world: &World, mei: &Principal) -> Vec<String> {
    let mut pasts = Vec::new();
    for record in world.listed(mei) {
        for entry in world.memory().history(mei, &record.memory_id).unwrap() {
            let times = (entry.recorded_at, entry.ended_at, entry.generation, entry.state);
            pasts.push(format!("{times:?} {}", told(entry.record)));
        }
        for known in [0, 7, 13, 26, 40] {
            for valid in [None, Some(0), Some(13), Some(40)] {
                // Between a version and its correction.
                let moment = |number| hour(number).plus_seconds(900);
                let as_of = AsOf { known_at: Some(moment(known)), valid_at: valid.map(moment) };
                pasts.push(told(world.memory().as_of(mei, &record.memory_id, as_of).unwrap()));
            }
        }
    }
    pasts
}

fn answers(world: &World, mei: &Principal) -> Vec<String> {
    let mut answers = Vec::new();
    for text in QUERIES {
        for mode in Mode::ALL {
            answers.push(comparable(&world.recall(mei, &Query { explain: true, ..by(*mode, text) })));
            answers.push(comparable(
                &world.recall(mei, &Query { explain: true, mode: *mode, ..Query::new(text) }),
            ));
            for past in [0, 13, 30] {
                let query = Query { explain: true, valid_at: Some(hour(past)), ..by(*mode, text) };
                answers.push(comparable(&world.recall(mei, &query)));
            }
        }
    }
    for filter in [
        Filter::All(Vec::new()),
        Filter::Contains("Marzipan".to_owned()),
        Filter::Source("flyer".to_owned()),
        Filter::SubjectPrefix("l".to_owned()),
    ] {
        for states in [StateFilter::Current, StateFilter::Only(recordari::State::ALL.to_vec())] {
            for limit in [1, 7] {
                answers.extend(pages(world, mei, &filter, &states, PageRequest { limit, cursor: None }));
            }
        }
    }
    answers.extend(pasts(world, mei));
    for record in world.listed(mei) {
        for text in &QUERIES[..4] {
            answers.push(fate(world.memory().why(mei, &Query::new(*text), &record.record_id).unwrap()));
        }
    }
    answers.push(format!("{:?}", world.memory().waiting(mei, 10).unwrap()));
    let stats = world.memory().stats(mei).unwrap();
    answers.push(format!("{} {} {}", stats["namespaces"], stats["embedded"], stats["waiting_for_review"]));
    answers
}

/// What somebody is told of an id, of what leads from it, and of deletions.
fn about(world: &World, who: &Principal, memory: &MemoryId, record: &RecordId) -> String {
    let asked = world.memory();
    let as_of = AsOf { known_at: Some(hour(26)), valid_at: Some(hour(26)) };
    let selected = recordari::Forget::new(Selector::Memory(memory.clone()), "asked for");
    let counts = asked.count_deletions(who).unwrap();
    [
        told(asked.get(who, memory).unwrap()),
        told(asked.get_record(who, record).unwrap()),
        told(asked.as_of(who, memory, as_of).unwrap()),
        format!("{:?}", asked.history(who, memory).unwrap()),
        format!("{:?}", asked.memory_of(who, record).unwrap()),
        format!("{:?}", asked.forgotten(who, memory).unwrap()),
        fate(asked.why(who, &Query::new("Marzipanforelle"), record).unwrap()),
        format!("{:?}", asked.preview_forget(who, &selected).unwrap()),
        asked.forget(who, &selected).unwrap().code().to_owned(),
        format!("{:?}", asked.deletions(who, false, 10).unwrap()),
        format!("{} {} {}", counts.all, counts.open, counts.overdue),
        comparable(
            &asked.recall(who, &Query { explain: true, ..Query::new("Marzipanforelle lunch") }).unwrap(),
        ),
    ]
    .join("\n")
}

#[test]
fn an_id_that_was_forgotten_is_to_others_one_that_never_was() {
    let (forgot, never) = (live(true, true), live(false, true));
    let others = [
        someone("acme", "tom", Some("home")),
        someone("acme", "mei", Some("work")),
        someone("acme", "tom", None).with_reach(Reach::Below),
        someone("globex", "mei", Some("home")),
    ];
    for other in &others {
        for (memory, record) in &forgot.forgotten {
            let told = [&forgot, &never].map(|life| about(&life.world, other, memory, record));
            assert_eq!(told[0], told[1], "{other:?}");
        }
    }
    // To the owner they are gone too, but for the fact that they were forgotten.
    for (memory, record) in &forgot.forgotten {
        let asked = forgot.world.memory();
        assert_eq!(told(asked.get(&forgot.mei, memory).unwrap()), "");
        assert_eq!(told(asked.get_record(&forgot.mei, record).unwrap()), "");
        let past = AsOf { known_at: Some(hour(26)), valid_at: Some(hour(26)) };
        assert_eq!(told(asked.as_of(&forgot.mei, memory, past).unwrap()), "");
        let versions = asked.history(&forgot.mei, memory).unwrap();
        assert!(!versions.is_empty() && versions.iter().all(|entry| entry.record.is_none()));
        assert!(asked.forgotten(&forgot.mei, memory).unwrap().is_some(), "the comparison would see it");
    }
}

#[test]
fn a_cursor_from_before_leads_on_as_if_nothing_had_been_there() {
    let (forgot, never) = (live(true, false), live(false, false));
    let all = |life: &Life, cursor: Option<String>| {
        let request = PageRequest { limit: 4, cursor };
        pages(&life.world, &life.mei, &Filter::All(Vec::new()), &StateFilter::Current, request)
    };
    // The one goes on after a canary that is gone, the other has everything.
    let (from_gone, from_start) = (all(&forgot, forgot.cursor.clone()), all(&never, None));
    let contents = |pages: &[String]| -> Vec<String> {
        let parts = pages.iter().map(|page| page.split_once('[').unwrap().1.split_once(']').unwrap().0);
        parts.flat_map(|page| page.split(", ").map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let (after, everything) = (contents(&from_gone), contents(&from_start));
    assert_eq!(after, everything[5..], "the five late notes are newer than where it ends");
}

#[test]
fn a_store_that_forgot_answers_like_one_that_never_knew() {
    for drained in [false, true] {
        let (Life { world: mut forgot, mei, .. }, Life { world: never, .. }) =
            (live(true, drained), live(false, drained));
        let expected = answers(&never, &mei);
        for (answer, expected) in answers(&forgot, &mei).iter().zip(&expected) {
            assert_eq!(answer, expected);
        }
        forgot.reopen();
        assert_eq!(answers(&forgot, &mei), expected, "after opening again");
        forgot.memory().rebuild(&mut |_, _| {}).unwrap();
        assert_eq!(answers(&forgot, &mei), expected, "after a rebuild");
        forgot.assert_sound();
    }
}

#[test]
fn the_comparison_would_see_a_memory_that_was_not_forgotten() {
    let Life { world, mei, .. } = live(false, false);
    let before = answers(&world, &mei);
    let candidate = Candidate { importance: 0.0, ..world.said(None, "one more word on fish", "x") };
    world.commit(&mei, &candidate);
    assert_ne!(answers(&world, &mei), before);
}
