//! Turns, the unit of truncation, and the steps within them.

use std::{collections::HashMap, ops::Range};

use memory_contract::message::{Content, Message, Role};

/// A run of messages that is kept or left out as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The indexes of its messages; never empty.
    pub messages: Range<usize>,
    /// Whether the turn's beginning is among the messages. Only the first turn may lack it;
    /// then no result may start there.
    pub whole: bool,
    /// Whether it has a tool result whose call may precede the messages. Then it is not
    /// `whole`; if the call does not exist, its messages are really several turns.
    pub misses_call: bool,
}

/// Groups messages into turns without gaps.
///
/// `messages` are the path to a head, or its newest part, in chronological order.
/// `reaches_root` means that the first of them begins the conversation.
///
/// - A turn starts at a user message and extends to the next one, including system
///   messages. A user message that is followed by another one is a turn by itself, so a
///   conversation of users only can be cut anywhere.
/// - The messages before the first user message are one turn: the instructions at the
///   root, and a greeting.
/// - A tool call and its results are in one turn. If a result comes after the next user
///   message, the turns in between are joined. A result belongs to the nearest preceding
///   call with its id.
/// - Without `reaches_root`, a first message that is not a user's, and a result without
///   its call, belong to a turn that began earlier; such a turn is not `whole`.
pub fn turns(messages: &[Message], reaches_root: bool) -> Vec<Turn> {
    groups(messages, reaches_root, |message| message.role == Role::User)
}

/// Divides a whole turn into steps without gaps.
///
/// The first step is the message that opens the turn. Each further step is an assistant
/// message with its tool calls and all their results, or a system message. If a result
/// comes after the next step began, the steps from its call on are joined.
pub(crate) fn steps(turn: &[Message]) -> Vec<Range<usize>> {
    groups(turn, true, |message| message.role != Role::Tool)
        .into_iter()
        .map(|step| step.messages)
        .collect()
}

/// Starts a group at each message that `begins` accepts, but never between a tool call and
/// its results.
fn groups(
    messages: &[Message],
    reaches_root: bool,
    begins: impl Fn(&Message) -> bool,
) -> Vec<Turn> {
    let mut groups: Vec<Turn> = Vec::new();
    let mut calls: HashMap<&str, usize> = HashMap::new();
    let mut start = 0;
    for run in messages.chunk_by(|_, next| !begins(next)) {
        let mut group = Turn {
            messages: start..start + run.len(),
            whole: start > 0 || reaches_root || begins(&run[0]),
            misses_call: false,
        };
        for (index, message) in (start..).zip(run) {
            for part in &message.parts {
                match &part.content {
                    Content::ToolCall(call) => {
                        calls.insert(&call.id, index);
                    }
                    Content::ToolResult(result) => match calls.get(result.call_id.as_str()) {
                        Some(call) => group.messages.start = group.messages.start.min(*call),
                        None => group.misses_call |= !reaches_root,
                    },
                    Content::Text(_)
                    | Content::Json(_)
                    | Content::File(_)
                    | Content::Reasoning(_)
                    | Content::Opaque(_) => {}
                }
            }
        }
        if group.misses_call {
            group.messages.start = 0;
            group.whole = false;
        }
        start = group.messages.end;
        let reach = group.messages.start;
        while let Some(before) = groups.pop_if(|before| before.messages.end > reach) {
            group.messages.start = before.messages.start;
            group.whole &= before.whole;
            group.misses_call |= before.misses_call;
        }
        groups.push(group);
    }
    groups
}
