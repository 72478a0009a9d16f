//! Vectors as they are kept: sixteen bits per number and one scale per vector. That halves what floats take
//! and moves a cosine by less than a hundred-thousandth.

use super::dot_f32;

/// The largest number of a packed vector: 127 × 256, so that its high byte alone is a number of -127 to 127.
const CODE_MAX: f32 = 32_512.0;

/// How many bytes a packed vector takes: its scale, and two for each number, all little-endian.
pub const fn packed_len(dims: usize) -> usize {
    4 + 2 * dims
}

/// Appends a vector, packed, to `bytes`. Each number is off by at most half of the scale, which is the largest
/// number divided by 32,512.
pub fn pack(vector: &[f32], bytes: &mut Vec<u8>) {
    let largest = vector.iter().fold(0f32, |largest, number| largest.max(number.abs()));
    // What is no number says nothing, and must not spoil what it is compared with.
    let scale = if largest.is_finite() { largest / CODE_MAX } else { 0.0 };
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    bytes.extend(scale.to_le_bytes());
    bytes.extend(vector.iter().flat_map(|number| ((number * inverse).round() as i16).to_le_bytes()));
}

/// One packed vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packed<'b> {
    /// What one step of its numbers is worth.
    pub scale: f32,
    codes: &'b [[u8; 2]],
}

impl<'b> Packed<'b> {
    /// The packed vectors that lie one after the other in `bytes`; none if they are not of that width.
    pub fn all(bytes: &'b [u8], dims: usize) -> Option<impl Iterator<Item = Packed<'b>>> {
        let each = packed_len(dims);
        bytes.len().is_multiple_of(each).then(|| {
            bytes.chunks_exact(each).map(|bytes| {
                let (scale, codes) = bytes.split_at(4);
                let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
                Packed { scale, codes: codes.as_chunks::<2>().0 }
            })
        })
    }

    /// Its numbers in steps of the scale.
    pub fn codes(self) -> impl Iterator<Item = i16> + 'b {
        self.codes.iter().map(|code| i16::from_le_bytes(*code))
    }

    /// Its numbers.
    pub fn numbers(self) -> Vec<f32> {
        self.codes().map(|code| f32::from(code) * self.scale).collect()
    }

    /// Its dot product with a vector of the same width: that of the codes, in the order of [`dot_f32`], times
    /// the scale.
    ///
    /// # Panics
    ///
    /// If the widths differ.
    pub fn dot(self, query: &[f32], codes: &mut Vec<f32>) -> f32 {
        codes.clear();
        codes.extend(self.codes().map(f32::from));
        dot_f32(codes, query) * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    #[test]
    fn a_packed_vector_is_off_by_half_a_step_at_most() {
        let mut numbers = Numbers::new(5);
        for dims in [1usize, 2, 3, 384] {
            let vectors: Vec<Vec<f32>> = (0..3).map(|_| numbers.floats(dims)).collect();
            let mut bytes = Vec::new();
            vectors.iter().for_each(|vector| pack(vector, &mut bytes));
            assert_eq!(bytes.len(), 3 * packed_len(dims));
            let query = numbers.floats(dims);
            let mut buffer = Vec::new();
            let all: Vec<Packed<'_>> = Packed::all(&bytes, dims).unwrap().collect();
            for (packed, vector) in all.into_iter().zip(&vectors) {
                for (got, want) in packed.numbers().iter().zip(vector) {
                    assert!((got - want).abs() <= packed.scale * 0.500_1, "{got} {want}");
                }
                let off: f32 = query.iter().map(|number| number.abs()).sum::<f32>() * packed.scale;
                assert!((packed.dot(&query, &mut buffer) - dot_f32(vector, &query)).abs() <= off + 1e-5);
            }
        }
    }

    #[test]
    fn zeros_and_other_widths_are_no_surprise() {
        let mut bytes = Vec::new();
        pack(&[0.0; 8], &mut bytes);
        assert_eq!(Packed::all(&bytes, 8).unwrap().next().unwrap().numbers(), [0.0; 8]);
        assert!(Packed::all(&bytes, 7).is_none());
        assert_eq!(Packed::all(&[], 7).unwrap().count(), 0);
    }
}
