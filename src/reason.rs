//! Every reason code, once: the stable words that programs and tests depend on.
//! Knows what a code means and what to do about it, not where it is raised.

macro_rules! reasons {
    ($($variant:ident $code:literal $meaning:literal $remedy:literal;)*) => {
        /// A stable word for why something was refused, held back or left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $meaning] $variant,)*
        }

        impl Reason {
            /// Every code there is, in the order of a memory's path.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)*];

            /// The word itself, in snake_case.
            pub fn code(self) -> &'static str {
                match self { $(Reason::$variant => $code,)* }
            }

            /// What the word means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Reason::$variant => $meaning,)* }
            }

            /// What to do about it, in one sentence.
            pub fn remedy(self) -> &'static str {
                match self { $(Reason::$variant => $remedy,)* }
            }
        }
    };
}

reasons! {
    // The gates, in their order.
    SecretDetected "secret_detected" "The text holds a password, key or token." "Keep secrets in a secret store and write the memory without it.";
    SensitivityAboveGrant "sensitivity_above_grant" "The candidate is more sensitive than this caller may handle." "Write it as a caller who may, or with a lower sensitivity if that is true.";
    OneTimeContent "one_time_content" "The candidate is meant for this once, not for later tasks." "Use it now; remember it only if it is to hold again.";
    MissingSource "missing_source" "The candidate does not say where it comes from." "Name the source it rests on.";
    MissingObservedAt "missing_observed_at" "The candidate does not say when it was observed." "Give the time of the observation, with an offset.";
    ObservedInFuture "observed_in_future" "The candidate was observed later than the present moment." "Correct the time, or the clock of the machine that wrote it.";
    SourceWithdrawn "source_withdrawn" "The source was withdrawn and may not come back." "Use another source.";
    SourceUnavailable "source_unavailable" "A record that the candidate is derived from is unknown, forgotten or withdrawn." "Derive it again from records that are in force.";
    MemoryDeleted "memory_deleted" "The memory was forgotten, and this candidate is no newer evidence for it." "Write it again only from a new source, observed after the deletion.";
    BlockedByTombstone "blocked_by_tombstone" "The same words were forgotten here." "Only the person may bring them back: write them again with renewed consent, as said outright, from a new source.";
    LedgerFailed "ledger_failed" "The ledger of what was forgotten could not be written." "See what is wrong with the disk, and repeat the request.";
    TracesFailed "traces_failed" "The file of traces could not be cleaned." "See what is wrong with the disk, and repeat the request.";
    StoreFailed "store_failed" "The database could not be written to its end." "See what is wrong with the disk, open the store again, and repeat the request.";
    ConsentRenewed "consent_renewed" "What was forgotten was said again on purpose, by the person." "Nothing: it is a new generation.";
    AuthorityAboveGrant "authority_above_grant" "The candidate claims more authority than this caller may give." "Write it with the authority that this caller has.";
    NeverInferred "never_inferred" "The subject is on the list of those that are never to be inferred." "Ask the person, and write what they say as user_explicit.";
    NeedsConfirmation "needs_confirmation" "What was observed or inferred needs a person's word before it takes effect." "Let a person review it.";
    LowConfidence "low_confidence" "The confidence is below the policy's minimum." "Gather better evidence, or let a person review it.";
    NoReuseValue "no_reuse_value" "The text says nothing that a later task could use." "Write what was learned, not the small talk around it.";
    DuplicateMemory "duplicate_memory" "The same text is remembered already; this source was added to it as evidence." "Nothing: use the record that is named.";
    ConflictRequiresCorrection "conflict_requires_correction" "Another value is in force for this single-valued subject." "Read the record that is named, and correct it if it is out of date.";
    ScopePromotion "scope_promotion" "The candidate would be seen more widely than where it was learned." "Let a person review it, or write it to the narrower namespace.";

    // Correcting, forgetting, repeating.
    StaleExpectedRecord "stale_expected_record" "The memory has moved on since the record that the caller saw." "Read the current record, then correct that one.";
    LowerAuthority "lower_authority" "A lower authority does not replace a higher one without review." "Let a person review the change.";
    NotFound "not_found" "There is no such memory in this caller's scope." "Check the id, and the tenant, user, project and agent.";
    IdempotencyConflict "idempotency_conflict" "The idempotency key was used before with another body." "Use a new key for a new request.";
    RequestIdConflict "request_id_conflict" "The request id was used before for another target." "Use a new request id for a new target.";
    StalePreview "stale_preview" "What the preview named is not what would be forgotten now; nothing was." "Look at a new preview, and apply its token.";
    ReceiptAltered "receipt_altered" "The receipt is not as it was handed out, or was signed by nobody." "Print it anew: recordari receipt show.";
    ReceiptOtherKey "receipt_other_key" "The receipt was signed with another key." "Ask whoever handed it out for their key: recordari receipt key.";
    AlreadyForgotten "already_forgotten" "The memory was forgotten before; the first receipt holds." "Nothing.";
    ReadersHoldFiles "readers_hold_files" "Another process still has index files open that hold the old words." "End it or wait for it, then repeat the request.";
    CheckpointBusy "checkpoint_busy" "Another process reads the database, so its journal could not be truncated." "Wait for it, then repeat the request.";
    IndexBusy "index_busy" "Another process is writing the keyword index." "Wait for it, then repeat the request.";
    NotVerified "not_verified" "What was forgotten was looked for, and something of it was found, or what is there was not." "Run recordari rebuild, then repeat the request.";
    IndexFailed "index_failed" "The derived index could not be cleaned." "Run recordari rebuild, then repeat the request.";

    // Recall: why there is nothing, or why one record is not in the answer.
    EmptyQuery "empty_query" "The query has no letter, digit or symbol to look for." "Say what is asked for, or use list.";
    NoMemories "no_memories" "The scope holds no memories." "Check the tenant, user, project and agent.";
    NothingAllowed "nothing_allowed" "The scope holds memories, but the filters, validity and clearance leave none." "Widen the filters.";
    NoRelevantMemory "no_relevant_memory" "Nothing that may be seen is relevant to the query." "Ask in other words, or take it that nothing is remembered.";
    BelowFloor "below_floor" "The record is not relevant enough to the query." "Ask more precisely, or lower recall.floor in the policy.";
    BelowMinimumScore "below_minimum_score" "The score is under the minimum that the caller set." "Lower the minimum score.";
    ReadTriggerUnmet "read_trigger_unmet" "The record asks to be read only in tasks that meet its trigger." "Pass the task's tags.";
    RefreshRequired "refresh_required" "The caller observes another value now." "Check the present state, then correct the memory.";
    NearDuplicate "near_duplicate" "The record says nearly the same as one that is ranked above it." "Nothing: read the one above.";
    QuotaReached "quota_reached" "The answer holds as many records of this kind as its quota allows." "Raise the limit, or ask for this kind alone.";
    LimitReached "limit_reached" "Better records fill the answer." "Raise the limit.";
    OverBudget "over_budget" "The record did not fit the budget of characters, not even as a reference." "Raise the budget.";
    DamagedRecord "damaged_record" "The record's stored bytes do not match its checksum, so it is not shown." "Run recordari verify, and restore the record from a backup or its source.";
    StaleIndexEntry "stale_index_entry" "The index proposed a record that is not in force any more." "Nothing: the index will catch up.";

    // Why: the state of one record.
    Superseded "superseded" "A newer version is in force." "Read the current record.";
    Forgotten "forgotten" "The memory was forgotten." "Nothing.";
    Retired "retired" "The source does not say this any more." "Nothing.";
    Expired "expired" "The record is past its expiry." "Observe it again.";
    NotYetValid "not_yet_valid" "The record holds from a later time." "Ask as of that time.";
    AboveClearance "above_clearance" "The record is more sensitive than this caller may read." "Ask as a caller who may.";
    OutsideFilter "outside_filter" "The record does not meet the query's filters." "Change the filters.";
    HeldSourceForgotten "held_source_forgotten" "A record that this one was derived from was forgotten." "Derive it again, or confirm it: a correction with the same words does.";
    NotRetrieved "not_retrieved" "Other records were nearer to the query in every search." "Ask more precisely.";

    // Degraded answers.
    KeywordIndexRebuilt "keyword_index_rebuilt" "The keyword index was missing, damaged or of an older kind, and was built again." "Nothing.";
    EmbedderUnavailable "embedder_unavailable" "The embedding model can't be used, so the search was by keyword alone." "Mend the model; see recordari model.";
    EmbeddingsPending "embeddings_pending" "Some records have no vector yet and are found by keyword alone." "Run recordari reembed.";
}

impl Reason {
    /// The reason with that code, if there is one.
    pub fn from_code(code: &str) -> Option<Reason> {
        Reason::ALL.iter().copied().find(|reason| reason.code() == code)
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_snake_case_and_found_again() {
        for reason in Reason::ALL {
            let code = reason.code();
            assert!(code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{code}");
            assert_eq!(Reason::from_code(code), Some(*reason), "{code} is used twice");
            assert!(reason.meaning().ends_with('.') && reason.remedy().ends_with('.'), "{code}");
        }
    }
}
