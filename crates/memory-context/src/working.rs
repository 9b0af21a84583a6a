//! The size of a working memory, as its model counts.

use memory_budget::Tokenizer;
use memory_contract::{limits, message::Message};
use memory_store::WorkingMemory;
use tokio::task::JoinError;

use crate::counting::{counting, size_of};

/// The most messages of a working memory that are read at once.
pub const READ_MESSAGES: usize = limits::WORKING_MESSAGES;
/// The most bytes of messages of a working memory that are read at once.
pub const READ_BYTES: usize = limits::ANSWER_BYTES;

/// The size of a working memory in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSize {
    /// Tokens of the context.
    pub context: i32,
    /// Tokens of all messages.
    pub messages: i64,
}

impl WorkingSize {
    /// Context and messages together.
    pub fn total(self) -> i64 {
        self.messages.saturating_add(i64::from(self.context))
    }

    /// The stored counts, which are those of `o200k_base`.
    pub fn stored(memory: &WorkingMemory) -> Self {
        Self {
            context: memory.context_tokens,
            messages: memory.message_tokens,
        }
    }
}

/// The size by `tokenizer`. Tokenizers other than `o200k_base` recount what was read;
/// messages that were not read keep their stored counts.
///
/// # Errors
/// The count panicked, or the runtime is shutting down.
pub async fn size_in(
    tokenizer: Tokenizer,
    memory: &mut WorkingMemory,
) -> Result<WorkingSize, JoinError> {
    let stored = WorkingSize::stored(memory);
    if tokenizer == Tokenizer::O200kBase {
        return Ok(stored);
    }
    let read: i64 = memory
        .messages
        .iter()
        .map(|one| i64::from(one.tokens))
        .sum();
    let bytes = memory.messages.iter().map(|one| size_of(&one.parts));
    let bytes = bytes.sum::<usize>() + memory.context.len();
    let context = memory.context.clone();
    // The counting thread hands them back.
    let messages = std::mem::take(&mut memory.messages);
    let (context, counted, messages) = counting(bytes, tokenizer, move || {
        let of =
            |one: &Message| i64::from(tokenizer.recount_message(one.tokens, &one.name, &one.parts));
        let counted: i64 = messages.iter().map(of).sum();
        (tokenizer.count(&context), counted, messages)
    })
    .await?;
    memory.messages = messages;
    Ok(WorkingSize {
        context,
        messages: counted + (stored.messages - read).max(0),
    })
}
