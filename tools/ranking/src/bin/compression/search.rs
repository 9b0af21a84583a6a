//! Search by words in derived text.

use std::collections::BTreeMap;

use crate::conversation::{Conversation, sentences};
use crate::words::{content, flat};

/// Matches of a question that are looked at.
const MATCHES: usize = 10;
/// BM25 (S. Robertson et al., 1994) with its usual parameters.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How many of the facts the questions find: the fact is left, by the same judgement, in
/// the ten best sentences of the text for the question. Each sentence is searched
/// together with the speaker of its line.
pub fn found(conversation: &Conversation, text: &str) -> usize {
    let mut documents: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        let speaker = line.split_once(": ").map_or("", |(speaker, _)| speaker);
        for sentence in sentences(line) {
            let words = content(&format!("{speaker} {sentence}"))
                .into_iter()
                .collect();
            documents.push((flat(sentence), words));
        }
    }
    let mut holders: BTreeMap<&str, f64> = BTreeMap::new();
    for word in documents.iter().flat_map(|(_, words)| words) {
        *holders.entry(word).or_default() += 1.0;
    }
    let count = documents.len() as f64;
    let length: f64 = documents.iter().map(|(_, words)| words.len() as f64).sum();
    let average = (length / count.max(1.0)).max(1.0);
    let best = |question: &str| {
        let asked = content(question);
        let mut ranked: Vec<(f64, usize)> = documents
            .iter()
            .enumerate()
            .map(|(place, (_, words))| {
                let size = K1 * (1.0 - B + B * words.len() as f64 / average);
                let score: f64 = words
                    .iter()
                    .filter(|word| asked.contains(*word))
                    .filter_map(|word| holders.get(word.as_str()))
                    .map(|held| (1.0 + (count - held + 0.5) / (held + 0.5)).ln())
                    .map(|idf| idf * (K1 + 1.0) / (1.0 + size))
                    .sum();
                (-score, place)
            })
            .filter(|(score, _)| *score < 0.0)
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let best: Vec<&str> = ranked
            .iter()
            .take(MATCHES)
            .map(|(_, place)| documents[*place].0.as_str())
            .collect();
        best.join("\n")
    };
    let facts = conversation.facts.iter();
    facts
        .filter(|fact| fact.survives(&best(&fact.question)))
        .count()
}
