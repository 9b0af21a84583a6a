//! Counting tokens without keeping the runtime's threads from others.

use memory_budget::Tokenizer;
use memory_contract::{NewMessage, Part, ToolOutput};
use memory_store::CountedMessage;
use tokio::task::JoinError;

use crate::error::ApiError;

/// Text up to this size is counted at once: about a millisecond. More goes to a
/// thread that may block.
pub(super) const INLINE_BYTES: usize = 8 * 1024;

/// Adds its size to each message, as the store keeps it.
pub(super) async fn counted(messages: Vec<NewMessage>) -> Result<Vec<CountedMessage>, ApiError> {
    let bytes: usize = messages.iter().map(|message| size_of(&message.parts)).sum();
    if bytes <= INLINE_BYTES {
        return Ok(count(messages));
    }
    Ok(tokio::task::spawn_blocking(move || count(messages)).await?)
}

fn count(messages: Vec<NewMessage>) -> Vec<CountedMessage> {
    messages
        .into_iter()
        .map(|message| CountedMessage {
            tokens: Tokenizer::O200kBase.count_message(&message.name, &message.parts),
            message,
        })
        .collect()
}

/// Does work that counts so many bytes of text: at once, or on a thread that may
/// block where it takes long. Another tokenizer than the usual one may have to be
/// loaded first.
pub(super) async fn counting<T: Send + 'static>(
    bytes: usize,
    tokenizer: Tokenizer,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    if bytes <= INLINE_BYTES && tokenizer == Tokenizer::O200kBase {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await
}

/// About how much there is to count, in bytes. Structured data counts as large,
/// rather than being measured.
pub(super) fn size_of(parts: &[Part]) -> usize {
    parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Json(_) | Part::ToolCall(_) => INLINE_BYTES / 16,
            Part::ToolResult(result) => match &result.output {
                Some(ToolOutput::Text(text)) => text.len(),
                Some(ToolOutput::Json(_)) => INLINE_BYTES / 16,
                None => 0,
            },
            Part::File(file) => file.caption.len() + file.name.len(),
        })
        .sum()
}
