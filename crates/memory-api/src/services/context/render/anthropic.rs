//! The `system` and `messages` of Anthropic's messages.
//!
//! All system messages are in `system`, in their order, with an empty line
//! between two. Neighbors of one role are one message, so that user and assistant
//! alternate; results come first in the message after their calls. The first
//! message is a user's: what was said before any user spoke is given in it, each
//! message after its speaker's label. Texts of white space alone are left out,
//! and so are names: the format has no place for them.

use memory_contract::proto::AnthropicPrompt;
use memory_contract::{Part, Role};
use serde_json::{Value, json};

use super::object;
use super::pairs::{Answered, Piece, Step, steps};
use super::words;
use crate::services::context::block::{Labels, Said};

/// Writes messages.
pub(in crate::services::context) fn anthropic(
    messages: &[&Said],
    labels: &Labels,
) -> AnthropicPrompt {
    let (system, spoken): (Vec<&Said>, Vec<&Said>) =
        messages.iter().partition(|said| said.role == Role::System);
    let system: Vec<String> = system
        .into_iter()
        .map(|said| words::of_parts(&said.parts))
        .filter(|text| !text.trim().is_empty())
        .collect();
    let begun = spoken.iter().position(|said| speaks(said));
    let (before, rest) = spoken.split_at(begun.unwrap_or(spoken.len()));

    let mut turns = Alternating::default();
    for said in before {
        let said_so = words::of_parts(&said.parts);
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

/// Whether it is a user's message with something in it.
fn speaks(said: &Said) -> bool {
    said.role == Role::User
        && said.parts.iter().any(|part| match part {
            Part::Text(text) => !text.trim().is_empty(),
            Part::Json(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::File(_) => true,
        })
}

/// Messages of which no two neighbors have the same role.
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

fn blocks(piece: Piece<'_>) -> Vec<Value> {
    let text = |text: &str| {
        let said = !text.trim().is_empty();
        said.then(|| json!({"type": "text", "text": text}))
    };
    match piece {
        Piece::Text(said) => text(&said).into_iter().collect(),
        Piece::Image { url, caption } => {
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
    let output = words::of_output(answered.result);
    if !output.trim().is_empty() {
        result["content"] = json!(output);
    }
    if answered.result.is_error {
        result["is_error"] = json!(true);
    }
    result
}
