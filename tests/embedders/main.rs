//! Embedders that are not part of the process: what they may do to a store and what not. The endpoint is a
//! stub on this machine; no test needs a network.
#![allow(missing_docs, clippy::unwrap_used)]

mod changing;
mod down;
mod http;
mod stub;
