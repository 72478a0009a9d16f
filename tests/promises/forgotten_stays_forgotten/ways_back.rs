//! Ways on which a forgotten memory has come back in other systems. Each ends nowhere.

use std::fs;
use std::path::Path;

use recordari::{
    Authority, Candidate, Confirmation, Forget, Forgotten, Mode, Outcome, Principal, Query, Reason, Selector,
    Sensitivity, Source, Written,
};

use crate::remains::Canary;
use crate::world::{World, correction, someone};

const CANARY: &str = "Marzipanforelle";

struct Past {
    world: World,
    mei: Principal,
    candidate: Candidate,
    written: Written,
    /// The database as it was before the forget.
    backup: tempfile::TempDir,
}

fn database_files(folder: &Path) -> Vec<std::path::PathBuf> {
    ["recordari.db", "recordari.db-wal", "recordari.db-shm"].map(|name| folder.join(name)).to_vec()
}

/// A memory that was written, indexed, backed up and forgotten.
fn past() -> Past {
    let mut world = World::new();
    let mei = someone("acme", "mei", None);
    let candidate = world.said(Some("lunch"), &format!("orders {CANARY} for lunch"), "chat-1#4");
    let outcome = world.memory().remember_once(&mei, &candidate, Some("key-1")).unwrap();
    let written = outcome.written().unwrap();
    world.say(&mei, None, "walks home afterwards", "chat-2");
    world.drain();
    world.close();
    let backup = tempfile::tempdir().unwrap();
    fs::copy(world.path().join("recordari.db"), backup.path().join("recordari.db")).unwrap();
    world.reopen();
    world.day("2026-03-02T10:00:00Z");
    let done = world.forget_memory(&mei, &written.memory_id);
    assert!(matches!(done, Forgotten::Done(_)), "{done:?}");
    world.day("2026-03-03T10:00:00Z");
    Past { world, mei, candidate, written, backup }
}

impl Past {
    fn assert_gone(&self, when: &str) {
        let Past { world, mei, written, .. } = self;
        for mode in Mode::ALL {
            let found = world.found(mei, *mode, &format!("who orders {CANARY} lunch"));
            assert!(!found.iter().any(|text| text.contains(CANARY)), "{when}: {found:?}");
        }
        assert_eq!(world.memory().get(mei, &written.memory_id).unwrap(), None, "{when}");
        assert_eq!(world.memory().get_record(mei, &written.record_id).unwrap(), None, "{when}");
        let history = world.memory().history(mei, &written.memory_id).unwrap();
        assert!(history.iter().all(|entry| entry.record.is_none()), "{when}");
        assert!(world.memory().forgotten(mei, &written.memory_id).unwrap().is_some(), "{when}");
        assert_eq!(Canary::new(&[CANARY]).remains(world.path()), [].into(), "{when}");
        world.assert_sound();
    }

    fn restore(&mut self) -> Vec<String> {
        self.world.close();
        for file in database_files(self.world.path()) {
            let _ = fs::remove_file(file);
        }
        fs::copy(self.backup.path().join("recordari.db"), self.world.path().join("recordari.db")).unwrap();
        self.world.reopen()
    }
}

#[test]
fn it_does_not_come_back_with_a_restart_or_a_rebuild() {
    let mut past = past();
    past.assert_gone("at once");
    past.world.reopen();
    past.assert_gone("after a restart");
    past.world.memory().rebuild(&mut |_, _| {}).unwrap();
    past.assert_gone("after a rebuild");
    past.world.close();
    fs::remove_dir_all(past.world.path().join("derived")).unwrap();
    past.world.reopen();
    past.assert_gone("without the derived folder");
}

#[test]
fn it_does_not_come_back_with_a_restored_database() {
    let mut past = past();
    let notices = past.restore();
    assert!(notices.iter().any(|notice| notice.contains("forgotten again")), "{notices:?}");
    past.assert_gone("after a restore");
    let again = past.world.forget_memory(&past.mei, &past.written.memory_id);
    assert_eq!(again.code(), "already_forgotten");
    assert_eq!(past.world.reopen(), Vec::<String>::new());
    past.assert_gone("after a restore and a restart");
    assert_eq!(past.world.found(&past.mei, Mode::Keyword, "walks home").len(), 1);
}

