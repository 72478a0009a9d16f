//! Long-term memory for AI agents that can be governed: an agent remembers, recalls within a budget,
//! corrects and forgets, and every step can be explained and checked.
//!
//! Start at [`Memory`]. The modules stand in the order in which a memory travels; each uses only those
//! above it:
//!
//! | step | modules |
//! | --- | --- |
//! | words | [`error`], [`reason`], [`clock`], [`trust`], [`namespace`], [`record`], [`json`], [`change`] |
//! | tools | [`simd`], [`text`], [`embed`] |
//! | may it be kept? | [`gate`] |
//! | the only truth | [`store`] |
//! | derived, disposable | [`index`], [`relay`] |
//! | in, out, and the end | [`remember`], [`recall`], [`forget`] |
//! | all together | [`memory`] |
//! | how well it does | [`eval`] |

mod broken;

mod words;

pub mod error;

pub mod reason;

pub mod clock;

pub mod trust;

pub mod namespace;

pub mod record;

pub mod json;

pub mod change;

pub mod simd;

pub mod text;

pub mod embed;

pub mod gate;

pub mod store;

pub mod index;

pub mod relay;

pub mod remember;

pub mod recall;

pub mod forget;

pub mod memory;

pub mod eval;

pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use embed::{Embedder, HashingEmbedder};
pub use error::{Error, ErrorKind, Result};
pub use forget::{Forget, Forgotten, Place, Preview, Probed, Promise, Receipt, verify_receipt};
pub use gate::Policy;
pub use memory::{Memory, Mended, Opening, Options};
pub use namespace::{Namespace, Principal, Reach, Scope};
pub use reason::Reason;
pub use recall::{Group, Hit, Looked, Mode, Part, Plan, Query, Recalled, Shown, Why};
pub use record::{
    Candidate, Cardinality, Episode, Evidence, Form, Kind, Lifetime, MemoryId, MetaValue, Metadata, Record,
    RecordId, Source, State,
};
pub use remember::{Confirmation, Correction, Outcome};
pub use store::{
    AsOf, BackupFile, CipherKey, Compare, Filter, Finding, HistoryEntry, JobCounts, JobState, LedgerAside,
    Manifest, Page, PageRequest, PublicKey, RestoreFrom, Restored, Selector, StateFilter, TraceSummary,
    Waiting, Written, restore, set_damaged_ledger_aside,
};
pub use trust::{Authority, Sensitivity};
