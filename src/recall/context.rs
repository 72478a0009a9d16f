//! What speaks for a candidate beside its own words and meaning? The turns around it and the best of its session, who says it, what
//! kind of statement it is, and its day. Small functions of what was found; all of them look at nothing but what is allowed.

use std::collections::HashMap;

use super::gather::Found;
use super::hints::Hints;
use super::plan::{Ground, Region};
use super::score::Strength;
use crate::change::DocId;
use crate::index::block::NONE;
use crate::index::{Role, Turn};
use crate::record::Form;
use crate::text::ASKS_ALL;

/// Of so many of the best candidates the turns around are candidates too.
const AROUND: usize = 50;
/// So many rules and preferences are looked at whatever is asked.
const ORDERS_MAX: usize = 128;
/// How much of the match of the turn before and of the one after counts, where nobody's role is known. What follows a question
/// is likely its answer.
const BEFORE: f64 = 0.4;
const BEFORE_ASKING: f64 = 0.3;
const AFTER: f64 = 0.1;
/// The same for what a user says, of the answer that follows and of the one before; and for an answer, of what it answers.
const ANSWER_AFTER: f64 = 0.3;
const ANSWER_BEFORE: f64 = 0.1;
const ASKED_BEFORE: f64 = 0.2;
/// The most that these come to: the part is a share of it.
const MOST: f64 = BEFORE + BEFORE_ASKING + AFTER;

/// What speaks for a candidate beside its words and its meaning; each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Aside {
    pub neighbours: f64,
    pub session: f64,
    pub speaker: f64,
    pub statement: f64,
    pub role: f64,
    pub date: f64,
    pub rule: f64,
    /// How relevant it is, or a turn beside it that counts for it.
    pub relevance: f64,
}

/// Where a record is: its region and its slot.
type Place = (usize, usize);

/// What words and meaning say of a place.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// Both together, from 0 to 1.
    strength: f64,
    /// How relevant that is.
    relevance: f64,
    /// How near its vector is, by its bytes.
    near: f32,
}

/// What was found out about the candidates.
pub(super) struct Context<'a> {
    ground: &'a Ground,
    found: &'a Found,
    strength: Strength<'a>,
    hints: Hints,
    /// Of the candidates, in their order, and then of the turns around them.
    bases: Vec<Base>,
    /// Where those are, if any of them stands in a session.
    at: HashMap<Place, usize>,
    /// The best of each session.
    sessions: HashMap<u64, f64>,
}

