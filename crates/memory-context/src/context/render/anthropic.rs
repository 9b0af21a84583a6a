//! The `system` and `messages` of Anthropic's messages.
//!
//! All system messages are in `system`, in their order, with an empty line between two.
//! Consecutive messages of one role become one message, so that user and assistant
//! alternate; results come first in the message after their calls. The first message is
//! the user's: messages before the user's first are included in it, each after its
//! speaker's label. Blank texts are left out, and so are names, which the format does not
//! have.

use memory_contract::{Part, Role, text};
use serde_json::{Map, Value, json};

use super::object;
use super::pairs::{Answered, PartContent, Step, steps};
use crate::context::block::{ContextMessage, Labels};

/// A context for Anthropic's messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnthropicPrompt {
    /// The system prompt; empty for none.
    pub system: String,
    /// User and assistant alternate.
    pub messages: Vec<Map<String, Value>>,
}

/// Renders messages.
pub(in crate::context) fn anthropic(
    messages: &[&ContextMessage],
    labels: &Labels,
) -> AnthropicPrompt {
    let (system, spoken): (Vec<&ContextMessage>, Vec<&ContextMessage>) =
        messages.iter().partition(|said| said.role == Role::System);
    let system: Vec<String> = system
        .into_iter()
        .map(|said| text::of_parts(&said.parts))
        .filter(|text| !text.trim().is_empty())
        .collect();
    let begun = spoken.iter().position(|said| speaks(said));
    let (before, rest) = spoken.split_at(begun.unwrap_or(spoken.len()));

    let mut turns = Alternating::default();
    for said in before {
        let said_so = text::of_parts(&said.parts);
        if !said_so.trim().is_empty() {
            let text = format!("{}: {said_so}", labels.role(said.role));
            turns.add("user", [json!({"type": "text", "text": text})]);
        }
    }
    for Step {
        role,
        name: _,
        pieces,
        calls,
    } in steps(rest)
    {
        let blocks = pieces.into_iter().flat_map(blocks);
        if role == Role::Assistant {
            turns.add("assistant", blocks.chain(calls.iter().map(call)));
            turns.add("user", calls.iter().map(result));
        } else {
            turns.add("user", blocks);
        }
    }
    AnthropicPrompt {
        system: system.join("\n\n"),
        messages: turns
            .0
            .into_iter()
            .map(|(role, content)| object(json!({"role": role, "content": content})))
            .collect(),
    }
}

/// Whether it is a user's message that is not blank.
fn speaks(said: &ContextMessage) -> bool {
    said.role == Role::User
        && said.parts.iter().any(|part| match part {
            Part::Text(text) => !text.trim().is_empty(),
            Part::Json(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::File(_) => true,
        })
}

/// Messages of alternating roles.
#[derive(Default)]
struct Alternating(Vec<(&'static str, Vec<Value>)>);

impl Alternating {
    fn add(&mut self, role: &'static str, blocks: impl IntoIterator<Item = Value>) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        match self.0.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => self.0.push((role, blocks.collect())),
        }
    }
}

fn blocks(piece: PartContent<'_>) -> Vec<Value> {
    let text = |text: &str| {
        let said = !text.trim().is_empty();
        said.then(|| json!({"type": "text", "text": text}))
    };
    match piece {
        PartContent::Text(said) => text(&said).into_iter().collect(),
        PartContent::Image { url, caption } => {
            let image = json!({"type": "image", "source": {"type": "url", "url": url}});
            std::iter::once(image).chain(text(caption)).collect()
        }
    }
}

fn call(answered: &Answered<'_>) -> Value {
    json!({
        "type": "tool_use",
        "id": answered.id,
        "name": answered.tool,
        "input": answered.call.arguments,
    })
}

fn result(answered: &Answered<'_>) -> Value {
    let mut result = json!({"type": "tool_result", "tool_use_id": answered.id});
    let output = text::of_output(answered.result);
    if !output.trim().is_empty() {
        result["content"] = json!(output);
    }
    if answered.result.is_error {
        result["is_error"] = json!(true);
    }
    result
}
