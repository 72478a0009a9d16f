//! Where do records stand in conversations, and who speaks? Sessions as lists of slots, speakers by the words of their
//! names; nothing of what is said.

use std::collections::{HashMap, HashSet};

use super::partition::subject_words;
use super::words::key;
use crate::change::NamespaceId;
use crate::text::is_unspaced;

/// How many characters of a script without spaces may be a name in a query.
const UNSPACED_NAME: std::ops::RangeInclusive<usize> = 2..=4;
/// The shortest word of a name that a query can name somebody by, in characters.
const NAME_CHARS: usize = 2;

/// Who speaks, as far as that is told by what they are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Somebody, or nobody is named.
    #[default]
    Person,
    /// The person who talks to an assistant.
    User,
    /// An assistant.
    Assistant,
}

impl Role {
    /// The role of a speaker of that name.
    pub fn of(speaker: &str) -> Role {
        match subject_words(speaker).as_str() {
            "assistant" | "ai" | "bot" | "system" | "model" | "助手" => Role::Assistant,
            "user" | "human" | "me" | "用户" => Role::User,
            _ => Role::Person,
        }
    }
}

/// A record's place in a conversation, and what kind of statement it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// A hash of namespace and session; 0: it stands in none.
    pub session: u64,
    /// Its place in the session.
    pub position: u32,
    /// A hash of its speaker's name; 0: nobody is named.
    pub speaker: u64,
    /// Who speaks.
    pub role: Role,
    /// How many eighths of it are questions.
    pub asks: u8,
    /// Whether it says how to act, or what somebody prefers.
    pub orders: bool,
}

impl Turn {
    /// Of a record with that session and position, and that speaker.
    pub fn of(namespace: NamespaceId, session: Option<(&str, u32)>, speaker: Option<&str>) -> Turn {
        let hash = |name: &str| key([&namespace.0.to_le_bytes(), name.as_bytes()].concat().as_slice()).max(1);
        Turn {
            session: session.map_or(0, |(name, _)| hash(name)),
            position: session.map_or(0, |(_, position)| position),
            speaker: speaker.map_or(0, speaker_hash),
            role: speaker.map_or(Role::Person, Role::of),
            ..Turn::default()
        }
    }
}

/// A hash of a speaker's name. Never 0.
pub fn speaker_hash(name: &str) -> u64 {
    key(subject_words(name).as_bytes()).max(1)
}

/// The sessions of a partition: the slots of each that are in force, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sessions(HashMap<u64, Vec<u32>>);

impl Sessions {
    /// Of slots with their sessions and places; a session of 0 is none.
    pub fn of(turns: impl Iterator<Item = (u64, (u32, u32))>) -> Sessions {
        let mut places: HashMap<u64, Vec<(u32, u32)>> = HashMap::new();
        for (session, place) in turns.filter(|(session, _)| *session != 0) {
            places.entry(session).or_default().push(place);
        }
        let sorted = |(session, mut places): (u64, Vec<(u32, u32)>)| {
            places.sort_unstable();
            (session, places.into_iter().map(|(_, slot)| slot).collect())
        };
        Sessions(places.into_iter().map(sorted).collect())
    }

    /// Takes a slot in. `before` tells whether another slot of the session comes before it.
    pub fn add(&mut self, session: u64, slot: u32, before: impl Fn(u32) -> bool) {
        if session != 0 {
            let slots = self.0.entry(session).or_default();
            let at = slots.partition_point(|other| before(*other));
            slots.insert(at, slot);
        }
    }

