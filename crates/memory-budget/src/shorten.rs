//! Shortens a turn that is larger than the whole budget.

use memory_contract::{
    file::FileRef,
    message::{Content, Message, Part, ToolOutput},
    text,
};

use crate::{
    Budget, FRAME_TOKENS, Tokenizer,
    lines::{lines, texts_mut},
    turns::steps,
};

/// The tokens that each text of a kept step keeps at least, or all of them if it has fewer.
/// About two sentences: a shorter rest of a tool's result tells a model little, and an older
/// step with its whole texts tells it nothing that a newer one does not.
const LEAST_TEXT_TOKENS: i32 = 64;

/// Removes the oldest steps of a whole turn, but never its opening message, and shortens
/// texts until all fit. Returns whether it shortened any.
///
/// The opening message stays whole beside the newest steps, as many as fit with
/// [`LEAST_TEXT_TOKENS`] of each text. Where not even one does, the opening message is shortened too.
/// Files of both that do not fit are described in text.
///
/// `None` if the opening message does not fit with empty texts.
pub(crate) fn shorten(turn: &mut Vec<Message>, budget: &Budget) -> Option<bool> {
    let max_tokens = i64::from(budget.max_tokens);
    let measured = |messages: &mut [Message]| Measured::of(messages, budget);
    let mut steps = steps(turn);
    let opening_end = steps.remove(0).end;
    let mut opening = measured(&mut turn[..opening_end]);
    let described = describe_files(
        &mut turn[..opening_end],
        opening.whole() - max_tokens,
        budget.tokenizer,
    );
    if described {
        opening = measured(&mut turn[..opening_end]);
    }
    if opening_end > budget.message_limit || opening.fixed > max_tokens {
        return None;
    }
    let mut kept_from = turn.len();
    let mut texts = max_tokens - opening.whole();
    let mut least = texts;
    let newest_described = steps.last().is_some_and(|newest| {
        let newest = &mut turn[newest.clone()];
        let over = measured(newest).least() - least;
        describe_files(newest, over, budget.tokenizer)
    });
    for step in steps.iter().rev() {
        let size = measured(&mut turn[step.clone()]);
        least -= size.least();
        if opening_end + turn.len() - step.start > budget.message_limit || least < 0 {
            break;
        }
        texts -= size.fixed;
        kept_from = step.start;
    }
    if kept_from < turn.len() {
        turn.drain(opening_end..kept_from);
        let steps = &mut turn[opening_end..];
        let shortened = shorten_texts(steps, texts, budget.tokenizer);
        return Some(shortened || described || newest_described);
    }
    texts = max_tokens - opening.fixed;
    if let Some(newest) = steps.last() {
        let fixed = measured(&mut turn[newest.clone()]).fixed;
        if opening_end + newest.len() <= budget.message_limit && fixed <= texts {
            kept_from = newest.start;
            texts -= fixed;
        }
    }
    let is_kept = kept_from < turn.len();
    turn.drain(opening_end..kept_from);
    let shortened = shorten_texts(turn, texts, budget.tokenizer);
    Some(shortened || described || (is_kept && newest_described))
}

/// Replaces files by the text that describes them, those of the most tokens first, until that
/// saves `over` tokens. Returns whether it replaced any.
fn describe_files(messages: &mut [Message], over: i64, tokenizer: Tokenizer) -> bool {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let files = parts.flat_map(Part::files);
    let mut sizes: Vec<i64> = files.map(|file| saved_by(file, tokenizer)).collect();
    sizes.sort_unstable();
    let mut left = over;
    let mut chosen: Vec<i64> = Vec::new();
    while left > 0
        && let Some(size) = sizes.pop()
    {
        chosen.push(size);
        left -= size;
    }
    let mut take = |file: &FileRef| {
        let size = saved_by(file, tokenizer);
        let place = chosen.iter().position(|one| *one == size);
        place.map(|place| chosen.swap_remove(place)).is_some()
    };
    let mut described = false;
    for message in messages {
        let mut changed = false;
        for part in &mut message.parts {
            match &mut part.content {
                Content::File(file) if take(file) => {
                    part.content = Content::Text(text::of_file(file));
                    changed = true;
                }
                Content::ToolResult(result) => {
                    for output in &mut result.output {
                        if let ToolOutput::File(file) = output
                            && take(file)
                        {
                            *output = ToolOutput::Text(text::of_file(file));
                            changed = true;
                        }
                    }
                }
                _ => {}
            }
        }
        if changed {
            message.tokens = Tokenizer::default().count_message(&message.name, &message.parts);
            described = true;
        }
    }
    described
}

/// The tokens that a description takes less than a file.
fn saved_by(file: &FileRef, tokenizer: Tokenizer) -> i64 {
    let described = tokenizer.count(&text::of_file(file));
    i64::from(tokenizer.count_file(file) - described)
}

/// The size of a step in tokens.
struct Measured {
    /// With empty texts.
    fixed: i64,
    /// Of the texts; of each at most a little more than the budget.
    texts: Vec<i32>,
}

impl Measured {
    fn of(step: &mut [Message], budget: &Budget) -> Self {
        let tokenizer = budget.tokenizer;
        let texts = step.iter_mut().flat_map(|message| &mut message.parts);
        let texts = texts.flat_map(texts_mut);
        Self {
            texts: texts
                .map(|text| tokenizer.count_up_to(text, budget.max_tokens))
                .collect(),
            fixed: step
                .iter_mut()
                .map(|message| fixed_tokens(message, tokenizer))
                .sum(),
        }
    }

    fn whole(&self) -> i64 {
        self.with(i32::MAX)
    }

    fn least(&self) -> i64 {
        self.with(LEAST_TEXT_TOKENS)
    }

    /// The tokens with at most so many of each text.
    fn with(&self, most: i32) -> i64 {
        let texts = self
            .texts
            .iter()
            .map(|tokens| i64::from(*tokens.min(&most)));
        self.fixed + texts.sum::<i64>()
    }
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