impl<'a> Context<'a> {
    /// Looks at the candidates and at the turns around the best of them, which are taken in.
    pub(super) fn of(
        ground: &'a Ground,
        found: &'a Found,
        strength: Strength<'a>,
        hints: Hints,
        candidates: &mut Vec<Place>,
    ) -> Context<'a> {
        let bases = Vec::with_capacity(candidates.len());
        let (at, sessions) = (HashMap::new(), HashMap::new());
        let mut context = Context { ground, found, strength, hints, bases, at, sessions };
        context.look_at(candidates);
        if ground.regions.iter().any(|region| region.partition.has_sessions()) {
            context.at = candidates.iter().copied().zip(0..).collect();
            for (nth, place) in candidates.iter().enumerate() {
                let session = context.turn(*place).session;
                if session != 0 {
                    let best = context.sessions.entry(session).or_insert(0.0);
                    *best = best.max(context.bases[nth].strength);
                }
            }
            let best = context.best(candidates);
            let around = context.around(&best);
            context.take(&around);
            candidates.extend(around);
            let further = context.around(candidates);
            context.take(&further);
        }
        context
    }

    /// The best candidates; of equal ones the older.
    fn best(&self, candidates: &[Place]) -> Vec<Place> {
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by(|a, b| {
            let by_strength = self.bases[*b].strength.total_cmp(&self.bases[*a].strength);
            by_strength.then_with(|| self.doc(candidates[*a]).cmp(&self.doc(candidates[*b])))
        });
        order.into_iter().take(AROUND).map(|nth| candidates[nth]).collect()
    }

    /// The turns around some that were not looked at yet.
    fn around(&self, places: &[Place]) -> Vec<Place> {
        let mut around: Vec<Place> = places.iter().flat_map(|place| self.beside(*place)).flatten().collect();
        around.retain(|place| !self.at.contains_key(place));
        around.sort_unstable();
        around.dedup();
        around
    }

    /// Looks at the rules and preferences that hold whatever is asked, of very many the newest, and takes in so many of those
    /// that match best. Returns each with its number.
    pub(super) fn take_orders(&mut self, candidates: &[Place], most: usize) -> Vec<(usize, Place)> {
        let mut orders: Vec<Place> = Vec::new();
        for (number, region) in self.ground.regions.iter().enumerate().filter(|(_, region)| region.holds) {
            let slots = region.partition.orders().iter().rev().map(|slot| *slot as usize);
            let allowed = slots.filter(|slot| region.allowed[*slot]);
            orders.extend(allowed.take(ORDERS_MAX).map(|slot| (number, slot)));
        }
        if orders.len() > ORDERS_MAX {
            let observed =
                |place: &Place| self.region(*place).partition.entries()[place.1].columns.observed_at;
            orders.sort_by_key(|place| std::cmp::Reverse((observed(place), self.doc(*place))));
            orders.truncate(ORDERS_MAX);
        }
        let mut bases: Vec<(Base, Place)> = self.bases_of_orders(&orders).into_iter().zip(orders).collect();
        bases.sort_by(|(a, one), (b, other)| {
            b.strength.total_cmp(&a.strength).then_with(|| self.doc(*one).cmp(&self.doc(*other)))
        });
        bases.truncate(most);
        let numbered =
            |(base, place): (Base, Place)| match candidates.iter().position(|other| *other == place) {
                Some(nth) => (nth, place),
                None => {
                    self.bases.push(base);
                    (self.bases.len() - 1, place)
                }
            };
        bases.into_iter().map(numbered).collect()
    }

    /// What words and meaning say of orders; how relevant that is decides nothing there.
    fn bases_of_orders(&self, orders: &[Place]) -> Vec<Base> {
        let mut near: Vec<f32> =
            orders.iter().map(|(region, slot)| self.found.cosine[*region][*slot]).collect();
        for (number, region) in self.ground.regions.iter().enumerate() {
            let is_rounded = self.found.slack[number] > 0.0;
            let unknown = |nth: &usize| orders[*nth].0 == number && !(is_rounded && near[*nth] != NONE);
            let unknown: Vec<usize> = (0..orders.len()).filter(unknown).collect();
            let slots: Vec<u32> = unknown.iter().map(|nth| orders[*nth].1 as u32).collect();
            if let (Some(block), Some(query)) = (region.partition.vectors(), &self.ground.asked.vector)
                && !slots.is_empty()
            {
                let by_bytes = block.slots_roughly(query, &slots);
                unknown.iter().zip(by_bytes).for_each(|(nth, by_bytes)| near[*nth] = by_bytes);
            }
        }
        let base = |(near, (region, slot)): (f32, &Place)| {
            let words = self.found.keyword[*region][*slot];
            Base { strength: self.strength.base(self.ground, words, near), relevance: 0.0, near }
        };
        near.into_iter().zip(orders).map(base).collect()
    }

    fn take(&mut self, places: &[Place]) {
        let first = self.bases.len();
        self.look_at(places);
        self.at.extend(places.iter().copied().zip(first..));
    }

    /// What speaks for a candidate, which is the one of that number.
    pub(super) fn aside(&self, nth: usize, place: Place) -> Aside {
        let turn = self.turn(place);
        let Base { strength, mut relevance, .. } = self.bases[nth];
        let (mut neighbours, mut session) = (0.0, 0.0);
        if turn.session != 0 {
            session = self.sessions.get(&turn.session).copied().unwrap_or(0.0).max(strength);
            let [before, after] = self.beside(place);
            for (other, is_before) in [(before, true), (after, false)] {
                let Some(other) = other else { continue };
                let share = counts(&turn, &self.turn(other), is_before);
                if let Some(base) = self.at.get(&other).map(|nth| self.bases[*nth]).filter(|_| share > 0.0) {
                    neighbours += share * base.strength;
                    relevance = relevance.max(base.relevance);
                }
            }
        }
        let is = |holds: bool| f64::from(u8::from(holds));
        let entry = &self.region(place).partition.entries()[place.1];
        Aside {
            neighbours: (neighbours / MOST).min(1.0),
            session,
            speaker: is(self.hints.speaker.is_some_and(|speaker| speaker == turn.speaker)),
            statement: 1.0 - asks(&turn),
            role: is(turn.role != Role::Assistant || self.hints.of_assistant),
            date: is(!self.hints.days.is_empty() && self.hints.names_day(entry.columns.observed_at)),
            rule: is(turn.orders && turn.role != Role::Assistant || says_how(entry.columns.form)),
            relevance,
        }
    }

    /// How near the vector of a candidate is, by its bytes.
    pub(super) fn near(&self, nth: usize) -> f32 {
        self.bases[nth].near
    }

    fn region(&self, place: Place) -> &'a Region {
        &self.ground.regions[place.0]
    }

    fn turn(&self, place: Place) -> Turn {
        self.region(place).partition.entries()[place.1].turn
    }

    fn doc(&self, place: Place) -> DocId {
        self.region(place).partition.entries()[place.1].columns.doc
    }

    /// The turns before and after one that may be looked at.
    fn beside(&self, (number, slot): Place) -> [Option<Place>; 2] {
        let region = &self.ground.regions[number];
        let (before, after) = match region.partition.entries()[slot].turn.session {
            0 => (None, None),
            _ => region.partition.beside(slot, &region.allowed),
        };
        [before, after].map(|slot| slot.map(|slot| (number, slot as usize)))
    }

    /// Works out what words and meaning say of these places. Vectors are compared by their bytes, whatever the plan was, so
    /// that every plan comes to the same.
    fn look_at(&mut self, places: &[Place]) {
        let first = self.bases.len();
        self.bases.resize(first + places.len(), Base { strength: 0.0, relevance: 0.0, near: NONE });
        for (number, region) in self.ground.regions.iter().enumerate() {
            let here = || places.iter().enumerate().filter(|(_, (region, _))| *region == number);
            let slots: Vec<u32> = here().map(|(_, (_, slot))| *slot as u32).collect();
            if slots.is_empty() {
                continue;
            }
            let asked = &self.ground.asked;
            let (near, plain) = match (region.partition.vectors(), &asked.vector) {
                (Some(block), Some(query)) => {
                    // What was compared by its bytes before is known.
                    let known = self.found.slack[number] > 0.0;
                    let cosines = &self.found.cosine[number];
                    let is_known = |slot: &u32| known && cosines[*slot as usize] != NONE;
                    let near = match slots.iter().all(is_known) {
                        true => slots.iter().map(|slot| cosines[*slot as usize]).collect(),
                        false => block.slots_roughly(query, &slots),
                    };
                    (near, block.slots_roughly(&asked.plain, &slots))
                }
                _ => (vec![NONE; slots.len()], vec![NONE; slots.len()]),
            };
            for ((nth, (_, slot)), (near, plain)) in here().zip(near.into_iter().zip(plain)) {
                let (words, named) = (self.found.keyword[number][*slot], self.found.subject[number][*slot]);
                let said = self.found.relevance_of_words(words);
                let relevance = if named { 1.0 } else { self.strength.relevance(self.ground, said, plain) };
                let strength = self.strength.base(self.ground, words, near);
                self.bases[first + nth] = Base { strength, relevance, near };
            }
        }
    }
}

