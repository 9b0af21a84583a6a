//! The facts that are known about a user already: shown to the distiller, so that it
//! does not repeat them, and compared with those that it extracts.

use std::collections::HashMap;
use std::time::Duration;

use memory_contract::{
    MemoryId,
    memory::{Memory, MemoryFilter, MemoryOwner},
    message::{Content, Role},
    policy::ExtractionStrategy,
};
use memory_distill::{Fact, KnownFact, SourceMessage, is_duplicate, same_figures};
use memory_recall::{Freshness, MemoryQuery, Method};
use memory_store::MemoryOwners;
use uuid::Uuid;

use crate::distill::failure::Failure;
use crate::distill::run::DistillRun;

/// KnownFacts facts shown to the distiller, at most.
const MAX_KNOWN_FACTS: usize = 20;
/// The newest memories are always compared: the index may not know them yet.
const NEWEST_MEMORIES: u32 = 20;
/// Similar memories that each extracted fact is compared with.
const SIMILAR_MEMORIES: usize = 5;
/// Extracted facts that are searched in the index, at most. There are rarely ten.
const MAX_SEARCHES: usize = 50;
/// Characters of user messages that form the query for known memories.
const QUERY_CHARS: usize = 2_000;
/// The cosine similarity from which two facts count as the same.
const DUPLICATE_SIMILARITY: f32 = 0.95;

/// The facts known about one user of one app.
pub(super) struct KnownFacts {
    shown: Vec<KnownFact>,
    memories: HashMap<MemoryId, String>,
}

impl KnownFacts {
    /// Finds the owner's memories that the messages may be about.
    pub(super) async fn find(
        run: &DistillRun<'_>,
        strategy: ExtractionStrategy,
        owner: &MemoryOwner,
        sources: &[SourceMessage],
    ) -> Result<Self, Failure> {
        let store = &run.with.store;
        if strategy == ExtractionStrategy::Summary {
            let before = store
                .memories(run.caller)
                .summary_memories(run.thread.id)
                .await?;
            let shown = before.into_iter().map(|(id, text)| known_fact(id, text));
            return Ok(Self {
                shown: shown.collect(),
                memories: HashMap::new(),
            });
        }
        let filter = MemoryFilter::default();
        let newest = store.memories(run.caller).list_memories(
            &owner.app,
            Some(&owner.user),
            &filter,
            None,
            NEWEST_MEMORIES,
        );
        let newest = newest.await?.items;
        let mut found = Vec::new();
        if !newest.is_empty() {
            found = search(run, owner, query_of(sources), MAX_KNOWN_FACTS).await?;
        }
        let mut known = Self {
            shown: Vec::new(),
            memories: HashMap::new(),
        };
        for memory in found.into_iter().chain(newest) {
            let Memory { id, text, .. } = memory;
            if !known.memories.contains_key(&id) && known.shown.len() < MAX_KNOWN_FACTS {
                known.shown.push(known_fact(id, text.clone()));
            }
            known.memories.insert(id, text);
        }
        Ok(known)
    }

    /// The memories that the distiller was shown.
    pub(super) fn into_memories(self) -> Vec<(MemoryId, String)> {
        let shown = self.shown.into_iter();
        let memory = |known: KnownFact| Some((parse_memory_id(&known.id)?, known.text));
        shown.filter_map(memory).collect()
    }

    /// The facts to show to the distiller, the most relevant first.
    pub(super) fn facts(&self) -> &[KnownFact] {
        &self.shown
    }