#[test]
fn it_does_not_come_back_with_a_restored_database_whose_key_is_lost() {
    let mut past = past();
    past.world.close();
    fs::remove_file(past.world.path().join("store.key")).unwrap();
    let notices = past.restore();
    assert!(notices.iter().any(|notice| notice.contains("key")), "{notices:?}");
    past.assert_gone("after a restore without the key");
    past.world.say(&past.mei, Some("dinner"), "orders soup for dinner", "chat-7");
    assert_eq!(past.world.found(&past.mei, Mode::Keyword, "soup").len(), 1);
}

#[test]
fn it_does_not_come_back_by_writing_it_again() {
    let past = past();
    let Past { world, mei, candidate, written, .. } = &past;
    let memory = world.memory();
    let refused = |candidate: &Candidate, what: &str| {
        let outcome = world.remember(mei, candidate);
        assert_eq!(outcome, Outcome::Rejected(Reason::MemoryDeleted), "{what}");
    };
    refused(candidate, "the same candidate");
    refused(&world_said(world, candidate, "chat-1#4", true), "the same place, observed today");
    refused(&world_said(world, candidate, "chat-1", true), "the source as a whole, observed today");
    refused(&world_said(world, candidate, "chat-9", false), "another source, observed before");
    let summary = Candidate { subject: None, ..world.said(None, &format!("likes {CANARY}"), "chat-1#4") };
    refused(&summary, "another wording of the same place");
    let outcomes = memory.remember_all(mei, std::slice::from_ref(candidate)).unwrap();
    assert!(matches!(&outcomes[..], [Ok(Outcome::Rejected(Reason::MemoryDeleted))]), "{outcomes:?}");
    let replayed = memory.remember_once(mei, candidate, Some("key-1")).unwrap();
    assert_eq!(replayed, Outcome::Rejected(Reason::MemoryDeleted), "an idempotent replay");
    let late = correction(written, &format!("orders two {CANARY}"), "chat-5", world.memory().now());
    assert_eq!(memory.correct(mei, &late).unwrap(), None, "a correction of the forgotten id");
    // Newer evidence from elsewhere brings back what is about the subject, not the words: nor does an agent's wish.
    let newer = world_said(world, candidate, "chat-20", true);
    let blocked = |candidate: &Candidate, what: &str| {
        let outcome = world.remember(mei, candidate);
        assert_eq!(outcome, Outcome::Rejected(Reason::BlockedByTombstone), "{what}");
    };
    blocked(&newer, "the same words, from elsewhere");
    for authority in [recordari::Authority::ModelInferred, recordari::Authority::ToolObserved] {
        blocked(&Candidate { authority, renew_consent: true, ..newer.clone() }, authority.code());
    }
    let renewed = Candidate { renew_consent: true, ..newer };
    refused(&Candidate { observed_at: candidate.observed_at, ..renewed.clone() }, "consent from before");
    refused(&Candidate { source: candidate.source.clone(), ..renewed.clone() }, "consent by the old source");
    past.assert_gone("after all attempts");

    // The person may say it anew on purpose, later and from elsewhere; that is another generation, and is told.
    let anew = world.commit(mei, &renewed);
    assert_eq!(anew.memory_id, written.memory_id);
    assert_eq!(world.found(mei, Mode::Keyword, CANARY).len(), 1);
    let generations: Vec<u32> =
        memory.history(mei, &anew.memory_id).unwrap().iter().map(|entry| entry.generation).collect();
    assert_eq!(generations, [0, 1]);
    let reasons: Vec<String> = {
        let database = crate::world::database(&world.path().join("recordari.db"));
        let mut told = database
            .prepare("SELECT reason FROM events WHERE record_id = ?1 AND reason IS NOT NULL")
            .unwrap();
        told.query_map([anew.record_id.as_str()], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(reasons, ["consent_renewed"]);
    // Now that it is in force others may say so too.
    let another = Candidate { renew_consent: false, ..world_said(world, &renewed, "chat-21", true) };
    assert_eq!(world.remember(mei, &another).code(), "idempotent");
    world.assert_sound();
}

#[test]
fn words_that_were_forgotten_come_back_by_no_correction_without_renewed_consent() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let gone = world.say(&mei, Some("lunch"), CANARY, "chat-1");
    world.day("2026-03-02T10:00:00Z");
    world.forget_memory(&mei, &gone.memory_id);
    world.day("2026-03-03T10:00:00Z");
    let soup = world.say(&mei, Some("lunch"), "orders soup", "chat-2");
    let back = correction(&soup, CANARY, "chat-3", world.memory().now());
    let outcome = world.memory().correct(&mei, &back).unwrap().unwrap();
    assert_eq!(outcome, Outcome::Rejected(Reason::BlockedByTombstone));
    let renewed = recordari::Correction { renew_consent: true, ..back };
    let outcome = world.memory().correct(&mei, &renewed).unwrap().unwrap();
    assert!(matches!(&outcome, Outcome::Corrected(_)), "{outcome:?}");
    // Of all that was forgotten only those words are blocked: the subject goes on.
    world.assert_sound();
}

fn world_said(world: &World, candidate: &Candidate, source: &str, today: bool) -> Candidate {
    let observed_at = if today { Some(world.memory().now()) } else { candidate.observed_at };
    Candidate { source: Some(recordari::Source::parse(source)), observed_at, ..candidate.clone() }
}

#[test]
fn a_forgotten_memory_that_was_said_anew_survives_a_restore() {
    let mut past = past();
    let again = world_said(&past.world, &past.candidate, "chat-20", true);
    let again = Candidate { renew_consent: true, ..again };
    past.world.commit(&past.mei, &again);
    past.world.close();
    let newer = tempfile::tempdir().unwrap();
    fs::copy(past.world.path().join("recordari.db"), newer.path().join("recordari.db")).unwrap();
    past.world.reopen();
    past.world.say(&past.mei, None, "a later thought", "chat-30");
    past.backup = newer;
    assert!(!past.restore().iter().any(|notice| notice.contains("forgotten again")));
    assert_eq!(past.world.found(&past.mei, Mode::Keyword, CANARY).len(), 1);
    past.world.assert_sound();
}

#[test]
fn a_withdrawn_source_does_not_come_back_with_a_restored_database() {
    let mut past = past();
    past.world.forget(&past.mei, Selector::Source("chat-2".to_owned()));
    past.restore();
    assert!(past.world.found(&past.mei, Mode::Keyword, "walks home").is_empty());
    let again = past.world.said(None, "walks home by the river", "chat-2#8");
    assert_eq!(past.world.remember(&past.mei, &again), Outcome::Rejected(Reason::SourceWithdrawn));
    assert_eq!(Canary::new(&["afterwards"]).remains(past.world.path()), [].into());
    past.world.assert_sound();
}

#[test]
fn what_was_derived_from_it_alone_goes_too_and_what_waited_is_dropped() {
    let mut world = World::new();
    let mei = someone("acme", "mei", None);
    let source = world.say(&mei, None, &format!("orders {CANARY}"), "chat-1");
    let first = world.commit(&mei, &derived(&world, &[&source], &format!("likes {CANARY}")));
    world.commit(&mei, &derived(&world, &[&first], "a cook should plan fish"));
    let elsewhere = someone("acme", "mei", Some("kitchen"));
    world.commit(&elsewhere, &derived(&world, &[&source], &format!("buy {CANARY}")));
    let doubt = Candidate { confidence: 0.3, ..world.said(None, &format!("orders {CANARY}"), "rumour") };
    assert!(matches!(world.remember(&mei, &doubt), Outcome::Review(..)));
    world.drain();
    let done = world.forget_memory(&mei, &source.memory_id);
    let receipt = done.receipt().unwrap().to_json();
    let counts = &receipt["counts"];
    assert_eq!(
        (&counts["memories"], &counts["namespaces"], &counts["namespaces_elsewhere"]),
        (&3.into(), &1.into(), &1.into())
    );
    assert_eq!((&receipt["held"], &receipt["counts"]["candidates"]), (&serde_json::json!([]), &1.into()));
    assert!(world.found(&elsewhere, Mode::Hybrid, "fish dishes cook").is_empty());
    assert!(world.memory().waiting(&mei, 10).unwrap().0.is_empty());
    assert_eq!(Canary::new(&[CANARY]).remains(world.path()), [].into());
    world.reopen();
    let late = derived(&world, &[&source], "fish again");
    assert_eq!(world.remember(&mei, &late), Outcome::Rejected(Reason::SourceUnavailable));
    world.assert_sound();
}

#[test]
fn what_was_derived_from_it_and_from_more_is_held_until_somebody_confirms_it() {
    let mut world = World::new();
    let mei = someone("acme", "mei", None);
    let source = world.say(&mei, None, &format!("orders {CANARY}"), "chat-1");
    let other = world.say(&mei, None, "orders herring", "chat-2");
    let both = world.commit(&mei, &derived(&world, &[&source, &other], "prefers fish dishes"));
    let rests_on_it = world.commit(&mei, &derived(&world, &[&both], "a cook should plan fish"));
    // Two sources say this one: the second is no summary.
    let twice = derived(&world, &[&source], "eats at noon");
    world.commit(&mei, &twice);
    assert_eq!(world.remember(&mei, &world.said(None, "eats at noon", "letter")).code(), "idempotent");
    let done = world.forget_memory(&mei, &source.memory_id);
    let receipt = done.receipt().unwrap().to_json();
    assert_eq!((&receipt["counts"]["memories"], receipt["held"].as_array().unwrap().len()), (&1.into(), 3));
    let all = "fish dishes cook noon";
    assert_eq!(world.found(&mei, Mode::Keyword, all), Vec::<String>::new());
    world.reopen();
    assert_eq!(world.found(&mei, Mode::Keyword, all), Vec::<String>::new());

    let word = |written: &Written, authority| Confirmation {
        expected: written.record_id.clone(),
        memory: written.memory_id.clone(),
        source: Source::parse("chat-3"),
        observed_at: world.memory().now(),
        authority,
        reason: Some("asked again".to_owned()),
    };
    let confirm = |who, word: &Confirmation| world.memory().confirm(who, word).unwrap();
    let stranger = someone("acme", "tom", None);
    assert_eq!(confirm(&stranger, &word(&both, Authority::UserExplicit)), None);
    let stale =
        word(&Written { record_id: other.record_id.clone(), ..both.clone() }, Authority::UserExplicit);
    assert_eq!(confirm(&mei, &stale).unwrap().code(), "stale_expected_record");
    let confirmed = confirm(&mei, &word(&both, Authority::UserExplicit)).unwrap();
    assert_eq!(confirmed.code(), "corrected");
    assert_eq!(world.found(&mei, Mode::Keyword, all), ["prefers fish dishes"]);
    // It rests on that word now; what was derived from it waits for a word of its own.
    let again = word(&confirmed.written().unwrap(), Authority::UserExplicit);
    assert_eq!(confirm(&mei, &again).unwrap().code(), "idempotent");
    confirm(&mei, &word(&rests_on_it, Authority::UserExplicit)).unwrap();
    assert_eq!(world.found(&mei, Mode::Keyword, all).len(), 2);
    // The versions that were derived go with the last that they were derived from; those that were confirmed stay.
    let done = world.forget_memory(&mei, &other.memory_id);
    let receipt = done.receipt().unwrap().to_json();
    assert_eq!((&receipt["counts"]["memories"], &receipt["counts"]["records"]), (&1.into(), &3.into()));
    assert_eq!(world.found(&mei, Mode::Keyword, all).len(), 2);
    world.assert_sound();
}

#[test]
fn what_is_reached_on_two_ways_goes_once() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let source = world.say(&mei, None, "orders herring", "chat-1");
    let summary = world.commit(&mei, &derived(&world, &[&source], "prefers fish dishes"));
    // Of what was forgotten, and of what goes with it.
    world.commit(&mei, &derived(&world, &[&source, &summary], "a cook should plan fish"));
    // Two versions of one memory, the second said more firmly.
    let weak = Candidate { confidence: 0.8, ..derived(&world, &[&source], "eats at noon") };
    let weak = world.commit(&mei, &weak);
    let firm = world.remember(&mei, &derived(&world, &[&source], "eats at noon"));
    assert_eq!(firm.written().unwrap().memory_id, weak.memory_id);
    let done = world.forget_memory(&mei, &source.memory_id);
    let receipt = done.receipt().unwrap().to_json();
    let mut ids: Vec<&str> =
        receipt["memory_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((all, ids.len(), &receipt["held"]), (4, 4, &serde_json::json!([])), "{receipt}");
    assert!(receipt["generations"].as_array().unwrap().iter().all(|generation| generation == 1), "{receipt}");
    assert!(world.listed(&mei).is_empty());
    world.assert_sound();
}

#[test]
fn what_was_derived_elsewhere_is_a_deletion_there_and_its_ids_are_nobody_elses() {
    let world = World::new();
    let (mei, tom) = (someone("acme", "mei", None), someone("acme", "tom", None));
    let everyone = recordari::Namespace::new("acme").unwrap();
    let shared =
        |text: &str| Candidate { namespace: Some(everyone.clone()), ..world.said(None, text, "handbook") };
    let (source, other) = (
        world.commit(&tom, &shared("the office closes at six")),
        world.commit(&tom, &shared("and opens at eight")),
    );
    let private = world.commit(&mei, &derived(&world, &[&source], "leaves with a Quarkgeige"));
    let held = world.commit(&mei, &derived(&world, &[&source, &other], "works ten hours"));
    // A version that is not in force any more.
    let corrected = world.commit(&mei, &derived(&world, &[&source], "goes home by Nebelhupe"));
    world.correct(&mei, &corrected, "goes home early", "chat-1");
    world.drain();
    let request = Forget {
        namespace: Some(everyone),
        ..Forget::new(Selector::Memory(source.memory_id.clone()), "outdated, says the boss")
    };
    let preview = world.memory().preview_forget(&tom, &request).unwrap().unwrap();
    let done = world.memory().forget(&tom, &request).unwrap();
    assert_eq!(preview.elsewhere, 1);
    assert_eq!(done.receipt().unwrap().details["counts"]["namespaces_elsewhere"], 1);
    let told = format!("{preview:?} {done:?} {:?}", world.memory().deletions(&tom, false, 10).unwrap());
    for hidden in [&private, &held, &corrected] {
        assert!(!told.contains(hidden.memory_id.as_str()) && !told.contains(hidden.record_id.as_str()));
    }
    // Mei is told of hers, and not who asked for what.
    let hers = world.memory().deletions(&mei, false, 10).unwrap();
    let hers = hers.iter().find(|receipt| receipt.details["selector"] == "derived").unwrap();
    assert!(hers.finished_at.is_some() && hers.left.is_empty());
    let json = hers.to_json();
    assert_eq!(json["memory_ids"], serde_json::json!([private.memory_id.as_str()]));
    assert_eq!(json["held"], serde_json::json!([held.memory_id.as_str()]));
    assert!(json["record_ids"].to_string().contains(corrected.record_id.as_str()), "{json}");
    assert!(!json.to_string().contains("the boss"));
    assert_eq!(world.found(&mei, Mode::Keyword, "leaves works goes home"), ["goes home early"]);
    assert_eq!(Canary::new(&["Quarkgeige", "Nebelhupe"]).remains(world.path()), [].into());
    world.assert_sound();
}

#[test]
fn a_deletion_that_its_ledger_missed_is_entered_before_it_is_completed() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    world.say(&mei, None, "keeps an opal in the drawer", "chat-1");
    let gone = world.say(&mei, None, &format!("orders {CANARY}"), "chat-1");
    world.drain();
    let other = world.open_another();
    other.recall(&mei, &Query::new(CANARY)).unwrap();
    assert_eq!(world.forget_memory(&mei, &gone.memory_id).code(), "incomplete");
    drop(other);
    // As if the process had been killed between the two commits.
    let ledger = crate::world::database(&world.path().join("ledger.db"));
    let count =
        || ledger.query_row("SELECT count(*) FROM tombstones", [], |row| row.get::<_, i64>(0)).unwrap();
    ledger.execute_batch("DELETE FROM tombstones; DELETE FROM marks").unwrap();
    assert_eq!((count(), world.memory().resume_deletions().unwrap(), count()), (0, 0, 1));
    assert_eq!(world.forget_memory(&mei, &gone.memory_id).code(), "already_forgotten");
}

