//! Numbers in ggml's format Q4_0: blocks of 32, each a 16-bit scale and 32 nibbles. Does not know which
//! tensor they belong to.

/// Numbers in a block.
pub(super) const BLOCK: usize = 32;

/// Bytes in a block: the scale, then sixteen bytes of two nibbles each.
pub(super) const BLOCK_BYTES: usize = 18;

/// Writes the numbers of `blocks` to `values`: (nibble − 8) × scale. The low nibbles of a block are its
/// first half.
pub(super) fn decode(blocks: &[u8], values: &mut [f32]) {
    let blocks = blocks.as_chunks::<BLOCK_BYTES>().0;
    let values = values.as_chunks_mut::<BLOCK>().0;
    assert_eq!(blocks.len(), values.len(), "every block has 32 values");
    for (block, values) in blocks.iter().zip(values) {
        let scale = f16(u16::from_le_bytes([block[0], block[1]]));
        let (low, high) = values.split_at_mut(BLOCK / 2);
        for ((byte, low), high) in block[2..].iter().zip(low).zip(high) {
            *low = (i32::from(byte & 15) - 8) as f32 * scale;
            *high = (i32::from(byte >> 4) - 8) as f32 * scale;
        }
    }
}

/// Says whether every scale of `blocks` is a finite number.
pub(super) fn is_finite(blocks: &[u8]) -> bool {
    blocks.as_chunks::<BLOCK_BYTES>().0.iter().all(|block| block[1] & 0x7c != 0x7c)
}

/// Returns the value of an IEEE 754 half-precision float.
fn f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    let value = if magnitude >= 0x7c00 {
        f32::from_bits(0x7f80_0000 | magnitude << 13)
    } else {
        // The exponent moved to its place in 32 bits is 112 too low, for normal and subnormal alike.
        f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)
    };
    f32::from_bits(value.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_floats_have_their_known_values() {
        let cases = [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3c00, 1.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0xc000, -2.0),
            (0x7c00, f32::INFINITY),
        ];
        for (bits, want) in cases {
            assert_eq!(f16(bits), want, "{bits:#06x}");
        }
        assert!(f16(0x7c01).is_nan());
    }

    #[test]
    fn nibbles_are_split_into_halves() {
        let mut block = [0x88u8; BLOCK_BYTES];
        [block[0], block[1]] = 0x4000u16.to_le_bytes();
        block[2] = 0xf0;
        let mut values = [f32::NAN; BLOCK];
        decode(&block, &mut values);
        assert_eq!((values[0], values[16]), (-16.0, 14.0));
        assert!(values[1..16].iter().all(|x| *x == 0.0));
    }

    #[test]
    fn an_infinite_scale_is_noticed() {
        let mut blocks = [0u8; 2 * BLOCK_BYTES];
        assert!(is_finite(&blocks));
        blocks[BLOCK_BYTES + 1] = 0xfc;
        assert!(!is_finite(&blocks));
    }
}
