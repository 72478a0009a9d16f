//! What a caller may not see, and what is not in force, never gets a score.

use recordari::{
    Candidate, Namespace, Outcome, Policy, Principal, Reason, RecordId, Selector, Sensitivity, Why, Written,
};

use crate::world::{World, at, by, contents, someone};

const MODES: [recordari::Mode; 3] =
    [recordari::Mode::Hybrid, recordari::Mode::Keyword, recordari::Mode::Vector];

/// A world in which everything speaks of zephyrs, and one record alone may be found by the caller.
struct Zephyrs {
    world: World,
    mei: Principal,
    allowed: Written,
    /// What must not be found, and what `why` says about it.
    others: Vec<(&'static str, RecordId, Why)>,
}

fn zephyrs() -> Zephyrs {
    // No floor: whatever gets a score would be returned.
    let world = World::with_policy(Policy::parse("[recall]\nfloor = 0.0\nnear_duplicate = 1.0").unwrap());
    let mei = someone("acme", "mei", Some("website"));
    let mut others = Vec::new();
    let say = |who: &Principal, what: &str| world.say(who, None, &format!("zephyr {what}"), what);
    let elsewhere = [
        ("another user", someone("acme", "tom", Some("website"))),
        ("another tenant", someone("globex", "mei", Some("website"))),
        ("another project", someone("acme", "mei", Some("shop"))),
        (
            "a narrower agent",
            Principal::new(Namespace::from_parts("acme", Some("mei"), Some("website"), Some("bot")).unwrap()),
        ),
    ];
    for (what, who) in elsewhere {
        others.push((what, say(&who, what).record_id, Why::NotFound));
    }
    let cleared = mei.clone().with_clearance(Sensitivity::Sensitive);
    let secret =
        Candidate { sensitivity: Sensitivity::Sensitive, ..world.said(None, "zephyr kept apart", "s") };
    others.push(("above the clearance", world.commit(&cleared, &secret).record_id, Why::NotFound));

    let mut ended = |what, record: RecordId, reason| others.push((what, record, Why::LeftOut(reason, None)));
    let old = say(&mei, "superseded");
    world.correct(&mei, &old, "a calm day", "later");
    ended("superseded", old.record_id, Reason::Superseded);
    let gone = say(&mei, "forgotten");
    world.forget_memory(&mei, &gone.memory_id);
    ended("forgotten", gone.record_id, Reason::Forgotten);
    let retired = say(&mei, "retired");
    assert!(world.memory().retire(&mei, &retired.record_id, "the list does not name it").unwrap());
    ended("retired", retired.record_id, Reason::Retired);
    let (source, other) = (say(&mei, "source"), say(&mei, "other"));
    let derived = Candidate {
        derived_from: vec![source.record_id.clone(), other.record_id.clone()],
        ..world.said(None, "zephyr derived", "summary")
    };
    let held = world.commit(&mei, &derived);
    world.forget_memory(&mei, &source.memory_id);
    ended("held", held.record_id, Reason::HeldSourceForgotten);
    let expired =
        Candidate { expires_at: Some(at("2026-03-02T00:00:00Z")), ..world.said(None, "zephyr expired", "e") };
    ended("expired", world.commit(&mei, &expired).record_id, Reason::Expired);
    let future =
        Candidate { valid_from: Some(at("2026-09-01T00:00:00Z")), ..world.said(None, "zephyr to come", "f") };
    ended("not yet valid", world.commit(&mei, &future).record_id, Reason::NotYetValid);
    let allowed = say(&mei, "allowed");
    world.day("2026-03-05T10:00:00Z");
    Zephyrs { world, mei, allowed, others }
}

#[test]
fn a_record_out_of_sight_or_out_of_force_never_gets_a_score() {
    let Zephyrs { world, mei, allowed, others } = zephyrs();
    for indexed in [false, true] {
        if indexed {
            world.drain();
        }
        for mode in MODES {
            let query = recordari::Query { explain: true, ..by(mode, "zephyr") };
            let answer = world.recall(&mei, &query);
            let ids: Vec<&RecordId> = answer
                .hits
                .iter()
                .map(|hit| &hit.record.record_id)
                .chain(answer.left_out.iter().map(|(id, _)| id))
                .collect();
            assert!(ids.contains(&&allowed.record_id), "{mode}");
            for (what, record, why) in &others {
                assert!(!ids.contains(&record), "{what} reached the resolve step ({mode})");
                assert_eq!(&world.memory().why(&mei, &query, record).unwrap(), why, "{what}");
            }
            let kept_out = &answer.plan.kept_out;
            assert_eq!(kept_out.get(&Reason::Expired), Some(&1));
            assert_eq!(kept_out.get(&Reason::NotYetValid), Some(&1));
            assert_eq!(kept_out.len(), 2, "{kept_out:?}");
        }
    }
}

#[test]
fn what_the_filters_keep_out_takes_nobodys_place() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let tom = someone("acme", "tom", None);
    let many: Vec<Candidate> = (0..300)
        .map(|number| Candidate {
            expires_at: Some(at("2026-03-02T00:00:00Z")),
            ..world.said(None, &format!("zephyr zephyr zephyr {number}"), "log")
        })
        .collect();
    for who in [&mei, &tom] {
        world.memory().remember_all(who, &many).unwrap();
    }
    world.say(&mei, None, "among much else there once was a mild zephyr", "diary");
    world.day("2026-03-05T10:00:00Z");
    for mode in MODES {
        let query = recordari::Query { limit: Some(1), ..by(mode, "zephyr") };
        assert_eq!(
            contents(&world.recall(&mei, &query)),
            ["among much else there once was a mild zephyr"],
            "{mode}"
        );
    }
}