    /// Gives a fact that equals a memory that memory's text, so that storing it adds
    /// evidence to the memory, and merges facts that equal each other. Without an
    /// embedding model it changes nothing; equal texts are found when they are stored.
    pub(super) async fn merge(
        mut self,
        run: &DistillRun<'_>,
        owner: &MemoryOwner,
        facts: &mut Vec<Fact>,
    ) -> Result<(), Failure> {
        if facts.is_empty() {
            return Ok(());
        }
        if !self.memories.is_empty() {
            for fact in facts.iter().take(MAX_SEARCHES) {
                let like = search(run, owner, fact.text.clone(), SIMILAR_MEMORIES).await?;
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
        let (recall, tenant) = (&run.with.recall, &run.caller.tenant);
        let vectors = match recall.vectors(tenant, texts.collect()).await {
            Ok(Some(vectors)) => vectors,
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::warn!(%error, "extracted facts were not compared with known ones");
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

/// The facts with duplicates merged, and with the texts of equal memories.
fn merged(
    facts: Vec<Fact>,
    vectors: &[Vec<f32>],
    known: &[(String, &str, &Vec<f32>)],
) -> Vec<Fact> {
    let mut kept: Vec<(Fact, &Vec<f32>)> = Vec::new();
    for (mut fact, vector) in facts.into_iter().zip(vectors) {
        let same = |text: &str, other: &Vec<f32>| {
            is_duplicate(vector, other, DUPLICATE_SIMILARITY) && same_figures(&fact.text, text)
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
            for id in fact.built_on {
                if !earlier.built_on.contains(&id) {
                    earlier.built_on.push(id);
                }
            }
            continue;
        }
        let memory = known
            .iter()
            // A fact does not equal a memory that it supersedes.
            .filter(|(id, ..)| !fact.supersedes.contains(id))
            .find(|(_, text, other)| same(text, other))
            .map(|(id, text, _)| (id.clone(), (*text).to_owned()));
        if let Some((id, text)) = memory {
            fact.text = text;
            fact.built_on.push(id);
        }
        kept.push((fact, vector));
    }
    kept.into_iter().map(|(fact, _)| fact).collect()
}

/// Finds memories of the owner. A degraded search only finds fewer.
async fn search(
    run: &DistillRun<'_>,
    owner: &MemoryOwner,
    query: String,
    limit: usize,
) -> Result<Vec<Memory>, Failure> {
    let query = MemoryQuery {
        owners: MemoryOwners::User(owner.clone()),
        query,
        limit,
        filter: MemoryFilter::default(),
        method: Method::Hybrid,
        min_score: 0.0,
        freshness: Freshness::Newest,
        max_wait: Duration::ZERO,
    };
    let found = run.with.recall.compare_memories(run.caller, &query);
    let found = found.await?.memories;
    Ok(found.into_iter().map(|found| found.memory).collect())
}

fn known_fact(id: MemoryId, text: String) -> KnownFact {
    KnownFact {
        id: id.to_string(),
        text,
    }
}

/// The memory that a known fact's id names.
pub(super) fn parse_memory_id(id: &str) -> Option<MemoryId> {
    Some(id.parse::<Uuid>().ok()?.into())
}

/// The newest user messages, as a query.
fn query_of(sources: &[SourceMessage]) -> String {
    let said = sources
        .iter()
        .rev()
        .filter(|source| !source.injected && source.message.role == Role::User)
        .flat_map(|source| &source.message.parts);
    let texts = said.filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
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
            built_on: Vec::new(),
        }
    }

    #[test]
    fn a_fact_takes_the_text_of_an_equal_memory() {
        let (tea, rome) = (vec![1.0, 0.0], vec![0.0, 1.0]);
        let known = [
            ("m1".to_owned(), "Ada likes tea a lot", &tea),
            ("m2".to_owned(), "Ada lives in Rome", &rome),
        ];
        let check = |fact: Fact, vector: &[f32], expected: &str| {
            let text = fact.text.clone();
            let kept = merged(vec![fact], &[vector.to_vec()], &known);
            assert_eq!(kept[0].text, expected);
            // It must not be stored anew where that memory is erased meanwhile.
            let takes = kept[0].text != text;
            assert_eq!(kept[0].built_on.len(), usize::from(takes));
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
    fn equal_facts_are_merged() {
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
