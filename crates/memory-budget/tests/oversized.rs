//! Tests of a newest turn that alone is larger than the budget.

mod support;

use memory_budget::{Budget, BudgetError, OversizedTurn, Tokenizer, cut, turns};
use memory_contract::{
    file::{FileLocation, FileRef, FileType},
    message::{Content, Message, Part, Role, ToolOutput},
};
use proptest::prelude::*;
use support::*;

#[test]
fn the_longest_text_of_an_oversized_turn_is_shortened_first() {
    let long = "word ".repeat(500);
    let messages = conversation(vec![
        user("before"),
        assistant("before"),
        user("what does it say?"),
        call("1"),
        result("1", &long),
        assistant("many words"),
    ]);
    let cut = cut(messages.clone(), &budget(100), true).expect("is shortened");
    assert_eq!(seqs(&cut.messages), [3, 4, 5, 6]);
    assert!(cut.truncated && cut.content_truncated);
    assert_eq!(cut.total_tokens, 100);
    for unchanged in [0, 1, 3] {
        assert_eq!(cut.messages[unchanged], messages[unchanged + 2]);
    }
    let Content::ToolResult(result) = &cut.messages[2].parts[0].content else {
        panic!("the result is still a result");
    };
    assert_eq!(result.call_id, "1");
    assert!(cut.messages[2].tokens < messages[4].tokens);
}

#[test]
fn an_oversized_turn_is_dropped_or_refused_where_that_is_asked_for() {
    let messages = conversation(vec![user(&"word ".repeat(50)), assistant("yes")]);
    let drop = Budget {
        oversized_turn: OversizedTurn::Drop,
        ..budget(20)
    };
    let dropped = cut(messages.clone(), &drop, true).expect("is dropped");
    assert!(dropped.messages.is_empty() && dropped.truncated);
    let fail = Budget {
        oversized_turn: OversizedTurn::Fail,
        ..budget(20)
    };
    let needed = tokens(&messages, Tokenizer::O200kBase);
    let expected = BudgetError::TurnTooLarge {
        needed_tokens: needed,
        needed_messages: 2,
        max_tokens: 20,
        message_limit: 100,
        whole: true,
    };
    assert_eq!(cut(messages.clone(), &fail, true), Err(expected));
    let enough = Budget {
        max_tokens: needed,
        ..fail
    };
    assert_eq!(
        cut(messages, &enough, true).map(|cut| cut.total_tokens),
        Ok(needed)
    );
}

#[test]
fn a_loop_of_more_messages_than_the_limit_keeps_its_question_and_its_newest_steps() {
    let messages = agent_loop(120, "found");
    let cut = cut(messages.clone(), &budget(1_000_000), true).expect("is shortened");
    assert_eq!(cut.messages[0], messages[0]);
    assert_eq!(cut.messages[1..], messages[241 - 98..]);
    assert!(cut.truncated && !cut.content_truncated && !cut.needs_older);
}

#[test]
fn a_loop_over_the_budget_keeps_its_whole_question_and_its_newest_steps_with_shorter_texts() {
    let messages = agent_loop(30, &"word ".repeat(100));
    for (max_tokens, steps) in [(200, 2), (300, 3), (2_000, 25)] {
        let cut = cut(messages.clone(), &budget(max_tokens), true).expect("is shortened");
        let kept = seqs(&cut.messages);
        assert_eq!(kept.len(), 1 + 2 * steps, "{max_tokens}: {kept:?}");
        assert_eq!(cut.messages[0], messages[0]);
        assert_eq!(
            kept[1..],
            seqs(&messages[messages.len() + 1 - kept.len()..])
        );
        for result in cut.messages.iter().filter(|one| one.role == Role::Tool) {
            assert!(result.tokens >= 64, "{} tokens", result.tokens);
        }
        assert!(cut.truncated && cut.content_truncated);
    }
}

#[test]
fn a_loop_of_short_results_keeps_their_texts() {
    let messages = agent_loop(40, "edited src/file.rs, 0 warnings, 0 errors");
    let cut = cut(messages.clone(), &budget(500), true).expect("is shortened");
    assert!(cut.messages.len() > 20 && !cut.content_truncated);
    assert_eq!(cut.messages[0], messages[0]);
    let left_out = messages.len() - cut.messages.len();
    assert_eq!(cut.messages[1..], messages[1 + left_out..]);
    assert_eq!(cut.omitted.count, i64::try_from(left_out).unwrap());
}

#[test]
fn a_question_over_the_budget_is_shortened_with_its_newest_step() {
    let messages = conversation(vec![
        user(&"long question ".repeat(200)),
        assistant("let me see"),
        assistant(&"long answer ".repeat(200)),
    ]);
    let cut = cut(messages, &budget(200), true).expect("is shortened");
    assert_eq!(seqs(&cut.messages), [1, 3]);
    let [question, answer] = &cut.messages[..] else {
        panic!("a question and an answer");
    };
    assert!(question.tokens.abs_diff(answer.tokens) <= 1);
    assert_eq!(cut.total_tokens, 200);
}

