//! Namespaces in memory: the columns of every record in force, in the order of documents, their vectors and
//! their words. Knows how to follow changes, not where they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::block::{Beside, Neighbours, RowKey, Stale, VectorBlock};
use super::bm25::Collection;
use super::sieve::Sieve;
use super::spread::{self, Spread};
use super::turns::{Role, Sessions, Speakers, Turn};
use super::words::{Postings, Words, key};
use crate::change::{Columns, DocId, NamespaceId, Seq};
use crate::record::Form;
use crate::text::{ASKS, ORDERS, canonical};
use crate::trust::{Authority, Sensitivity};

/// From this share of slots on that hold nothing any more, a partition is better loaded anew.
const DEAD_SHARE: usize = 4;
/// Looking a slot up among postings takes about as long as counting so many of them.
const LOOK_UP: usize = 16;
/// So many late words are few, whatever the partition's size.
const LATE_FEW: usize = 20_000;

/// A record: its columns, a hash of its subject's words (0: no subject), and whether it is in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The columns.
    pub columns: Columns,
    /// See [`subject_hash`].
    pub subject: u64,
    /// Where it stands in a conversation.
    pub turn: Turn,
    /// Whether it is in force. A slot is never moved, so what went out of force keeps its own.
    pub in_force: bool,
}

/// A record that came into force.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// Itself.
    pub entry: Entry,
    /// Its terms and how often each occurs.
    pub words: Vec<(u64, u16)>,
    /// Its packed vectors, by the model of the block.
    pub vectors: Vec<u8>,
    /// What has to call it up, if not every query may.
    pub trigger: Option<String>,
    /// Who says it.
    pub speaker: Option<String>,
}

/// One namespace, or several as one, at one moment. Cloning is cheap: the parts are shared until one
/// changes.
#[derive(Clone, Debug, Default)]
pub struct Partition {
    at: Seq,
    members: Arc<Vec<NamespaceId>>,
    /// No namespace up to this one is a member that is missing here.
    newest: NamespaceId,
    entries: Arc<Vec<Entry>>,
    sieve: Arc<Sieve>,
    dead: usize,
    /// By sensitivity class, of what is in force.
    totals: [Collection; Sensitivity::ALL.len()],
    words: Arc<Words>,
    vectors: Option<Arc<VectorBlock>>,
    /// A graph over these.
    graph: Option<Arc<Beside>>,
    /// How many records in force have none, once the vectors are loaded.
    lacking: usize,
    /// By slot: what has to call a record up.
    triggers: Arc<BTreeMap<u32, String>>,
    /// The slots of rules and preferences, in their order; those that are not in force any more among them.
    orders: Arc<Vec<u32>>,
    /// Whether any record has, or had, a subject.
    subjects: bool,
    sessions: Arc<Sessions>,
    speakers: Arc<Speakers>,
    /// How the vectors lie, once that was asked.
    spread: Arc<spread::Last>,
}

impl Partition {
    /// A partition at that moment; entries in the order of documents, words and vectors by their slots. `speakers` tells the
    /// names.
    pub fn new(
        at: Seq,
        members: Vec<NamespaceId>,
        mut entries: Vec<Entry>,
        mut words: Words,
        triggers: BTreeMap<u32, String>,
        speakers: Speakers,
    ) -> Partition {
        debug_assert!(entries.is_sorted_by_key(|entry| entry.columns.doc));
        let mut totals = [Collection::default(); Sensitivity::ALL.len()];
        let mut sieve = Sieve::default();
        for entry in &entries {
            sieve.push(&entry.columns);
            totals[entry.columns.sensitivity as usize].add(entry.columns.terms);
        }
        words.count(|slot| sieve.sensitivity(slot as usize));
        for (slot, count) in words.postings(key(ASKS.as_bytes())).iter() {
            entries[slot as usize].turn.asks = count.min(u16::from(u8::MAX)) as u8;
        }
        for (slot, _) in words.postings(key(ORDERS.as_bytes())).iter() {
            entries[slot as usize].turn.orders = true;
        }
        let turns =
            (0..).zip(&entries).map(|(slot, entry)| (entry.turn.session, (entry.turn.position, slot)));
        let sessions = Sessions::of(turns);
        let orders = (0..).zip(&entries).filter(|(_, entry)| is_order(entry)).map(|(slot, _)| slot);
        Partition {
            orders: Arc::new(orders.collect()),
            subjects: entries.iter().any(|entry| entry.subject != 0),
            at,
            newest: members.last().copied().unwrap_or(NamespaceId(0)),
            members: Arc::new(members),
            entries: Arc::new(entries),
            sieve: Arc::new(sieve),
            dead: 0,
            totals,
            words: Arc::new(words),
            vectors: None,
            graph: None,
            lacking: 0,
            triggers: Arc::new(triggers),
            sessions: Arc::new(sessions),
            speakers: Arc::new(speakers),
            spread: Arc::default(),
        }
    }

