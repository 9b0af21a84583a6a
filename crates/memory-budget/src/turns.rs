//! Turns, the unit of truncation, and the steps within them.

use std::{collections::HashMap, ops::Range};

use memory_contract::{Message, Part, Role};

/// A run of messages that is kept as a whole or left out as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its messages, as indices into the messages given; never empty.
    pub messages: Range<usize>,
    /// Whether the turn's beginning is among the messages given. Only the first
    /// turn may lack it, and then nothing may start there.
    pub whole: bool,
    /// Whether it has a tool result whose call may stand before the messages
    /// given. Then it is not `whole`, and may be less than it seems: where the
    /// call does not exist at all, the turns in it are separate.
    pub misses_call: bool,
}

/// Groups messages into turns, which follow each other without gaps.
///
/// `messages` are the path to a head, or its newest part, in chronological
/// order; `reaches_root` tells that the first of them begins the conversation.
///
/// - A turn starts at a user message, and has everything up to the next one.
///   System messages within it belong to it. A user message that is followed by
///   another one is a turn by itself, so a conversation in which only users
///   speak can be cut anywhere.
/// - What stands before the first user message is one turn: the instructions
///   at the root, with the greeting if there is one.
/// - A tool call and its results are in one turn. Where a result comes after
///   the next user message, the turns between are one. A result belongs to the
///   nearest call with its id that stands before it.
/// - Without `reaches_root`, a first message that is not a user's, and a result
///   whose call is not there, belong to a turn that began earlier; such a turn
///   is not `whole`.
pub fn turns(messages: &[Message], reaches_root: bool) -> Vec<Turn> {
    groups(messages, reaches_root, |message| message.role == Role::User)
}

/// Divides a whole turn into steps, which follow each other without gaps.
///
/// The first step is the message that opens the turn: the user's, or at the
/// root another one. Each further step is an assistant message with its tool
/// calls and all their results, or a system message. Where a result comes after
/// the next step began, the steps from its call on are one.
pub(crate) fn steps(turn: &[Message]) -> Vec<Range<usize>> {
    groups(turn, true, |message| message.role != Role::Tool)
        .into_iter()
        .map(|step| step.messages)
        .collect()
}

/// Groups messages at those that `begins` tells, but never between a tool call
/// and its results.
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
                match part {
                    Part::ToolCall(call) => {
                        calls.insert(&call.id, index);
                    }
                    Part::ToolResult(result) => match calls.get(result.call_id.as_str()) {
                        Some(call) => group.messages.start = group.messages.start.min(*call),
                        None => group.misses_call |= !reaches_root,
                    },
                    Part::Text(_) | Part::Json(_) | Part::File(_) => {}
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
