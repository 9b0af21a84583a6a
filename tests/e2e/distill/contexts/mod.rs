//! Contexts and briefings hold derived text. Except in `apart` and `worker`, `World`
//! inserts the text as the workers do.

mod apart;
mod budgets;
mod isolation;
mod layout;
mod worker;

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind, MemoryMode,
};
use recollect_tests::{Client, block, check_context, context_request, mode, records};

/// A context with an input, written for both chat formats.
fn asked(thread_id: &str, wanted: MemoryMode) -> BuildContextRequest {
    BuildContextRequest {
        policy: Some(mode(wanted)),
        formats: vec![1, 2, 3, 4, 5],
        ..context_request(thread_id, "And now?")
    }
}

async fn build(client: &Client, request: BuildContextRequest) -> BuildContextResponse {
    let max_tokens = request.max_tokens();
    let context = client.context(request).await;
    check_context(&context, max_tokens);
    context
}

/// The text of each record.
fn record_texts(context: &BuildContextResponse) -> Vec<String> {
    let texts = records(context);
    let text = |record: &serde_json::Value| record["text"].as_str().unwrap().to_owned();
    texts.iter().map(text).collect()
}

/// The ids of the messages in full.
fn in_full(context: &BuildContextResponse) -> Vec<String> {
    let messages = block(context, Kind::Recent).map_or(&[][..], |block| &block.messages);
    messages.iter().map(|one| one.message_id.clone()).collect()
}

/// Numbers of the records that are there, and of those that were left out.
fn numbers(context: &BuildContextResponse) -> (Vec<i64>, Vec<i64>) {
    let sources = block(context, Kind::Distilled).map_or(&[][..], |block| &block.sources);
    let left_out = context.omitted.iter();
    let left_out = left_out.filter(|one| one.kind() == Kind::Distilled);
    (
        sources.iter().map(|source| source.number).collect(),
        left_out.map(|one| one.number).collect(),
    )
}