    /// The slots of what people said is to be done, or what they prefer, the older first: rules, preferences, and what is
    /// worded like one. What a model inferred or a tool reported is never among them, nor what an assistant said.
    pub fn orders(&self) -> &[u32] {
        &self.orders
    }

    /// Who speaks in it.
    pub fn speakers(&self) -> &Speakers {
        &self.speakers
    }

    /// Whether any record stands in a session.
    pub fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// The nearest slots before and after one in its session, of those that are allowed.
    pub fn beside(&self, slot: usize, allowed: &[bool]) -> (Option<u32>, Option<u32>) {
        let (session, slot) = (self.entries[slot].turn.session, slot as u32);
        self.sessions.beside(session, |other| is_before(&self.entries, other, slot), slot, allowed)
    }

    /// How the vectors lie of what is allowed; none without any.
    pub fn spread(&self, allowed: &Arc<Vec<bool>>) -> Option<Arc<Spread>> {
        self.spread.spread(self.vectors.as_ref()?, allowed)
    }

    /// The last write that it has followed.
    pub fn at(&self) -> Seq {
        self.at
    }

    /// The namespaces that it is made of, ascending.
    pub fn members(&self) -> &[NamespaceId] {
        &self.members
    }

    /// The namespace up to which it is known that no member is missing.
    pub fn newest(&self) -> NamespaceId {
        self.newest
    }

    /// Notes that no member is missing up to that namespace.
    pub fn knows_upto(&mut self, newest: NamespaceId) {
        self.newest = self.newest.max(newest);
    }

    /// The records, in the order of documents. A position in this slice is a slot; some are out of force.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the filters look at.
    pub fn sieve(&self) -> &Sieve {
        &self.sieve
    }

    /// The statistics of what is in force up to a clearance.
    pub fn collection(&self, clearance: Sensitivity) -> Collection {
        let readable = self.totals.iter().take(clearance as usize + 1);
        readable.fold(Collection::default(), |sum, class| sum.with(class))
    }

    /// In how many of the records that [`collection`](Partition::collection) counts a word occurs.
    pub fn documents(&self, postings: &Postings<'_>, clearance: Sensitivity) -> u64 {
        let counts = |slot: u32| self.sieve.counts(slot as usize, clearance);
        let ended = self.sieve.ended();
        let early = match postings.by_class {
            Some(by_class) if ended.len() * LOOK_UP < postings.slots.len() => {
                let all = by_class[..=clearance as usize].iter().map(|count| u64::from(*count)).sum::<u64>();
                let is_gone = |slot: &&u32| {
                    self.sieve.sensitivity(**slot as usize) <= clearance as usize
                        && postings.slots.binary_search(slot).is_ok()
                };
                all - ended.iter().filter(is_gone).count() as u64
            }
            _ => postings.slots.iter().filter(|slot| counts(**slot)).count() as u64,
        };
        early + postings.late.iter().filter(|(slot, _)| counts(*slot)).count() as u64
    }

    /// Whether a query can name the subject of any record.
    pub fn has_subjects(&self) -> bool {
        self.subjects
    }

    /// The records that not every query may call up, by slot, each with what it takes.
    pub fn triggers(&self) -> &BTreeMap<u32, String> {
        &self.triggers
    }

    /// The posting lists.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// The vectors, once loaded.
    pub fn vectors(&self) -> Option<&VectorBlock> {
        self.vectors.as_deref()
    }

    /// Takes on the vectors of this same moment.
    pub fn set_vectors(&mut self, vectors: VectorBlock) {
        debug_assert!(vectors.owners().is_sorted());
        let in_force = self.entries.iter().enumerate().filter(|(_, entry)| entry.in_force);
        self.lacking = in_force.filter(|(slot, _)| !vectors.has(*slot)).count();
        self.vectors = Some(Arc::new(vectors));
        self.spread = Arc::default();
        self.graph = None;
    }

    /// The graph over the vectors, if there is one.
    pub fn graph(&self) -> Option<&Arc<Beside>> {
        self.graph.as_ref()
    }

