//! `extract_memories`.

use memory_contract::{limits, proto::ExtractMemoriesRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::{Call, Effect, MemoryTool, within};
use crate::failure::Failure;

const WAIT_SECONDS: i32 = 10;
const WAIT_SECONDS_MAX: i32 = limits::MAX_WAIT.as_secs() as i32;

/// Arguments of `extract_memories`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Extract {
    /// The conversation.
    #[schemars(length(min = 1, max = 512))]
    session: String,
    /// The longest wait in seconds. 0: start and do not wait.
    #[serde(default = "wait_seconds")]
    #[schemars(range(min = 0, max = 30))]
    max_wait_seconds: i32,
}

/// Answer of `extract_memories`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Extracted {
    /// True if all messages that the conversation had at the time of the call were read for memories.
    complete: bool,
    /// The number of messages that were not read yet.
    waiting_messages: i32,
    /// Why the last attempt failed; it is repeated. Absent: it did not.
    #[serde(skip_serializing_if = "String::is_empty")]
    last_error: String,
    /// The languages whose statements are recognized. Absent: those of the server's language model.
    #[serde(skip_serializing_if = "String::is_empty")]
    languages: String,
}

fn wait_seconds() -> i32 {
    WAIT_SECONDS
}

impl MemoryTool for Extract {
    const NAME: &'static str = "extract_memories";
    const TITLE: &'static str = "Extract memories";
    const DESCRIPTION: &'static str = "Extracts memories from the newest messages of one \
        conversation now, and waits for the end. The server does so by itself some seconds after \
        the last message; call it after `append_messages` only if you need the memories at once, \
        then read them with `recall` or `list_memories`. If the app extracts none, it is refused: \
        call `remember` for single facts.";
    const EFFECT: Effect = Effect::Corrects;
    type Answer = Extracted;

    async fn run(self, call: &Call) -> Result<Extracted, Failure> {
        let bounds = 0..=WAIT_SECONDS_MAX;
        let max_wait = within("max_wait_seconds", self.max_wait_seconds, bounds)?;
        let session = call.owner.session(&self.session)?;
        let request = call.api.request(ExtractMemoriesRequest {
            thread: Some(session.into()),
            max_wait: Some(prost_types::Duration {
                seconds: max_wait.into(),
                nanos: 0,
            }),
        });
        let extracted = call.api.memories().extract_memories(request).await?;
        let extracted = extracted.into_inner();
        Ok(Extracted {
            complete: extracted.complete,
            waiting_messages: extracted.waiting_message_count,
            last_error: extracted.last_error,
            languages: extracted.languages,
        })
    }

    fn text(answer: &Extracted) -> String {
        let waiting = answer.waiting_messages;
        let mut text = match (answer.complete, waiting) {
            (true, 0) => "All messages were read for memories.".to_owned(),
            (true, _) => format!(
                "The messages were read for memories; {waiting} appended meanwhile were not."
            ),
            (false, _) => format!(
                "{waiting} message(s) were not read for memories yet; call again to wait longer."
            ),
        };
        if !answer.last_error.is_empty() {
            text.push_str(&format!(
                " The last attempt failed: {:?}.",
                answer.last_error
            ));
        }
        if !answer.languages.is_empty() {
            text.push_str(&format!(" Recognized languages: {}.", answer.languages));
        }
        text
    }
}
