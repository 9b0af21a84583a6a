//! Tests of token counts.

mod support;

use std::time::{Duration, Instant};

use memory_budget::{FRAME_TOKENS, Tokenizer};
use memory_contract::{
    file::{FileExtent, FileLocation, FileRef, FileType},
    message::{Content, Part},
    text::bare_text,
};
use proptest::prelude::*;
use support::*;

/// The longest text that the contract takes.
const TEXT_BYTES: usize = memory_contract::limits::TEXT_BYTES;

#[test]
fn models_get_the_tokenizer_that_they_use() {
    for (model, tokenizer, known) in [
        ("", Tokenizer::O200kBase, true),
        ("gpt-4o", Tokenizer::O200kBase, true),
        ("gpt-4o-2024-05-13", Tokenizer::O200kBase, true),
        ("gpt-4.1", Tokenizer::O200kBase, true),
        ("gpt-oss-20b", Tokenizer::O200kBase, true),
        ("openai/gpt-4", Tokenizer::Cl100kBase, true),
        ("ft:gpt-3.5-turbo:acme::1", Tokenizer::Cl100kBase, true),
        ("text-davinci-003", Tokenizer::P50kBase, true),
        ("text-davinci-edit-001", Tokenizer::P50kBase, true),
        ("gpt2", Tokenizer::R50kBase, true),
        ("cl100k_base", Tokenizer::Cl100kBase, true),
        ("llama-3", Tokenizer::O200kBase, false),
        ("meta/llama-3", Tokenizer::O200kBase, false),
        ("/", Tokenizer::O200kBase, false),
    ] {
        assert_eq!(Tokenizer::for_model(model), (tokenizer, known), "{model}");
    }
}

#[test]
fn counts_are_those_of_tiktoken() {
    // The examples of the OpenAI cookbook, "How to count tokens with tiktoken".
    for (text, counts) in [
        ("antidisestablishmentarianism", [6, 6, 5, 5]),
        ("2 + 2 = 4", [7, 7, 5, 5]),
        ("お誕生日おめでとう", [8, 9, 14, 14]),
    ] {
        assert_eq!(
            Tokenizer::ALL.map(|tokenizer| tokenizer.count(text)),
            counts,
            "{text}"
        );
    }
}

#[test]
fn names_of_special_tokens_count_as_plain_text() {
    assert!(Tokenizer::O200kBase.count("<|endoftext|>") > 1);
}

#[test]
fn a_message_costs_its_parts_its_speaker_and_a_frame() {
    let count = |name, parts: &[Part]| Tokenizer::O200kBase.count_message(name, parts);
    let text = Part::text("My dog is called Pixel.");
    let words = Tokenizer::O200kBase.count("My dog is called Pixel.");
    assert_eq!(count("", &[]), FRAME_TOKENS);
    assert_eq!(count("", std::slice::from_ref(&text)), FRAME_TOKENS + words);
    assert_eq!(
        count("Ada", std::slice::from_ref(&text)),
        FRAME_TOKENS + words + 1
    );
    assert_eq!(
        count("", &[text.clone(), text]),
        FRAME_TOKENS + 2 * words + 1
    );
}

#[test]
fn a_file_costs_its_content_its_caption_and_its_name() {
    let file = |name: &str, caption: &str| {
        Part::from(Content::File(FileRef {
            kind: FileType::Image,
            location: FileLocation::Url("https://example.org/a/long/path.png".into()),
            name: name.into(),
            mime_type: "image/png".into(),
            size_bytes: 1_000,
            caption: caption.into(),
            extent: FileExtent::default(),
        }))
    };
    let count = |part| Tokenizer::O200kBase.count_message("", &[part]) - FRAME_TOKENS;
    let [name, caption] = ["dog.png", "a dog"].map(|text| Tokenizer::O200kBase.count(text));
    // As 1,024 × 1,024 pixels in GPT-4o: four squares of 170, and 85.
    assert_eq!(count(file("", "")), 765);
    assert_eq!(count(file("dog.png", "")), 765 + name);
    assert_eq!(count(file("dog.png", "a dog")), 765 + name + caption + 1);
    let claude = Tokenizer::for_model("claude-sonnet-4-5").0;
    let image = file("dog.png", "a dog");
    let recounted =
        claude.recount_message(3 + count(image.clone()), "", std::slice::from_ref(&image));
    assert_eq!(recounted, claude.count_message("", &[image]));
}

#[test]
fn no_text_is_slow_to_count_and_none_makes_the_count_panic() {
    let units = [
        "a",
        "A",
        " ",
        "\n",
        " \t",
        "\r\n",
        ".",
        "'",
        "'s",
        "1",
        "é",
        "漢",
        "😀",
        "👨‍👩‍👧",
        "\u{301}",
        "\u{3000}",
        "สวัสดี",
        "aA",
        "a ",
        "\u{1}",
        "<|endoftext|>",
    ];
    Tokenizer::ALL.into_iter().for_each(Tokenizer::warm);
    for unit in units {
        let text = unit.repeat(TEXT_BYTES / unit.len()) + "x";
        for tokenizer in Tokenizer::ALL {
            let start = Instant::now();
            assert!(tokenizer.count(&text) > 0);
            let elapsed = start.elapsed();
            // Measured: at most 0.1 s. Machines that test are often busy.
            assert!(
                elapsed < Duration::from_secs(2),
                "{unit:?} took {elapsed:?}"
            );
        }
    }
}

#[test]
fn a_run_of_blanks_over_which_the_pattern_gives_up_is_counted() {
    let text = " ".repeat(4 * 1024 * 1024) + "x";
    assert!(Tokenizer::O200kBase.count(&text) > 1);
}

proptest! {
    #[test]
    fn a_message_of_one_line_costs_what_its_text_costs(text in "\\PC{0,80}") {
        let parts = [Part::text(text)];
        for tokenizer in Tokenizer::ALL {
            prop_assert_eq!(
                tokenizer.count_message("", &parts),
                tokenizer.count(&bare_text(&parts)) + FRAME_TOKENS
            );
        }
    }

    #[test]
    fn a_prefix_is_a_prefix_and_never_over_its_budget(
        text in "[a-zA-Z é漢😀👨\u{200d}.\n\u{301}1]{0,200}",
        max_tokens in -1..80_i32,
    ) {
        for tokenizer in Tokenizer::ALL {
            let prefix = tokenizer.prefix(&text, max_tokens);
            prop_assert!(text.starts_with(prefix));
            prop_assert!(tokenizer.count(prefix) <= max_tokens.max(0));
            if tokenizer.count(&text) <= max_tokens {
                prop_assert_eq!(prefix, text.as_str());
            }
        }
    }

    #[test]
    fn a_prefix_of_words_uses_its_budget(words in 0..6_000_i32, max_tokens in 0..6_000_i32) {
        let text = "word ".repeat(words as usize);
        let text = text.trim_end();
        let prefix = Tokenizer::O200kBase.prefix(text, max_tokens);
        prop_assert_eq!(Tokenizer::O200kBase.count(prefix), words.min(max_tokens));
    }

    #[test]
    fn a_count_is_the_same_every_time(message in any_conversation()) {
        for tokenizer in Tokenizer::ALL {
            prop_assert_eq!(tokens(&message, tokenizer), tokens(&message, tokenizer));
        }
    }
}