/// Whether a record came as a rule or as a preference, however it is worded.
fn says_how(form: Form) -> bool {
    matches!(form, Form::Rule | Form::Preference)
}

/// Which share of a turn is questions.
fn asks(turn: &Turn) -> f64 {
    (f64::from(turn.asks) / f64::from(ASKS_ALL)).min(1.0)
}

/// How much of the match of the turn before, or after, counts for one.
fn counts(turn: &Turn, other: &Turn, is_before: bool) -> f64 {
    use Role::{Assistant, User};
    match (turn.role, other.role, is_before) {
        (User, Assistant, true) => ANSWER_BEFORE,
        (User, Assistant, false) => ANSWER_AFTER,
        (Assistant, User, true) => ASKED_BEFORE,
        (Assistant, User, false) => 0.0,
        (_, _, true) => BEFORE + BEFORE_ASKING * asks(other),
        (_, _, false) => AFTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_question_has_more_of_it_than_what_follows_a_statement() {
        let turn = |role, asks| Turn { role, asks, session: 1, ..Turn::default() };
        let (asking, told) = (turn(Role::Person, 8), turn(Role::Person, 0));
        assert!((counts(&told, &asking, true) - (BEFORE + BEFORE_ASKING)).abs() < 1e-12);
        assert_eq!(counts(&told, &told, true), BEFORE);
        assert_eq!(counts(&told, &asking, false), AFTER);
        let (user, assistant) = (turn(Role::User, 8), turn(Role::Assistant, 0));
        assert_eq!(counts(&user, &assistant, false), ANSWER_AFTER);
        assert_eq!(counts(&user, &assistant, true), ANSWER_BEFORE);
        assert_eq!(counts(&assistant, &user, true), ASKED_BEFORE);
        assert_eq!(counts(&assistant, &user, false), 0.0);
        assert!(counts(&told, &asking, true) + counts(&told, &asking, false) <= MOST);
    }
}
