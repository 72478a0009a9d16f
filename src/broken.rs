//! Clean-ups broken on purpose, one step at a time: a test shows that the probe catches each. Only tests of this crate
//! can break one; in every other build [`is_broken`] is false before the compiler looks any further.

/// A step of forgetting that can be left out or done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Freed bytes of the database are not overwritten.
    SecureDelete,
    /// The unused space of pages is not emptied.
    Gaps,
    /// The journal is not emptied.
    Journal,
    /// A version keeps what it says.
    Content,
    /// Only the version in force is erased.
    OlderVersions,
    /// A version keeps its vectors.
    Vectors,
    /// A version keeps the vectors that a change of model was making.
    ComingVectors,
    /// A version keeps its further sources.
    Evidence,
    /// Candidates stay in the review queue.
    Candidates,
    /// What was derived from it stays.
    Derived,
    /// A reason that repeats the forgotten is taken.
    Reason,
    /// The keyword index is not told.
    Removal,
    /// Segments with dead documents are not rewritten.
    Merge,
    /// Files of the index that a crash has left stay.
    Sweep,
    /// A process goes on with the files that it has open.
    Readers,
    /// Graphs stay.
    Graphs,
    /// A restored database is not told what was forgotten since.
    Replay,
}

#[cfg(test)]
thread_local! {
    static BROKEN: std::cell::Cell<Option<Step>> = const { std::cell::Cell::new(None) };
}

/// Whether a step is broken in this thread.
#[cfg(test)]
pub(crate) fn is_broken(step: Step) -> bool {
    BROKEN.get() == Some(step)
}

/// Nothing is.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn is_broken(_: Step) -> bool {
    false
}

/// Runs something in this thread with a step broken, or with none.
#[cfg(test)]
pub(crate) fn with_broken<T>(step: Option<Step>, run: impl FnOnce() -> T) -> T {
    struct Mended;
    impl Drop for Mended {
        fn drop(&mut self) {
            BROKEN.set(None);
        }
    }
    BROKEN.set(step);
    let _mended = Mended;
    run()
}
