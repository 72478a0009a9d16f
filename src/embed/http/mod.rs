//! A model behind an address: what it is called, how it is asked, what of its answer is believed. Nothing
//! here runs a network itself.

#[cfg(feature = "http-embedder")]
mod answer;
#[cfg(feature = "http-embedder")]
mod call;
#[cfg(feature = "http-embedder")]
mod embedder;
mod options;

#[cfg(feature = "http-embedder")]
pub use embedder::HttpEmbedder;
pub use options::HttpOptions;
