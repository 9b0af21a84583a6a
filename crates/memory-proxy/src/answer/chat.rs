//! Streams of chat completions: chunks with what is added to the message.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use super::unstored::Unstored;

/// A message that grows.
#[derive(Debug, Default)]
pub(super) struct ChatStream {
    id: String,
    message: Message,
    calls: Vec<Call>,
    /// Whether the model has said why it stopped.
    is_finished: bool,
    /// Whether the last line came.
    is_done: bool,
    has_failed: bool,
    /// Whether a chunk could not be read.
    is_unreadable: bool,
    has_alternatives: bool,
}

#[derive(Debug, Default)]
struct Message {
    content: String,
    refusal: String,
    reasoning_content: String,
    reasoning_details: Vec<Value>,
}

/// A call of a tool.
#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    id: Option<String>,
    /// Some servers send `null` with the usage.
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    /// A text; some servers send a list of parts.
    #[serde(default)]
    content: Value,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    /// What other servers call it. Some send both.
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    reasoning_details: Option<Vec<Value>>,
    #[serde(default)]
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

impl ChatStream {
    pub(super) fn event(&mut self, data: &[u8]) {
        if data.trim_ascii() == b"[DONE]" {
            self.is_done = true;
            return;
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk>(data) else {
            self.is_unreadable = true;
            return;
        };
        self.has_failed |= chunk.error.is_some();
        if let Some(id) = chunk.id.filter(|_| self.id.is_empty()) {
            self.id = id;
        }
        for choice in chunk.choices.into_iter().flatten() {
            self.has_alternatives |= choice.index.is_some_and(|index| index > 0);
            self.is_finished |= choice.finish_reason.is_some();
            if let Some(delta) = choice.delta {
                self.add(delta);
            }
        }
    }

    fn add(&mut self, delta: Delta) {
        let message = &mut self.message;
        let push = |text: &mut String, more: Option<String>| {
            text.push_str(more.as_deref().unwrap_or_default());
        };
        message.content.push_str(&text_of(&delta.content));
        push(&mut message.refusal, delta.refusal);
        let reasoning = delta.reasoning_content.filter(|text| !text.is_empty());
        push(
            &mut message.reasoning_content,
            reasoning.or(delta.reasoning),
        );
        let details = delta.reasoning_details.into_iter().flatten();
        message.reasoning_details.extend(details);
        for more in delta.tool_calls.into_iter().flatten() {
            let call = self.call(&more);
            let function = more.function;
            if let Some(id) = more.id.filter(|_| call.id.is_empty()) {
                call.id = id;
            }
            if let Some(function) = function {
                push(&mut call.name, function.name);
                push(&mut call.arguments, function.arguments);
            }
        }
    }

    /// The call that a delta belongs to. Some servers send no index.
    fn call(&mut self, delta: &CallDelta) -> &mut Call {
        let known = match delta.index {
            Some(index) => self.calls.iter().position(|call| call.index == Some(index)),
            None if delta.id.as_ref().is_some_and(|id| !id.is_empty()) => None,
            None => self.calls.len().checked_sub(1),
        };
        let place = known.unwrap_or_else(|| {
            self.calls.push(Call {
                index: delta.index,
                ..Call::default()
            });
            self.calls.len() - 1
        });
        &mut self.calls[place]
    }

    pub(super) fn has_ended(&self) -> bool {
        self.is_done
    }

    /// The answer as if it had not been streamed.
    pub(super) fn answer(self) -> Result<String, Unstored> {
        if self.has_alternatives {
            return Err(Unstored::Alternatives);
        }
        if self.is_unreadable {
            return Err(Unstored::Unreadable);
        }
        if self.has_failed || !(self.is_finished || self.is_done) {
            return Err(Unstored::Unfinished);
        }
        let Message {
            content,
            refusal,
            reasoning_content,
            reasoning_details,
        } = self.message;
        let calls: Vec<Value> = self
            .calls
            .into_iter()
            .map(|call| {
                json!({
                    "id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                })
            })
            .collect();
        let text = |text: String| (!text.is_empty()).then_some(text);
        let message = json!({
            "role": "assistant", "content": text(content), "refusal": text(refusal),
            "reasoning_content": text(reasoning_content),
            "reasoning_details": reasoning_details,
            "tool_calls": calls,
        });
        Ok(json!({"id": self.id, "choices": [{"message": message}]}).to_string())
    }
}

fn text_of(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => Cow::Borrowed(""),
    }
}

/// Whether a whole answer has several alternatives.
pub(super) fn has_alternatives(json: &str) -> bool {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        choices: Vec<serde::de::IgnoredAny>,
    }

    serde_json::from_str::<Answer>(json).is_ok_and(|answer| answer.choices.len() > 1)
}
