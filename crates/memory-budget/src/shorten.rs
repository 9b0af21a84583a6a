//! Shortening a turn that is larger than the whole budget.

use memory_contract::Message;

use crate::{
    FRAME_TOKENS, Tokenizer,
    lines::{lines, text_mut},
};

/// Shortens the texts of the messages, the longest first, until all messages
/// together are at most `max_tokens`, and returns whether it changed any.
/// `None`: what may not be shortened (frames, names, data, calls, files) is too
/// large alone. The messages must not be used then.
///
/// Shortening the longest first leaves all shortened texts with the same number
/// of tokens, more than any other text has.
pub(crate) fn shorten(
    messages: &mut [Message],
    max_tokens: i32,
    tokenizer: Tokenizer,
) -> Option<bool> {
    let mut left = i64::from(max_tokens);
    for message in &mut *messages {
        left -= fixed_tokens(message, tokenizer);
        if left < 0 {
            return None;
        }
    }
    let sizes: Vec<i32> = messages
        .iter_mut()
        .flat_map(|message| &mut message.parts)
        .filter_map(text_mut)
        .map(|text| tokenizer.count_up_to(text, max_tokens))
        .collect();
    let level = level(&sizes, left);
    let mut sizes = sizes.into_iter();
    let mut shortened = false;
    for message in messages {
        let mut changed = false;
        for text in message.parts.iter_mut().filter_map(text_mut) {
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
    Some(shortened)
}

/// The tokens that a message keeps when all its texts are empty.
fn fixed_tokens(message: &mut Message, tokenizer: Tokenizer) -> i64 {
    let mut tokens = i64::from(FRAME_TOKENS) + i64::from(tokenizer.count(&message.name));
    let mut line_count = 0;
    for part in &mut message.parts {
        if text_mut(part).is_some() {
            line_count += 1;
            continue;
        }
        for line in lines(std::slice::from_ref(part)) {
            tokens += i64::from(tokenizer.count(&line));
            line_count += 1;
        }
    }
    tokens + (line_count - 1).max(0)
}

/// The highest number of tokens that each text may have so that all of them
/// together have at most `tokens`.
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
