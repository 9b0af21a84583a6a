//! The facts that are known about a user already: shown to the distiller, so that it
//! does not repeat them, and compared with those that it extracts.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use memory_contract::{
    MemoryId, MessageId,
    memory::{Memory, MemoryFilter, MemoryOwner},
    message::{Content, Part, Role},
    policy::ExtractionStrategy,
    quotation::without_marks,
};
use memory_distill::{
    Fact, KnownFact, OwnWords, SourceMessage, content_hash, is_duplicate, restates, same_figures,
};
use memory_recall::{Freshness, MemoryQuery, Method};
use memory_store::MemoryOwners;
use uuid::Uuid;

use crate::distill::failure::Failure;
use crate::distill::run::DistillRun;
use crate::distill::source::own_or_injected;

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
    /// The lines by which their texts are shown, as [`content_hash`].
    lines: HashSet<[u8; 32]>,
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
                lines: HashSet::new(),
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
            found = search(run, owner, query_of(owner, sources), MAX_KNOWN_FACTS).await?;
        }
        let mut known = Self {
            shown: Vec::new(),
            memories: HashMap::new(),
            lines: HashSet::new(),
        };
        for memory in found.into_iter().chain(newest) {
            let Memory {
                id, text, event, ..
            } = memory;
            known.lines.insert(content_hash(&text));
            // A profile has the day as well.
            let dated = event.map(|event| format!("{text} ({})", event.date()));
            known.lines.extend(dated.map(|line| content_hash(&line)));
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

    /// The messages without those lines of users that are the text of a memory, such as lines of
    /// a profile in a prompt. What is quoted with its frame is gone already.
    pub(super) fn without_copies(&self, sources: Vec<SourceMessage>) -> Vec<SourceMessage> {
        let own = |source| without_copies(source, &self.lines);
        sources.into_iter().map(own).collect()
    }

    /// Drops facts that only repeat what is known, and merges those that equal each other. A
    /// fact that equals a memory and that users say again gets the memory's text, so that
    /// storing it adds their messages to the memory's sources. Without an embedding model equal
    /// texts alone are merged, when they are stored.
    pub(super) async fn merge(
        mut self,
        run: &DistillRun<'_>,
        owner: &MemoryOwner,
        sources: &[SourceMessage],
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
        let own = OwnWords::of(sources);
        facts.retain_mut(|fact| is_worth_storing(fact, &memories, &own));
        if facts.is_empty() || facts.len() + memories.len() < 2 {
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
        let (vectors_of_facts, others) = vectors.split_at(facts.len().min(vectors.len()));
        let known: Vec<(String, &str, &Vec<f32>)> = memories
            .iter()
            .zip(others)
            .map(|((id, text), vector)| (id.to_string(), text.as_str(), vector))
            .collect();
        let said = |fact: &Fact| own.saying(fact);
        *facts = merged(std::mem::take(facts), vectors_of_facts, &known, &said);
        Ok(())
    }
}

/// The message without the lines of a user that are known.
fn without_copies(source: SourceMessage, known: &HashSet<[u8; 32]>) -> SourceMessage {
    let has_copy = |part: &Part| match &part.content {
        Content::Text(text) => text.lines().any(|line| is_copy(line, known)),
        _ => false,
    };
    let parts = &source.message.parts;
    if source.injected || source.message.role != Role::User || !parts.iter().any(has_copy) {
        return source;
    }
    let own = |part: &Part| match &part.content {
        Content::Text(text) => {
            let lines = text.lines().filter(|line| !is_copy(line, known));
            Part::text(lines.collect::<Vec<_>>().join("\n"))
        }
        _ => part.clone(),
    };
    let parts = parts.iter().map(own).collect();
    own_or_injected(parts, source.message)
}

/// Whether a line has a known text, also as an item of a list or in a quoted mail.
fn is_copy(line: &str, known: &HashSet<[u8; 32]>) -> bool {
    let line = without_marks(line);
    !line.is_empty() && known.contains(&content_hash(line))
}

/// Whether a fact is more than a repetition of what is known: it has a new word, or a user says it
/// in own words. Of the evidence of a known text, only the messages that say it are kept. A fact
/// that supersedes memories is compared with these, because it may be made of the words of others.
fn is_worth_storing(fact: &mut Fact, memories: &[(MemoryId, String)], own: &OwnWords) -> bool {
    let said = own.saying(fact);
    let hash = content_hash(&fact.text);
    if memories.iter().any(|(_, text)| content_hash(text) == hash) {
        fact.evidence = said;
        return !fact.evidence.is_empty();
    }
    let superseded = &fact.supersedes;
    let compared = memories
        .iter()
        .filter(|(id, _)| superseded.is_empty() || superseded.contains(&id.to_string()))
        .map(|(_, text)| text.as_str());
    !said.is_empty() || !restates(&fact.text, compared)
}

/// The facts with duplicates merged, and with the texts of equal memories. `said` has those
/// messages of a fact's evidence in which users say it; a fact that equals a memory needs one.
fn merged(
    facts: Vec<Fact>,
    vectors: &[Vec<f32>],
    known: &[(String, &str, &Vec<f32>)],
    said: &dyn Fn(&Fact) -> Vec<MessageId>,
) -> Vec<Fact> {
    let mut kept: Vec<(Fact, &Vec<f32>)> = Vec::new();
    for (mut fact, vector) in facts.into_iter().zip(vectors) {
        let same = |text: &str, other: &Vec<f32>| {
            is_duplicate(vector, other, DUPLICATE_SIMILARITY) && same_figures(&fact.text, text)
        };
        if known.iter().any(|(_, text, other)| same(text, other)) {
            let messages = said(&fact);
            if messages.is_empty() {
                continue;
            }
            fact.evidence = messages;
        }
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

/// The owner's newest messages, as a query.
fn query_of(owner: &MemoryOwner, sources: &[SourceMessage]) -> String {
    let said = sources
        .iter()
        .rev()
        .filter(|source| {
            let SourceMessage { message, injected } = source;
            !injected && message.role == Role::User && message.said_by == owner.user
        })
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
    use memory_contract::{json::JsonObject, message::Message};
    use memory_distill::FactKind;

    use super::*;

    fn fact(text: &str, supersedes: &[&str]) -> Fact {
        Fact {
            text: text.to_owned(),
            kind: FactKind::Semantic,
            event_date: None,
            topics: Vec::new(),
            entities: Vec::new(),
            own_kind: String::new(),
            attributes: JsonObject::default(),
            evidence: vec![MessageId::new()],
            supersedes: supersedes.iter().map(|id| (*id).to_owned()).collect(),
            built_on: Vec::new(),
        }
    }

    /// Each message says the fact.
    fn all(fact: &Fact) -> Vec<MessageId> {
        fact.evidence.clone()
    }

    #[test]
    fn lines_that_are_known_are_not_the_users_words() {
        let known: HashSet<[u8; 32]> = ["User: I have a dog.", "Went to Rome. (2024-03-01)"]
            .map(content_hash)
            .into();
        let check = |text: &str, expected: Option<&str>| {
            let said = Message::new(Role::User, vec![Part::text(text)]);
            let own = without_copies(SourceMessage::new(said), &known);
            assert_eq!(own.injected, expected.is_none(), "{text}");
            if let Some(expected) = expected {
                assert_eq!(own.message.parts, [Part::text(expected)], "{text}");
            }
        };
        check("I have a dog.\n", Some("I have a dog.\n"));
        check("- User: I have a dog.\n- Went to Rome. (2024-03-01)", None);
        check(
            "pets:\n- user: I have a dog\n\nWhat now?",
            Some("pets:\n\nWhat now?"),
        );
    }

    #[test]
    fn a_known_fact_needs_a_message_that_says_it() {
        let asked = |text: &str| {
            let said = Message::new(Role::User, vec![Part::text(text)]);
            SourceMessage::new(said)
        };
        let sources = [
            asked("What can I eat?"),
            asked("Nuts are my allergy: I am allergic."),
        ];
        let ids: Vec<MessageId> = sources.iter().map(|source| source.message.id).collect();
        let own = OwnWords::of(&sources);
        let nuts = MemoryId::from(Uuid::from_u128(1));
        let oslo = MemoryId::from(Uuid::from_u128(2));
        let memories = [
            (nuts, "Ada is allergic to nuts.".to_owned()),
            (oslo, "Ada lives in Oslo.".to_owned()),
        ];
        let check =
            |text: &str, supersedes: &[MemoryId], evidence: &[MessageId], expected: usize| {
                let mut fact = Fact {
                    evidence: evidence.to_vec(),
                    supersedes: supersedes.iter().map(ToString::to_string).collect(),
                    ..fact(text, &[])
                };
                let kept = match is_worth_storing(&mut fact, &memories, &own) {
                    true => fact.evidence.len(),
                    false => 0,
                };
                assert_eq!(kept, expected, "{text}");
            };
        // As it is known, in other words, of the words of two, and as its own successor.
        check("ada is allergic to nuts", &[], &ids[..1], 0);
        check("It is nuts that Ada is allergic to.", &[], &ids[..1], 0);
        check("Ada of Oslo is allergic to nuts.", &[], &ids[..1], 0);
        check("Ada is now allergic to nuts.", &[nuts], &ids[..1], 0);
        // Said again, new, and a correction.
        check("Ada is allergic to nuts.", &[], &ids, 1);
        check("Ada wants to eat out.", &[], &ids[..1], 1);
        check("Ada is in Oslo for nuts.", &[nuts], &ids[..1], 1);
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
            let kept = merged(vec![fact], &[vector.to_vec()], &known, &all);
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
    fn a_fact_that_equals_a_memory_and_that_no_user_says_is_dropped() {
        let vector = vec![1.0, 0.0];
        let known = [("m1".to_owned(), "Ada likes tea a lot", &vector)];
        for supersedes in [&[][..], &["m1"][..]] {
            let echo = fact("Ada loves tea", supersedes);
            let kept = merged(vec![echo], std::slice::from_ref(&vector), &known, &|_| {
                Vec::new()
            });
            assert!(kept.is_empty(), "{kept:?}");
        }
    }

    #[test]
    fn equal_facts_are_merged() {
        let facts = vec![
            fact("Ada likes tea", &["m1"]),
            fact("Ada likes a tea", &["m2"]),
        ];
        let kept = merged(facts, &[vec![1.0, 0.0], vec![1.0, 0.0]], &[], &all);
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].evidence.len(), 2);
        assert_eq!(kept[0].supersedes, ["m1", "m2"]);
    }
}
