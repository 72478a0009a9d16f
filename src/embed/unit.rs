//! What a vector must be before anyone compares it, whoever made it.

use crate::error::{Error, Result};

/// Scales a vector to unit length. Refuses one with a number that is not finite, and one without a
/// direction.
pub(super) fn unit(mut vector: Vec<f32>, maker: &str) -> Result<Vec<f32>> {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err(Error::Embed(format!("{maker} made a vector that is not finite")));
    }
    if length < 1e-12 {
        return Err(Error::Embed(format!("{maker} made a vector of zeros")));
    }
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn a_vector_gets_unit_length_or_is_refused() {
        assert_eq!(unit(vec![3.0, -4.0], "it").unwrap(), [0.6, -0.8]);
        assert_eq!(unit(vec![3e38, 3e38], "it").unwrap(), [0.5f32.sqrt(); 2]);
        assert!(unit(vec![f32::INFINITY, 0.0], "it").unwrap_err().to_string().contains("it made"));
        assert!(unit(vec![f32::NAN], "it").is_err());
        assert!(unit(vec![0.0; 8], "it").is_err());
        assert!(unit(Vec::new(), "it").is_err());
    }
}
