//! Threads in which several users and agents take part.

mod erasing;
mod facts;
mod messages;

use memory_contract::proto::{ExtractionStrategy, MemoryPolicy, MessageInput, Role};
use recollect_tests::{Client, say};

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
