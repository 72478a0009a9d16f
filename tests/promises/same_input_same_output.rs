//! Given the store, the query and the clock, recall is deterministic, ties included.

use std::sync::Arc;

use recordari::{
    Candidate, Cardinality, Compare, Episode, Filter, HashingEmbedder, Kind, MetaValue, Mode, Policy,
    Principal, Query, Recalled,
};

use crate::world::{World, by, comparable, contents, someone};

const MODES: [Mode; 3] = [Mode::Hybrid, Mode::Keyword, Mode::Vector];

fn policy() -> Policy {
    Policy::parse("[recall]\nnear_duplicate = 1.0\nkind_share = 1.0").unwrap()
}

/// Statements that no score tells apart: the same words, each a turn of its own.
fn ties(world: &World, mei: &Principal) {
    for position in 0..30 {
        let candidate = Candidate {
            episode: Some(Episode { session: "talk".to_owned(), position }),
            ..world.said(None, &format!("turn zephyr {}", ["up", "on", "in"][position as usize % 3]), "talk")
        };
        world.commit(mei, &candidate);
    }
    // Values of one subject, recorded in the same instant, by the same authority.
    for colour in ["red", "green", "blue", "black", "white"] {
        let candidate = Candidate {
            cardinality: Cardinality::Multi,
            ..world.said(Some("zephyr"), &format!("zephyr comes in {colour}"), "paint")
        };
        world.commit(mei, &candidate);
    }
}

fn answers(world: &World, mei: &Principal) -> Vec<String> {
    MODES.map(|mode| comparable(&world.recall(mei, &by(mode, "zephyr")))).to_vec()
}

#[test]
fn the_same_question_gets_the_same_answer_every_time() {
    let mut world = World::with_policy(policy());
    let mei = someone("acme", "mei", None);
    ties(&world, &mei);
    let first = answers(&world, &mei);
    let same = |world: &World, when: &str| assert_eq!(answers(world, &mei), first, "{when}");
    same(&world, "again");
    world.drain();
    same(&world, "from the index");
    world.memory().rebuild(&mut |_, _| {}).unwrap();
    same(&world, "after a rebuild");
    world.reopen();
    same(&world, "after opening again");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| same(&world, "from several threads"));
        }
    });
}

#[test]
fn two_stores_with_the_same_history_answer_the_same() {
    let mei = someone("acme", "mei", None);
    let worlds = [World::with_policy(policy()), World::with_policy(policy())];
    for world in &worlds {
        ties(world, &mei);
    }
    worlds[1].drain();
    assert_eq!(answers(&worlds[0], &mei), answers(&worlds[1], &mei));
    let contents_of = |world: &World| -> Vec<String> {
        world.listed(&mei).into_iter().map(|record| record.content).collect()
    };
    assert_eq!(contents_of(&worlds[0]), contents_of(&worlds[1]));
}

#[test]
fn equal_scores_come_in_the_order_of_writing() {
    let world = World::with_policy(policy());
    let mei = someone("acme", "mei", None);
    let words = ["amber", "birch", "cedar", "dogwood", "elder", "fir", "gorse", "hazel", "ivy", "juniper"];
    for word in words {
        world.say(&mei, None, &format!("zephyr {word}"), "walk");
    }
    let answer = world.recall(&mei, &by(Mode::Keyword, "zephyr"));
    assert!(answer.hits.windows(2).all(|pair| pair[0].score == pair[1].score));
    assert_eq!(contents(&answer), words.map(|word| format!("zephyr {word}")));
}

/// Which window of a long text stands for its meaning must not depend on what else is stored: once the
/// middle of a search was taken, and a neighbour more or less changed the answer.
#[test]
fn a_long_text_is_compared_by_the_same_window_whatever_else_is_stored() {
    let long = |first: &str, rest: &str| format!("{} {}", first.repeat(80), rest.repeat(160));
    let one = long("zephyr breeze wind storm calm gale ", "accounts and ledgers of the year ");
    let two = long("zephyr breeze wind storm calm gale ", "recipes for winter soups at home ");
    let answer = |padding: usize| {
        let world = World::with_embedder(Some(Arc::new(HashingEmbedder::new(256).unwrap())));
        let mei = someone("acme", "mei", None);
        for number in 0..padding {
            world.say(&mei, None, &format!("unrelated note {number}"), "pad");
        }
        world.say(&mei, None, &one, "a");
        world.say(&mei, None, &two, "b");
        world.say(&mei, None, "zephyr alone", "c");
        let answer = world.recall(&mei, &recordari::Query { limit: Some(2), ..by(Mode::Hybrid, "zephyr") });
        contents(&answer).iter().map(|text| text.len()).collect::<Vec<_>>()
    };
    let alone = answer(0);
    // Of the two long ones, which begin alike, one makes room for what says something else.
    assert_eq!(alone.iter().filter(|length| **length > 100).count(), 1, "{alone:?}");
    for padding in 1..12 {
        assert_eq!(answer(padding), alone, "beside {padding} others");
    }
}

