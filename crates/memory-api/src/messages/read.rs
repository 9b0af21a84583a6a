//! Reads the messages of a request.

use memory_budget::Tokenizer;
use memory_context::counting;
use memory_contract::proto::{MessageInput, ProviderMessages};
use memory_contract::{InvalidFields, message::NewMessage};
use memory_formats::new_messages_from;
use memory_grpc::ApiError;

/// Reads the messages of a request.
pub(super) async fn read_messages(
    messages: Vec<MessageInput>,
    provider_messages: Vec<ProviderMessages>,
) -> Result<Result<Vec<NewMessage>, InvalidFields>, ApiError> {
    let bytes = provider_messages.iter().map(|list| list.json.len()).sum();
    let read = move || new_messages_from(messages, provider_messages);
    Ok(counting::counting(bytes, Tokenizer::O200kBase, read).await?)
}