#[test]
fn what_waits_above_the_clearance_is_not_dropped_with_a_subject() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let cleared = mei.clone().with_clearance(Sensitivity::Sensitive);
    let doubt = |sensitivity, text: &str| Candidate {
        confidence: 0.3,
        sensitivity,
        ..world.said(Some("illness"), text, "rumour")
    };
    world.remember(&cleared, &doubt(Sensitivity::Sensitive, "perhaps has asthma"));
    world.remember(&mei, &doubt(Sensitivity::Internal, "perhaps has a cold"));
    assert_eq!(world.memory().waiting(&cleared, 10).unwrap().1, 2);
    world.forget(&mei, Selector::Subject("illness".to_owned()));
    assert_eq!(world.memory().waiting(&cleared, 10).unwrap().1, 1);
    world.forget(&cleared, Selector::Subject("illness".to_owned()));
    assert_eq!(world.memory().waiting(&cleared, 10).unwrap().1, 0);
}

fn derived(world: &World, from: &[&Written], text: &str) -> Candidate {
    let derived_from = from.iter().map(|written| written.record_id.clone()).collect();
    Candidate { derived_from, ..world.said(None, text, "summary") }
}

#[test]
fn a_request_repeated_gives_the_same_receipt_and_another_target_a_conflict() {
    let past = past();
    let Past { world, mei, written, .. } = &past;
    let other = world.say(mei, None, "another memory", "chat-3");
    let request = |memory: &Written| Forget {
        request_id: Some("request-1".to_owned()),
        ..Forget::new(Selector::Memory(memory.memory_id.clone()), "asked for")
    };
    let first = world.memory().forget(mei, &request(&other)).unwrap();
    let second = world.memory().forget(mei, &request(&other)).unwrap();
    assert_eq!((first.code(), second.code()), ("forgotten", "already_forgotten"));
    assert_eq!(first.receipt().unwrap().receipt_id, second.receipt().unwrap().receipt_id);
    assert_eq!(world.memory().forget(mei, &request(written)).unwrap(), Forgotten::RequestIdConflict);
    // Wherever the other target is.
    let in_project = someone("acme", "mei", Some("site"));
    let there = world.say(&in_project, None, "a memory of the project", "chat-4");
    assert_eq!(world.memory().forget(&in_project, &request(&there)).unwrap(), Forgotten::RequestIdConflict);
    assert!(world.memory().get(&in_project, &there.memory_id).unwrap().is_some());
    // What was forgotten by its id is known by its subject too.
    let by_subject = world.forget(mei, Selector::Subject("lunch".to_owned()));
    assert_eq!(by_subject.code(), "already_forgotten");
    assert!(by_subject.receipt().unwrap().to_json()["memory_ids"][0] == written.memory_id.as_str());
    assert_eq!(world.forget(mei, Selector::Subject("dinner".to_owned())), Forgotten::NotFound);
    assert_eq!(
        world.forget(&someone("acme", "tom", None), Selector::Subject("lunch".to_owned())),
        Forgotten::NotFound
    );
    let traces = world.recall(mei, &Query::new("another memory"));
    assert!(traces.hits.iter().all(|hit| hit.record.content != "another memory"));
}

