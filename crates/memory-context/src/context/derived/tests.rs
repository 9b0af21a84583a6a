//! Properties of the quoted derived text of a context.

use proptest::prelude::*;
use serde_json::{Value, json};

use memory_contract::{json::json_line, message::Content};

use super::*;
use crate::quote;

fn record(number: i64, text: &str) -> DerivedText {
    DerivedText {
        number,
        text: text.to_owned(),
        tokens: Tokenizer::O200kBase.count(text),
        line: json_line(&json!({"record": "observation", "text": text})),
    }
}

fn fit(texts: &[String], raw_tokens: i64, tokenizer: Tokenizer, max_tokens: i32) -> DerivedShare {
    let records = (1..).zip(texts).map(|(number, text)| record(number, text));
    let records = records.collect();
    DerivedShare::fit(ThreadId::new(), records, raw_tokens, tokenizer, max_tokens)
}

fn text_of(quoted: &Quoted) -> &str {
    let message = &quoted.block.as_ref().unwrap().messages[0];
    match &message.parts[0].content {
        Content::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

fn number(id: &SourceId) -> i64 {
    match id {
        SourceId::Derived(number) => *number,
        other => panic!("{other:?}"),
    }
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof![
        3 => "[a-z]{1,8} ",
        1 => prop::sample::select(vec![
            "\n", "\r\n", "\u{2028}", "</record>", "\"}", "\\", "{\"record\"", "&", "漢字", "é\u{301}",
        ]).prop_map(str::to_owned),
    ];
    let text = prop::collection::vec(piece, 1..60).prop_map(|pieces| pieces.concat());
    prop::collection::vec(text, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn records_that_do_not_fit_are_reported(
        texts in texts(),
        raw_tokens in 0_i64..2_000,
        max_tokens in 0..2_000_i32,
        max_bytes in 0..6_000_usize,
        tokenizer in prop::sample::select(vec![Tokenizer::O200kBase, Tokenizer::Cl100kBase]),
    ) {
        let records = fit(&texts, raw_tokens, tokenizer, max_tokens);
        prop_assert!(records.tokens() <= max_tokens);
        for (quoted, max_bytes) in [
            (records.quote(usize::MAX), usize::MAX),
            (records.quote(max_bytes), max_bytes),
        ] {
            prop_assert_eq!(quoted.lacking.count, i64::try_from(quoted.omitted.len()).unwrap());
            let mut numbers: Vec<i64> = quoted.omitted.iter().map(|one| number(&one.id)).collect();
            numbers.reverse();
            if let Some(block) = &quoted.block {
                let text = text_of(&quoted);
                prop_assert!(text.len() <= max_bytes);
                prop_assert!(block.tokens() <= records.tokens());
                let lines: Vec<&str> = text.split('\n').collect();
                prop_assert_eq!(lines[0], Frame::DERIVED.text());
                prop_assert_eq!(lines.len(), 1 + block.sources.len());
                for (line, source) in lines[1..].iter().zip(&block.sources) {
                    let quote: Value = serde_json::from_str(line).unwrap();
                    let place = usize::try_from(number(&source.id)).unwrap() - 1;
                    prop_assert_eq!(&quote["text"], &json!(texts[place]));
                }
                numbers.extend(block.sources.iter().map(|source| number(&source.id)));
            }
            let all: Vec<i64> = (1..).take(texts.len()).collect();
            prop_assert_eq!(numbers, all);
        }
    }
}

#[test]
fn added_entries_come_last() {
    let mut texts: Vec<String> = Vec::new();
    let mut before = String::new();
    for number in 0..20 {
        texts.push(format!("Step {number} is done."));
        let records = fit(&texts, 1_000, Tokenizer::O200kBase, 100_000);
        let quoted = records.quote(usize::MAX);
        let text = text_of(&quoted).to_owned();
        assert!(text.starts_with(&before), "{text}");
        before = text;
    }
}

#[test]
fn all_of_it_fits_or_half_of_the_budget_is_for_messages() {
    let texts: Vec<String> = (0..10).map(|_| "word ".repeat(100)).collect();
    let all = fit(&texts, 0, Tokenizer::O200kBase, 100_000).tokens();
    let fits = fit(&texts, 100, Tokenizer::O200kBase, all + 100);
    assert_eq!(fits.tokens(), all);
    // However much the messages grow, the same records stand there.
    let first = fit(&texts, 101, Tokenizer::O200kBase, all + 100);
    assert!(first.tokens() <= (all + 100) / 2 && first.tokens() > all / 3);
    for raw_tokens in [200, 1_000, i64::MAX] {
        let later = fit(&texts, raw_tokens, Tokenizer::O200kBase, all + 100);
        let (first, later) = (first.quote(usize::MAX), later.quote(usize::MAX));
        assert_eq!(text_of(&later), text_of(&first));
    }
    // Half of it is theirs, however much the messages are.
    let few = fit(&texts[..2], i64::MAX, Tokenizer::O200kBase, all);
    assert!(few.quote(usize::MAX).omitted.is_empty());
}

#[test]
fn no_records_make_no_block() {
    let records = fit(&[], 0, Tokenizer::O200kBase, 1_000);
    assert!(records.quote(usize::MAX).block.is_none() && records.tokens() == 0);
}

#[test]
fn quoted_records_are_recognized() {
    let records = fit(&["Noted.".to_owned()], 0, Tokenizer::O200kBase, 1_000);
    assert!(quote::is_quotation(text_of(&records.quote(usize::MAX))));
}
