//! The doors of the engine, tried through the built binary: what a program or a person relies on.
#![allow(missing_docs, clippy::unwrap_used)]

mod backups;
mod bench;
mod bench_reports;
mod canaries;
mod contract;
mod demo;
mod doctor;
mod door;
mod encrypted;
mod evaluations;
mod files;
mod forget;
mod formats;
mod probe;
mod processes;
mod settings;
mod stores;
#[cfg(unix)]
mod terminal;
mod texts;
mod words;
mod workload;
mod xml;