#[test]
fn calls_in_parallel_are_one_step() {
    let messages = conversation(vec![
        user("look them up"),
        assistant("let me see"),
        message(Role::Assistant, "", vec![call_part("a"), call_part("b")]),
        result("b", "found"),
        result("a", "found"),
        assistant("here they are"),
    ]);
    for (message_limit, kept) in [
        (0, vec![]),
        (1, vec![1]),
        (2, vec![1, 6]),
        (4, vec![1, 6]),
        (5, vec![1, 3, 4, 5, 6]),
        (6, vec![1, 2, 3, 4, 5, 6]),
    ] {
        let budget = Budget {
            message_limit,
            ..budget(1_000)
        };
        let cut = cut(messages.clone(), &budget, true).expect("no policy to fail");
        assert_eq!(seqs(&cut.messages), kept, "at most {message_limit}");
        assert_eq!(cut.truncated, kept.len() < 6);
    }
}

#[test]
fn a_step_that_does_not_fit_leaves_out_the_older_ones_too() {
    let parallel = ["a", "b", "c"];
    let mut said = vec![user("look them up"), assistant("let me see")];
    said.push(message(Role::Assistant, "", parallel.map(call_part).into()));
    said.extend(parallel.map(|id| result(id, "found")));
    let budget = Budget {
        message_limit: 3,
        ..budget(1_000)
    };
    let cut = cut(conversation(said), &budget, true).expect("no policy to fail");
    assert_eq!(seqs(&cut.messages), [1]);
}

#[test]
fn where_even_the_opening_message_does_not_fit_nothing_is_kept() {
    let messages = conversation(vec![user("a"), assistant("b"), assistant("c")]);
    for (max_tokens, kept) in [
        (2, vec![]),
        (3, vec![1]),
        (6, vec![1, 3]),
        (8, vec![1, 3]),
        (11, vec![1, 3]),
        (12, vec![1, 2, 3]),
    ] {
        let cut = cut(messages.clone(), &budget(max_tokens), true).expect("no policy to fail");
        assert_eq!(seqs(&cut.messages), kept, "{max_tokens} tokens");
        assert_eq!(cut.truncated, kept.len() < 3);
    }
}

#[test]
fn a_loop_whose_question_was_not_read_yet_asks_for_older_messages() {
    let messages = agent_loop(120, "found");
    let part = |from: usize, budget| {
        cut(messages[from..].to_vec(), &budget, false).expect("no policy to fail")
    };
    for from in [1, 2, 100, 200] {
        for budget in [budget(1_000_000), budget(100)] {
            let cut = part(from, budget);
            assert!(cut.messages.is_empty() && cut.needs_older, "from {from}");
        }
    }
    let cut = part(0, budget(1_000_000));
    assert_eq!(cut.messages.len(), 99);
    assert!(!cut.needs_older);
}

#[test]
fn images_that_do_not_fit_are_named_in_words_beside_the_whole_text() {
    let image = |name: &str| Part {
        content: Content::File(FileRef {
            kind: FileType::Image,
            location: FileLocation::Url(format!("https://example.org/{name}")),
            name: name.to_owned(),
            mime_type: String::new(),
            size_bytes: 0,
            caption: String::new(),
            extent: Default::default(),
        }),
        ..Part::text("")
    };
    let mut parts = vec![Part::text("Which of these is the cat?")];
    parts.extend(["a.png", "b.png", "c.png", "d.png"].map(image));
    let messages = conversation(vec![message(Role::User, "", parts)]);
    let cut = cut(messages.clone(), &budget(2_000), true).expect("is shortened");
    let [question] = &cut.messages[..] else {
        panic!("the question is kept");
    };
    assert!(cut.content_truncated && cut.total_tokens <= 2_000);
    assert_eq!(question.parts[0], messages[0].parts[0]);
    let files = question
        .parts
        .iter()
        .filter(|part| matches!(part.content, Content::File(_)));
    assert_eq!(files.count(), 2);
    let words = question.parts.iter().filter(|part| match &part.content {
        Content::Text(text) => text.starts_with("[image: "),
        _ => false,
    });
    assert_eq!(words.count(), 2);
}

