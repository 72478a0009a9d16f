//! Nothing is stored without passing the gates, in their order; what was refused is in no file.

use recordari::{
    Authority, Candidate, Cardinality, Error, Forget, Kind, Lifetime, Namespace, Outcome, Policy, Principal,
    Query, Reason, RecordId, Selector, Sensitivity, Source,
};

use crate::remains::Canary;
use crate::world::{World, at, correction, someone};

const TOKEN: &str = "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";

/// One candidate that every gate would refuse, mended one fault at a time: each gate speaks in its turn.
#[test]
fn the_gates_speak_in_their_order_each_with_its_reason() {
    let mut world = World::new();
    world.day("2026-03-10T10:00:00Z");
    let mei = someone("acme", "mei", Some("site")).with_authority(Authority::HumanReviewed);
    let home = Principal::new(Namespace::new("acme").unwrap().user("mei").unwrap());
    let about = |text: &str, source: &str| Candidate {
        observed_at: Some(at("2026-03-01T10:00:00Z")),
        ..world.said(Some("health.diet"), text, source)
    };
    // A forgotten memory of the same subject; a withdrawn source; then a value in force again.
    let old = world.commit(&home, &about("eats fish", "clinic"));
    world.day("2026-03-11T10:00:00Z");
    world.forget_memory(&home, &old.memory_id);
    world.forget(&home, Selector::Source("withdrawn".to_owned()));
    world.day("2026-03-12T10:00:00Z");
    world.say(&home, Some("health.diet"), "eats bread", "kitchen");

    let mut candidate = Candidate {
        namespace: Some(home.namespace.clone()),
        kind: Kind::Semantic,
        subject: Some("health.diet".to_owned()),
        sensitivity: Sensitivity::Sensitive,
        lifetime: Lifetime::OneTime,
        authority: Authority::UserExplicit,
        confidence: 0.1,
        write_reason: Some(format!("the token is {TOKEN}")),
        derived_from: vec![RecordId::new("rec_unknown")],
        ..Candidate::new(Kind::Semantic, "ok, thanks!")
    };
    type Mend = fn(&mut Candidate);
    let steps: [(Outcome, Mend); 14] = [
        (Outcome::Rejected(Reason::SecretDetected), |c| c.write_reason = None),
        (Outcome::Rejected(Reason::SensitivityAboveGrant), |c| c.sensitivity = Sensitivity::Internal),
        (Outcome::Rejected(Reason::OneTimeContent), |c| c.lifetime = Lifetime::CrossTask),
        (Outcome::Rejected(Reason::MissingSource), |c| c.source = Some(Source::parse("withdrawn#3"))),
        (Outcome::Rejected(Reason::MissingObservedAt), |c| c.observed_at = Some(at("2027-01-01T00:00:00Z"))),
        (Outcome::Rejected(Reason::ObservedInFuture), |c| c.observed_at = Some(at("2026-03-02T00:00:00Z"))),
        (Outcome::Rejected(Reason::SourceWithdrawn), |c| c.source = Some(Source::parse("talk"))),
        (Outcome::Rejected(Reason::MemoryDeleted), |c| c.observed_at = Some(at("2026-03-12T00:00:00Z"))),
        (Outcome::Rejected(Reason::SourceUnavailable), |c| c.derived_from.clear()),
        (Outcome::Rejected(Reason::AuthorityAboveGrant), |c| c.authority = Authority::ModelInferred),
        (Outcome::Rejected(Reason::NeverInferred), |c| c.authority = Authority::ToolObserved),
        (Outcome::Review(Reason::NeedsConfirmation, None), |c| c.authority = Authority::HumanReviewed),
        (Outcome::Review(Reason::LowConfidence, None), |c| c.confidence = 0.75),
        (Outcome::Rejected(Reason::NoReuseValue), |c| c.content = "eats soup".to_owned()),
    ];
    for (expected, mend) in steps {
        assert_eq!(world.memory().judge(&mei, &candidate).unwrap(), expected);
        mend(&mut candidate);
    }
    let conflict = world.memory().judge(&mei, &candidate).unwrap();
    assert!(
        matches!(&conflict, Outcome::Conflict(Reason::ConflictRequiresCorrection, Some(current))
            if current.content == "eats bread"),
        "{conflict:?}"
    );
    candidate.content = "eats bread".to_owned();
    let duplicate = world.memory().judge(&mei, &candidate).unwrap();
    assert!(matches!(duplicate, Outcome::Idempotent(_, Some(Reason::DuplicateMemory))), "{duplicate:?}");
    candidate.source = Some(Source::parse("kitchen"));
    assert!(matches!(world.memory().judge(&mei, &candidate).unwrap(), Outcome::Idempotent(_, None)));
    candidate.subject = Some("pantry".to_owned());
    candidate.authority = Authority::ModelInferred;
    let wider = world.memory().judge(&mei, &candidate).unwrap();
    assert_eq!(wider, Outcome::Review(Reason::ScopePromotion, None));
    candidate.namespace = None;
    assert!(matches!(world.memory().judge(&mei, &candidate).unwrap(), Outcome::Committed(_)));
    // A judgement stores nothing.
    assert!(world.listed(&mei).iter().all(|record| record.content == "eats bread"));
    assert!(world.memory().waiting(&mei, 9).unwrap().0.is_empty());
    world.reopen();
    world.assert_sound();
}

