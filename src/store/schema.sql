-- Format 2. Enumerations are stored as their codes; instants as microseconds UTC.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Where records live. The revision is the seq of the latest event in the namespace.
CREATE TABLE namespaces (
    id       INTEGER PRIMARY KEY,
    tenant   TEXT NOT NULL,
    user     TEXT,
    project  TEXT,
    agent    TEXT,
    revision INTEGER NOT NULL DEFAULT 0
) STRICT;
-- No part is empty, so '' can stand for none.
CREATE UNIQUE INDEX namespaces_by_parts
    ON namespaces (tenant, ifnull(user, ''), ifnull(project, ''), ifnull(agent, ''));

-- Logical identity. The generation counts how often the memory was forgotten.
CREATE TABLE memories (
    id          INTEGER PRIMARY KEY,
    memory_id   TEXT NOT NULL UNIQUE,
    namespace   INTEGER NOT NULL REFERENCES namespaces,
    kind        TEXT NOT NULL,
    subject_key BLOB,               -- keyed digest; null for multi-valued and absent subjects
    generation  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX memories_by_subject
    ON memories (namespace, kind, subject_key) WHERE subject_key IS NOT NULL;

-- Immutable versions, each in one row, so that reading one is one look-up. The id is the namespace in the high
-- bits and, in the low 36, the seq of the event that made the record: a namespace is one range, in which records
-- lie in the order of writes, and ids are never used twice. Erasing a memory empties every column from `source`
-- on; the skeleton stays.
CREATE TABLE records (
    id          INTEGER PRIMARY KEY,
    namespace   INTEGER GENERATED ALWAYS AS (id >> 36) VIRTUAL,
    memory      INTEGER NOT NULL REFERENCES memories,
    generation  INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    supersedes  INTEGER REFERENCES records,
    state       TEXT NOT NULL,
    kind        TEXT NOT NULL,
    form        TEXT NOT NULL,
    cardinality TEXT NOT NULL,
    authority   TEXT NOT NULL,
    sensitivity TEXT NOT NULL,
    lifetime    TEXT NOT NULL,
    confidence  REAL NOT NULL,
    importance  REAL NOT NULL,
    observed_at INTEGER NOT NULL,
    valid_from  INTEGER NOT NULL,
    expires_at  INTEGER,
    recorded_at INTEGER NOT NULL,
    ended_at    INTEGER,
    reverify    INTEGER NOT NULL,
    terms       INTEGER NOT NULL,   -- how many terms the analysis finds in it
    record_id   TEXT NOT NULL,
    memory_id   TEXT NOT NULL,      -- that of `memory`, repeated so that reading needs no join
    -- What it rests on: its first piece of evidence, observed and ranked as the record is, and how many more.
    source      TEXT,
    locator     TEXT,
    speaker     TEXT,
    further     INTEGER NOT NULL DEFAULT 0,
    derived     INTEGER NOT NULL DEFAULT 0,
    -- What it says.
    subject     TEXT,
    content     TEXT,
    metadata    TEXT,               -- flat JSON
    session     TEXT,
    position    INTEGER,
    write_reason  TEXT,
    read_trigger  TEXT,
    revision_path TEXT,
    checksum    BLOB,
    -- By the model in use, one after the other for the windows of a long text; packed: a scale (f32) and a
    -- number of 16 bits for each dimension, little-endian. Kept here so that a rebuild need not embed again.
    vectors     BLOB
) STRICT;
CREATE UNIQUE INDEX records_by_id ON records (record_id);
CREATE UNIQUE INDEX records_in_force ON records (memory) WHERE state IN ('current', 'held');
CREATE INDEX records_past ON records (memory) WHERE state NOT IN ('current', 'held');
CREATE INDEX records_pending ON records (id) WHERE vectors IS NULL AND state IN ('current', 'held');

-- By what a record with content is found: 64 bits of the keyed digests of its text, its subject and its
-- sources. All of a namespace's lie together, so that writing a record touches one page of them.
CREATE TABLE record_keys (
    namespace INTEGER NOT NULL REFERENCES namespaces,
    key       INTEGER NOT NULL,
    seq       INTEGER NOT NULL,     -- the low bits of the record's id
    PRIMARY KEY (namespace, key, seq)
) STRICT, WITHOUT ROWID;

-- What a version rests on besides its first piece of evidence. Erased with it.
CREATE TABLE evidence (
    record      INTEGER NOT NULL REFERENCES records,
    nth         INTEGER NOT NULL,   -- from 1
    source      TEXT NOT NULL,
    locator     TEXT,
    speaker     TEXT,
    observed_at INTEGER NOT NULL,
    authority   TEXT NOT NULL,
    PRIMARY KEY (record, nth)
) STRICT, WITHOUT ROWID;

-- Which record was derived from which.
CREATE TABLE derivations (
    record INTEGER NOT NULL REFERENCES records,
    source INTEGER NOT NULL REFERENCES records,
    PRIMARY KEY (record, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX derivations_by_source ON derivations (source);

-- The one order of writes; append-only, each hash covers the one before. Holds no text. It is also
-- the outbox: an index keeps the seq up to which it has applied it. Each event leads to the one before it
-- in its namespace, whose revision is the last.
CREATE TABLE events (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    at        INTEGER NOT NULL,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    previous  INTEGER NOT NULL,
    type      TEXT NOT NULL,
    memory_id TEXT,
    record_id TEXT,
    version   INTEGER,
    added     INTEGER,              -- the low bits of the id of the record that came into force
    removed   INTEGER,              -- the same of the one that went out of force
    reason    TEXT,
    digest    BLOB,                 -- keyed digest of the record's checksum
    hash      BLOB NOT NULL
) STRICT;

-- Which memories were forgotten. No content.
CREATE TABLE tombstones (
    id           INTEGER PRIMARY KEY,
    memory_id    TEXT NOT NULL,
    namespace    INTEGER NOT NULL REFERENCES namespaces,
    generation   INTEGER NOT NULL,
    forgotten_at INTEGER NOT NULL,
    receipt      TEXT NOT NULL,
    UNIQUE (memory_id, generation)
) STRICT;
CREATE INDEX tombstones_by_namespace ON tombstones (namespace);
-- Keyed digests of the texts and sources that the forgotten memory had, so that they stay out.
CREATE TABLE tombstone_marks (
    tombstone INTEGER NOT NULL REFERENCES tombstones,
    namespace INTEGER NOT NULL REFERENCES namespaces,
    kind      TEXT NOT NULL CHECK (kind IN ('text', 'source', 'whole', 'place')),
    digest    BLOB NOT NULL,
    PRIMARY KEY (namespace, kind, digest, tombstone)
) STRICT, WITHOUT ROWID;

-- Sources that may not come back.
CREATE TABLE blocked_sources (
    namespace  INTEGER NOT NULL REFERENCES namespaces,
    source     TEXT NOT NULL,
    blocked_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, source)
) STRICT, WITHOUT ROWID;

-- Candidates that wait for a person.
CREATE TABLE candidates (
    id          INTEGER PRIMARY KEY,
    candidate_id TEXT NOT NULL UNIQUE,
    namespace   INTEGER NOT NULL REFERENCES namespaces,
    queued_at   INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    conflict    TEXT,               -- record_id that it stands against
    subject     TEXT,
    source      TEXT NOT NULL,
    sensitivity TEXT NOT NULL,
    text_key    BLOB NOT NULL,
    body        TEXT NOT NULL       -- the candidate as JSON
) STRICT;
CREATE INDEX candidates_by_namespace ON candidates (namespace, text_key);

-- Answers to requests that named a key, so that a repeat gets the same one. Ids only.
CREATE TABLE idempotency_keys (
    namespace INTEGER NOT NULL REFERENCES namespaces,
    key       TEXT NOT NULL,
    body      BLOB NOT NULL,        -- keyed digest of the request
    outcome   TEXT NOT NULL,
    record    INTEGER NOT NULL REFERENCES records,
    at        INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_record ON idempotency_keys (record);

-- What forgetting handed back, and how far its clean-up has come. No content.
CREATE TABLE deletion_jobs (
    receipt_id TEXT PRIMARY KEY,
    namespace  INTEGER NOT NULL REFERENCES namespaces,
    request_id TEXT,
    target     BLOB NOT NULL,       -- keyed digest of the selector
    state      TEXT NOT NULL,
    seq        INTEGER NOT NULL,    -- the last event of the forget: what the indexes must have applied
    requested_at INTEGER NOT NULL,
    finished_at INTEGER,
    body       TEXT NOT NULL        -- reason, ids, counts as JSON
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX deletion_jobs_by_request ON deletion_jobs (namespace, request_id) WHERE request_id IS NOT NULL;
CREATE INDEX deletion_jobs_by_target ON deletion_jobs (namespace, target);
CREATE INDEX deletion_jobs_open ON deletion_jobs (seq) WHERE state <> 'completed';

-- Which models made vectors. One of them is in use; another is being changed over to.
CREATE TABLE models (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    fingerprint TEXT NOT NULL UNIQUE,
    dims        INTEGER NOT NULL,
    in_use      INTEGER NOT NULL
) STRICT;
-- Vectors by a model that the store is being changed over to, packed as those in `records`.
CREATE TABLE coming_vectors (
    record  INTEGER PRIMARY KEY REFERENCES records,
    model   INTEGER NOT NULL REFERENCES models,
    vectors BLOB NOT NULL
) STRICT;
