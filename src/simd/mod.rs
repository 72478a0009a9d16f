//! Arithmetic in bulk, with the same result to the last bit on every machine. Knows nothing of
//! texts, models or stores.
//!
//! Every kernel exists once per [`Level`] of the processor, and three rules keep the levels equal:
//!
//! 1. Sums of floats run in sixteen lanes. Element `i` goes to lane `i % 16`, in order, and the
//!    lanes are added in one fixed tree at the end. Sixteen is one register of AVX-512, two of AVX2,
//!    four of SSE2, so no level is slowed down by it.
//! 2. A product is rounded before it is added: no fused multiply-add, which some machines lack.
//! 3. Sums of bytes are exact integers, so their order does not matter.
//!
//! Functions such as `exp` that a system library would answer differently from machine to machine
//! are polynomials written here. Most kernels are plain Rust that is compiled once per level (see
//! `at_every_level!`); only the byte product, the agreements of
//! bits and the weighted sums of attention need instructions by name. The code that must be
//! trusted rather than checked by the compiler is confined to this folder.
#![allow(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "a kernel reads better with the index that the formula has")]

#[macro_use]
mod level;
mod attention;
mod bits;
mod combine;
mod dot;
mod lanes;
mod math;
mod mix;
mod packed;
mod picked;
mod product;
mod quantise;
mod rows;
mod scan;
#[cfg(test)]
pub(crate) mod testing;
mod weigh;

#[cfg(target_arch = "x86_64")]
mod bits_avx2;
#[cfg(target_arch = "x86_64")]
mod product_avx2;
#[cfg(target_arch = "x86_64")]
mod product_avx512;

pub use attention::{AttentionScratch, HEAD_WIDTH, attention};
pub use bits::{BLOCK_ROWS, BitQuery, BitRows, MAX_WIDTH, agreement_at, any_above_at, estimates_at};
pub use dot::{dot_f32, dot_f32_at, dot_f32_rows, dot_f32_rows_at};
pub use level::Level;
pub use mix::Mix;
pub use packed::{Packed, pack, packed_len};
pub use picked::dot_i8_picked_at;
pub use product::product;
pub use quantise::{Activations, GROUP_ROWS, Int8Matrix, MAX_COLUMNS};
pub use rows::{add_layer_norm, gelu, layer_norm};
pub use scan::dot_i8_rows_at;
pub use weigh::{Mixed, clear_at, raise_at, reaching_at, scale_at, share};
