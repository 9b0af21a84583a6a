//! Material for prompts: quoted messages in portions that fit a model's window.

use memory_budget::{Room, Size, Tokenizer};

use super::speakers::Speakers;
use crate::prompt::quote;
use crate::{KnownFact, SourceMessage};

/// A portion of quoted messages.
pub(super) struct Portion<'a> {
    /// The quotations, one a line.
    pub(super) text: String,
    /// The quoted messages, in order. The first is named `m1`.
    pub(super) sources: Vec<&'a SourceMessage>,
    /// Tokens of the quotations.
    pub(super) tokens: i32,
}

/// The messages in portions of at most `max_tokens`, in order. A message that is larger
/// than a portion loses its middle.
pub(super) fn portions<'a>(
    sources: impl IntoIterator<Item = &'a SourceMessage>,
    speakers: &Speakers<'_>,
    max_tokens: i32,
    tokenizer: Tokenizer,
) -> Vec<Portion<'a>> {
    let quoted = sources.into_iter().map(|source| {
        let mut words = source.words();
        let speaker = speakers.of_message(source);
        // The final name is a number within the portion, of about the same length.
        let size =
            |words: &str| line_tokens(&quote::message("m0000", source, &speaker, words), tokenizer);
        let mut tokens = size(&words);
        // Escaping makes the tokens of a quotation depend on the text.
        let whole = words.clone();
        let mut room = whole.len();
        while tokens > max_tokens && room > 0 {
            room /= 2;
            words = without_middle(&whole, room);
            tokens = size(&words);
        }
        ((source, words), tokens)
    });
    let portion = |(quoted, tokens): (Vec<(&'a SourceMessage, String)>, i32)| {
        let line = |(index, (source, words)): (usize, &(&SourceMessage, String))| {
            let speaker = speakers.of_message(source);
            quote::message(&format!("m{}", index + 1), source, &speaker, words)
        };
        let lines: Vec<String> = quoted.iter().enumerate().map(line).collect();
        Portion {
            text: lines.join("\n"),
            sources: quoted.into_iter().map(|(source, _)| source).collect(),
            tokens,
        }
    };
    let groups = groups(quoted, max_tokens).into_iter();
    groups.map(portion).collect()
}

/// Consecutive groups of items with tokens, of at most `max_tokens` together. A larger item
/// is a group of its own.
fn groups<T>(items: impl Iterator<Item = (T, i32)>, max_tokens: i32) -> Vec<(Vec<T>, i32)> {
    let mut groups: Vec<(Vec<T>, i32)> = Vec::new();
    for (item, tokens) in items {
        match groups.last_mut() {
            Some((group, total)) if total.saturating_add(tokens) <= max_tokens => {
                group.push(item);
                *total += tokens;
            }
            _ => groups.push((vec![item], tokens)),
        }
    }
    groups
}

/// The tokens of a line with its line break.
fn line_tokens(line: &str, tokenizer: Tokenizer) -> i32 {
    tokenizer.count(line).saturating_add(1)
}

/// As many quoted facts as fit, and their number. The first is named `f1`.
pub(super) fn facts(known: &[KnownFact], max_tokens: i32, tokenizer: Tokenizer) -> (String, usize) {
    let mut room = Room::new(Size::of_tokens(max_tokens));
    let lines: Vec<String> = (1..)
        .zip(known)
        .map(|(number, known)| quote::fact(&format!("f{number}"), known))
        .take_while(|line| room.take(Size::of_tokens(line_tokens(line, tokenizer))))
        .collect();
    (lines.join("\n"), lines.len())
}

/// A text in portions of whole lines of at most `max_tokens`. A longer line is cut.
pub(super) fn lines(text: &str, max_tokens: i32, tokenizer: Tokenizer) -> Vec<(String, i32)> {
    let lines = text.lines().map(|line| {
        let line = tokenizer.prefix(line, max_tokens.saturating_sub(1));
        (line, line_tokens(line, tokenizer))
    });
    let groups = groups(lines, max_tokens).into_iter();
    groups
        .map(|(lines, tokens)| (lines.join("\n"), tokens))
        .collect()
}

/// The beginning and the end of a text, two parts to one, about `bytes` together.
fn without_middle(text: &str, bytes: usize) -> String {
    let tail = bytes / 3;
    let head = text.floor_char_boundary(bytes - tail);
    let tail = text.ceil_char_boundary(text.len() - tail);
    format!("{} […] {}", &text[..head], &text[tail..])
}

/// The longest prefix of whole lines or sentences of at most `max_tokens`; if the first
/// sentence is longer, its beginning.
pub(super) fn cut(text: &str, max_tokens: i32, tokenizer: Tokenizer) -> &str {
    let kept = tokenizer.prefix(text, max_tokens);
    if kept.len() == text.len() {
        return text;
    }
    let end = kept
        .char_indices()
        .filter_map(|(place, c)| {
            let end = place + c.len_utf8();
            let next = text[end..].chars().next();
            let ends_sentence =
                matches!(c, '.' | '!' | '?') && next.is_some_and(char::is_whitespace);
            match c {
                '\n' => Some(place),
                '。' | '！' | '？' => Some(end),
                _ if ends_sentence => Some(end),
                _ => None,
            }
        })
        .next_back();
    match end {
        Some(end) if end > 0 => kept[..end].trim_end(),
        _ => kept.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::distiller::tests::source;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn portions_keep_each_message_and_the_limit(
            texts in prop::collection::vec("\\PC{0,40}|[a-z ]{500,2000}|<\n{0,300}", 0..12),
            max_tokens in 120..400_i32,
        ) {
            let sources: Vec<SourceMessage> = texts.iter().map(|text| source(text)).collect();
            let tokenizer = Tokenizer::default();
            let portions = portions(&sources, &Speakers::default(), max_tokens, tokenizer);
            let mut quoted = 0;
            for portion in &portions {
                prop_assert!(tokenizer.count(&portion.text) <= max_tokens);
                prop_assert_eq!(portion.text.lines().count(), portion.sources.len());
                quoted += portion.sources.len();
            }
            prop_assert_eq!(quoted, sources.len());
        }

        #[test]
        fn a_cut_is_a_beginning_within_the_budget(text in "([A-Za-z漢]{1,9}[ .!?\n]{1,2}){0,80}", max in 0..60_i32) {
            let tokenizer = Tokenizer::default();
            let kept = cut(&text, max, tokenizer);
            prop_assert!(text.starts_with(kept));
            prop_assert!(tokenizer.count(kept) <= max);
        }
    }

    #[test]
    fn a_cut_ends_with_a_sentence() {
        let text = "One is here. Two is there.\nThree is longer than the others are.";
        assert_eq!(
            cut(text, 9, Tokenizer::default()),
            "One is here. Two is there."
        );
        assert_eq!(cut(text, 6, Tokenizer::default()), "One is here.");
    }
}
