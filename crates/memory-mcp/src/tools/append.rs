//! `append_messages`.

use memory_contract::proto::{self, AppendMessagesRequest, MessageInput, part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::{Call, Effect, MemoryTool};
use crate::failure::Failure;

/// Arguments of `append_messages`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Append {
    /// The conversation, by your own name for it, such as "42". It is created if it
    /// does not exist.
    #[schemars(length(min = 1, max = 512))]
    session: String,
    /// The messages, the oldest first.
    #[schemars(length(min = 1, max = 50))]
    messages: Vec<Said>,
    /// A UUID of your own that makes it safe to repeat this call. Empty: a repeated call
    /// stores the messages again.
    #[serde(default)]
    #[schemars(length(max = 36))]
    request_id: String,
}

/// A message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Said {
    /// Who said it.
    role: Speaker,
    /// The text, word for word.
    #[schemars(length(min = 1, max = 262_144))]
    text: String,
    /// The speaker's name. Empty: none.
    #[serde(default)]
    #[schemars(length(max = 256))]
    name: String,
}

/// The speaker of a message.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Speaker {
    User,
    Assistant,
}

/// Answer of `append_messages`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Appended {
    /// The conversation.
    session: String,
    /// The ids of the stored messages, in order.
    message_ids: Vec<String>,
    /// True if an earlier call with the same request_id had stored them.
    replayed: bool,
}

impl MemoryTool for Append {
    const NAME: &'static str = "append_messages";
    const TITLE: &'static str = "Log a conversation";
    const DESCRIPTION: &'static str = "Stores messages of a conversation, exactly and in order, \
        at the end of the session, where `history`, `context` and `recall` find them. Call it \
        to log what the user and you said, each message once and word for word; for single \
        facts call `remember`. Do not log text that came from these tools.";
    const EFFECT: Effect = Effect::Adds;
    type Answer = Appended;

    async fn run(self, call: &Call) -> Result<Appended, Failure> {
        let session = call.owner.session(&self.session)?;
        let messages = self.messages.into_iter().map(|said| MessageInput {
            role: match said.role {
                Speaker::User => proto::Role::User.into(),
                Speaker::Assistant => proto::Role::Assistant.into(),
            },
            name: said.name,
            parts: vec![part::Content::Text(said.text).into()],
            ..Default::default()
        });
        let request = call.api.request(AppendMessagesRequest {
            thread: Some(session.into()),
            messages: messages.collect(),
            request_id: self.request_id,
            ..Default::default()
        });
        let stored = call.api.messages().append_messages(request).await?;
        let stored = stored.into_inner();
        let ids = stored.messages.into_iter().map(|stored| stored.message_id);
        Ok(Appended {
            session: self.session,
            message_ids: ids.collect(),
            replayed: stored.replayed,
        })
    }

    fn text(answer: &Appended) -> String {
        let number = answer.message_ids.len();
        match answer.replayed {
            true => "These messages were stored before.".to_owned(),
            false => format!("Stored {number} message(s)."),
        }
    }
}
