//! Counts tokens without blocking the async runtime.

use memory_budget::Tokenizer;
use memory_contract::{NewMessage, Part, ToolOutput};
use memory_store::CountedMessage;
use tokio::task::JoinError;

/// Text up to this size is counted in place, which takes about a millisecond. More
/// goes to a thread of the blocking pool.
pub const INLINE_BYTES: usize = 8 * 1024;

/// Messages with their size in tokens of `o200k_base`, which the store keeps.
///
/// # Errors
/// The runtime is shutting down.
pub async fn counted(messages: Vec<NewMessage>) -> Result<Vec<CountedMessage>, JoinError> {
    let tokenizer = Tokenizer::O200kBase;
    let bytes = messages.iter().map(|message| size_of(&message.parts)).sum();
    let counted = move |message: NewMessage| CountedMessage {
        tokens: tokenizer.count_message(&message.name, &message.parts),
        message,
    };
    let count = move || messages.into_iter().map(counted).collect();
    counting(bytes, tokenizer, count).await
}

/// Runs work that counts `bytes` of text: in place where it is quick, else on a
/// thread of the blocking pool. Tokenizers other than `o200k_base` always go there,
/// because they may have to be loaded first.
///
/// # Errors
/// The work panicked, or the runtime is shutting down.
pub async fn counting<T: Send + 'static>(
    bytes: usize,
    tokenizer: Tokenizer,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    if bytes <= INLINE_BYTES && tokenizer == Tokenizer::O200kBase {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await
}

/// The approximate size of the text of parts, in bytes. Structured data counts as
/// a constant instead of being measured.
pub fn size_of(parts: &[Part]) -> usize {
    const STRUCTURED: usize = INLINE_BYTES / 16;
    let size = |part: &Part| match part {
        Part::Text(text) => text.len(),
        Part::Json(_) | Part::ToolCall(_) => STRUCTURED,
        Part::ToolResult(result) => match &result.output {
            Some(ToolOutput::Text(text)) => text.len(),
            Some(ToolOutput::Json(_)) => STRUCTURED,
            None => 0,
        },
        Part::File(file) => file.caption.len() + file.name.len(),
    };
    parts.iter().map(size).sum()
}
