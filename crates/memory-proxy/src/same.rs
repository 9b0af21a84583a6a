//! Whether two messages say the same, however they are written.

use std::fmt::Write as _;

use memory_contract::proto::{MessageInput, Part, part::Content, tool_result_part};
use sha2::{Digest as _, Sha256};

/// What a message says: a digest of its role, its texts without white space around them, its
/// calls and results. Reasoning and pieces of a provider's own do not count, because
/// applications leave them out of what they send back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Said([u8; 32]);

impl Said {
    pub(crate) fn of(role: i32, parts: &[Part]) -> Self {
        let mut said = format!("{role}");
        for part in parts {
            match &part.content {
                Some(Content::Text(text) | Content::Json(text)) => said.push_str(text.trim()),
                Some(Content::ToolCall(call)) => {
                    let _ = write!(said, "\0call {} {}", call.tool_call_id, call.name);
                }
                Some(Content::ToolResult(result)) => {
                    let _ = write!(said, "\0result {} ", result.tool_call_id);
                    for piece in &result.content {
                        use tool_result_part::Content as Piece;

                        match &piece.content {
                            Some(Piece::Text(text) | Piece::Json(text)) => {
                                said.push_str(text.trim());
                            }
                            Some(Piece::File(_)) => said.push_str("\0file"),
                            Some(Piece::Opaque(_)) | None => {}
                        }
                    }
                }
                Some(Content::File(_)) => said.push_str("\0file"),
                Some(Content::Reasoning(_) | Content::Opaque(_)) | None => {}
            }
        }
        Self(Sha256::digest(said).into())
    }

    pub(crate) fn of_input(message: &MessageInput) -> Self {
        Self::of(message.role, &message.parts)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::message::Provider;
    use memory_formats::messages_in;

    use super::*;

    fn said(provider: Provider, json: &str) -> Vec<Said> {
        let messages = messages_in(provider, json).unwrap();
        messages.iter().map(Said::of_input).collect()
    }

    #[test]
    fn an_answer_equals_what_an_application_sends_back_of_it() {
        let answer = r#"{"id": "chatcmpl-a", "choices": [{"message": {"role": "assistant",
            "reasoning_content": "Weather.", "content": null, "tool_calls": [{"id": "c1",
            "type": "function", "function": {"name": "w", "arguments": "{\"a\":1}"}}]}}]}"#;
        let sent = r#"{"role": "assistant", "content": "", "tool_calls": [{"id": "c1",
            "type": "function", "function": {"name": "w", "arguments": "{\"a\": 1}"}}]}"#;
        let chat = Provider::OpenaiChat;
        assert_eq!(said(chat, answer), said(chat, sent));

        let answer = r#"{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": "s"},
            {"type": "text", "text": "Hello.\n"}]}"#;
        let sent = r#"{"role": "assistant", "content": "Hello."}"#;
        let anthropic = Provider::AnthropicMessages;
        assert_eq!(said(anthropic, answer), said(anthropic, sent));
    }

    #[test]
    fn other_words_roles_and_calls_differ() {
        let chat = Provider::OpenaiChat;
        let texts = [
            r#"{"role": "user", "content": "yes"}"#,
            r#"{"role": "assistant", "content": "yes"}"#,
            r#"{"role": "user", "content": "no"}"#,
            r#"{"role": "tool", "tool_call_id": "1", "content": "yes"}"#,
            r#"{"role": "tool", "tool_call_id": "2", "content": "yes"}"#,
        ];
        let all: std::collections::HashSet<Said> =
            texts.iter().flat_map(|text| said(chat, text)).collect();
        assert_eq!(all.len(), texts.len());
    }
}
