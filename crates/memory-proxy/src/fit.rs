//! Makes messages that are larger than what is stored fit.

use memory_contract::limits;
use memory_contract::message::NewMessage;
use memory_contract::proto::{
    MessageInput, Part, ToolResult, ToolResultPart, part::Content, tool_result_part,
};

/// Room for a message's frame.
const MESSAGE_BYTES: usize = limits::MESSAGE_BYTES - 4 * 1024;

/// The message, or one with the same role in which parts that cannot be stored are cut, or
/// left out and named.
pub(crate) fn fitting(message: MessageInput) -> MessageInput {
    if is_valid(&message) {
        return message;
    }
    let mut fitting = MessageInput {
        parts: Vec::new(),
        ..message.clone()
    };
    if fitting.external_id.chars().count() > limits::EXTERNAL_ID_CHARS {
        fitting.external_id.clear();
    }
    if fitting.name.chars().count() > limits::NAME_CHARS {
        fitting.name.clear();
    }
    let (mut bytes, mut left_out) = (0, 0);
    for part in message.parts {
        let part = match alone(&fitting, part.clone()) {
            true => Some(part),
            false => cut(part).filter(|part| alone(&fitting, part.clone())),
        };
        let size = part.as_ref().map_or(0, prost::Message::encoded_len);
        match part {
            Some(part)
                if bytes + size <= MESSAGE_BYTES && fitting.parts.len() + 1 < limits::PARTS =>
            {
                bytes += size;
                fitting.parts.push(part);
            }
            _ => left_out += 1,
        }
    }
    if left_out > 0 || fitting.parts.is_empty() {
        let note = format!("[{left_out} parts that cannot be stored]");
        fitting.parts.push(Content::Text(note).into());
    }
    fitting
}

fn is_valid(message: &MessageInput) -> bool {
    NewMessage::try_from(message.clone()).is_ok()
}

/// Whether a message of this part alone can be stored.
fn alone(message: &MessageInput, part: Part) -> bool {
    is_valid(&MessageInput {
        parts: vec![part],
        ..message.clone()
    })
}

/// A part whose texts are cut to what can be stored; `None` for one without text.
fn cut(part: Part) -> Option<Part> {
    let content = match part.content? {
        Content::Text(text) => Content::Text(fitting_text(text)),
        Content::Json(text) => Content::Text(fitting_text(text)),
        Content::ToolCall(mut call) => {
            call.arguments = fitting_text(call.arguments);
            Content::ToolCall(call)
        }
        Content::ToolResult(result) => Content::ToolResult(cut_result(result)),
        Content::File(_) | Content::Reasoning(_) | Content::Opaque(_) => return None,
    };
    Some(content.into())
}

/// A result as one text.
fn cut_result(result: ToolResult) -> ToolResult {
    use tool_result_part::Content as Piece;

    let mut whole = String::new();
    for piece in &result.content {
        match &piece.content {
            Some(Piece::Text(text) | Piece::Json(text)) => whole.push_str(text),
            Some(Piece::File(_)) => whole.push_str("[file]"),
            Some(Piece::Opaque(_)) | None => {}
        }
    }
    ToolResult {
        content: vec![ToolResultPart::from(Piece::Text(fitting_text(whole)))],
        ..result
    }
}

/// A text as one part can hold it: without NUL and, if it is longer than 256 KiB, its beginning and
/// a note of how many bytes are missing.
pub fn fitting_text(text: String) -> String {
    let text = text.replace('\0', "\u{fffd}");
    if text.len() <= limits::TEXT_BYTES {
        return text;
    }
    let end = text.floor_char_boundary(limits::TEXT_BYTES - 64);
    format!("{}\n[{} more bytes]", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::{Role, ToolCall};

    use super::*;

    fn message(role: Role, parts: Vec<Content>) -> MessageInput {
        MessageInput {
            role: role.into(),
            parts: parts.into_iter().map(Into::into).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn what_can_be_stored_stays_as_it_is() {
        let small = message(Role::User, vec![Content::Text("hi".to_owned())]);
        assert_eq!(fitting(small.clone()), small);
    }

    #[test]
    fn whatever_comes_can_be_stored() {
        let long = "é".repeat(limits::TEXT_BYTES);
        let result = ToolResult {
            tool_call_id: "c".to_owned(),
            content: vec![tool_result_part::Content::Text(long.clone()).into()],
            ..Default::default()
        };
        let call = ToolCall {
            tool_call_id: "c".to_owned(),
            name: "write".to_owned(),
            arguments: long.clone(),
            ..Default::default()
        };
        let nameless = ToolCall {
            tool_call_id: "c".to_owned(),
            ..Default::default()
        };
        let many = vec![Content::Text("part".to_owned()); 2 * limits::PARTS];
        let large = vec![Content::Text("x".repeat(200_000)); 8];
        for message in [
            message(Role::User, vec![Content::Text(long.clone())]),
            message(Role::User, vec![Content::Text("a\0b".to_owned())]),
            message(Role::User, Vec::new()),
            message(Role::User, many),
            message(Role::User, large),
            message(Role::Tool, vec![Content::ToolResult(result)]),
            message(Role::Assistant, vec![Content::ToolCall(call)]),
            message(Role::Assistant, vec![Content::ToolCall(nameless)]),
        ] {
            let fitted = fitting(message);
            assert!(is_valid(&fitted), "{:?}", NewMessage::try_from(fitted));
        }
    }
}
