//! Stores long-term memories, one user's together.

use std::collections::HashMap;

use memory_checksum::{MemoryOutcome, memory_outcome};
use memory_contract::proto::{ImportMemoriesRequest, ImportedMemory, Memory, UserRef};
use tonic::{Code, Status};

use super::units::problem_of;
use crate::cli::client::Client;

/// Memories of one request; of the longest ones, these are less than 3 MiB.
const TOGETHER: usize = 50;

/// A place and its problem.
type Problem = (String, String);

/// Stores memories. Stored memories are kept; those that differ from the file are
/// reported.
pub(super) struct Memories<'a> {
    client: &'a Client,
    /// The ids that threads have now, by those that they had.
    threads: HashMap<String, String>,
    waiting: Vec<(String, Memory)>,
    /// Memories that were kept in place of others, by the ids of those.
    kept: HashMap<String, String>,
    /// Memories that are there as the file has them.
    pub(super) stored: u64,
    /// Memories whose text another one has.
    pub(super) merged: u64,
    pub(super) missing_sources: u64,
}

impl<'a> Memories<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self {
            client,
            threads: HashMap::new(),
            waiting: Vec::new(),
            kept: HashMap::new(),
            stored: 0,
            merged: 0,
            missing_sources: 0,
        }
    }

    /// Maps the thread that memories name `was` to the id `thread_id`.
    pub(super) fn map_thread(&mut self, was: String, thread_id: String) {
        self.threads.insert(was, thread_id);
    }

    pub(super) async fn push(&mut self, place: String, mut memory: Memory) -> Vec<Problem> {
        let another = self.waiting.first().is_some_and(|(_, first)| {
            (&first.app_id, &first.user_id) != (&memory.app_id, &memory.user_id)
        });
        let problems = match another || self.waiting.len() >= TOGETHER {
            true => self.flush().await,
            false => Vec::new(),
        };
        let thread = self.threads.get(&memory.thread_id);
        memory.thread_id = thread.cloned().unwrap_or_default();
        for id in &mut memory.built_on_memory_ids {
            if let Some(kept) = self.kept.get(id) {
                id.clone_from(kept);
            }
        }
        self.waiting.push((place, memory));
        problems
    }

    /// Stores those that wait.
    pub(super) async fn flush(&mut self) -> Vec<Problem> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut problems = Vec::new();
        match self.store(&waiting).await {
            Ok(imported) => self.record_answers(&waiting, imported, &mut problems),
            // All or none: one that is wrong may not keep the others out.
            Err(status) if status.code() == Code::InvalidArgument => {
                for one in waiting.chunks(1) {
                    match self.store(one).await {
                        Ok(imported) => self.record_answers(one, imported, &mut problems),
                        Err(status) => problems.extend(refused(one, status)),
                    }
                }
            }
            Err(status) => problems.extend(refused(&waiting, status)),
        }
        problems
    }

    async fn store(&self, memories: &[(String, Memory)]) -> Result<Vec<ImportedMemory>, Status> {
        let Some((_, first)) = memories.first() else {
            return Ok(Vec::new());
        };
        let request = ImportMemoriesRequest {
            user: Some(UserRef {
                app_id: first.app_id.clone(),
                user_id: first.user_id.clone(),
            }),
            memories: memories.iter().map(|(_, memory)| memory.clone()).collect(),
        };
        let imported = self.client.memories().import_memories(request).await?;
        Ok(imported.into_inner().memories)
    }

    fn record_answers(
        &mut self,
        wanted: &[(String, Memory)],
        imported: Vec<ImportedMemory>,
        problems: &mut Vec<Problem>,
    ) {
        for ((place, wanted), imported) in wanted.iter().zip(imported) {
            self.missing_sources += u64::from(imported.missing_source_count.unsigned_abs());
            let outcome = memory_outcome(wanted, &imported);
            let there = imported.memory.unwrap_or_default().memory_id;
            let id = &wanted.memory_id;
            match outcome {
                MemoryOutcome::Stored | MemoryOutcome::Known => self.stored += 1,
                MemoryOutcome::Merged => self.merged += 1,
                MemoryOutcome::NameTaken => problems.push((
                    place.clone(),
                    format!(
                        "the memory {there} has the external id of the memory {id} and another \
                         text, and was kept"
                    ),
                )),
                MemoryOutcome::Different => problems.push((
                    place.clone(),
                    format!("the memory {id} differs from the file, and was kept"),
                )),
            }
            if there != *id {
                self.kept.insert(id.clone(), there);
            }
        }
    }
}

fn refused(memories: &[(String, Memory)], status: Status) -> Vec<Problem> {
    let why = problem_of(status);
    memories
        .iter()
        .map(|(place, memory)| {
            (
                place.clone(),
                format!("the memory {}: {why}", memory.memory_id),
            )
        })
        .collect()
}