#[test]
fn it_does_not_come_back_under_another_subject_or_with_other_punctuation() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    world.say(&mei, Some("health"), "Bob was treated for gout.", "record-1");
    let early = world.memory().now();
    world.day("2026-03-05T10:00:00Z");
    world.forget(&mei, Selector::Subject("health".to_owned()));
    world.day("2026-03-06T10:00:00Z");
    for (subject, content) in [
        (None, "Bob was treated for gout."),
        (None, "bob  was treated for gout"),
        (Some("bob"), "Bob was treated for gout!"),
        (Some("health"), "Bob was treated for gout"),
    ] {
        let replayed = Candidate { observed_at: Some(early), ..world.said(subject, content, "record-2") };
        assert_eq!(world.remember(&mei, &replayed), Outcome::Rejected(Reason::MemoryDeleted), "{content}");
    }
    // What says something else, or is said anew on purpose from elsewhere, is no replay.
    let other =
        Candidate { observed_at: Some(early), ..world.said(None, "Bob was treated well", "record-2") };
    world.commit(&mei, &other);
    let anew = world.said(None, "Bob was treated for gout", "record-3");
    assert_eq!(world.remember(&mei, &anew), Outcome::Rejected(Reason::BlockedByTombstone));
    world.commit(&mei, &Candidate { renew_consent: true, ..anew });
}

