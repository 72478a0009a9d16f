//! What can be done to a memory, with small numbers for who, what and which.

use proptest::collection::vec;
use proptest::prelude::*;

/// How many operations a history has at most.
const LENGTH: usize = 28;

/// A statement to be written.
#[derive(Clone, Debug)]
pub struct Said {
    /// The namespace to write to.
    pub place: usize,
    /// What it is about; none in a third of the cases.
    pub subject: Option<usize>,
    /// Whether the subject has several values.
    pub multi: bool,
    pub word: usize,
    pub source: usize,
    /// Observed before everything else, as by a late writer.
    pub late: bool,
    /// Said on purpose though it may have been forgotten.
    pub renewed: bool,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Remember(Said),
    /// Many at once.
    RememberAll(Vec<Said>),
    /// Corrects the memory of that number, perhaps with a record that is stale.
    Correct {
        which: usize,
        word: usize,
        source: usize,
        stale: bool,
    },
    ForgetMemory(usize),
    ForgetSubject(usize, usize),
    ForgetSource(usize, usize),
    ForgetEverything(usize),
    /// All of a tenant, or of a user.
    ForgetBelow(usize),
    Recall(usize),
    Drain,
    Rebuild,
    /// Closes and opens again.
    Reopen,
    /// Ends like a crash: the derived folder as it was some time ago, nothing cleaned up.
    OldIndex,
    /// Goes on with the files as they lie there, as after a kill.
    Crash,
    /// Keeps a backup, in the place of the last.
    Backup,
    /// Goes on with a store that is made of the backup, told what was forgotten since.
    Restore,
    /// Goes on without the derived folder.
    DropDerived,
    /// Goes on through the other of two handles.
    OtherHandle,
}

fn said() -> impl Strategy<Value = Said> {
    let subject = prop::option::weighted(0.6, 0..3usize);
    (
        0..4usize,
        subject,
        prop::bool::weighted(0.3),
        0..9usize,
        0..4usize,
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.6),
    )
        .prop_map(|(place, subject, multi, word, source, late, renewed)| Said {
            place,
            subject,
            multi,
            word,
            source,
            late,
            renewed,
        })
}

pub fn history() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        12 => said().prop_map(Operation::Remember),
        1 => vec(said(), 1..6).prop_map(Operation::RememberAll),
        5 => (0..40usize, 0..9usize, 0..4usize, prop::bool::weighted(0.2)).prop_map(
            |(which, word, source, stale)| Operation::Correct { which, word, source, stale }
        ),
        3 => (0..40usize).prop_map(Operation::ForgetMemory),
        1 => (0..4usize, 0..3usize).prop_map(|(place, subject)| Operation::ForgetSubject(place, subject)),
        1 => (0..4usize, 0..4usize).prop_map(|(place, source)| Operation::ForgetSource(place, source)),
        1 => (0..4usize).prop_map(Operation::ForgetEverything),
        1 => (0..3usize).prop_map(Operation::ForgetBelow),
        3 => (0..9usize).prop_map(Operation::Recall),
        3 => Just(Operation::Drain),
        1 => Just(Operation::Rebuild),
        2 => Just(Operation::Reopen),
        1 => Just(Operation::OldIndex),
        2 => Just(Operation::Crash),
        2 => Just(Operation::Backup),
        2 => Just(Operation::Restore),
        1 => Just(Operation::DropDerived),
        2 => Just(Operation::OtherHandle),
    ];
    vec(operation, 4..LENGTH)
}