#[test]
fn an_image_of_a_tool_that_does_not_fit_is_named_in_words() {
    let image = ToolOutput::File(FileRef {
        kind: FileType::Image,
        location: FileLocation::Url("https://example.org/screen.png".to_owned()),
        name: "screen.png".to_owned(),
        mime_type: String::new(),
        size_bytes: 0,
        caption: String::new(),
        extent: Default::default(),
    });
    let mut messages = conversation(vec![user("look"), call("1"), result("1", "seen")]);
    let Content::ToolResult(result) = &mut messages[2].parts[0].content else {
        panic!("it is a result");
    };
    result.output.push(image);
    messages[2].tokens = Tokenizer::O200kBase.count_message("", &messages[2].parts);
    let cut = cut(messages, &budget(300), true).expect("is shortened");
    assert_eq!(seqs(&cut.messages), [1, 2, 3]);
    assert!(cut.content_truncated && cut.total_tokens <= 300);
    let Content::ToolResult(result) = &cut.messages[2].parts[0].content else {
        panic!("it is a result");
    };
    let [_, ToolOutput::Text(words)] = &result.output[..] else {
        panic!("the image is described");
    };
    assert_eq!(words, "[image: screen.png]");
}

/// What may be kept of a turn by its message limit: the whole opening with the most steps that
/// fit with short texts, or else both opening and newest step with empty texts, or else the
/// opening. Written apart from the code under test.
fn most_steps(turn: &[Message], budget: &Budget) -> Vec<i64> {
    let pairs = pairs(turn);
    let begins = |index: &usize| {
        let torn = pairs
            .iter()
            .any(|(result, call)| call.is_some_and(|call| call < *index && *index <= *result));
        turn[*index].role != Role::Tool && !torn
    };
    let begins: Vec<usize> = (1..turn.len()).filter(begins).chain([turn.len()]).collect();
    let (opening, steps) = (begins[0], &begins[..begins.len() - 1]);
    let shorter = |least: i32| -> Vec<Message> {
        let short = |message: &Message| shortened(message.clone(), least, budget.tokenizer);
        turn.iter().map(short).collect()
    };
    let (short, blank) = (shorter(64), shorter(0));
    let with_steps = steps
        .iter()
        .map(|from| [&turn[..opening], &short[*from..]].concat());
    let with_one = steps
        .last()
        .map(|from| [&blank[..opening], &blank[*from..]].concat());
    with_steps
        .chain(with_one)
        .chain([blank[..opening].to_vec()])
        .find(|kept| {
            kept.len() <= budget.message_limit
                && tokens(kept, budget.tokenizer) <= budget.max_tokens
        })
        .map_or(vec![], |kept| seqs(&kept))
}

/// The message with at most so many tokens of each text.
fn shortened(mut message: Message, most: i32, tokenizer: Tokenizer) -> Message {
    let shorten = |text: &mut String| text.truncate(tokenizer.prefix(text, most).len());
    for part in &mut message.parts {
        match &mut part.content {
            Content::Text(text) => shorten(text),
            Content::ToolResult(result) => {
                for output in &mut result.output {
                    if let ToolOutput::Text(text) = output {
                        shorten(text);
                    }
                }
            }
            Content::Json(_)
            | Content::ToolCall(_)
            | Content::File(_)
            | Content::Reasoning(_)
            | Content::Opaque(_) => {}
        }
    }
    message
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn of_an_oversized_turn_as_many_of_the_newest_steps_are_kept_as_fit(
        messages in any_conversation(),
        budget in any_budget(),
    ) {
        let budget = Budget { oversized_turn: OversizedTurn::TruncateContent, ..budget };
        let Some(newest) = turns(&messages, true).pop() else {
            return Ok(());
        };
        let turn = &messages[newest.messages];
        if turn.len() > budget.message_limit || tokens(turn, budget.tokenizer) > budget.max_tokens {
            let cut = cut(messages.clone(), &budget, true).expect("no policy to fail");
            prop_assert_eq!(seqs(&cut.messages), most_steps(turn, &budget));
        }
    }

    #[test]
    fn an_oversized_turn_loses_only_the_ends_of_texts(
        messages in any_conversation(),
        max_tokens in 0..200_i32,
    ) {
        let cut = cut(messages.clone(), &budget(max_tokens), true).expect("no policy to fail");
        let given = as_given(&messages, &cut.messages);
        for (kept, given) in cut.messages.iter().zip(&given) {
            prop_assert_eq!((kept.id, kept.role, &kept.name), (given.id, given.role, &given.name));
            prop_assert_eq!(kept.parts.len(), given.parts.len());
            for (kept, given) in kept.parts.iter().zip(&given.parts) {
                match (&kept.content, &given.content) {
                    (Content::Text(kept), Content::Text(given)) => {
                        prop_assert!(given.starts_with(kept));
                    }
                    (Content::ToolResult(kept), Content::ToolResult(given)) => {
                        prop_assert_eq!(&kept.call_id, &given.call_id);
                        prop_assert_eq!(kept.output.len(), given.output.len());
                    }
                    (kept, given) => prop_assert_eq!(kept, given),
                }
            }
        }
    }
}