    /// Takes on a graph that was made of these vectors at whatever moment; see [`Beside::of`]. Without vectors
    /// nothing happens.
    pub fn set_graph(&mut self, graph: Arc<dyn Neighbours>, version: u64) {
        if let Some(vectors) = &self.vectors {
            let doc = |slot: u32| self.entries[slot as usize].columns.doc;
            self.graph = Some(Arc::new(Beside::of(graph, version, vectors, doc)));
        }
    }

    /// Whether the graph still serves well; none at all is as one whose rows are gone.
    pub fn graph_state(&self) -> Stale {
        let rows = self.vectors.as_ref().map_or(0, |vectors| vectors.owners().len());
        self.graph.as_ref().map_or(Stale::Gone, |beside| beside.is_stale(rows, |row| self.is_live(row)))
    }

    /// Which vector a row is.
    pub fn key(&self, row: u32) -> Option<RowKey> {
        let vectors = self.vectors.as_ref()?;
        let slot = *vectors.owners().get(row as usize)?;
        Some(RowKey { doc: self.entries[slot as usize].columns.doc, check: vectors.check(row as usize) })
    }

    /// Lets go of the graph.
    pub fn drop_graph(&mut self) {
        self.graph = None;
    }

    /// Whether a row of the vectors is of a record in force.
    pub fn is_live(&self, row: u32) -> bool {
        let owner = self.vectors.as_ref().and_then(|vectors| vectors.owners().get(row as usize));
        owner.is_some_and(|slot| self.entries[*slot as usize].in_force)
    }

    /// Whether any record in force has no vector, so that its words alone can find it.
    pub fn lacks_vectors(&self) -> bool {
        self.vectors.is_none() && self.entries.len() > self.dead || self.lacking > 0
    }

    /// The slot of a document that is in force.
    pub fn slot(&self, doc: DocId) -> Option<usize> {
        let found = self.entries.binary_search_by_key(&doc, |entry| entry.columns.doc).ok();
        found.filter(|slot| self.entries[*slot].in_force)
    }

    /// Follows the store to `at`: these went out of force, those came into it. False, and nothing is changed,
    /// when it is better loaded anew: too much has gone, or a document came that is no newer than the rest.
    pub fn advance(&mut self, at: Seq, removed: &BTreeSet<DocId>, added: &[Added]) -> bool {
        let newest = self.entries.last().map(|entry| entry.columns.doc);
        let in_order = added.is_sorted_by(|a, b| a.entry.columns.doc < b.entry.columns.doc)
            && added.first().is_none_or(|first| newest.is_none_or(|newest| newest < first.entry.columns.doc));
        let gone: Vec<usize> = removed.iter().filter_map(|doc| self.slot(*doc)).collect();
        let dead = self.dead + gone.len();
        let many_late = self.words.late() > LATE_FEW.max(self.entries.len());
        if !in_order || dead * DEAD_SHARE > self.entries.len() + added.len() || many_late {
            return false;
        }
        self.at = at;
        if gone.is_empty() && added.is_empty() {
            return true;
        }
        self.dead = dead;
        self.spread = Arc::default();
        if gone.iter().any(|slot| self.entries[*slot].turn.session != 0) {
            let sessions = Arc::make_mut(&mut self.sessions);
            sessions.remove(gone.iter().map(|slot| (self.entries[*slot].turn.session, *slot as u32)));
        }
        if gone.iter().any(|slot| self.entries[*slot].turn.speaker != 0) {
            let speakers = Arc::make_mut(&mut self.speakers);
            speakers.remove(gone.iter().map(|slot| self.entries[*slot].turn.speaker));
        }
        let entries = Arc::make_mut(&mut self.entries);
        if gone.iter().any(|slot| self.triggers.contains_key(&(*slot as u32))) {
            let triggers = Arc::make_mut(&mut self.triggers);
            gone.iter().for_each(|slot| drop(triggers.remove(&(*slot as u32))));
        }
        for slot in &gone {
            entries[*slot].in_force = false;
            let columns = &entries[*slot].columns;
            self.totals[columns.sensitivity as usize].remove(columns.terms);
        }
        if !gone.is_empty() {
            let sieve = Arc::make_mut(&mut self.sieve);
            gone.iter().for_each(|slot| sieve.end(*slot));
            if let Some(vectors) = &mut self.vectors {
                self.lacking -= gone.iter().filter(|slot| !vectors.has(**slot)).count();
                Arc::make_mut(vectors).blank(&gone);
            }
        }
        for one in added {
            let slot = entries.len() as u32;
            let mut entry = one.entry;
            let count = |term: &str| one.words.iter().find(|(word, _)| *word == key(term.as_bytes()));
            entry.turn.asks = count(ASKS).map_or(0, |(_, count)| (*count).min(u16::from(u8::MAX)) as u8);
            entry.turn.orders = count(ORDERS).is_some();
            entries.push(entry);
            if is_order(&entry) {
                Arc::make_mut(&mut self.orders).push(slot);
            }
            if entry.turn.session != 0 {
                let sessions = Arc::make_mut(&mut self.sessions);
                sessions.add(entry.turn.session, slot, |other| is_before(entries, other, slot));
            }
            if let Some(name) = &one.speaker {
                Arc::make_mut(&mut self.speakers).add(name);
            }
            Arc::make_mut(&mut self.sieve).push(&one.entry.columns);
            self.subjects |= one.entry.subject != 0;
            self.totals[one.entry.columns.sensitivity as usize].add(one.entry.columns.terms);
            Arc::make_mut(&mut self.words).add(slot, &one.words);
            if let Some(vectors) = &mut self.vectors {
                Arc::make_mut(vectors).push(slot, &one.vectors);
                self.lacking += usize::from(!vectors.has(slot as usize));
            }
            if let Some(trigger) = &one.trigger {
                Arc::make_mut(&mut self.triggers).insert(slot, trigger.clone());
            }
        }
        if let Some(vectors) = self.vectors.as_mut().filter(|_| !added.is_empty()) {
            Arc::make_mut(vectors).settle();
        }
        true
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let vectors = self.vectors.as_ref().map_or(0, |block| block.bytes());
        let graph = self.graph.as_ref().map_or(0, |beside| beside.bytes());
        self.entries.len() * size_of::<Entry>()
            + self.sieve.bytes()
            + self.words.bytes()
            + self.sessions.bytes()
            + self.orders.len() * size_of::<u32>()
            + vectors
            + graph
    }
}

