//! What is known of a user already: for the distiller, so that it does not say it
//! again, and for comparing with what it says nevertheless.

use std::collections::HashMap;
use std::time::Duration;

use memory_contract::{
    ExtractionStrategy, Memory, MemoryFilter, MemoryId, MemoryOwner, Part, Role,
};
use memory_distill::{Fact, KnownFact, Source, is_duplicate, same_figures};
use memory_recall::{MemoryQuery, Method};
use uuid::Uuid;

use crate::distill::{Failure, Look};

/// Known facts that a distiller is told.
const TOLD: usize = 20;
/// The newest memories, which the index may not know yet.
const NEWEST: u32 = 20;
/// Memories that one fact is compared with, beside those.
const LIKE_ONE: usize = 5;
/// Facts that the index is asked about. There are rarely ten.
const ASKED: usize = 50;
/// Characters of what was said that memories are looked for by.
const QUERY_CHARS: usize = 2_000;
/// How alike two facts are that say the same.
const SAME: f32 = 0.95;

/// What is known of one user of one app, and of nobody else.
pub(super) struct Known {
    told: Vec<KnownFact>,
    memories: HashMap<MemoryId, String>,
}

impl Known {
    /// Finds what is known of the owner that what was said may be about.
    pub(super) async fn find(
        look: &Look<'_>,
        strategy: ExtractionStrategy,
        owner: &MemoryOwner,
        sources: &[Source],
    ) -> Result<Self, Failure> {
        let store = &look.with.store;
        if strategy == ExtractionStrategy::Summary {
            let before = store.summary_memories(look.tenant, look.thread.id).await?;
            let told = before.into_iter().map(|(id, text)| told(id, text));
            return Ok(Self {
                told: told.collect(),
                memories: HashMap::new(),
            });
        }
        let filter = MemoryFilter::default();
        let newest = store.list_memories(look.tenant, owner, &filter, None, NEWEST);
        let newest = newest.await?.items;
        let mut found = Vec::new();
        if !newest.is_empty() {
            found = search(look, owner, query_of(sources), TOLD).await?;
        }
        let mut known = Self {
            told: Vec::new(),
            memories: HashMap::new(),
        };
        for memory in found.into_iter().chain(newest) {
            let Memory { id, text, .. } = memory;
            if !known.memories.contains_key(&id) && known.told.len() < TOLD {
                known.told.push(told(id, text.clone()));
            }
            known.memories.insert(id, text);
        }
        Ok(known)
    }

    /// The memories that a distiller was told.
    pub(super) fn into_told(self) -> Vec<(MemoryId, String)> {
        let told = self.told.into_iter();
        let memory = |known: KnownFact| Some((told_id(&known.id)?, known.text));
        told.filter_map(memory).collect()
    }

    /// What a distiller is told, the most likely to matter first.
    pub(super) fn facts(&self) -> &[KnownFact] {
        &self.told
    }

    /// Gives a fact that says what a memory says that memory's words, so that it
    /// is stored as a further proof of it; and makes one of two facts that say the
    /// same. Without an embedding model nothing happens: equal words are found
    /// when they are stored.
    pub(super) async fn merge(
        mut self,
        look: &Look<'_>,
        owner: &MemoryOwner,
        facts: &mut Vec<Fact>,
    ) -> Result<(), Failure> {
        if facts.is_empty() {
            return Ok(());
        }
        if !self.memories.is_empty() {
            for fact in facts.iter().take(ASKED) {
                let like = search(look, owner, fact.text.clone(), LIKE_ONE).await?;
                let like = like.into_iter().map(|memory| (memory.id, memory.text));
                self.memories.extend(like);
            }
        }
        let memories: Vec<(MemoryId, String)> = self.memories.into_iter().collect();
        if facts.len() + memories.len() < 2 {
            return Ok(());
        }
        let texts = facts.iter().map(|fact| fact.text.clone());
        let texts = texts.chain(memories.iter().map(|(_, text)| text.clone()));
        let vectors = match look.with.recall.vectors(texts.collect()).await {
            Ok(Some(vectors)) => vectors,
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::warn!(%error, "facts were not compared with what is known");
                return Ok(());
            }
        };
        let (own, others) = vectors.split_at(facts.len().min(vectors.len()));
        let known: Vec<(String, &str, &Vec<f32>)> = memories
            .iter()
            .zip(others)
            .map(|((id, text), vector)| (id.to_string(), text.as_str(), vector))
            .collect();
        *facts = merged(std::mem::take(facts), own, &known);
        Ok(())
    }
}

