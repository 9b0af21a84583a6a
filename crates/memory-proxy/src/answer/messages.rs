//! Streams of Anthropic's messages: blocks that begin, grow and end.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::unstored::Unstored;

/// A message that grows.
#[derive(Debug, Default)]
pub(super) struct MessagesStream {
    id: String,
    blocks: Vec<Block>,
    has_ended: bool,
    has_failed: bool,
    /// Whether an event could not be read.
    is_unreadable: bool,
}

/// A block of the content.
#[derive(Debug)]
struct Block {
    index: u64,
    /// As it began.
    fields: Map<String, Value>,
    text: String,
    thinking: String,
    signature: String,
    /// The input of a tool, as the model wrote it.
    input: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        index: u64,
        content_block: Map<String, Value>,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageStop,
    Error {
        #[serde(rename = "error")]
        _error: IgnoredAny,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: String,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(other)]
    Other,
}

impl MessagesStream {
    pub(super) fn event(&mut self, data: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Event>(data) else {
            self.is_unreadable = true;
            return;
        };
        match event {
            Event::MessageStart { message } => self.id = message.id,
            Event::ContentBlockStart {
                index,
                content_block,
            } => self.blocks.push(Block {
                index,
                fields: content_block,
                text: String::new(),
                thinking: String::new(),
                signature: String::new(),
                input: String::new(),
            }),
            Event::ContentBlockDelta { index, delta } => self.add(index, delta),
            Event::MessageStop => self.has_ended = true,
            Event::Error { .. } => self.has_failed = true,
            Event::Other => {}
        }
    }

    fn add(&mut self, index: u64, delta: Delta) {
        let Some(block) = self.blocks.iter_mut().find(|block| block.index == index) else {
            self.is_unreadable = true;
            return;
        };
        match delta {
            Delta::Text { text } => block.text.push_str(&text),
            Delta::Thinking { thinking } => block.thinking.push_str(&thinking),
            Delta::Signature { signature } => block.signature.push_str(&signature),
            Delta::Input { partial_json } => block.input.push_str(&partial_json),
            Delta::Other => {}
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended || self.has_failed
    }

    /// The answer as if it had not been streamed.
    pub(super) fn answer(self) -> Result<String, Unstored> {
        if self.is_unreadable {
            return Err(Unstored::Unreadable);
        }
        if self.has_failed || !self.has_ended {
            return Err(Unstored::Unfinished);
        }
        let blocks: Vec<String> = self.blocks.into_iter().map(Block::json).collect();
        let id = Value::String(self.id);
        let content = blocks.join(",");
        Ok(format!(
            r#"{{"id":{id},"role":"assistant","content":[{content}]}}"#
        ))
    }
}

impl Block {
    fn json(mut self) -> String {
        for (key, more) in [
            ("text", &self.text),
            ("thinking", &self.thinking),
            ("signature", &self.signature),
        ] {
            if !more.is_empty() {
                let begun = self.fields.get(key).and_then(Value::as_str);
                let whole = format!("{}{more}", begun.unwrap_or_default());
                self.fields.insert(key.to_owned(), Value::String(whole));
            }
        }
        if self.input.is_empty() {
            return Value::Object(self.fields).to_string();
        }
        // The input stays as the model wrote it, and a text if the model was cut off.
        let input = match serde_json::from_str::<&RawValue>(&self.input) {
            Ok(_) => self.input,
            Err(_) => Value::String(self.input).to_string(),
        };
        self.fields.remove("input");
        let block = Value::Object(self.fields).to_string();
        let open = block.strip_suffix('}').unwrap_or(&block);
        let comma = if open == "{" { "" } else { "," };
        format!(r#"{open}{comma}"input":{input}}}"#)
    }
}
