//! Two plain searches over a conversation, to compare recall with: BM25 over stemmed words or
//! pairs of characters, and the cosine of whole messages. Neither knows anything of the
//! product but its embedding model.

use std::collections::{BTreeMap, HashMap, HashSet};

use memory_embed::{Embedder, Urgency, dot};
use qdrant_rust_stemmers::{Algorithm, Stemmer};

use crate::{Failure, progress};
use memory_datasets::{Conversation, Question, evidence_id, text_of};

/// The usual constants of BM25 (Robertson and Zaragoza, 2009).
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Messages in one call of the model.
const BATCH: usize = 64;

/// The messages of a conversation.
pub struct Plain {
    documents: Vec<Document>,
    words: Words,
    /// None: without a model.
    embedder: Option<Embedder>,
}

struct Document {
    evidence_id: String,
    session: u32,
    counts: HashMap<String, f64>,
    length: f64,
    vector: Vec<f32>,
}

impl Plain {
    /// Reads the messages, and embeds them where there is a model.
    pub async fn new(
        conversation: &Conversation,
        embedder: Option<Embedder>,
    ) -> Result<Self, Failure> {
        let words = Words::new(&conversation.language);
        let mut documents = Vec::new();
        let mut texts = Vec::new();
        for (session, messages) in &conversation.sessions {
            for message in messages {
                let text = text_of(message);
                let mut counts = HashMap::new();
                for word in words.of(&text) {
                    *counts.entry(word).or_insert(0.0) += 1.0;
                }
                documents.push(Document {
                    evidence_id: evidence_id(&message.metadata).unwrap_or_default(),
                    session: *session,
                    length: counts.values().sum(),
                    counts,
                    vector: Vec::new(),
                });
                texts.push(text);
            }
        }
        if let Some(embedder) = &embedder {
            let bar = progress::count("embedding for the plain search", texts.len() as u64);
            let batches = documents.chunks_mut(BATCH).zip(texts.chunks(BATCH));
            for (documents, texts) in batches {
                let vectors = embedder.documents(texts.to_vec(), Urgency::Bulk).await?;
                for (document, vector) in documents.iter_mut().zip(vectors) {
                    document.vector = vector;
                }
                bar.inc(texts.len() as u64);
            }
            bar.finish_and_clear();
        }
        Ok(Self {
            documents,
            words,
            embedder,
        })
    }

    /// The ids that BM25 finds for a question, the best first.
    pub fn by_word(&self, question: &Question) -> Vec<String> {
        let stored = self.stored_before(question);
        let count = stored.len() as f64;
        let average = stored.iter().map(|one| one.length).sum::<f64>() / count.max(1.0);
        let mut scores = vec![0.0; stored.len()];
        for word in self
            .words
            .of(&question.text)
            .into_iter()
            .collect::<HashSet<_>>()
        {
            let with = stored.iter().filter(|one| one.counts.contains_key(&word));
            let with = with.count() as f64;
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            for (score, document) in scores.iter_mut().zip(&stored) {
                let times = document.counts.get(&word).copied().unwrap_or_default();
                let length = 1.0 - B + B * document.length / average.max(1.0);
                *score += rarity * times * (K1 + 1.0) / (times + K1 * length);
            }
        }
        best_first(scores, &stored)
    }

    /// The ids of the messages closest in meaning, the best first. None without a model.
    pub async fn by_meaning(&self, question: &Question) -> Result<Option<Vec<String>>, Failure> {
        let Some(embedder) = &self.embedder else {
            return Ok(None);
        };
        let query = embedder.query(&question.text).await?;
        let stored = self.stored_before(question);
        let scores = stored.iter().map(|one| f64::from(dot(&query, &one.vector)));
        Ok(Some(best_first(scores.collect(), &stored)))
    }

    fn stored_before(&self, question: &Question) -> Vec<&Document> {
        let stored = self.documents.iter();
        let stored = stored.filter(|one| question.before.is_none_or(|before| one.session < before));
        stored.collect()
    }
}

fn best_first(scores: Vec<f64>, documents: &[&Document]) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> = scores
        .into_iter()
        .zip(documents)
        .filter(|(score, _)| *score > 0.0)
        .map(|(score, document)| (score, document.evidence_id.as_str()))
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    distinct(scored.into_iter().map(|(_, id)| id.to_owned()))
}

/// Each id once, where it comes first.
pub fn distinct(ids: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    ids.into_iter()
        .filter(|id| seen.insert(id.clone()))
        .collect()
}

/// How a language's text becomes words.
enum Words {
    Stemmed(Stemmer),
    /// Of languages that are written without spaces.
    Pairs,
}

impl Words {
    fn new(language: &str) -> Self {
        let algorithms = BTreeMap::from([
            ("ar", Algorithm::Arabic),
            ("de", Algorithm::German),
            ("el", Algorithm::Greek),
            ("en", Algorithm::English),
            ("es", Algorithm::Spanish),
            ("ro", Algorithm::Romanian),
            ("ru", Algorithm::Russian),
            ("tr", Algorithm::Turkish),
        ]);
        match (algorithms.get(language), language) {
            (Some(algorithm), _) => Self::Stemmed(Stemmer::create(*algorithm)),
            (None, _) => Self::Pairs,
        }
    }

    fn of(&self, text: &str) -> Vec<String> {
        let text = text.to_lowercase();
        match self {
            Self::Stemmed(stemmer) => text
                .split(|character: char| !character.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .map(|word| stemmer.stem(word).into_owned())
                .collect(),
            Self::Pairs => {
                let characters: Vec<char> =
                    text.chars().filter(|one| !one.is_whitespace()).collect();
                characters
                    .windows(2)
                    .map(|pair| pair.iter().collect())
                    .collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_datasets::read_all;

    #[test]
    fn words_are_stemmed_and_unspaced_text_is_cut_into_pairs() {
        assert_eq!(Words::new("en").of("Horses, running"), ["hors", "run"]);
        assert_eq!(Words::new("zh").of("我爱 你"), ["我爱", "爱你"]);
    }

    #[tokio::test]
    async fn rare_words_of_a_question_find_their_message() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("example");
        let all = read_all(&dir).unwrap();
        let plain = Plain::new(&all[0], None).await.unwrap();
        let found = |question: &Question| plain.by_word(question);
        let hits = all[0].questions.iter().filter(|question| {
            let first = found(question);
            first
                .iter()
                .take(10)
                .any(|id| question.evidence.contains(id))
        });
        assert!(hits.count() * 2 > all[0].questions.len());
        assert_eq!(plain.by_meaning(&all[0].questions[0]).await.unwrap(), None);
    }
}