#[test]
fn nobody_forgets_or_learns_of_what_lies_above_their_clearance() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let cleared = mei.clone().with_clearance(Sensitivity::Sensitive);
    let secret = Candidate {
        sensitivity: Sensitivity::Sensitive,
        ..world.said(Some("diagnosis"), "the diagnosis is asthma", "doctor")
    };
    let kept = world.commit(&cleared, &secret);
    for selector in [Selector::Memory(kept.memory_id.clone()), Selector::Subject("diagnosis".to_owned())] {
        assert_eq!(world.forget(&mei, selector), Forgotten::NotFound);
    }
    assert_eq!(world.listed(&cleared).len(), 1);
    // Whoever asks for everything means everything, whatever they may read.
    assert!(matches!(world.forget(&mei, Selector::Everything), Forgotten::Done(_)));
    assert_eq!(world.listed(&cleared).len(), 0);
}

#[test]
fn a_trace_that_waits_to_be_written_does_not_outlive_what_it_speaks_of() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let written = world.say(&mei, None, "the ferry leaves at noon", "chat");
    let kept = world.say(&mei, None, "the ferry is red", "log");
    // Another process answers, and keeps its trace for later; then this one forgets.
    let another = world.open_another();
    for record in [&written, &kept] {
        let answer = another.recall(&mei, &Query { limit: Some(1), ..Query::new("ferry") }).unwrap();
        assert_eq!(answer.hits.len(), 1, "{record:?}");
    }
    let both = another.recall(&mei, &Query::new("ferry")).unwrap();
    assert_eq!(both.hits.len(), 2);
    world.forget_memory(&mei, &written.memory_id);
    let later = another.recall(&mei, &Query::new("ferry")).unwrap();
    for memory in [&another, world.memory()] {
        let traces = memory.traces(&mei, 100).unwrap();
        let text = format!("{traces:?}");
        assert!(!text.contains(written.record_id.as_str()), "{text}");
        assert!(text.contains(later.trace_id.as_deref().unwrap()));
    }
    assert!(world.memory().trace(&mei, both.trace_id.as_deref().unwrap()).unwrap().is_none());
}

