//! The product of a byte matrix with byte activations. Sums are exact integers, and the few float
//! operations after them are the same everywhere, so every level agrees to the last bit.

use super::level::{Isa, Level};
use super::quantise::{
    Activations, CELL_ROWS, CELLS_PER_QUAD, GROUP_ROWS, Int8Matrix, QUAD, RowTerms, Steps,
};

/// Writes to `out`, token after token, `matrix` × token + bias.
///
/// The tokens of a call do not influence one another: each gets the result that it would get alone.
///
/// # Panics
///
/// If the activations do not have the columns of the matrix, or `out` not a value per token and row.
pub fn product(level: Level, matrix: &Int8Matrix, activations: &Activations, out: &mut [f32]) {
    assert_eq!(activations.columns(), matrix.columns(), "activations and matrix must have the same columns");
    assert_eq!(out.len(), activations.tokens() * matrix.rows(), "there must be room for every output");
    match level.isa() {
        Isa::Scalar => scalar(matrix, activations, out),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a level of this kind is only made when the processor has AVX2; sizes were checked above.
        Isa::Avx2 => unsafe { super::product_avx2::product(matrix, activations, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above, for AVX-512 with BW and VNNI.
        Isa::Avx512 => unsafe { super::product_avx512::product(matrix, activations, out) },
    }
}

/// The product in plain Rust, which defines what the other levels must compute.
fn scalar(matrix: &Int8Matrix, activations: &Activations, out: &mut [f32]) {
    let tokens = activations.codes().chunks_exact(matrix.columns()).zip(activations.steps());
    for ((codes, steps), out) in tokens.zip(out.chunks_exact_mut(matrix.rows())) {
        for (group, out) in out.as_chunks_mut::<GROUP_ROWS>().0.iter_mut().enumerate() {
            let terms = matrix.terms(group);
            let mut sums = *terms.corrections;
            let quads = matrix.group(group).as_chunks::<CELLS_PER_QUAD>().0;
            for (quad, codes) in quads.iter().zip(codes.as_chunks::<QUAD>().0) {
                let codes = codes.map(i32::from);
                for (cells, sums) in quad.iter().zip(sums.as_chunks_mut::<CELL_ROWS>().0) {
                    for (weights, sum) in cells.0.as_chunks::<QUAD>().0.iter().zip(sums) {
                        for k in 0..QUAD {
                            *sum += i32::from(weights[k]) * codes[k];
                        }
                    }
                }
            }
            finish(&sums, terms, *steps, out);
        }
    }
}

/// Turns exact sums into outputs, rounding after each step:
/// sum × (row scale × token scale) + (row sum × token centre + bias).
fn finish(sums: &[i32; GROUP_ROWS], terms: RowTerms<'_>, steps: Steps, out: &mut [f32; GROUP_ROWS]) {
    for row in 0..GROUP_ROWS {
        let from_centre = terms.sums[row] * steps.centre + terms.bias[row];
        out[row] = sums[row] as f32 * (terms.scales[row] * steps.scale) + from_centre;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::Numbers;

    fn matrix(numbers: &mut Numbers, rows: usize, columns: usize) -> (Int8Matrix, Vec<f32>) {
        let weights = numbers.floats(rows * columns);
        let matrix = Int8Matrix::from_rows(Level::detect(), columns, numbers.floats(rows), |row, values| {
            values.copy_from_slice(&weights[row * columns..][..columns]);
        });
        (matrix, weights)
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut numbers = Numbers::new(6);
        for columns in [4, 36, 384, 1536] {
            let (matrix, _) = matrix(&mut numbers, 128, columns);
            for tokens in 0..15 {
                let mut activations = Activations::default();
                activations.quantise(Level::detect(), &numbers.floats(tokens * columns), columns);
                let mut want = vec![f32::NAN; tokens * 128];
                product(Level::SCALAR, &matrix, &activations, &mut want);
                for level in Level::available() {
                    let mut got = vec![f32::NAN; tokens * 128];
                    product(level, &matrix, &activations, &mut got);
                    assert_eq!(got, want, "{level}, {tokens} tokens, {columns} columns");
                }
            }
        }
    }

    #[test]
    fn the_greatest_bytes_do_not_overflow() {
        for columns in [4, 1536, crate::simd::MAX_COLUMNS] {
            for (weight, input) in [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)] {
                let bias = vec![0.0; GROUP_ROWS];
                let matrix = Int8Matrix::from_rows(Level::detect(), columns, bias, |_, row| row.fill(weight));
                let mut activations = Activations::default();
                activations.quantise(Level::detect(), &vec![input; columns], columns);
                for level in Level::available() {
                    let mut out = [f32::NAN; GROUP_ROWS];
                    product(level, &matrix, &activations, &mut out);
                    let want = columns as f32 * weight * input;
                    assert!(
                        out.iter().all(|x| (x / want - 1.0).abs() < 1e-5),
                        "{level}: {} not {want}",
                        out[0]
                    );
                }
            }
        }
    }

    #[test]
    fn it_approximates_the_product_of_floats() {
        let mut numbers = Numbers::new(7);
        let (matrix, weights) = matrix(&mut numbers, 64, 384);
        let input = numbers.floats(384);
        let mut activations = Activations::default();
        activations.quantise(Level::detect(), &input, 384);
        let mut out = vec![0.0; 64];
        product(Level::detect(), &matrix, &activations, &mut out);
        for (row, got) in out.iter().enumerate() {
            let want = crate::simd::dot_f32(&weights[row * 384..][..384], &input) + matrix.terms(0).bias[row];
            assert!((got - want).abs() < 0.2, "row {row}: {got}, not {want}");
        }
    }
}
