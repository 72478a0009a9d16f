//! What a statement is worth and who may read it: authority and sensitivity, both ordered.

use crate::words::words;

words! {
    /// What happened to the evidence of a record. Not the same as confidence: no confidence turns
    /// a guess into a statement.
    Authority("authority") {
        /// A model concluded it.
        ModelInferred = "model_inferred",
        /// A tool reported it.
        ToolObserved = "tool_observed",
        /// A person looked at it and approved.
        HumanReviewed = "human_reviewed",
        /// It was checked against the repository or system that it speaks of.
        RepositoryVerified = "repository_verified",
        /// The user said so.
        UserExplicit = "user_explicit",
    }
}

words! {
    /// Who may read a record.
    Sensitivity("sensitivity") {
        /// Anyone in scope.
        Public = "public",
        /// Ordinary callers in scope; the default.
        Internal = "internal",
        /// Only callers cleared for it.
        Sensitive = "sensitive",
    }
}