#[test]
fn what_is_in_force_is_not_blocked_by_words_that_were_forgotten_elsewhere() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let gone = world.say(&mei, Some("lunch"), CANARY, "chat-1");
    let kept = world.say(&mei, Some("dinner"), CANARY, "chat-2");
    world.forget_memory(&mei, &gone.memory_id);
    world.day("2026-03-03T10:00:00Z");
    // New metadata for the same words of a memory that was never forgotten.
    let again = recordari::Correction {
        metadata: Some([("rating".to_owned(), recordari::MetaValue::Number(5.0))].into()),
        ..correction(&kept, CANARY, "chat-3", world.memory().now())
    };
    let outcome = world.memory().correct(&mei, &again).unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Corrected(_)), "{outcome:?}");
    // Words of one's own are no consent where they are made of what a model said.
    let guess = Candidate {
        authority: recordari::Authority::ModelInferred,
        ..world.said(Some("habit"), "likes fish", "chat-4")
    };
    let guess = world.commit(&mei, &guess);
    let derived = Candidate {
        renew_consent: true,
        derived_from: vec![guess.record_id],
        ..world.said(Some("lunch"), CANARY, "chat-5")
    };
    assert_eq!(world.remember(&mei, &derived), Outcome::Rejected(Reason::BlockedByTombstone));
    world.assert_sound();
}

