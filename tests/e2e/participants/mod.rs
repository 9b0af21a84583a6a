//! Threads in which several users and agents take part.

mod erasing;
mod facts;
mod messages;

use memory_contract::proto::{
    ExtractMemoriesRequest, ExtractionStrategy, MemoryPolicy, MessageInput, Role,
};
use recollect_tests::{Client, SOON, by_id, eventually, say, seconds};

/// What a user says who takes part.
fn said_by(user: &str, text: &str) -> MessageInput {
    MessageInput {
        user_id: user.to_owned(),
        ..say(Role::User, text)
    }
}

/// Lets an app extract facts.
async fn extract_facts(client: &Client, app: &str) {
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Discrete.into(),
        ..Default::default()
    };
    client.set_policy(app, policy).await;
}

/// Waits until facts were extracted from all messages of a thread.
async fn extracted(client: &Client, thread_id: &str) {
    eventually("facts are extracted", SOON, async || {
        let request = ExtractMemoriesRequest {
            thread: by_id(thread_id),
            max_wait: Some(seconds(10)),
        };
        client.call(request).await.complete
    })
    .await;
}
