//! The features of whole conversations, for the program that fits the weights.

use memory_contract::{MessageId, TenantId};
use memory_embed::{EmbedError, Embedder, Urgency, dot};
use memory_index::{Candidate, Candidates, EncodedPoint, Point, WordCounts};
use memory_store::IndexRecord;
use memory_text::{in_first_person, lexical_query, meaning};

use super::evidence::fuse;
use super::features::{self, FEATURES};
use super::sums::sums;
use super::surroundings::Surroundings;
use super::traits::QueryTraits;

/// Messages of one scope as an index has them, in memory.
pub struct Corpus {
    embedder: Embedder,
    entries: Vec<EncodedPoint>,
    counts: WordCounts,
    names: Vec<String>,
}

impl Corpus {
    /// Embeds messages.
    ///
    /// # Errors
    /// As [`Embedder::documents`].
    pub async fn new(embedder: Embedder, records: Vec<IndexRecord>) -> Result<Self, EmbedError> {
        let texts = records.iter().map(|record| meaning(&record.message));
        let vectors = embedder.documents(texts.collect(), Urgency::Bulk).await?;
        let mut names: Vec<String> = records
            .iter()
            .map(|record| record.message.name.clone())
            .filter(|name| !name.trim().is_empty())
            .collect();
        names.sort_unstable();
        names.dedup();
        let tenant = TenantId::default();
        let entries: Vec<EncodedPoint> = records
            .into_iter()
            .zip(vectors)
            .map(|(record, vector)| Point {
                dense: Some(vector),
                ..Point::new(&tenant, record)
            })
            .map(EncodedPoint::from)
            .collect();
        let mut counts = WordCounts::default();
        for entry in &entries {
            counts.add(&entry.lexical.indices);
        }
        Ok(Self {
            embedder,
            entries,
            counts,
            names,
        })
    }

    /// The features of the candidates of a query, at most `limit` of each search.
    ///
    /// # Errors
    /// As [`Embedder::query`].
    pub async fn features(
        &self,
        query: &str,
        limit: usize,
    ) -> Result<Vec<(MessageId, [f64; FEATURES.len()])>, EmbedError> {
        let vector = in_first_person(query, &self.names);
        let vector = self.embedder.query(vector).await?;
        let words = self.counts.weigh(lexical_query(query, &self.names));
        let dense = |entry: &EncodedPoint| entry.dense.as_deref().map(|dense| dot(&vector, dense));
        let lexical = |entry: &EncodedPoint| {
            let score = words.dot(&entry.lexical);
            (score > 0.0).then_some(score)
        };
        let found = Candidates {
            dense: self.best(limit, dense),
            lexical: self.best(limit, lexical),
            ..Candidates::default()
        };
        let traits = QueryTraits::new(query, &self.names, Some(&words));
        let evidence = fuse(found, &traits);
        let surroundings = Surroundings::new(&evidence);
        let sums = sums(&evidence, &surroundings, &traits);
        let features = features::compute(&evidence, &surroundings, &sums, &traits);
        let ids = evidence.iter().map(|one| one.candidate.id.into());
        Ok(ids.zip(features.unwrap_or_default()).collect())
    }

    fn best(&self, limit: usize, score: impl Fn(&EncodedPoint) -> Option<f32>) -> Vec<Candidate> {
        let scored = |entry: &EncodedPoint| {
            Some(Candidate {
                score: score(entry)?,
                ..entry.candidate.clone()
            })
        };
        let mut found: Vec<Candidate> = self.entries.iter().filter_map(scored).collect();
        found.sort_by(|one, other| other.score.total_cmp(&one.score));
        found.truncate(limit);
        found
    }
}
