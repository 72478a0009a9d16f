//! What the design promises, one module per promise. Each test fails when its promise is broken.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in helpers too")]

mod child;
mod numbers;
mod remains;
mod where_it_stands_counts;
mod world;

mod layering;
mod story;

mod acknowledged_means_durable;
mod backups;
mod cost_follows_the_namespace;
mod damage;
mod derived_is_disposable;
mod documents;
#[cfg(feature = "sqlcipher")]
mod encrypted_at_rest;
mod explanations_add_up;
mod filters_first;
mod forgotten_stays_forgotten;
#[cfg(target_os = "linux")]
mod full_disk;
mod gate_cannot_be_bypassed;
#[cfg(feature = "graph")]
mod graphs;
mod history_is_explainable;
mod leases;
mod neighbours_leave_no_mark;
mod no_content_where_it_does_not_belong;
mod nobody_promotes_themselves;
#[cfg(target_os = "linux")]
mod power_loss;
mod probes;
mod races;
mod read_your_writes;
mod resolve_again;
mod same_input_same_output;
mod soak;
mod standing_orders;
#[cfg(target_os = "linux")]
mod system_calls;

mod model;
mod scenarios;
