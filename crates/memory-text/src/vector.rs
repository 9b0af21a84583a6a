//! The words of a text as a sparse vector.

/// The words of a text as a sparse vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LexicalVector {
    /// FNV-1a hashes of the words, ascending and distinct.
    pub indices: Vec<u32>,
    /// The weight of each word, in the same order.
    pub values: Vec<f32>,
}

impl LexicalVector {
    /// The sum of the products of the weights of the words that both have.
    pub fn dot(&self, document: &Self) -> f32 {
        let weight = |word: &u32| {
            let place = document.indices.binary_search(word).ok()?;
            document.values.get(place).copied()
        };
        let words = self.indices.iter().zip(&self.values);
        words
            .filter_map(|(word, value)| Some(value * weight(word)?))
            .sum()
    }
}