#[test]
fn what_fails_after_the_erasure_is_incomplete_with_its_place_and_is_finished_later() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let written = world.say(&mei, None, CANARY, "chat-1");
    world.say(&mei, None, "walks home", "chat-2");
    world.drain();
    let path = world.path().join("ledger.db");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, vec![7; whole.len()]).unwrap();
    let done = world.forget_memory(&mei, &written.memory_id);
    let Forgotten::Incomplete(receipt) = &done else { panic!("{done:?}") };
    assert!(receipt.left.iter().any(|(reason, _)| *reason == Reason::LedgerFailed), "{receipt:?}");
    assert_eq!(receipt.to_json()["state"], "derived_cleanup");
    // It is so in any case, and once the disk is well again it is finished.
    assert_eq!(world.memory().get(&mei, &written.memory_id).unwrap(), None);
    assert_eq!(world.found(&mei, Mode::Keyword, CANARY), Vec::<String>::new());
    assert_ne!(world.memory().resume_deletions().unwrap(), 0);
    fs::write(&path, &whole).unwrap();
    assert_eq!(world.memory().resume_deletions().unwrap(), 0);
    assert!(matches!(world.forget_memory(&mei, &written.memory_id), Forgotten::Already(_)));
    let ledger = crate::world::database(&path);
    let count: i64 = ledger.query_row("SELECT count(*) FROM tombstones", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
    world.assert_sound();
}

