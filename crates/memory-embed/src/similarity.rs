//! Compares vectors.

/// The cosine similarity of two vectors of length 1.
pub fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter()
        .zip(other)
        .map(|(left, right)| left * right)
        .sum()
}
