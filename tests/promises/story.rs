//! The story that the project is for, from the first day to the last.

use recordari::{Candidate, Correction, Form, Kind, MemoryId, Namespace, Outcome, Reason, Selector, Source};

use crate::world::{World, at, contents, someone};

#[test]
fn an_agent_remembers_recalls_corrects_and_forgets() {
    let world = World::new();
    let mei = someone("acme", "mei", Some("website"));
    let (tom, other_tenant) =
        (someone("acme", "tom", Some("website")), someone("globex", "mei", Some("website")));

    // Day one: a preference, and a rule of the project that everyone in it sees.
    let everywhere = Some(Namespace::new("acme").unwrap().user("mei").unwrap());
    let python = world.commit(
        &mei,
        &Candidate {
            namespace: everywhere.clone(),
            form: Form::Preference,
            ..world.said(
                Some("preferred_language"),
                "From now on, prefer Python in code examples",
                "chat-1#4",
            )
        },
    );
    let project = Some(Namespace::new("acme").unwrap().project("website").unwrap());
    world.commit(
        &mei,
        &Candidate {
            namespace: project,
            kind: Kind::Procedural,
            form: Form::Rule,
            ..world.said(Some("public_api"), "Ask before changing a public API", "CONTRIBUTING.md#12")
        },
    );
    world.say(&tom, Some("preferred_language"), "Prefers Haskell in code examples", "chat-9#1");
    world.say(&other_tenant, Some("preferred_language"), "Prefers COBOL in code examples", "chat-8#1");

    // Day two: a new task is given those two, explained, and nothing else.
    world.day("2026-03-02T10:00:00Z");
    let answer = world.ask(&mei, "write code examples for the public API");
    let mut found = contents(&answer);
    found.sort();
    assert_eq!(found, ["Ask before changing a public API", "From now on, prefer Python in code examples"]);
    for hit in &answer.hits {
        assert_eq!(hit.score, hit.parts.iter().map(|part| part.contribution).sum::<f64>());
    }

    // Day three: TypeScript; a writer that still saw Python is refused.
    world.day("2026-03-03T10:00:00Z");
    let correct = |content: &str| Correction {
        expected: python.record_id.clone(),
        memory: python.memory_id.clone(),
        content: content.to_owned(),
        source: Source::parse("chat-3#1"),
        observed_at: at("2026-03-03T10:00:00Z"),
        authority: recordari::Authority::UserExplicit,
        confidence: 1.0,
        metadata: None,
        valid_from: None,
        expires_at: None,
        write_reason: None,
        renew_consent: false,
    };
    let corrected =
        world.memory().correct(&mei, &correct("Prefer TypeScript in code examples")).unwrap().unwrap();
    assert!(matches!(&corrected, Outcome::Corrected(written) if written.version == 2), "{corrected:?}");
    let stale = world.memory().correct(&mei, &correct("Prefer Rust in code examples")).unwrap().unwrap();
    assert!(
        matches!(&stale, Outcome::Conflict(Reason::StaleExpectedRecord, Some(current)) if current.version == 2),
        "{stale:?}"
    );
    assert!(!contents(&world.ask(&mei, "code examples")).iter().any(|text| text.contains("Python")));

    // Day four: forget it. Gone from recall, history and files; the old source can't bring it back.
    world.day("2026-03-04T10:00:00Z");
    let forgotten = world.forget(&someone_everywhere(), Selector::Subject("preferred_language".to_owned()));
    assert_eq!(forgotten.code(), "forgotten", "{forgotten:?}");
    assert!(!contents(&world.ask(&mei, "code examples")).iter().any(|text| text.contains("Script")));
    let history = world.memory().history(&mei, &MemoryId::new(python.memory_id.as_str())).unwrap();
    assert!(history.iter().all(|entry| entry.record.is_none()) && history.len() == 2);
    let again = Candidate {
        namespace: everywhere,
        observed_at: Some(at("2026-03-01T10:00:00Z")),
        ..world.said(Some("preferred_language"), "From now on, prefer Python in code examples", "chat-1#4")
    };
    assert_eq!(world.remember(&mei, &again), Outcome::Rejected(Reason::MemoryDeleted));
    assert_eq!(world.contents(&tom, "code examples"), ["Prefers Haskell in code examples"]);
    assert!(world.memory().verify().unwrap().is_empty());
}

fn someone_everywhere() -> recordari::Principal {
    recordari::Principal::new(Namespace::new("acme").unwrap().user("mei").unwrap())
}
