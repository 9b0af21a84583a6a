//! Long-term memories, those of one user together.

use memory_checksum::{MemoryOutcome, memory_outcome};
use memory_contract::proto::{ImportMemoriesRequest, ImportedMemory, Memory, UserRef};
use memory_grpc::ApiError;

use super::errors::renamed;
use super::state::Import;
use super::tally::Outcome;

impl Import {
    /// Lets a memory wait for its batch.
    pub(super) fn memory(&mut self, position: i64, mut memory: Memory) {
        let thread = self.threads.get(&memory.thread_id);
        memory.thread_id = thread.cloned().unwrap_or_default();
        self.waiting.push_memory(position, memory);
    }

    pub(super) async fn flush_memories(
        &mut self,
        mut memories: Vec<(i64, Memory)>,
    ) -> Result<(), ApiError> {
        for id in memories
            .iter_mut()
            .flat_map(|(_, memory)| &mut memory.built_on_memory_ids)
        {
            if let Some(kept) = self.kept_memories.get(id) {
                id.clone_from(kept);
            }
        }
        match self.import_memories(&memories).await {
            Ok(imported) => return self.note_memories(&memories, imported),
            Err(error) if error.retryable() => return Err(error),
            Err(_) => {}
        }
        // All or none: one that is wrong may not keep the others out.
        for one in memories.chunks(1) {
            match self.import_memories(one).await {
                Ok(imported) => self.note_memories(one, imported)?,
                Err(error) => {
                    let error = renamed(error, "memories[0]", "memory");
                    let position = one.first().map_or(0, |(position, _)| *position);
                    self.refuse(position, error)?;
                }
            }
        }
        Ok(())
    }

    async fn import_memories(
        &self,
        memories: &[(i64, Memory)],
    ) -> Result<Vec<ImportedMemory>, ApiError> {
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
        let imported = self.handlers.memories.import(self.call(request)).await?;
        Ok(imported.memories)
    }

    /// Memories that are there are kept: one that has the text of a record is counted as merged
    /// with it, and a record that differs otherwise is refused.
    fn note_memories(
        &mut self,
        wanted: &[(i64, Memory)],
        imported: Vec<ImportedMemory>,
    ) -> Result<(), ApiError> {
        for ((position, wanted), imported) in wanted.iter().zip(imported) {
            self.tally.missing_sources += i64::from(imported.missing_source_count);
            let outcome = memory_outcome(wanted, &imported);
            let there = imported.memory.unwrap_or_default().memory_id;
            let differs = |exists: String| {
                Err(ApiError::RecordDiffers {
                    exists,
                    replaceable: false,
                })
            };
            let stored = match outcome {
                MemoryOutcome::Stored => Ok(Outcome::Stored),
                MemoryOutcome::Known => Ok(Outcome::Known),
                MemoryOutcome::Merged => Ok(Outcome::Merged),
                MemoryOutcome::NameTaken => differs(format!(
                    "the memory {there} has its external id and another text"
                )),
                MemoryOutcome::Different => {
                    differs(format!("the memory {there} has other content"))
                }
            };
            if there != wanted.memory_id {
                self.kept_memories.insert(wanted.memory_id.clone(), there);
            }
            self.settle(*position, stored, |counts| &mut counts.memory_count)?;
        }
        Ok(())
    }
}
