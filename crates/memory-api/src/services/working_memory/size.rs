//! How large a working memory is, as its model counts.

use memory_budget::Tokenizer;
use memory_contract::Message;
use memory_store::WorkingMemory;
use tokio::task::JoinError;

use crate::services::tokens::{counting, size_of};

/// Tokens of context and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) context: i32,
    pub(crate) messages: i64,
}

impl Size {
    /// All of it.
    pub(crate) fn total(self) -> i64 {
        self.messages.saturating_add(i64::from(self.context))
    }

    /// As the stored counts have it, which are those of `o200k_base`.
    pub(crate) fn stored(memory: &WorkingMemory) -> Self {
        Self {
            context: memory.context_tokens,
            messages: memory.message_tokens,
        }
    }
}

/// The size of context and messages. Another tokenizer than that of the stored
/// counts counts what was read anew.
pub(crate) async fn size_in(
    tokenizer: Tokenizer,
    memory: &mut WorkingMemory,
) -> Result<Size, JoinError> {
    let stored = Size::stored(memory);
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
    // They come back from the thread that counts.
    let messages = std::mem::take(&mut memory.messages);
    let (context, counted, messages) = counting(bytes, tokenizer, move || {
        let of = |one: &Message| i64::from(tokenizer.count_message(&one.name, &one.parts));
        let counted: i64 = messages.iter().map(of).sum();
        (tokenizer.count(&context), counted, messages)
    })
    .await?;
    memory.messages = messages;
    Ok(Size {
        context,
        messages: counted + (stored.messages - read).max(0),
    })
}