/// The facts with those made one that say the same, and with the words of what is
/// known.
fn merged(
    facts: Vec<Fact>,
    vectors: &[Vec<f32>],
    known: &[(String, &str, &Vec<f32>)],
) -> Vec<Fact> {
    let mut kept: Vec<(Fact, &Vec<f32>)> = Vec::new();
    for (mut fact, vector) in facts.into_iter().zip(vectors) {
        let same = |text: &str, other: &Vec<f32>| {
            is_duplicate(vector, other, SAME) && same_figures(&fact.text, text)
        };
        let earlier = kept
            .iter()
            .position(|(earlier, other)| same(&earlier.text, other));
        if let Some(place) = earlier {
            let (earlier, _) = &mut kept[place];
            for id in fact.evidence {
                if !earlier.evidence.contains(&id) {
                    earlier.evidence.push(id);
                }
            }
            for id in fact.supersedes {
                if !earlier.supersedes.contains(&id) {
                    earlier.supersedes.push(id);
                }
            }
            continue;
        }
        let text = known
            .iter()
            // What it makes untrue it does not say.
            .filter(|(id, ..)| !fact.supersedes.contains(id))
            .find(|(_, text, other)| same(text, other))
            .map(|(_, text, _)| (*text).to_owned());
        if let Some(text) = text {
            fact.text = text;
        }
        kept.push((fact, vector));
    }
    kept.into_iter().map(|(fact, _)| fact).collect()
}

/// Finds memories of the owner. That the search is degraded does not matter: it
/// only finds less.
async fn search(
    look: &Look<'_>,
    owner: &MemoryOwner,
    query: String,
    limit: usize,
) -> Result<Vec<Memory>, Failure> {
    let query = MemoryQuery {
        owner: owner.clone(),
        query,
        limit,
        filter: MemoryFilter::default(),
        method: Method::Hybrid,
        min_score: 0.0,
        at_least_as_fresh: None,
        max_wait: Duration::ZERO,
    };
    let found = look.with.recall.compare_memories(look.tenant, &query);
    let found = found.await?.memories;
    Ok(found.into_iter().map(|found| found.memory).collect())
}

fn told(id: MemoryId, text: String) -> KnownFact {
    KnownFact {
        id: id.to_string(),
        text,
    }
}

/// The memory that a distiller was told of by this id.
pub(super) fn told_id(id: &str) -> Option<MemoryId> {
    Some(id.parse::<Uuid>().ok()?.into())
}

/// What users said, the newest first, as far as a query goes.
fn query_of(sources: &[Source]) -> String {
    let said = sources
        .iter()
        .rev()
        .filter(|source| !source.injected && source.message.role == Role::User)
        .flat_map(|source| &source.message.parts);
    let texts = said.filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Json(_) | Part::File(_) | Part::ToolCall(_) | Part::ToolResult(_) => None,
    });
    let mut query = String::new();
    for text in texts {
        if query.chars().count() >= QUERY_CHARS {
            break;
        }
        query.push_str(text);
        query.push('\n');
    }
    query.chars().take(QUERY_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use memory_contract::MessageId;
    use memory_distill::FactKind;

    use super::*;

    fn fact(text: &str, supersedes: &[&str]) -> Fact {
        Fact {
            text: text.to_owned(),
            kind: FactKind::Semantic,
            event_date: None,
            topics: Vec::new(),
            entities: Vec::new(),
            evidence: vec![MessageId::new()],
            supersedes: supersedes.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    #[test]
    fn a_fact_takes_the_words_of_the_memory_that_says_the_same() {
        let (tea, rome) = (vec![1.0, 0.0], vec![0.0, 1.0]);
        let known = [
            ("m1".to_owned(), "Ada likes tea a lot", &tea),
            ("m2".to_owned(), "Ada lives in Rome", &rome),
        ];
        let check = |fact: Fact, vector: &[f32], expected: &str| {
            let kept = merged(vec![fact], &[vector.to_vec()], &known);
            assert_eq!(kept[0].text, expected);
        };
        check(
            fact("Ada loves tea", &[]),
            &[1.0, 0.01],
            "Ada likes tea a lot",
        );
        check(fact("Ada loves tea", &[]), &[0.7, 0.7], "Ada loves tea");
        // Near, but of another place; and near, but a correction.
        check(
            fact("Ada lives in Oslo", &[]),
            &[0.0, 1.0],
            "Ada lives in Oslo",
        );
        check(
            fact("Ada is at home in Rome", &["m2"]),
            &[0.0, 1.0],
            "Ada is at home in Rome",
        );
    }

    #[test]
    fn two_facts_that_say_the_same_are_one() {
        let facts = vec![
            fact("Ada likes tea", &["m1"]),
            fact("Ada likes a tea", &["m2"]),
        ];
        let kept = merged(facts, &[vec![1.0, 0.0], vec![1.0, 0.0]], &[]);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].evidence.len(), 2);
        assert_eq!(kept[0].supersedes, ["m1", "m2"]);
    }
}