/// Whether a record says how to act from now on, or what somebody prefers, and a person stands behind it.
fn is_order(entry: &Entry) -> bool {
    let says_how = matches!(entry.columns.form, Form::Rule | Form::Preference);
    (says_how || entry.turn.orders)
        && entry.turn.role != Role::Assistant
        && entry.columns.authority > Authority::ToolObserved
}

/// Whether a slot comes before another in their session: by position, and of one position what was written first.
fn is_before(entries: &[Entry], one: u32, other: u32) -> bool {
    let place = |slot: u32| (entries[slot as usize].turn.position, slot);
    place(one) < place(other)
}

/// A hash of the words of a subject, so that `preferred_language`, `Preferred-Language` and the words
/// "preferred language" in a query meet. A collision costs a lookup, never a wrong answer: the subject is
/// compared again when the record is resolved. Never 0.
pub fn subject_hash(subject: &str) -> u64 {
    hash_of_words(subject_words(subject).split(' '))
}

/// The words of a subject or a query, folded, with one space between two.
pub fn subject_words(text: &str) -> String {
    let words = canonical(text).replace(|c: char| !c.is_alphanumeric(), " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The hash of a subject of these words, as [`subject_words`] gives them.
pub fn hash_of_words<'w>(words: impl IntoIterator<Item = &'w str>) -> u64 {
    let joined: Vec<&str> = words.into_iter().collect();
    key(joined.join(" ").as_bytes()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::record::{Form, Kind};
    use crate::simd::pack;
    use crate::trust::Authority;

    fn entry(doc: u64) -> Entry {
        let at = Timestamp::from_micros(0).unwrap();
        let columns = Columns {
            doc: DocId(doc),
            kind: Kind::Semantic,
            form: Form::Observation,
            authority: Authority::UserExplicit,
            sensitivity: Sensitivity::Internal,
            observed_at: at,
            valid_from: at,
            expires_at: None,
            confidence: 1.0,
            importance: 0.5,
            terms: 3,
        };
        Entry { columns, subject: 0, turn: Turn::default(), in_force: true }
    }

    fn added(doc: u64) -> Added {
        let (words, vectors) = (vec![(key(b"tea"), 1)], packed(doc as f32));
        Added { entry: entry(doc), words, vectors, trigger: Some("tea time".to_owned()), speaker: None }
    }

    fn packed(number: f32) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&[number, number], &mut bytes);
        bytes
    }

    fn partition() -> Partition {
        let words = Words::new((0..9).map(|slot| (key(b"tea"), slot, 1)).collect());
        let mut partition = Partition::new(
            Seq(1),
            vec![NamespaceId(1)],
            (1..10).map(entry).collect(),
            words,
            [(1, "gone".to_owned())].into(),
            Speakers::default(),
        );
        let mut block = VectorBlock::new(1, 2, false);
        (0..9u32).for_each(|slot| block.push(slot, &packed(slot as f32 + 1.0)));
        partition.set_vectors(block);
        partition
    }

    #[test]
    fn following_changes_keeps_slots_and_statistics() {
        let mut partition = partition();
        assert!(partition.advance(Seq(4), &BTreeSet::from([DocId(2)]), &[added(12), added(13)]));
        let in_force: Vec<u64> = partition
            .entries()
            .iter()
            .filter(|entry| entry.in_force)
            .map(|entry| entry.columns.doc.0)
            .collect();
        assert_eq!(in_force, [1, 3, 4, 5, 6, 7, 8, 9, 12, 13]);
        assert_eq!((partition.slot(DocId(12)), partition.slot(DocId(2))), (Some(9), None));
        assert_eq!(partition.collection(Sensitivity::Internal).documents, 10);
        assert_eq!(partition.collection(Sensitivity::Public).documents, 0);
        let block = partition.vectors().unwrap();
        assert_eq!(block.first(1).unwrap(), [0.0, 0.0], "what is gone is blank");
        assert_eq!(block.first(10).unwrap(), [13.0, 13.0]);
        assert_eq!(partition.triggers().keys().copied().collect::<Vec<u32>>(), [9, 10]);
        assert_eq!(partition.words().postings(key(b"tea")).iter().count(), 11);
    }

    #[test]
    fn in_how_many_documents_a_word_occurs_is_exact_for_every_clearance_and_after_every_change() {
        let classed = |doc: u64| {
            let sensitivity = Sensitivity::ALL[doc as usize % Sensitivity::ALL.len()];
            Entry { columns: Columns { sensitivity, ..entry(doc).columns }, ..entry(doc) }
        };
        // One word in all of them, one in few, one in none of the first.
        let words =
            Words::new((0..2000).map(|slot| (key(b"all"), slot, 1)).chain([(key(b"few"), 3, 1)]).collect());
        let entries = (1..=2000).map(classed).collect();
        let mut partition = Partition::new(
            Seq(1),
            vec![NamespaceId(1)],
            entries,
            words,
            BTreeMap::new(),
            Speakers::default(),
        );
        let mut changes: Vec<(Vec<u64>, Vec<u64>)> = vec![(vec![], vec![])];
        changes.push((vec![4, 9, 2000], vec![2001, 2002]));
        changes.push(((100..400).collect(), (2003..2050).collect()));
        changes.push((vec![2001, 2049], vec![]));
        for (seq, (gone, new)) in (2..).zip(changes) {
            let added = |doc: u64| Added {
                entry: classed(doc),
                words: vec![(key(b"all"), 1), (key(b"late"), 1)],
                vectors: Vec::new(),
                trigger: None,
                speaker: None,
            };
            let added: Vec<Added> = new.into_iter().map(added).collect();
            assert!(partition.advance(Seq(seq), &gone.into_iter().map(DocId).collect(), &added));
            for word in ["all", "few", "late", "none"] {
                for clearance in Sensitivity::ALL.iter().copied() {
                    let postings = partition.words().postings(key(word.as_bytes()));
                    let counts = |slot: u32| partition.sieve().counts(slot as usize, clearance);
                    let plain = postings.iter().filter(|(slot, _)| counts(*slot)).count() as u64;
                    assert_eq!(partition.documents(&postings, clearance), plain, "{word}, {clearance:?}");
                }
            }
        }
        assert!(partition.words().postings(key(b"all")).by_class.is_some());
    }

    #[test]
    fn what_is_better_loaded_anew_is_not_followed() {
        let mut partition = partition();
        assert!(!partition.advance(Seq(4), &BTreeSet::new(), &[added(5)]), "no newer than the rest");
        assert!(!partition.advance(Seq(4), &(1..5).map(DocId).collect(), &[]), "too much has gone");
        assert_eq!(partition.at(), Seq(1));
        assert_eq!(partition.slot(DocId(3)), Some(2));
    }

    #[test]
    fn a_subject_meets_its_words() {
        assert_eq!(subject_hash("preferred_language"), subject_hash("Preferred-Language"));
        assert_eq!(subject_hash("preferred language"), subject_hash("preferred.language"));
        assert_ne!(subject_hash("preferred"), subject_hash("preferred language"));
    }
}