#[test]
fn what_was_refused_is_in_no_file() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let word = "Marzipanforelle";
    let refused = |change: fn(&mut Candidate)| {
        let mut candidate = world.said(Some("lunch"), &format!("orders {word}"), "chat");
        change(&mut candidate);
        candidate
    };
    type Change = fn(&mut Candidate);
    let cases: [(Reason, Change); 8] = [
        (Reason::SecretDetected, |c| c.content += " password: hunter2Xq9!vTzzP"),
        (Reason::SensitivityAboveGrant, |c| c.sensitivity = Sensitivity::Sensitive),
        (Reason::OneTimeContent, |c| c.lifetime = Lifetime::OneTime),
        (Reason::MissingSource, |c| c.source = None),
        (Reason::MissingObservedAt, |c| c.observed_at = None),
        (Reason::ObservedInFuture, |c| c.observed_at = Some(at("2030-01-01T00:00:00Z"))),
        (Reason::SourceUnavailable, |c| c.derived_from = vec![RecordId::new("rec_x")]),
        (Reason::NeverInferred, |c| {
            c.subject = Some("health".to_owned());
            c.authority = Authority::ModelInferred;
        }),
    ];
    for (reason, change) in cases {
        let candidate = refused(change);
        assert_eq!(world.remember(&mei, &candidate), Outcome::Rejected(reason));
        let keyed = world.memory().remember_once(&mei, &candidate, Some("key")).unwrap();
        assert_eq!(keyed, Outcome::Rejected(reason));
        world.memory().remember_all(&mei, &[candidate]).unwrap();
    }
    world.drain();
    let canary = Canary::new(&[word, "hunter2Xq9!vTzzP"]);
    assert_eq!(canary.remains(world.path()), [].into());
    // The search would have seen it.
    world.say(&mei, None, &format!("orders {word}"), "chat");
    assert!(!canary.remains(world.path()).is_empty());
}

#[test]
fn a_secret_is_caught_in_every_field_and_beside_any_script() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let texts = [
        format!("the token is {TOKEN}"),
        format!("凭证为{TOKEN}请保存"),
        format!("キーは{TOKEN}です"),
        format!("토큰은{TOKEN}입니다"),
        format!("`{TOKEN}`"),
        TOKEN.to_owned(),
    ];
    let fields: [fn(&mut Candidate, String); 8] = [
        |c, text| c.content = text,
        |c, text| c.subject = Some(text),
        |c, text| c.write_reason = Some(text),
        |c, text| c.read_trigger = Some(text),
        |c, text| c.revision_path = Some(text),
        |c, text| drop(c.metadata.insert("note".to_owned(), recordari::MetaValue::Text(text))),
        |c, text| drop(c.metadata.insert("tags".to_owned(), recordari::MetaValue::List(vec![text]))),
        |c, text| c.source.as_mut().unwrap().speaker = Some(text),
    ];
    let original = world.say(&mei, Some("access"), "asks the admin for access", "chat");
    for text in &texts {
        for field in fields {
            let mut candidate = world.said(None, "an ordinary statement", "chat");
            field(&mut candidate, text.clone());
            assert_eq!(world.remember(&mei, &candidate), Outcome::Rejected(Reason::SecretDetected), "{text}");
        }
        let outcome = world.correct(&mei, &original, text, "chat");
        assert_eq!(outcome, Outcome::Rejected(Reason::SecretDetected));
        let request = Forget::new(Selector::Memory(original.memory_id.clone()), text.clone());
        assert!(world.memory().forget(&mei, &request).is_err());
        let candidate = world.said(None, "a statement with a key of its own", "chat");
        assert!(world.memory().remember_once(&mei, &candidate, Some(text)).is_err(), "as an idempotency key");
        let _ = world.recall(&mei, &Query { task: Some("task".to_owned()), ..Query::new(text.as_str()) });
    }
    world.drain();
    assert_eq!(Canary::new(&[TOKEN]).remains(world.path()), [].into());
}

