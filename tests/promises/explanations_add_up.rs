//! A score is the sum of its parts, exactly; what was left out has a reason; `why` agrees with recall.

use std::collections::{BTreeMap, BTreeSet};

use recordari::{Authority, Candidate, Kind, Mode, Policy, Principal, Query, Reason, RecordId, Why};

use crate::world::{World, at, by, someone};

const QUERIES: [&str; 4] =
    ["the harbour crane", "crane maintenance plan", "lighthouse", "who repairs the crane"];

/// Sixty records of all sorts, among them near duplicates, one subject twice, expired ones, low authority.
fn harbour() -> (World, Principal) {
    let world = World::with_policy(Policy::parse("[gates]\nreview_inferred_procedures = false").unwrap());
    let mei = someone("acme", "mei", Some("port"));
    let things = ["crane", "lighthouse", "pier", "ferry", "harbour", "anchor"];
    for number in 0..60usize {
        let thing = things[number % 6];
        let text = match number % 5 {
            0 => format!("the {thing} of the harbour was painted in {}", 1950 + number),
            1 => format!("the {thing} needs maintenance every {number} weeks"),
            2 => format!("the harbour {thing} stands near berth {number}"),
            3 => format!("the {thing} is repaired by crew number {number} of the harbour"),
            _ => format!("plan {number}: move the {thing}"),
        };
        let candidate = Candidate {
            kind: Kind::ALL[number % 3],
            authority: if number % 4 == 0 { Authority::ModelInferred } else { Authority::UserExplicit },
            confidence: 0.75 + (number % 5) as f64 / 20.0,
            importance: (number % 7) as f64 / 7.0,
            observed_at: Some(at("2026-02-01T10:00:00Z").plus_seconds(number as i64 * 7919)),
            expires_at: (number % 9 == 0).then(|| at("2026-03-01T11:00:00Z")),
            read_trigger: (number % 11 == 3).then(|| "dredging".to_owned()),
            ..world.said(None, &text, &format!("log-{}", number % 3))
        };
        world.commit(&mei, &candidate);
    }
    for colour in ["red", "green"] {
        let candidate = Candidate {
            cardinality: recordari::Cardinality::Multi,
            ..world.said(Some("crane"), &format!("the crane is {colour}"), "paint")
        };
        world.commit(&mei, &candidate);
    }
    world.day("2026-03-02T10:00:00Z");
    (world, mei)
}

fn questions() -> impl Iterator<Item = Query> {
    [Mode::Hybrid, Mode::Keyword, Mode::Vector].into_iter().flat_map(|mode| {
        QUERIES.into_iter().flat_map(move |text| {
            let kinds = Query { kinds: vec![Kind::Procedural], ..by(mode, text) };
            let few =
                Query { limit: Some(3), characters: Some(600), minimum_score: Some(0.3), ..by(mode, text) };
            [by(mode, text), kinds, few].map(|query| Query { explain: true, ..query })
        })
    })
}

