//! The four days: remember, recall, correct, forget.

use recordari::{
    Authority, Candidate, Correction, Forget, Forgotten, Form, Kind, Namespace, Outcome, Promise, Query,
    Reason, Recalled, Selector, Source, Timestamp, Written,
};

use super::bytes;
use super::stage::{Stage, someone};
use crate::cli::{Failure, show};

const SUBJECT: &str = "preferred_language";
/// Words of the two versions that were in force, and of the one that was refused.
const KEPT: [&str; 2] = ["Python", "TypeScript"];
const REFUSED: &str = "Kotlin";

/// A preference of a person, a rule of a project, and others who use the same store.
pub fn first(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let words = stage.words;
    stage.day(1, words.day_one)?;
    stage.tell("  ", &format!("{} “{}”", words.mei_says, words.preference))?;
    let outcome = stage.memory.remember(&mei()?, &preference(stage, words.preference)?)?;
    stage.claim(words.preference_kept, matches!(outcome, Outcome::Committed(_)))?;
    stage.tell("  ", &format!("{} “{}”", words.rule_says, words.rule))?;
    let rule = Candidate {
        namespace: Some(Namespace::from_parts("acme", None, Some("website"), None)?),
        form: Form::Rule,
        subject: Some("public_api".to_owned()),
        source: Some(Source::parse("CONTRIBUTING.md#12")),
        observed_at: Some(stage.memory.now()),
        authority: Authority::RepositoryVerified,
        ..Candidate::new(Kind::Procedural, words.rule)
    };
    let outcome = stage.memory.remember(&mei()?, &rule)?;
    stage.claim(words.rule_kept, matches!(outcome, Outcome::Committed(_)))?;
    stage.tell("  ", words.others_say)?;
    let mut kept = true;
    for (tenant, user, project, text) in
        [("acme", "tom", "billing", words.toms), ("globex", "mei", "website", words.other_meis)]
    {
        let theirs = Candidate { namespace: None, ..preference(stage, text)? };
        let outcome = stage.memory.remember(&someone(tenant, user, Some(project))?, &theirs)?;
        kept &= matches!(outcome, Outcome::Committed(_));
    }
    stage.claim(words.others_kept, kept)
}

/// A new task asks, and so do others.
pub fn second(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let words = stage.words;
    stage.day(2, words.day_two)?;
    stage.tell("  ", &format!("{} “{}”", words.agent_asks, words.question))?;
    let answer = ask(stage, "acme", "mei", "website")?;
    for (place, hit) in answer.hits.iter().enumerate() {
        stage.tell("    ", &format!("{}. {}", place + 1, hit.record.content))?;
        stage.tell("       ", &show::facts(&hit.record))?;
        stage.tell(
            "       ",
            &format!("{} {:.3} = {}", words.score, hit.score, show::parts(hit, show::PARTS_SHOWN)),
        )?;
    }
    let mut found = contents(&answer);
    found.sort_unstable();
    let mut expected = [words.preference, words.rule];
    expected.sort_unstable();
    stage.claim(words.those_two, found == expected)?;
    let adds_up = answer
        .hits
        .iter()
        .all(|hit| hit.score == hit.parts.iter().map(|part| part.contribution).sum::<f64>());
    stage.claim(words.adds_up, adds_up && !answer.hits.is_empty())?;
    stage.tell("  ", words.model_reads)?;
    stage.tell("    │ ", &answer.projection)?;
    stage.tell("  ", words.others_ask)?;
    let toms = ask(stage, "acme", "tom", "billing")?;
    stage.claim(words.tom_gets, contents(&toms) == [words.toms])?;
    let other = ask(stage, "globex", "mei", "website")?;
    stage.claim(words.other_mei_gets, contents(&other) == [words.other_meis])?;
    let nobody = ask(stage, "initech", "mei", "website")?;
    stage.claim(words.nobody_gets, nobody.hits.is_empty() && nobody.reason == Some(Reason::NoMemories))?;
    let blog = ask(stage, "acme", "mei", "blog")?;
    stage.claim(words.blog_gets, contents(&blog) == [words.preference])
}

/// A correction, and a writer who comes too late.
pub fn third(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let words = stage.words;
    stage.day(3, words.day_three)?;
    stage.tell("  ", &format!("{} “{}”", words.mei_corrects, words.correction))?;
    let seen = in_force(stage)?;
    let corrected = correct(stage, &seen, words.correction)?;
    let second = matches!(&corrected, Some(Outcome::Corrected(written)) if written.version == 2);
    stage.claim(words.corrected, second)?;
    stage.tell("  ", &format!("{} “{}”", words.late_writer, words.late))?;
    let late = correct(stage, &seen, words.late)?;
    let refused = matches!(
        &late,
        Some(Outcome::Conflict(Reason::StaleExpectedRecord, Some(current))) if current.content == words.correction
    );
    stage.claim(words.late_refused, refused)?;
    let answer = ask(stage, "acme", "mei", "website")?;
    let now = contents(&answer);
    stage.claim(words.now_typescript, now.contains(&words.correction) && !now.contains(&words.preference))
}