#[test]
fn a_reason_that_repeats_what_is_to_be_forgotten_is_refused_and_nothing_is_forgotten() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let written = world.say(&mei, None, &format!("orders {CANARY}"), "chat-1");
    let selector = Selector::Memory(written.memory_id.clone());
    let request = Forget::new(selector.clone(), format!("he does not order it: Orders  {CANARY}!"));
    let refused = world.memory().forget(&mei, &request).unwrap_err();
    assert_eq!(refused.kind(), recordari::ErrorKind::Caller, "{refused}");
    assert!(
        refused.to_string().starts_with("reason must not repeat") && !refused.to_string().contains(CANARY)
    );
    assert!(world.memory().get(&mei, &written.memory_id).unwrap().is_some());
    // Among many it costs itself alone.
    let other = world.say(&mei, None, "walks home", "chat-2");
    let sound = Forget::new(Selector::Memory(other.memory_id.clone()), "asked for");
    let together = world.memory().forget_all(&[(&mei, &sound), (&mei, &request)]).unwrap();
    assert!(
        matches!(&together[..], [Ok(Forgotten::Done(_)), Err(recordari::Error::Invalid { .. })]),
        "{together:?}"
    );
    assert!(world.memory().get(&mei, &written.memory_id).unwrap().is_some());
    assert!(matches!(world.forget(&mei, selector), Forgotten::Done(_)));
}
