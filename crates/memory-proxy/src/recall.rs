//! What is remembered about a question.

use std::collections::HashSet;
use std::time::Duration;

use memory_contract::limits;
use memory_contract::proto::{
    BuildContextRequest, ContextBlock, ContextBlockKind, MemoryPolicy, MessageInput, Part,
    part::Content,
};
use serde::Deserialize;
use tokio::time::timeout;

use crate::asked::Asked;
use crate::recollect::Recollect;
use crate::whose::Whose;

/// The most messages of the request that are left out of the search as recent ones.
const RECENT: usize = 100;
/// The most tokens that these are taken for.
const RECENT_TOKENS: usize = 200_000;
/// So many bytes of text have at least one token.
const TOKEN_BYTES: usize = 3;
/// About how many bytes of text a token has (<https://platform.openai.com/tokenizer>).
const BYTES_OF_TOKEN: usize = 4;

/// What is remembered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recalled {
    /// Quotations, each block under the sentence that says so. Empty: nothing.
    pub(crate) text: String,
    /// How many memories, messages and derived texts are quoted.
    pub(crate) count: usize,
}

/// Searches memory; the reason if that was not possible within the time.
pub(crate) async fn recall(
    recollect: &Recollect,
    whose: &Whose,
    asked: &Asked,
    memory_tokens: u32,
    time: Duration,
) -> Result<Recalled, &'static str> {
    // The new messages are not stored yet, and need no room.
    let recent = asked.messages[..asked.new_from].iter().rev().take(RECENT);
    let recent_tokens: usize = recent.map(bytes_of).sum::<usize>() / TOKEN_BYTES;
    let tokens = memory_tokens as usize + recent_tokens.min(RECENT_TOKENS);
    let model = Some(&asked.model).filter(|model| model.chars().count() <= limits::MODEL_CHARS);
    let request = BuildContextRequest {
        thread: Some(whose.thread()),
        query: asked.question.clone(),
        model: model.cloned().unwrap_or_default(),
        max_tokens: i32::try_from(tokens).ok(),
        policy: Some(MemoryPolicy {
            // What the application sends anyway is not searched for, and has room of its own.
            recent_window: i32::try_from(asked.messages.len().min(RECENT)).ok(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let mut contexts = recollect.contexts();
    let call = contexts.build_context(recollect.request(request, time));
    let answer = timeout(time, call).await.map_err(|_| "deadline")?;
    let context = answer.map_err(|status| reason(&status))?.into_inner();
    let bytes = memory_tokens as usize * BYTES_OF_TOKEN;
    Ok(quoted(&context.blocks, &asked.messages, bytes))
}

/// The quotations of a context, each block under the sentence that says so, as many as `bytes` have
/// room for. Empty: there is nothing to quote.
pub fn quotations(blocks: &[ContextBlock], bytes: usize) -> String {
    quoted(blocks, &[], bytes).text
}

/// The quotations of a context, without what the request says itself, as many as `bytes` have
/// room for.
fn quoted(blocks: &[ContextBlock], sent: &[MessageInput], bytes: usize) -> Recalled {
    use ContextBlockKind::{Distilled, Memories, Plan, Profile, Recalled as Matches};

    let sent: HashSet<&str> = sent
        .iter()
        .flat_map(|message| texts(&message.parts))
        .collect();
    let mut recalled = Recalled::default();
    for kind in [Profile, Distilled, Plan, Memories, Matches] {
        let of_kind = blocks.iter().filter(|block| block.kind() == kind);
        for text in of_kind
            .flat_map(|block| &block.messages)
            .flat_map(|message| texts(&message.parts))
        {
            // The first line says what the others are.
            let mut lines = text.lines();
            let Some(heading) = lines.next() else {
                continue;
            };
            let mut heading = Some(heading);
            for quote in lines.filter(|line| !repeats(line, &sent)) {
                let mut more = String::new();
                if let Some(heading) = heading {
                    let gap = if recalled.text.is_empty() { "" } else { "\n\n" };
                    more = format!("{gap}{heading}");
                }
                more.push('\n');
                more.push_str(quote);
                if recalled.text.len() + more.len() > bytes {
                    return recalled;
                }
                heading = None;
                recalled.text.push_str(&more);
                recalled.count += 1;
            }
        }
    }
    recalled
}

/// Whether a quotation is of a text that the request has.
fn repeats(line: &str, sent: &HashSet<&str>) -> bool {
    #[derive(Deserialize)]
    struct Quote {
        role: Option<String>,
        text: Option<String>,
    }

    match serde_json::from_str(line) {
        // Only messages have a role.
        Ok(Quote {
            role: Some(_),
            text: Some(text),
        }) => sent.contains(text.trim()),
        _ => false,
    }
}

fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match &part.content {
        Some(Content::Text(text)) => Some(text.trim()),
        _ => None,
    })
}

fn bytes_of(message: &MessageInput) -> usize {
    prost::Message::encoded_len(message)
}

/// The reason of a failed call, without its message.
fn reason(status: &tonic::Status) -> &'static str {
    use tonic::Code;

    match status.code() {
        Code::DeadlineExceeded | Code::Cancelled => "deadline",
        Code::Unavailable => "unreachable",
        Code::Unauthenticated => "api key",
        Code::PermissionDenied => "not permitted",
        Code::ResourceExhausted => "overloaded",
        Code::InvalidArgument | Code::FailedPrecondition => "refused",
        _ => "error",
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::{ContextMessage, Role};

    use super::*;

    fn block(kind: ContextBlockKind, text: &str) -> ContextBlock {
        ContextBlock {
            kind: kind.into(),
            messages: vec![ContextMessage {
                role: Role::User.into(),
                parts: vec![Content::Text(text.to_owned()).into()],
                ..Default::default()
            }],
            ..Default::default()
        }
    }

    #[test]
    fn quotations_are_given_without_what_the_request_has() {
        let blocks = [
            block(ContextBlockKind::Recent, "Where is Pixel?"),
            block(
                ContextBlockKind::Memories,
                "Memories.\n{\"text\":\"Where is Pixel?\"}",
            ),
            block(
                ContextBlockKind::Recalled,
                "Messages.\n{\"role\":\"user\",\"text\":\"Where is Pixel?\"}\n\
                 {\"role\":\"assistant\",\"text\":\"In Oslo.\"}",
            ),
        ];
        let sent = [MessageInput {
            parts: vec![Content::Text("Where is Pixel?\n".to_owned()).into()],
            ..Default::default()
        }];
        let recalled = quoted(&blocks, &sent, 1_000);
        assert_eq!(recalled.count, 2);
        assert_eq!(
            recalled.text,
            "Memories.\n{\"text\":\"Where is Pixel?\"}\n\n\
             Messages.\n{\"role\":\"assistant\",\"text\":\"In Oslo.\"}"
        );
        let none = quoted(&blocks[..1], &sent, 1_000);
        assert_eq!((none.count, none.text.as_str()), (0, ""));
        // Without its only quotation a block is nothing.
        let echo = block(
            ContextBlockKind::Recalled,
            "Messages.\n{\"role\":\"user\",\"text\":\"Where is Pixel?\"}",
        );
        assert_eq!(quoted(&[echo], &sent, 1_000).text, "");
    }

    #[test]
    fn quotations_end_where_their_room_ends() {
        let blocks = [
            block(
                ContextBlockKind::Memories,
                "Memories.\n{\"text\":\"One.\"}\n{\"text\":\"Two.\"}",
            ),
            block(
                ContextBlockKind::Recalled,
                "Messages.\n{\"text\":\"Three.\"}",
            ),
        ];
        let whole = quoted(&blocks, &[], 1_000);
        assert_eq!(whole.count, 3);
        assert_eq!(quoted(&blocks, &[], whole.text.len()).text, whole.text);
        let fewer = quoted(&blocks, &[], whole.text.len() - 1);
        assert_eq!(
            (fewer.count, fewer.text.as_str()),
            (2, "Memories.\n{\"text\":\"One.\"}\n{\"text\":\"Two.\"}")
        );
        // No heading stands alone.
        assert_eq!(quoted(&blocks, &[], 10).text, "");
    }
}