#[test]
fn three_quarters_of_confidence_are_enough_and_less_is_not() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    for (confidence, kept) in [(0.75, true), (0.7499, false), (1.0, true), (0.0, false)] {
        let text = format!("is {confidence} sure of it");
        let candidate = Candidate { confidence, ..world.said(None, &text, "chat") };
        let outcome = world.remember(&mei, &candidate);
        assert_eq!(matches!(outcome, Outcome::Committed(_)), kept, "{outcome:?}");
        assert_eq!(outcome.reason(), (!kept).then_some(Reason::LowConfidence));
    }
}

#[test]
fn what_was_only_observed_or_inferred_waits_as_the_policy_says() {
    let strict = World::new();
    let lax = World::with_policy(
        Policy::parse("[gates]\nreview_tool_observed = false\nreview_inferred_procedures = false").unwrap(),
    );
    let mei = someone("acme", "mei", None);
    for (world, waits) in [(&strict, true), (&lax, false)] {
        for (kind, authority) in
            [(Kind::Semantic, Authority::ToolObserved), (Kind::Procedural, Authority::ModelInferred)]
        {
            let candidate = Candidate { kind, authority, ..world.said(None, &format!("saw {kind}"), "tool") };
            let outcome = world.remember(&mei, &candidate);
            assert_eq!(matches!(outcome, Outcome::Review(Reason::NeedsConfirmation, Some(_))), waits);
            // The same again waits once.
            assert_eq!(world.remember(&mei, &candidate).code(), if waits { "review" } else { "idempotent" });
        }
        assert_eq!(world.memory().waiting(&mei, 9).unwrap().1, if waits { 2 } else { 0 });
    }
}

#[test]
fn a_malformed_policy_refuses_every_write_and_recall_goes_on() {
    let mut world = World::new();
    let mei = someone("acme", "mei", None);
    let written = world.say(&mei, Some("tea"), "drinks green tea", "chat");
    world.close();
    for text in ["[gates\n", "[gates]\nminimum_confidence = 7", "[gates]\nallow_everything = true"] {
        let options = recordari::Options { policy: Policy::parse(text), ..world.options() };
        let (memory, _) = recordari::Memory::open(options).unwrap();
        let candidate = Candidate {
            source: Some(Source::parse("chat")),
            observed_at: Some(memory.now()),
            authority: Authority::UserExplicit,
            cardinality: Cardinality::Multi,
            ..Candidate::new(Kind::Semantic, "drinks coffee")
        };
        let refused =
            |error: Option<Error>| assert!(matches!(error, Some(Error::Policy(_))), "{text}: {error:?}");
        refused(memory.remember(&mei, &candidate).err());
        refused(memory.remember_all(&mei, std::slice::from_ref(&candidate)).err());
        refused(memory.judge(&mei, &candidate).err());
        refused(memory.correct(&mei, &correction(&written, "drinks water", "chat", memory.now())).err());
        let answer = memory.recall(&mei, &Query::new("which tea")).unwrap();
        assert_eq!(crate::world::contents(&answer), ["drinks green tea"]);
    }
    world.reopen();
    assert_eq!(world.listed(&mei).len(), 1);
}
