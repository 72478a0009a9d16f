//! A small world to try promises in: a temporary store, a clock that stands still, people who ask.

use std::path::Path;
use std::sync::Arc;

use recordari::{
    Authority, Candidate, CipherKey, Correction, Embedder, Filter, Forget, Forgotten, HashingEmbedder, Kind,
    ManualClock, Memory, MemoryId, Mode, Namespace, Options, Outcome, PageRequest, Policy, Principal, Query,
    Recalled, Record, RestoreFrom, Selector, Source, StateFilter, Timestamp, Written,
};

/// A store in a temporary folder, with a small model and a clock of its own.
pub struct World {
    pub folder: tempfile::TempDir,
    pub clock: Arc<ManualClock>,
    pub memory: Option<Memory>,
    pub policy: Policy,
    pub embedder: Option<Arc<dyn Embedder>>,
}

pub fn at(text: &str) -> Timestamp {
    Timestamp::parse("at", text).unwrap()
}

/// What stores are encrypted with where `RECORDARI_TEST_ENCRYPTED` is set, so that every promise can be tried on an encrypted
/// store too.
pub fn cipher() -> Option<CipherKey> {
    std::env::var_os("RECORDARI_TEST_ENCRYPTED").map(|_| CipherKey::new(CIPHER))
}

const CIPHER: [u8; 32] = [0x5a; 32];

/// A restore that is told nothing but that key.
pub fn restoring() -> RestoreFrom {
    RestoreFrom { cipher: cipher(), new_cipher: cipher(), ..RestoreFrom::default() }
}

/// A connection to a database of a store, past everything that guards it.
pub fn database(path: &Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    if cipher().is_some() {
        let digits: String = CIPHER.iter().map(|byte| format!("{byte:02x}")).collect();
        connection.pragma_update(None, "key", format!("x'{digits}'")).unwrap();
        connection.pragma_update(None, "cipher_page_size", 8192).unwrap();
    }
    connection
}

/// Someone in a tenant, perhaps in a project.
pub fn someone(tenant: &str, user: &str, project: Option<&str>) -> Principal {
    Principal::new(Namespace::from_parts(tenant, Some(user), project, None).unwrap())
}

impl World {
    pub fn new() -> World {
        World::with_policy(Policy::default())
    }