#[test]
fn every_score_is_the_sum_of_its_parts_to_the_last_bit() {
    let (world, mei) = harbour();
    let mut seen = 0;
    for query in questions() {
        for hit in world.recall(&mei, &query).hits {
            let sum: f64 = hit.parts.iter().map(|part| part.contribution).sum();
            assert_eq!(hit.score.to_bits(), sum.to_bits());
            assert!((0.0..=1.0).contains(&hit.score));
            let weights: f64 = hit.parts.iter().map(|part| part.weight).sum();
            assert!((weights - 1.0).abs() < 1e-6);
            for part in &hit.parts {
                assert!((0.0..=1.0).contains(&part.value), "{part:?}");
                assert!((part.contribution - part.value * part.weight).abs() < 1e-6, "{part:?}");
            }
            let names: BTreeSet<&str> = hit.parts.iter().map(|part| part.name).collect();
            assert_eq!(names.len(), hit.parts.len());
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn what_is_left_out_is_named_once_with_its_reason_and_what_is_kept_out_is_counted() {
    let (world, mei) = harbour();
    let readable = world.listed(&mei).len() as u64;
    for query in questions() {
        let answer = world.recall(&mei, &query);
        let hits: BTreeSet<&RecordId> = answer.hits.iter().map(|hit| &hit.record.record_id).collect();
        let left_out: BTreeSet<&RecordId> = answer.left_out.iter().map(|(id, _)| id).collect();
        assert_eq!(
            hits.len() + left_out.len(),
            answer.hits.len() + answer.left_out.len(),
            "an id came twice"
        );
        assert!(hits.is_disjoint(&left_out));
        assert!(answer.left_out.len() <= 100);
        let kept_out: u64 = answer.plan.kept_out.values().sum();
        assert_eq!(answer.plan.allowed + kept_out, readable);
        assert_eq!(answer.hits.is_empty(), answer.reason.is_some());
    }
}

#[test]
fn why_says_for_every_record_what_recall_did_with_it() {
    let (world, mei) = harbour();
    let records: Vec<RecordId> = world.listed(&mei).into_iter().map(|record| record.record_id).collect();
    for query in questions().step_by(4) {
        let answer = world.recall(&mei, &query);
        let places: BTreeMap<&RecordId, usize> =
            answer.hits.iter().enumerate().map(|(place, hit)| (&hit.record.record_id, place)).collect();
        let reasons: BTreeMap<&RecordId, Reason> =
            answer.left_out.iter().map(|(id, reason)| (id, *reason)).collect();
        for record in &records {
            match world.memory().why(&mei, &query, record).unwrap() {
                Why::Returned(place, hit) => {
                    assert_eq!(places.get(record), Some(&(place - 1)));
                    assert_eq!(*hit, answer.hits[place - 1]);
                }
                Why::Standing(hit) => {
                    assert!(!places.contains_key(record) && !reasons.contains_key(record));
                    assert!(answer.standing.contains(&hit));
                }
                Why::LeftOut(reason, score) => {
                    assert!(!places.contains_key(record));
                    let never_scored =
                        [Reason::Expired, Reason::OutsideFilter, Reason::ReadTriggerUnmet].contains(&reason);
                    assert!(!(never_scored && score.is_some()), "{reason} and yet a score");
                    let expected = reasons.get(record).copied();
                    // What matches in nothing was never in the running, so the answer does not list it.
                    let unlisted = never_scored
                        || [Reason::NotRetrieved, Reason::LimitReached].contains(&reason)
                        || reason == Reason::BelowFloor && score.is_none();
                    assert!(
                        expected == Some(reason) || expected.is_none() && unlisted,
                        "{reason} {expected:?}"
                    );
                }
                Why::NotFound => panic!("the caller sees this record"),
            }
        }
    }
}

#[test]
fn an_answer_that_is_empty_says_why() {
    let (world, mei) = harbour();
    let reason = |who: &Principal, query: Query| world.recall(who, &query).reason.map(Reason::code);
    let nobody = someone("acme", "nobody", None);
    assert_eq!(reason(&mei, Query::new("  ")), Some("empty_query"));
    assert_eq!(reason(&nobody, Query::new("crane")), Some("no_memories"));
    let before = Query { valid_at: Some(at("2020-01-01T00:00:00Z")), ..Query::new("crane") };
    assert_eq!(reason(&mei, before), Some("nothing_allowed"));
    assert_eq!(reason(&mei, by(Mode::Keyword, "zyzzyva")), Some("no_relevant_memory"));
    let narrow = Query { characters: Some(1), ..Query::new("crane") };
    assert_eq!(reason(&mei, narrow), Some("over_budget"));
}

#[test]
fn a_group_counts_what_is_in_the_answer() {
    let (world, mei) = harbour();
    for characters in [100_000, 500, 420, 380, 340, 300] {
        let query = Query { characters: Some(characters), ..by(Mode::Keyword, "crane red green") };
        let answer = world.recall(&mei, &query);
        for hit in &answer.hits {
            let Some(group) = &hit.group else { continue };
            let members =
                answer.hits.iter().filter(|other| other.record.subject == hit.record.subject).count();
            assert_eq!(group.size, members, "within {characters} characters");
        }
    }
}
