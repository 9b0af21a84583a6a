//! The weights of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009)
//! without the inverse document frequency.

/// BM25's `k1`: saturation of the term frequency.
const K1: f64 = 1.2;
/// BM25's `b`: weight of the document length.
const B: f64 = 0.75;
/// BM25's average document length, in words. A constant, because the real average
/// changes with every append, and a vector is written once.
const USUAL_LENGTH: f64 = 64.0;

/// The longest length that counts, in words. In the output of a tool, a code that stands
/// there once would otherwise weigh less than a common word of a short message.
pub(crate) const LONGEST: f64 = 512.0;

/// The denominator's part that depends on the length of a text, in words.
pub(crate) fn length_norm(length: f64) -> f64 {
    K1 * (1.0 - B + B * length / USUAL_LENGTH)
}

/// The weight of a word that a text has `frequency` times.
pub(crate) fn saturated(frequency: f64, norm: f64) -> f64 {
    frequency * (K1 + 1.0) / (frequency + norm)
}