    pub fn with_policy(policy: Policy) -> World {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(at("2026-03-01T10:00:00Z")));
        let embedder: Option<Arc<dyn Embedder>> = Some(Arc::new(HashingEmbedder::new(256).unwrap()));
        let mut world = World { folder, clock, memory: None, policy, embedder };
        world.reopen();
        world
    }

    /// The same with another model, or none.
    pub fn with_embedder(embedder: Option<Arc<dyn Embedder>>) -> World {
        let mut world = World::new();
        world.embedder = embedder;
        world.reopen();
        world
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Opens the store once more, as another process would, while this one goes on.
    pub fn open_another(&self) -> Memory {
        Memory::open(self.options()).unwrap().0
    }

    pub fn options(&self) -> Options {
        Options {
            cipher: cipher(),
            embedder: self.embedder.clone(),
            policy: Ok(self.policy.clone()),
            clock: self.clock.clone(),
            background: false,
            ..Options::new(self.folder.path())
        }
    }

    /// Closes the store and opens it again; tells what opening found.
    pub fn reopen(&mut self) -> Vec<String> {
        self.memory = None;
        let (memory, opening) = Memory::open(self.options()).unwrap();
        self.memory = Some(memory);
        opening.notices
    }

    pub fn close(&mut self) {
        self.memory = None;
    }

    pub fn memory(&self) -> &Memory {
        self.memory.as_ref().unwrap()
    }

    pub fn day(&self, text: &str) {
        self.clock.set(at(text));
    }

    /// What somebody says outright, now.
    pub fn said(&self, subject: Option<&str>, content: &str, source: &str) -> Candidate {
        Candidate {
            subject: subject.map(str::to_owned),
            source: Some(Source::parse(source)),
            observed_at: Some(self.memory().now()),
            authority: Authority::UserExplicit,
            ..Candidate::new(Kind::Semantic, content)
        }
    }

    pub fn remember(&self, who: &Principal, candidate: &Candidate) -> Outcome {
        self.memory().remember(who, candidate).unwrap()
    }

    /// Remembers what must be committed.
    pub fn commit(&self, who: &Principal, candidate: &Candidate) -> Written {
        match self.remember(who, candidate) {
            Outcome::Committed(written) => written,
            other => panic!("not committed: {other:?}"),
        }
    }

    /// Says and commits in one.
    pub fn say(&self, who: &Principal, subject: Option<&str>, content: &str, source: &str) -> Written {
        self.commit(who, &self.said(subject, content, source))
    }

    pub fn ask(&self, who: &Principal, text: &str) -> Recalled {
        self.recall(who, &Query::new(text))
    }

    pub fn recall(&self, who: &Principal, query: &Query) -> Recalled {
        self.memory().recall(who, query).unwrap()
    }

    /// The contents of the answer, in order.
    pub fn contents(&self, who: &Principal, text: &str) -> Vec<String> {
        contents(&self.ask(who, text))
    }

    /// Corrects a version that was seen, on the word of the user, now.
    pub fn correct(&self, who: &Principal, seen: &Written, content: &str, source: &str) -> Outcome {
        let correction = correction(seen, content, source, self.memory().now());
        self.memory().correct(who, &correction).unwrap().unwrap()
    }

    /// The contents that one way of searching finds.
    pub fn found(&self, who: &Principal, mode: Mode, text: &str) -> Vec<String> {
        contents(&self.recall(who, &by(mode, text)))
    }

    /// Everything in force that somebody may see, newest first.
    pub fn listed(&self, who: &Principal) -> Vec<Record> {
        let page = PageRequest { limit: 1000, cursor: None };
        let page = self.memory().list(who, &Filter::All(Vec::new()), &StateFilter::Current, &page).unwrap();
        assert_eq!(page.total as usize, page.records.len());
        page.records
    }

    /// Brings the keyword index up to date.
    pub fn drain(&self) {
        assert!(self.memory().catch_up(&mut |_, _| {}).unwrap());
    }

    pub fn assert_sound(&self) {
        assert_eq!(self.memory().verify().unwrap(), []);
    }

    pub fn forget_memory(&self, who: &Principal, memory: &MemoryId) -> Forgotten {
        self.forget(who, Selector::Memory(memory.clone()))
    }

    pub fn forget(&self, who: &Principal, selector: Selector) -> Forgotten {
        self.memory().forget(who, &Forget::new(selector, "asked for")).unwrap()
    }
}

pub fn contents(answer: &Recalled) -> Vec<String> {
    answer.hits.iter().map(|hit| hit.record.content.clone()).collect()
}

/// A correction on the word of the user.
pub fn correction(seen: &Written, content: &str, source: &str, observed_at: Timestamp) -> Correction {
    Correction {
        expected: seen.record_id.clone(),
        memory: seen.memory_id.clone(),
        content: content.to_owned(),
        source: Source::parse(source),
        observed_at,
        authority: Authority::UserExplicit,
        confidence: 1.0,
        metadata: None,
        valid_from: None,
        expires_at: None,
        write_reason: None,
        renew_consent: false,
    }
}

/// A query that searches one way and leaves nothing out for want of room.
pub fn by(mode: Mode, text: &str) -> Query {
    Query { mode, limit: Some(100), characters: Some(100_000), ..Query::new(text) }
}

/// An answer without what differs from one asking to the next by design: ids, trace, timings.
pub fn comparable(answer: &Recalled) -> String {
    let hit = |hit: &recordari::Hit| {
        let parts: Vec<_> = hit.parts.iter().map(|part| (part.name, part.contribution.to_bits())).collect();
        format!(
            "{:?} {:016x} {parts:?} {:?} {} {:?}\n",
            hit.record.content,
            hit.score.to_bits(),
            hit.group,
            hit.refresh_required,
            hit.shown
        )
    };
    let reasons: Vec<_> = answer.left_out.iter().map(|(_, reason)| reason.code()).collect();
    let plan = &answer.plan;
    format!(
        "{}{}{:?} {reasons:?} {:?} {} {:?} {:?} {:?}",
        answer.hits.iter().map(hit).collect::<String>(),
        answer.standing.iter().map(hit).collect::<String>(),
        answer.reason,
        plan.namespaces,
        plan.allowed,
        plan.kept_out,
        plan.searches,
        plan.degraded
    )
}
