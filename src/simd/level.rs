//! Which instructions this processor has, and how one piece of plain Rust is compiled for each.
//! Does not know what the kernels compute.

use std::fmt;
use std::sync::OnceLock;

/// A set of instructions that this processor is known to have.
///
/// A value other than [`Level::SCALAR`] can only be obtained from [`Level::detect`] or
/// [`Level::available`], which ask the processor first; holding one is the proof that the kernels of
/// that level may run. All levels give the same results to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level(Isa);

/// The instruction sets that kernels are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Isa {
    /// Whatever the compiler may use for every processor of the target.
    Scalar,
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with F, BW, DQ, VL and VNNI. A processor that lacks one of them runs AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The level that every processor has.
    pub const SCALAR: Level = Level(Isa::Scalar);

    /// Returns the fastest level of this processor. The processor is asked once.
    pub fn detect() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Level::available().pop().unwrap_or(Level::SCALAR))
    }

    /// Lists every level that this processor has, slowest first.
    pub fn available() -> Vec<Level> {
        #[allow(unused_mut, reason = "other processors have only the first")]
        let mut levels = vec![Level::SCALAR];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                levels.push(Level(Isa::Avx2));
            }
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vnni")
            {
                levels.push(Level(Isa::Avx512));
            }
        }
        levels
    }

    /// Returns the instruction set that this level stands for.
    pub(super) fn isa(self) -> Isa {
        self.0
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Isa::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => "avx512",
        })
    }
}

/// Compiles a function of plain Rust once for every level, and picks one by its first argument.
///
/// The body must be free of calls that the compiler can't inline, or those run at the scalar level:
/// correct, but slow. The compiler never fuses or reorders float operations by itself, so the copies
/// differ in speed alone.
macro_rules! at_every_level {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name(level: $crate::simd::Level, $($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn portable($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $ty),*) $(-> $ret)? {
                portable($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512($($arg: $ty),*) $(-> $ret)? {
                portable($($arg),*)
            }

            match level.isa() {
                $crate::simd::level::Isa::Scalar => portable($($arg),*),
                // SAFETY: the function asks for nothing but AVX2, and a `Level` of this kind is only
                // made after the processor said that it has it.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::level::Isa::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: as above, for the parts of AVX-512 that the function names.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::level::Isa::Avx512 => unsafe { avx512($($arg),*) },
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Level;

    #[test]
    fn the_best_level_is_the_last_available_one() {
        let levels = Level::available();
        assert_eq!(levels[0], Level::SCALAR);
        assert_eq!(levels.last(), Some(&Level::detect()));
    }
}
