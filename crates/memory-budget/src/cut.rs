//! Cuts a conversation to a budget.

use memory_contract::message::Message;

use crate::{
    Amount, BudgetError, Tokenizer,
    budget::{Budget, OversizedTurn},
    shorten::shorten,
    turns::{Turn, turns},
};

/// The kept part of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cut {
    /// The kept messages, in chronological order, unchanged but for shortened texts and the
    /// `tokens` of their messages.
    pub messages: Vec<Message>,
    /// Their tokens by the budget's tokenizer; never over the budget.
    pub total_tokens: i32,
    /// Whether messages were left out: older turns, or steps of the newest one.
    pub truncated: bool,
    /// Whether texts of the newest turn were shortened.
    pub content_truncated: bool,
    /// The messages that were left out, with their tokens and those that were shortened
    /// off texts. [`cut`] counts those that it was given.
    pub omitted: Amount,
    /// Whether a cut with older messages than those given might keep more. Always false if
    /// they reach the root.
    pub needs_older: bool,
}

impl Cut {
    /// The cut as one of `all` messages, of which those given to [`cut`] were a part.
    #[must_use]
    pub fn of_all(self, all: Amount) -> Self {
        Self {
            omitted: all.minus(Amount::of(&self.messages)),
            ..self
        }
    }
}

/// Keeps the newest whole turns that fit the budget. [`OversizedTurn`] decides about a
/// newest turn that is larger than the budget. See [`turns`] for `messages`,
/// `reaches_root` and the definition of a turn.
///
/// The result begins with a user message or at the root, and never separates a tool call
/// from its results. For `o200k_base` the stored [`Message::tokens`] are used; other
/// tokenizers count as many messages as necessary, from the newest.
///
/// # Errors
///
/// [`BudgetError::TurnTooLarge`] under [`OversizedTurn::Fail`].
pub fn cut(
    mut messages: Vec<Message>,
    budget: &Budget,
    reaches_root: bool,
) -> Result<Cut, BudgetError> {
    let given = Amount::of(&messages);
    let turns = turns(&messages, reaches_root);
    let mut start = messages.len();
    let mut total: i64 = 0;
    let mut needs_older = !reaches_root;
    for turn in turns.iter().rev() {
        let tokens = tokens_of(&messages[turn.messages.clone()], budget.tokenizer);
        let too_large = total + tokens > i64::from(budget.max_tokens)
            || messages.len() - turn.messages.start > budget.message_limit;
        if too_large && start == messages.len() {
            let cut = oversized(messages, turn, budget, reaches_root)?;
            return Ok(cut.of_all(given));
        }
        if too_large {
            needs_older = turn.misses_call;
            break;
        }
        if !turn.whole {
            break;
        }
        start = turn.messages.start;
        total += tokens;
    }
    let kept = messages.split_off(start);
    // Without messages it is unknown whether the newest turn is too large.
    let room = kept.is_empty()
        || total < i64::from(budget.max_tokens) && kept.len() < budget.message_limit;
    Ok(Cut {
        total_tokens: clamp(total),
        truncated: start > 0 || !reaches_root,
        content_truncated: false,
        omitted: Amount::default(),
        needs_older: needs_older && room,
        messages: kept,
    }
    .of_all(given))
}

/// Cuts a newest turn that is larger than the budget.
fn oversized(
    mut messages: Vec<Message>,
    newest: &Turn,
    budget: &Budget,
    reaches_root: bool,
) -> Result<Cut, BudgetError> {
    let nothing = Cut {
        truncated: true,
        needs_older: newest.misses_call,
        ..Cut::default()
    };
    match budget.oversized_turn {
        OversizedTurn::Drop => Ok(nothing),
        OversizedTurn::Fail => Err(BudgetError::TurnTooLarge {
            needed_tokens: clamp(tokens_of(
                &messages[newest.messages.clone()],
                budget.tokenizer,
            )),
            needed_messages: newest.messages.len(),
            max_tokens: budget.max_tokens,
            message_limit: budget.message_limit,
            whole: newest.whole,
        }),
        OversizedTurn::TruncateContent if !newest.whole => Ok(Cut {
            needs_older: true,
            ..nothing
        }),
        OversizedTurn::TruncateContent => {
            let given = messages.len();
            let mut kept = messages.split_off(newest.messages.start);
            let Some(content_truncated) = shorten(&mut kept, budget) else {
                return Ok(nothing);
            };
            Ok(Cut {
                total_tokens: clamp(recount(&kept, budget.tokenizer)),
                truncated: kept.len() < given || !reaches_root,
                content_truncated,
                omitted: Amount::default(),
                needs_older: false,
                messages: kept,
            })
        }
    }
}

fn tokens_of(messages: &[Message], tokenizer: Tokenizer) -> i64 {
    let tokens = |m: &Message| tokenizer.recount_message(m.tokens, &m.name, &m.parts);
    messages.iter().map(|m| i64::from(tokens(m))).sum()
}

fn recount(messages: &[Message], tokenizer: Tokenizer) -> i64 {
    messages
        .iter()
        .map(|m| i64::from(tokenizer.count_known_message(&m.name, &m.parts)))
        .sum()
}

fn clamp(tokens: i64) -> i32 {
    i32::try_from(tokens).unwrap_or(i32::MAX)
}
