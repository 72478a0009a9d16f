//! What is found with a graph, compared with the oracle.

use recordari::{Filter, Mode, Query};

use super::*;
use crate::world::contents;

#[test]
fn every_plan_finds_what_the_oracle_finds_from_one_row_to_all() {
    let (world, _) = with_graph(ROWS);
    let (mut hits, mut of, mut hows) = (0, 0, std::collections::BTreeSet::new());
    for allowed in [1, 9, 90, ROWS / 2 - 1, ROWS / 2 + 50, ROWS - 1, ROWS] {
        let filter = if allowed == ROWS { Filter::All(Vec::new()) } else { below(allowed) };
        for topic in 0..12 {
            for mode in [Mode::Vector, Mode::Hybrid] {
                let query = Query { filter: filter.clone(), mode, ..asked(&format!("topic{topic} query")) };
                let found = world.recall(&mei(), &query);
                let exact = world.recall(&mei(), &Query { exact: true, ..query });
                assert_eq!(found.hits.len(), allowed.min(10), "never fewer than asked: {allowed}");
                assert!(found.hits.iter().all(|hit| number_of(&hit.record.content) < allowed));
                assert_ne!(how(&exact), "graph");
                let looked = found.plan.vectors[0];
                assert_eq!((looked.rows, looked.graph), (ROWS as u64, Some((ROWS as u64, 0))));
                let expected = if allowed * 2 >= ROWS { "graph" } else { "scan" };
                assert_eq!(looked.how, expected, "{allowed}");
                hows.insert(looked.how);
                if looked.how == "graph" {
                    assert_eq!(looked.instead.unwrap().0, "scan");
                    // Its name is a word of every record, which is worth little where all have it.
                    assert!(looked.cost > 0 && looked.compared < looked.allowed, "{looked:?} {mode}");
                    let wanted = ids(&exact);
                    hits += ids(&found).iter().filter(|id| wanted.contains(id)).count();
                    of += wanted.len();
                } else {
                    assert_eq!(ids(&found), ids(&exact), "{allowed} {mode}");
                }
            }
        }
    }
    assert_eq!(hows.into_iter().collect::<Vec<_>>(), ["graph", "scan"]);
    assert!(hits * 100 >= of * 98, "{hits} of {of}");
}

#[test]
fn what_words_alone_find_is_found_beside_the_graph() {
    let (world, _) = world_of(ROWS, policy(300));
    for number in 0..3 {
        world.say(
            &mei(),
            None,
            &format!("far{number} away lies the lighthouse Farnhem"),
            &format!("map-{number}"),
        );
    }
    build(world.memory());
    let query = Query { mode: Mode::Hybrid, ..asked("where is the lighthouse Farnhem?") };
    let found = world.recall(&mei(), &query);
    let exact = world.recall(&mei(), &Query { exact: true, ..query });
    assert_eq!((how(&found), how(&exact)), ("graph", "exact"));
    let scores = |answer: &Recalled| -> Vec<(String, f64)> {
        answer.hits.iter().map(|hit| (hit.record.content.clone(), hit.score)).collect()
    };
    assert_eq!(scores(&found)[..3], scores(&exact)[..3]);
    let lit = contents(&found).iter().filter(|text| text.contains("lighthouse")).count();
    assert_eq!(lit, 3, "{:?}", contents(&found));
}

#[test]
fn what_came_after_a_graph_is_found_at_once_and_what_went_is_not() {
    let (world, written) = with_graph(ROWS);
    let question = "topic3 note 99003";
    for number in [99_003, 99_043] {
        let fresh = world.commit(&mei(), &said(&world, number));
        let answer = world.recall(&mei(), &asked(&text(number)));
        assert_eq!((how(&answer), ids(&answer)[0].as_str()), ("graph", fresh.record_id.as_str()));
    }
    let looked = world.recall(&mei(), &asked(question)).plan.vectors[0];
    assert_eq!((looked.rows, looked.graph), (ROWS as u64 + 2, Some((ROWS as u64, 2))));
    // What is corrected is in the graph and out of force.
    let before = world.recall(&mei(), &asked(&text(3)));
    assert_eq!(contents(&before)[0], text(3));
    world.correct(&mei(), &written[3], "elsewhere this note says another thing", "letter");
    let after = world.recall(&mei(), &asked(&text(3)));
    assert_eq!(how(&after), "graph");
    assert!(!contents(&after).contains(&text(3)));
    let exact = world.recall(&mei(), &Query { exact: true, ..asked(&text(3)) });
    assert_eq!(ids(&after), ids(&exact));
}

#[test]
fn a_graph_that_lags_far_behind_is_not_asked_until_it_is_completed() {
    let (world, _) = with_graph(400);
    let more: Vec<Candidate> = (400..700).map(|number| said(&world, number)).collect();
    world.memory().remember_all(&mei(), &more).unwrap();
    let question = asked("topic8 query");
    let (before, exact) =
        (world.recall(&mei(), &question), world.recall(&mei(), &Query { exact: true, ..question.clone() }));
    assert_eq!((how(&before), before.plan.vectors[0].graph), ("scan", Some((400, 300))));
    assert_eq!(ids(&before), ids(&exact));
    assert_eq!(build(world.memory()), (1, 300), "only what it lacks is put in");
    let after = world.recall(&mei(), &question);
    assert_eq!((how(&after), after.plan.vectors[0].graph), ("graph", Some((700, 0))));
    assert_eq!(ids(&after), ids(&exact));
}

#[test]
fn a_wide_read_and_another_namespace_do_without() {
    let (world, _) = with_graph(ROWS);
    let wide = mei().with_reach(recordari::Reach::Below);
    world.say(&someone("acme", "mei", Some("north")), None, "topic1 in the north", "letter");
    let answer = world.recall(&wide, &asked("topic1 query"));
    assert!(answer.plan.vectors.iter().any(|looked| looked.graph.is_none()));
    let north = world.recall(&someone("acme", "mei", Some("north")), &asked("topic1 query"));
    assert_eq!(north.plan.vectors.iter().filter(|looked| looked.how == "graph").count(), 1);
    assert_eq!(north.hits.len(), 10);
}

fn number_of(text: &str) -> usize {
    text.rsplit(' ').next().unwrap().parse().unwrap()
}
