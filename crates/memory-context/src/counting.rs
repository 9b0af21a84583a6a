//! Counts tokens without blocking the async runtime.

use memory_budget::Tokenizer;
use memory_contract::{
    file::FileRef,
    message::{Content, NewMessage, Part, ToolOutput},
};
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
    if bytes <= INLINE_BYTES && tokenizer.counts_texts_as_stored() {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await
}

/// The approximate size of the text of parts, in bytes.
pub fn size_of(parts: &[Part]) -> usize {
    let size = |part: &Part| {
        part.signature.len()
            + match &part.content {
                Content::Text(text) | Content::Json(text) => text.len(),
                Content::ToolCall(call) => call.name.len() + call.arguments.len(),
                Content::ToolResult(result) => result.output.iter().map(size_of_output).sum(),
                Content::File(file) => size_of_file(file),
                Content::Reasoning(reasoning) => reasoning.texts().map(str::len).sum(),
                Content::Opaque(opaque) => opaque.json.len(),
            }
    };
    parts.iter().map(size).sum()
}

fn size_of_output(output: &ToolOutput) -> usize {
    match output {
        ToolOutput::Text(text) | ToolOutput::Json(text) => text.len(),
        ToolOutput::File(file) => size_of_file(file),
        ToolOutput::Opaque(opaque) => opaque.json.len(),
    }
}

fn size_of_file(file: &FileRef) -> usize {
    file.caption.len() + file.name.len()
}