#[test]
fn a_record_that_waits_for_its_trigger_takes_nobodys_place() {
    let world = World::with_policy(Policy::parse("[recall]\nnear_duplicate = 1.0").unwrap());
    let mei = someone("acme", "mei", None);
    // More than are ever ranked, so that they would fill every place if the filter came after.
    let many: Vec<Candidate> = (0..450)
        .map(|number| Candidate {
            read_trigger: Some("deployment".to_owned()),
            ..world.said(None, &format!("zephyr zephyr {number}"), "log")
        })
        .collect();
    world.memory().remember_all(&mei, &many).unwrap();
    world.say(&mei, None, "among much else there once was a mild zephyr", "diary");
    let query = recordari::Query { limit: Some(1), ..by(recordari::Mode::Keyword, "zephyr") };
    let answer = world.recall(&mei, &recordari::Query { explain: true, ..query.clone() });
    assert_eq!(contents(&answer), ["among much else there once was a mild zephyr"]);
    assert_eq!(answer.plan.kept_out, [(Reason::ReadTriggerUnmet, 450)].into());
    let tagged = recordari::Query { tags: vec!["Deployment".to_owned()], ..query };
    assert!(contents(&world.recall(&mei, &tagged))[0].starts_with("zephyr zephyr"));
}

#[test]
fn a_namespace_that_holds_nothing_readable_is_not_named() {
    let world = World::new();
    let cleared = someone("acme", "mei", Some("website")).with_clearance(Sensitivity::Sensitive);
    let secret =
        Candidate { sensitivity: Sensitivity::Sensitive, ..world.said(None, "zephyr kept apart", "s") };
    world.commit(&cleared, &secret);
    let shared = Candidate {
        namespace: Some(Namespace::new("acme").unwrap().user("mei").unwrap()),
        ..world.said(None, "zephyr for everyone", "t")
    };
    assert!(matches!(world.remember(&cleared, &shared), Outcome::Committed(_)));
    let gone = Candidate {
        namespace: Some(Namespace::new("acme").unwrap().project("website").unwrap()),
        ..world.said(None, "zephyr of old", "u")
    };
    let gone = world.commit(&cleared, &gone);
    let request = recordari::Forget {
        namespace: Some(Namespace::new("acme").unwrap().project("website").unwrap()),
        ..recordari::Forget::new(Selector::Memory(gone.memory_id), "asked for")
    };
    world.memory().forget(&cleared, &request).unwrap();
    let mei = someone("acme", "mei", Some("website"));
    let answer = world.ask(&mei, "zephyr");
    let named: Vec<String> = answer.plan.namespaces.iter().map(ToString::to_string).collect();
    assert_eq!(named, ["tenant=acme user=mei"]);
    let stats = world.memory().stats(&mei).unwrap();
    assert_eq!(stats["namespaces"].as_array().unwrap().len(), 1, "{stats}");
}