    /// Takes slots out, each given with its session: every session is gone through once.
    pub fn remove(&mut self, gone: impl Iterator<Item = (u64, u32)>) {
        let mut by_session: HashMap<u64, HashSet<u32>> = HashMap::new();
        for (session, slot) in gone.filter(|(session, _)| *session != 0) {
            by_session.entry(session).or_default().insert(slot);
        }
        for (session, gone) in by_session {
            if let Some(slots) = self.0.get_mut(&session) {
                slots.retain(|slot| !gone.contains(slot));
                if slots.is_empty() {
                    self.0.remove(&session);
                }
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The nearest slots before and after one in its session that may be looked at.
    pub fn beside(
        &self,
        session: u64,
        is_before: impl Fn(u32) -> bool,
        slot: u32,
        allowed: &[bool],
    ) -> (Option<u32>, Option<u32>) {
        let Some(slots) = self.0.get(&session) else { return (None, None) };
        let at = slots.partition_point(|other| is_before(*other));
        let may = |slot: &&u32| allowed[**slot as usize];
        let before = slots[..at].iter().rev().find(may).copied();
        let after = slots[at..].iter().filter(|other| **other != slot).find(may).copied();
        (before, after)
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.0.values().map(|slots| 48 + slots.capacity() * 4).sum()
    }
}

/// Who speaks in a partition, by the words of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speakers {
    /// How many records in force each has.
    count: HashMap<u64, u32>,
    /// Whom a word names.
    named: HashMap<u64, Vec<u64>>,
}

impl Speakers {
    /// Takes a record of somebody in. Who is called by a role, and not by a name, can't be named.
    pub fn add(&mut self, name: &str) {
        if Role::of(name) != Role::Person {
            return;
        }
        let speaker = speaker_hash(name);
        let count = self.count.entry(speaker).or_insert(0);
        *count += 1;
        if *count > 1 {
            return;
        }
        for word in subject_words(name).split(' ').filter(|word| word.chars().count() >= NAME_CHARS) {
            let named = self.named.entry(key(word.as_bytes())).or_default();
            if !named.contains(&speaker) {
                named.push(speaker);
            }
        }
    }

    /// Takes records out, each given as its speaker.
    pub fn remove(&mut self, speakers: impl Iterator<Item = u64>) {
        let mut silent = HashSet::new();
        for speaker in speakers {
            let Some(count) = self.count.get_mut(&speaker) else { continue };
            *count -= 1;
            if *count == 0 {
                self.count.remove(&speaker);
                silent.insert(speaker);
            }
        }
        if !silent.is_empty() {
            self.named.retain(|_, named| {
                named.retain(|speaker| !silent.contains(speaker));
                !named.is_empty()
            });
        }
    }

    /// Whether nobody is named.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// The speakers that these words may name; see [`naming`].
    pub fn named_by(&self, naming: &[u64]) -> Vec<u64> {
        let mut named: Vec<u64> =
            naming.iter().filter_map(|word| self.named.get(word)).flatten().copied().collect();
        named.sort_unstable();
        named.dedup();
        named
    }
}

/// The hashes of all that may be the name of somebody in a query: its words, and of scripts without spaces every short run.
pub fn naming(query: &str) -> Vec<u64> {
    let words = subject_words(query);
    let mut all: Vec<u64> = words.split(' ').map(|word| key(word.as_bytes())).collect();
    for word in words.split(|c| !is_unspaced(c)).filter(|word| !word.is_empty()) {
        let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
        for length in UNSPACED_NAME {
            all.extend(starts.windows(length + 1).map(|run| key(&word.as_bytes()[run[0]..run[length]])));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_walked_over_what_may_be_seen() {
        let mut sessions = Sessions::default();
        let positions = [30, 10, 20, 40, 5];
        for slot in 0..5u32 {
            sessions.add(7, slot, |other| positions[other as usize] < positions[slot as usize]);
        }
        let beside = |sessions: &Sessions, slot: u32, allowed: &[bool]| {
            sessions.beside(7, |other| positions[other as usize] < positions[slot as usize], slot, allowed)
        };
        assert_eq!(beside(&sessions, 2, &[true; 5]), (Some(1), Some(0)));
        assert_eq!(beside(&sessions, 4, &[true; 5]), (None, Some(1)));
        assert_eq!(beside(&sessions, 2, &[false, false, true, true, true]), (Some(4), Some(3)));
        let at_once = Sessions::of((0..5).map(|slot| (7, (positions[slot as usize], slot))));
        assert_eq!(at_once, sessions);
        sessions.remove([(7, 1), (8, 2), (0, 0)].into_iter());
        assert_eq!(beside(&sessions, 2, &[true; 5]), (Some(4), Some(0)));
        sessions.remove((0..5).map(|slot| (7, slot)));
        assert!(sessions.is_empty());
    }

    #[test]
    fn speakers_are_named_by_a_word_or_a_run_of_characters() {
        let mut speakers = Speakers::default();
        for name in ["Ann Lee", "Bo", "王小明", "assistant", "user", "Bo"] {
            speakers.add(name);
        }
        let named = |speakers: &Speakers, query: &str| speakers.named_by(&naming(query));
        let hashes = |names: &[&str]| {
            let mut hashes: Vec<u64> = names.iter().map(|name| speaker_hash(name)).collect();
            hashes.sort_unstable();
            hashes
        };
        assert_eq!(named(&speakers, "What did Ann's sister say?"), hashes(&["Ann Lee"]));
        assert_eq!(named(&speakers, "did ann tell bo"), hashes(&["Ann Lee", "Bo"]));
        assert_eq!(named(&speakers, "上周王小明去了哪里？"), hashes(&["王小明"]));
        assert_eq!(named(&speakers, "what did the assistant tell the user"), [0u64; 0]);
        // A part of a word is nobody's name where words are spelled out.
        speakers.add("Ян");
        assert_eq!(named(&speakers, "чай в январе, Bob, Bó"), [0u64; 0]);
        speakers.remove([speaker_hash("Bo"), speaker_hash("nobody")].into_iter());
        assert_eq!(named(&speakers, "bo"), hashes(&["Bo"]));
        speakers.remove([speaker_hash("Bo")].into_iter());
        assert_eq!(named(&speakers, "bo"), [0u64; 0]);
    }

    #[test]
    fn roles_are_told_by_what_speakers_are_called() {
        assert_eq!(
            (Role::of("Assistant"), Role::of("助手"), Role::of("User")),
            (Role::Assistant, Role::Assistant, Role::User)
        );
        assert_eq!(Role::of("Ann"), Role::Person);
    }
}