/// The end: a receipt, and the proof in the files.
pub fn fourth(stage: &mut Stage<'_>) -> Result<(), Failure> {
    let words = stage.words;
    stage.day(4, words.day_four)?;
    let memory = in_force(stage)?.memory_id;
    stage.tell("  ", words.look_first)?;
    let before = KEPT.map(|word| bytes::search(stage.folder(), word));
    let mut there = true;
    for found in before {
        there &= found?.1 > 0;
    }
    stage.claim(words.words_there, there)?;
    stage.claim(words.refused_nowhere, bytes::search(stage.folder(), REFUSED)?.1 == 0)?;
    stage.tell("  ", words.forget_it)?;
    let request = Forget {
        namespace: Some(Namespace::from_parts("acme", Some("mei"), None, None)?),
        request_id: Some("demo-1".to_owned()),
        ..Forget::new(Selector::Subject(SUBJECT.to_owned()), "asked for by the user")
    };
    let done = stage.memory.forget(&mei()?, &request)?;
    let erased = matches!(&done, Forgotten::Done(receipt) if receipt.promise == Promise::Erased
        && receipt.details["counts"]["memories"] == 1 && receipt.details["counts"]["records"] == 2);
    stage.claim(words.receipt, erased)?;
    let (mut files, mut gone) = (0, true);
    for word in KEPT {
        let (all, holding) = bytes::search(stage.folder(), word)?;
        (files, gone) = (all, gone && holding == 0);
    }
    stage.claim(words.words_gone, gone && files > 0)?;
    let answer = ask(stage, "acme", "mei", "website")?;
    let history = stage.memory.history(&mei()?, &memory)?;
    let empty = history.len() == 2 && history.iter().all(|entry| entry.record.is_none());
    stage.claim(words.no_trace, empty && contents(&answer) == [words.rule])?;
    stage.tell("  ", &format!("{} “{}”", words.old_source, words.preference))?;
    let from_day_one = Some(Timestamp::parse("the day", "2026-03-01T10:00:00Z")?);
    let again = Candidate { observed_at: from_day_one, ..preference(stage, words.preference)? };
    let outcome = stage.memory.remember(&mei()?, &again)?;
    stage.claim(words.blocked, outcome == Outcome::Rejected(Reason::MemoryDeleted))?;
    let sound = stage.memory.verify()?.is_empty();
    let toms = ask(stage, "acme", "tom", "billing")?;
    stage.claim(words.sound, sound && contents(&toms) == [words.toms])
}

fn mei() -> Result<recordari::Principal, Failure> {
    someone("acme", "mei", Some("website"))
}

/// What somebody prefers, said in chat-1, for all of Mei's projects.
fn preference(stage: &Stage<'_>, text: &str) -> Result<Candidate, Failure> {
    Ok(Candidate {
        namespace: Some(Namespace::from_parts("acme", Some("mei"), None, None)?),
        form: Form::Preference,
        subject: Some(SUBJECT.to_owned()),
        source: Some(Source::parse("chat-1#4")),
        observed_at: Some(stage.memory.now()),
        authority: Authority::UserExplicit,
        ..Candidate::new(Kind::Semantic, text)
    })
}

fn ask(stage: &Stage<'_>, tenant: &str, user: &str, project: &str) -> Result<Recalled, Failure> {
    let who = someone(tenant, user, Some(project))?;
    Ok(stage.memory.recall(&who, &Query::new(stage.words.question))?)
}

fn contents(answer: &Recalled) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.record.content.as_str()).collect()
}

/// The ids of Mei's preference as it is in force.
fn in_force(stage: &Stage<'_>) -> Result<Written, Failure> {
    let answer = ask(stage, "acme", "mei", "blog")?;
    let hit = answer.hits.first().ok_or_else(|| Failure::usage("the demonstration lost its memory"))?;
    Ok(Written::of(&hit.record))
}

fn correct(stage: &Stage<'_>, seen: &Written, content: &str) -> Result<Option<Outcome>, Failure> {
    let correction = Correction {
        expected: seen.record_id.clone(),
        memory: seen.memory_id.clone(),
        content: content.to_owned(),
        source: Source::parse("chat-3#1"),
        observed_at: stage.memory.now(),
        authority: Authority::UserExplicit,
        confidence: 1.0,
        metadata: None,
        valid_from: None,
        expires_at: None,
        write_reason: None,
        renew_consent: false,
    };
    Ok(stage.memory.correct(&mei()?, &correction)?)
}
