//! Shortens a turn that is larger than the whole budget.

use std::ops::Range;

use memory_contract::message::Message;

use crate::{
    Budget, FRAME_TOKENS, Tokenizer,
    lines::{lines, texts_mut},
    turns::steps,
};

/// Removes the oldest steps of a whole turn, but never its opening message, until the rest
/// fits with empty texts. Then shortens texts until all fits. Returns whether it shortened
/// any.
///
/// `None` if even the opening message does not fit; the turn is unchanged then.
pub(crate) fn shorten(turn: &mut Vec<Message>, budget: &Budget) -> Option<bool> {
    let (left_out, tokens) = steps_to_leave_out(turn, budget)?;
    turn.drain(left_out);
    Some(shorten_texts(turn, tokens, budget.tokenizer))
}

/// The messages to remove between the opening one and the newest steps that fit with it,
/// with empty texts, and the tokens left for the texts of the kept messages.
fn steps_to_leave_out(turn: &mut [Message], budget: &Budget) -> Option<(Range<usize>, i64)> {
    let mut messages = budget.message_limit;
    let mut tokens = i64::from(budget.max_tokens);
    let mut steps = steps(turn).into_iter();
    let opening = steps.next()?;
    let end = turn.len();
    let mut take = |step: &Range<usize>| {
        let fixed: i64 = turn[step.clone()]
            .iter_mut()
            .map(|message| fixed_tokens(message, budget.tokenizer))
            .sum();
        let fits = step.len() <= messages && fixed <= tokens;
        if fits {
            messages -= step.len();
            tokens -= fixed;
        }
        fits
    };
    if !take(&opening) {
        return None;
    }
    let newest = steps.rev().take_while(take).last();
    let newest = newest.map_or(end, |step| step.start);
    Some((opening.end..newest, tokens))
}

/// Shortens the texts of the messages, the longest first, until all texts together have at
/// most `max_tokens`. Returns whether it shortened any.
///
/// Shortening the longest first leaves all shortened texts with the same number
/// of tokens, more than any other text has.
fn shorten_texts(messages: &mut [Message], max_tokens: i64, tokenizer: Tokenizer) -> bool {
    let enough = i32::try_from(max_tokens).unwrap_or(i32::MAX);
    let sizes: Vec<i32> = messages
        .iter_mut()
        .flat_map(|message| &mut message.parts)
        .flat_map(texts_mut)
        .map(|text| tokenizer.count_up_to(text, enough))
        .collect();
    let level = level(&sizes, max_tokens);
    let mut sizes = sizes.into_iter();
    let mut shortened = false;
    for message in messages {
        let mut changed = false;
        for text in message.parts.iter_mut().flat_map(texts_mut) {
            if sizes.next().is_some_and(|size| size > level) {
                let kept = tokenizer.prefix(text, level).len();
                text.truncate(kept);
                changed = true;
            }
        }
        if changed {
            message.tokens = Tokenizer::default().count_message(&message.name, &message.parts);
            shortened = true;
        }
    }
    shortened
}

/// The tokens of a message with empty texts.
fn fixed_tokens(message: &mut Message, tokenizer: Tokenizer) -> i64 {
    let mut tokens = i64::from(FRAME_TOKENS) + i64::from(tokenizer.count(&message.name));
    let mut line_count = 0;
    for part in &mut message.parts {
        let texts: Vec<String> = texts_mut(part).map(std::mem::take).collect();
        for line in lines(std::slice::from_ref(part)) {
            tokens += i64::from(tokenizer.count(&line));
            line_count += 1;
        }
        tokens += i64::from(tokenizer.count_files(std::slice::from_ref(part)));
        for (empty, text) in texts_mut(part).zip(texts) {
            *empty = text;
        }
    }
    tokens + (line_count - 1).max(0)
}

/// The largest limit of tokens for each text such that all texts together have at most
/// `tokens`.
fn level(sizes: &[i32], tokens: i64) -> i32 {
    let mut ascending = sizes.to_vec();
    ascending.sort_unstable();
    let mut left = tokens;
    let mut texts = i64::try_from(ascending.len()).unwrap_or(i64::MAX);
    for size in ascending {
        let share = left / texts;
        if i64::from(size) > share {
            return i32::try_from(share).unwrap_or(i32::MAX);
        }
        left -= i64::from(size);
        texts -= 1;
    }
    i32::MAX
}
