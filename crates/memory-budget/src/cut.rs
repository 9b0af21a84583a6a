//! Cuts a conversation to a budget.

use memory_contract::message::{Message, Role};

use crate::{
    Amount, BudgetError, Tokenizer,
    budget::{Budget, OversizedTurn},
    shorten::shorten,
    turns::{Turn, turns},
};

/// The kept part of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cut {
    /// The instructions, unchanged, if they were cut apart by [`cut_after`].
    pub instructions: Vec<Message>,
    /// The kept messages, in chronological order, unchanged but for shortened texts and the
    /// `tokens` of their messages.
    pub messages: Vec<Message>,
    /// The tokens of both by the budget's tokenizer; never over the budget.
    pub total_tokens: i32,
    /// Whether messages were left out: instructions, older turns, or steps of the newest one.
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
            omitted: all
                .minus(Amount::of(&self.messages))
                .minus(Amount::of(&self.instructions)),
            ..self
        }
    }

    /// Cuts to half of the tokens, also a turn that the budget does not call too large. Instructions
    /// that are more than half are left out instead, one at a time.
    ///
    /// # Errors
    /// None with a newest turn that may be shortened.
    pub fn halved(self, budget: &Budget) -> Result<Self, BudgetError> {
        let all = self
            .omitted
            .plus(Amount::of(&self.messages))
            .plus(Amount::of(&self.instructions));
        let mut instructions = self.instructions;
        let taken = clamp(tokens_of(&instructions, budget.tokenizer));
        if (self.messages.is_empty() || taken > self.total_tokens / 2)
            && let Some(last) = instructions.pop()
        {
            let tokens = clamp(tokens_of(std::slice::from_ref(&last), budget.tokenizer));
            return Ok(Self {
                instructions,
                total_tokens: self.total_tokens - tokens,
                truncated: true,
                ..self
            }
            .of_all(all));
        }
        let smaller = Budget {
            max_tokens: (self.total_tokens - taken) / 2,
            oversized_turn: OversizedTurn::TruncateContent,
            ..*budget
        };
        let smaller = cut(self.messages, &smaller, false)?;
        Ok(Self {
            instructions,
            total_tokens: smaller.total_tokens + taken,
            content_truncated: smaller.content_truncated || self.content_truncated,
            ..smaller
        }
        .of_all(all))
    }

    /// The instructions, and then the messages.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.instructions.iter().chain(&self.messages)
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
        instructions: Vec::new(),
        total_tokens: clamp(total),
        truncated: start > 0 || !reaches_root,
        content_truncated: false,
        omitted: Amount::default(),
        needs_older: needs_older && room,
        messages: kept,
    }
    .of_all(given))
}

/// [`cut`] of a conversation whose first messages are its instructions. These stay in front of
/// what is kept, and take their tokens from the budget, but no place of the message limit: as
/// many, from the first, as fit beside the newest turn, or, if that turn may be shortened, into half
/// of the budget if that is more.
///
/// # Errors
///
/// As [`cut`].
pub fn cut_after(
    mut instructions: Vec<Message>,
    messages: Vec<Message>,
    budget: &Budget,
    reaches_root: bool,
) -> Result<Cut, BudgetError> {
    let given = Amount::of(&messages).plus(Amount::of(&instructions));
    let newest = messages.iter().rposition(|one| one.role == Role::User);
    let newest = tokens_of(&messages[newest.unwrap_or(0)..], budget.tokenizer);
    let beside = i64::from(budget.max_tokens) - newest;
    let most = match budget.oversized_turn {
        OversizedTurn::TruncateContent => beside.max(i64::from(budget.max_tokens / 2)),
        OversizedTurn::Drop | OversizedTurn::Fail => beside,
    };
    let mut tokens = 0;
    let fits = |message: &&Message| {
        let with = tokens + tokens_of(std::slice::from_ref(*message), budget.tokenizer);
        let fits = with <= most;
        if fits {
            tokens = with;
        }
        fits
    };
    let kept = instructions.iter().take_while(fits).count();
    let too_long = instructions.len() > kept;
    instructions.truncate(kept);
    let taken = clamp(tokens);
    let smaller = Budget {
        max_tokens: budget.max_tokens - taken,
        ..*budget
    };
    let cut = cut(messages, &smaller, reaches_root).map_err(|error| error.beside(taken))?;
    Ok(Cut {
        instructions,
        total_tokens: cut.total_tokens + taken,
        truncated: cut.truncated || too_long,
        ..cut
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
                instructions: Vec::new(),
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
