//! Forgotten stays forgotten: no way leads back, no file holds the bytes, and every answer is the one of a
//! store in which it had never been written.

mod bytes;
mod canaries;
mod jobs;
mod previews;
mod twin;
mod ways_back;
