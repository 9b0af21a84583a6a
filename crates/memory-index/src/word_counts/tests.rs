//! Weights of words, and when counting ends.

use memory_text::hash;

use super::*;

#[test]
fn a_rare_word_weighs_more() {
    let mut counts = WordCounts::default();
    for words in [&[1, 2][..], &[1], &[1, 3]] {
        counts.add(words);
    }
    let query = LexicalVector {
        indices: vec![1, 2, 4],
        values: vec![1.0, 1.0, 2.0],
    };
    let weighed = counts.weigh(query.clone()).values;
    // ln(1 + (3 - n + 0.5) / (n + 0.5)) for n = 3, 1 and 0.
    for (found, expected) in weighed.iter().zip([0.133_531, 0.980_829, 2.0 * 2.079_442]) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
    // Nothing is known of an empty index: all words weigh the same.
    let equal = WordCounts::default().weigh(query).values;
    assert_eq!((equal[0], equal[1]), (equal[1], equal[2] / 2.0));
}

#[test]
fn a_stop_word_that_was_not_counted_weighs_less_than_another_word() {
    let mut counts = WordCounts::default();
    for _ in 0..240 {
        counts.add(&[1]);
    }
    let (stop_word, other) = (hash("und"), hash("fahrra"));
    let query = LexicalVector {
        indices: vec![stop_word, other],
        values: vec![1.0, 1.0],
    };
    let weighed = counts.weigh(query).values;
    assert!(weighed[0] < weighed[1] / 2.0, "{weighed:?}");
}

#[test]
fn counting_ends() {
    let mut counts = WordCounts::default();
    counts.add(&[1]);
    assert!(!counts.are_enough(2));
    counts.add(&[1]);
    assert!(counts.are_enough(2));
    counts.add(&vec![1; MAX_ENTRIES]);
    assert!(counts.are_enough(2_000));
}