/// Vectors that a query by meaning had left in memory thinned out the answer of a later one by words.
#[test]
fn a_query_by_words_does_not_depend_on_what_was_asked_before() {
    let world = World::with_policy(policy());
    let mei = someone("acme", "mei", None);
    let words = ["alpine", "breeze", "candle", "zephyr"];
    for turn in 0..4 {
        let mut words = words;
        words.rotate_left(turn);
        world.say(&mei, None, &words.join(" "), "chat");
    }
    world.say(&mei, None, "zephyr and much else that is of no interest here", "chat");
    let query = recordari::Query { limit: Some(3), ..by(Mode::Keyword, "zephyr") };
    let cold = comparable(&world.recall(&mei, &query));
    world.ask(&mei, "alpine candle");
    assert_eq!(comparable(&world.recall(&mei, &query)), cold);
}

#[test]
fn rounded_vectors_give_the_answers_of_the_full_ones() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let said = |number: u64| {
        let (place, thing) = (number.wrapping_mul(2_654_435_761) % 97, number.wrapping_mul(40_503) % 89);
        world.said(
            None,
            &format!("boat {number} moors at pier {place} with crate {thing}"),
            &format!("log-{number}"),
        )
    };
    // More than are kept in full.
    let batch: Vec<_> = (0..5000).map(said).collect();
    for part in batch.chunks(1000) {
        world.memory().remember_all(&mei, part).unwrap();
    }
    for text in ["boat 77 at pier 3", "crate 12", "pier 55 with a crate", "where is boat 4999?", "moorings"] {
        for mode in Mode::ALL {
            let asked = Query { mode: *mode, limit: Some(20), characters: Some(100_000), ..Query::new(text) };
            let exact = Query { exact: true, ..asked.clone() };
            let (near, full) = (world.recall(&mei, &asked), world.recall(&mei, &exact));
            assert_eq!(comparable(&near), comparable(&full), "{mode} {text}");
        }
    }
}

#[test]
fn every_plan_of_a_large_namespace_gives_the_answers_of_the_exact_one() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    const PLACES: [&str; 9] =
        ["harbour", "quarry", "orchard", "mill", "ferry", "market", "tower", "bridge", "garden"];
    let said = |number: u64| {
        let mixed = number.wrapping_mul(2_654_435_761);
        let (place, thing) = (PLACES[(mixed % 9) as usize], mixed / 9 % 997);
        let text =
            format!("{place} keeps crate {thing} for customer {} since {}", mixed % 1013, 1900 + mixed % 90);
        let kind = if number == 17 { Kind::Procedural } else { Kind::Semantic };
        let metadata = [("group".to_owned(), MetaValue::Number((number % 40) as f64))].into();
        Candidate { kind, metadata, ..world.said(None, &text, &format!("log-{}", number % 30)) }
    };
    let all: Vec<Candidate> = (0..10_000).map(said).collect();
    for part in all.chunks(2_500) {
        world.memory().remember_all(&mei, part).unwrap();
    }
    let group = |number: f64| Filter::Meta("group".into(), Compare::Less, MetaValue::Number(number));
    let filters = [
        (Filter::Kind(Kind::Procedural), "scan"),
        (group(1.0), "scan"),
        (group(20.0), "scan"),
        (group(30.0), "sketch"),
        (Filter::All(Vec::new()), "sketch"),
    ];
    let mut hows = std::collections::BTreeSet::new();
    let texts = [
        "crate 12 in the harbour",
        "customer 77",
        "who keeps crate 5 since 1977?",
        "moorings and anchors",
        "bridge",
    ];
    for (filter, expected) in &filters {
        for text in texts {
            for mode in [Mode::Hybrid, Mode::Vector] {
                let asked = Query { mode, filter: filter.clone(), limit: Some(10), ..Query::new(text) };
                let exact = Query { exact: true, ..asked.clone() };
                let (near, full) = (world.recall(&mei, &asked), world.recall(&mei, &exact));
                let scores = |answer: &Recalled| {
                    answer
                        .hits
                        .iter()
                        .map(|hit| (hit.record.record_id.clone(), hit.score))
                        .collect::<Vec<_>>()
                };
                assert_eq!(scores(&near), scores(&full), "{mode} {text} {expected}");
                assert_eq!((near.plan.vectors[0].how, full.plan.vectors[0].how), (*expected, "exact"));
                hows.insert(near.plan.vectors[0].how);
                let looked = near.plan.vectors[0];
                assert!(looked.compared <= looked.rows && looked.rows == 10_000, "{looked:?}");
            }
        }
    }
    assert_eq!(hows.len(), 2);
}
