//! Weights of sentences, fitted without the conversation that they are measured on.

use memory_distill::SentenceWeights;

/// The weights for a conversation of the LoCoMo dataset, by its number.
pub fn without(conversation: &str) -> SentenceWeights {
    match conversation {
        "26" => WITHOUT_26,
        "30" => WITHOUT_30,
        "50" => WITHOUT_50,
        _ => SentenceWeights::default(),
    }
}

const WITHOUT_26: SentenceWeights = SentenceWeights {
    base: -4.64,
    word: 0.28,
    new: 0.86,
    name: 0.73,
    number: 0.61,
    quotation: 2.41,
    time: 0.91,
    first_person: 1.03,
    relation: 0.77,
    negation: -0.52,
    question: -0.78,
    answer: 0.90,
    repeated: 0.32,
    late: -0.74,
};
const WITHOUT_30: SentenceWeights = SentenceWeights {
    base: -4.83,
    word: 0.33,
    new: 1.14,
    name: 0.57,
    number: 1.61,
    quotation: 2.82,
    time: 1.09,
    first_person: 1.06,
    relation: 0.53,
    negation: -0.41,
    question: -0.16,
    answer: 0.83,
    repeated: 0.21,
    late: -0.48,
};
const WITHOUT_50: SentenceWeights = SentenceWeights {
    base: -4.48,
    word: 0.26,
    new: 1.27,
    name: 0.60,
    number: 1.15,
    quotation: 3.78,
    time: 1.05,
    first_person: 0.73,
    relation: 0.60,
    negation: -0.53,
    question: -0.37,
    answer: 0.71,
    repeated: 0.23,
    late: -0.37,
};
