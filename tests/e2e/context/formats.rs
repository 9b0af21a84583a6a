//! Contexts in the forms that models are given, checked against the rules that
//! providers publish.

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind, FileRef, FileType,
    MemoryMode, MemoryPolicy, MessageInput, Part, ProviderFormat, Role, file_ref, part,
};
use recollect_tests::{
    Client, app, apply, block_texts, body, body_json, check_context, context_request, file, mode,
    say, tool_call, tool_result, trial, turn, with_parts,
};
use serde_json::json as value;

use super::budgets::{pairs, text};
use super::chat_rules::{anthropic, openai, valid_everywhere};
use crate::plain;
use crate::recall::diary;

const ALL: [i32; 5] = [1, 2, 3, 4, 5];

fn part_of(content: part::Content) -> Part {
    Part {
        content: Some(content),
        ..Default::default()
    }
}

async fn window(client: &Client, said: Vec<MessageInput>, input: &str) -> BuildContextResponse {
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, said).await;
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            window_enabled: Some(false),
            ..mode(MemoryMode::Window)
        }),
        system_prompt: "You help.".to_owned(),
        formats: ALL.to_vec(),
        ..context_request(&thread_id, input)
    };
    let context = client.context(request).await;
    check_context(&context, 1_000_000);
    valid_everywhere(&context);
    context
}

fn conversation() -> Vec<MessageInput> {
    let document = part_of(part::Content::File(FileRef {
        r#type: FileType::Document.into(),
        location: Some(file_ref::Location::UploadFileId("f1".to_owned())),
        name: "report.pdf".to_owned(),
        caption: "the year in numbers".to_owned(),
        ..Default::default()
    }));
    let data = part_of(part::Content::Json("{\"rain\":true}".to_owned()));
    vec![
        MessageInput {
            name: "Ada Lovelace!".to_owned(),
            ..say(Role::User, "What is the weather?")
        },
        with_parts(
            Role::Assistant,
            vec![
                text("I look."),
                tool_call("c1", "weather", value!({"city": "Oslo"}))
                    .parts
                    .remove(0),
                tool_call("c2", "weather", value!({"city": "Rome"}))
                    .parts
                    .remove(0),
            ],
        ),
        tool_result("c2", "sun"),
        tool_result("c1", "rain"),
        MessageInput {
            name: "天気".to_owned(),
            ..with_parts(Role::Assistant, vec![data])
        },
        say(Role::System, "Speak of files now."),
        with_parts(
            Role::User,
            vec![
                file("https://example.org/a.png", "a cat"),
                document,
                text("And these?"),
            ],
        ),
        say(Role::Assistant, "A cat and a report."),
    ]
}

#[apply(trial)]
async fn openai_messages_have_the_content_of_the_blocks() {
    let client = plain().await;
    let context = window(&client, conversation(), "Thanks!").await;
    let call = |id: &str, city: &str| {
        value!({"id": id, "type": "function", "function": {
            "name": "weather", "arguments": format!("{{\"city\":\"{city}\"}}")}})
    };
    let expected = [
        value!({"role": "system", "content": "You help."}),
        value!({"role": "user", "name": "Ada_Lovelace", "content": "What is the weather?"}),
        value!({"role": "assistant", "content": "I look.",
                "tool_calls": [call("c1", "Oslo"), call("c2", "Rome")]}),
        value!({"role": "tool", "tool_call_id": "c1", "content": "rain"}),
        value!({"role": "tool", "tool_call_id": "c2", "content": "sun"}),
        value!({"role": "assistant", "content": "{\"rain\":true}"}),
        value!({"role": "system", "content": "Speak of files now."}),
        value!({"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "text", "text": "a cat"},
            {"type": "text", "text": "[document: report.pdf: the year in numbers]"},
            {"type": "text", "text": "And these?"}]}),
        value!({"role": "assistant", "content": "A cat and a report."}),
        value!({"role": "user", "content": "Thanks!"}),
    ];
    assert_eq!(openai(&context), expected);
}

#[apply(trial)]
async fn anthropic_messages_alternate_and_have_the_content_of_the_blocks() {
    let client = plain().await;
    let context = window(&client, conversation(), "Thanks!").await;
    let system = &body_json(&context, ProviderFormat::AnthropicMessages)["system"];
    assert_eq!(system, "You help.\n\nSpeak of files now.");
    let call = |id: &str, city: &str| value!({"type": "tool_use", "id": id, "name": "weather", "input": {"city": city}});
    let said = |text: &str| value!({"type": "text", "text": text});
    let result =
        |id: &str, text: &str| value!({"type": "tool_result", "tool_use_id": id, "content": text});
    let expected = [
        value!({"role": "user", "content": [said("What is the weather?")]}),
        value!({"role": "assistant", "content": [said("I look."), call("c1", "Oslo"), call("c2", "Rome")]}),
        value!({"role": "user", "content": [result("c1", "rain"), result("c2", "sun")]}),
        value!({"role": "assistant", "content": [said("{\"rain\":true}")]}),
        value!({"role": "user", "content": [
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            said("a cat"), said("[document: report.pdf: the year in numbers]"), said("And these?")]}),
        value!({"role": "assistant", "content": [said("A cat and a report.")]}),
        value!({"role": "user", "content": [said("Thanks!")]}),
    ];
    assert_eq!(anthropic(&context), expected);

    // A greeting before any user spoke.
    let mut said_before = vec![say(Role::Assistant, "Welcome!"), say(Role::User, " \n ")];
    said_before.extend(turn("Hello!", "Hi."));
    let context = window(&client, said_before, "Thanks!").await;
    let messages = anthropic(&context);
    let first = value!([said("Assistant: Welcome!"), said("Hello!")]);
    assert_eq!(messages[0]["content"], first);
    assert_eq!(openai(&context)[1]["role"], "assistant");
}

#[apply(trial)]
async fn a_text_ends_where_the_model_continues() {
    let client = plain().await;
    let context = window(&client, conversation(), "Thanks!").await;
    let expected = [
        "You help.",
        "Human (Ada Lovelace!): What is the weather?",
        "Assistant: I look.\n[calls weather {\"city\":\"Oslo\"}]\n[calls weather {\"city\":\"Rome\"}]",
        "Tool: [a tool answers] sun",
        "Tool: [a tool answers] rain",
        "Assistant (天気): {\"rain\":true}",
        "System: Speak of files now.",
        "Human: [image: picture.png: a cat]\n[document: report.pdf: the year in numbers]\nAnd these?",
        "Assistant: A cat and a report.",
        "Human: Thanks!",
        "Assistant:",
    ];
    assert_eq!(body(&context, ProviderFormat::Text), expected.join("\n\n"));
}

#[apply(trial)]
async fn calls_and_results_that_chat_formats_lack_are_rendered_as_text() {
    let client = plain().await;
    let said = vec![
        say(Role::User, "Order a taxi."),
        tool_call("late", "taxi", value!({"time": 6})),
        say(Role::User, "Are you there?"),
        tool_result("late", "It comes."),
        tool_result("late", "It came."),
        tool_result("never", "Who asked?"),
        say(Role::Assistant, "Done."),
        say(Role::User, "Again."),
        tool_call("late", "taxi", value!({"time": 7})),
        tool_result("late", "Once more."),
        tool_call("open", "bus", value!({})),
    ];
    let context = window(&client, said, "Well?").await;
    let messages = openai(&context);
    let roles: Vec<&str> = messages
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    let expected = [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
        "user",
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ];
    assert_eq!(roles, expected);
    assert_eq!(messages[3]["content"], "It comes.");
    assert_eq!(messages[5]["content"], "[a tool answers] It came.");
    assert_eq!(messages[6]["content"], "[a tool answers] Who asked?");
    assert_eq!(messages[10]["content"], "Once more.");
    assert_eq!(messages[11]["content"], "[calls bus {}]");
}

#[apply(trial)]
async fn ids_that_providers_refuse_become_ids_of_their_own() {
    let client = plain().await;
    let (long, odd) = ("x".repeat(128), "a b/ü");
    let said = vec![
        say(Role::User, "Go."),
        tool_call(&long, "wetter für/heute", value!({})),
        tool_result(&long, "one"),
        tool_call(odd, &"t".repeat(100), value!({})),
        tool_result(odd, "two"),
        say(Role::Assistant, "Gone."),
    ];
    let context = window(&client, said, "Well?").await;
    let messages = openai(&context);
    let (first, second) = (&messages[2]["tool_calls"][0], &messages[4]["tool_calls"][0]);
    assert_eq!(first["function"]["name"], "wetter_f_r_heute");
    assert_eq!(second["function"]["name"], "t".repeat(64));
    assert_eq!(first["id"], messages[3]["tool_call_id"]);
    assert_ne!(first["id"], second["id"]);
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        // Source: Knuth, MMIX.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A conversation with calls in every disorder that can be stored.
fn disorder(numbers: &mut Numbers) -> Vec<MessageInput> {
    let mut said = Vec::new();
    for step in 0..40 {
        let id = format!("id {}", numbers.below(6));
        let words = "word ".repeat(numbers.below(30) as usize);
        said.push(match numbers.below(8) {
            0 | 1 => say(Role::User, &format!("{step} {words}")),
            2 => say(Role::Assistant, &words),
            3 | 4 => tool_call(&id, "tool", value!({"step": step, "words": words})),
            5 | 6 => tool_result(&id, &words),
            _ if numbers.below(3) == 0 => say(Role::System, &words),
            _ => with_parts(Role::Tool, vec![text(&words)]),
        });
    }
    said
}

#[apply(trial)]
async fn no_format_breaks_a_pair_for_any_budget() {
    let client = plain().await;
    for seed in 0..6 {
        let mut numbers = Numbers(seed);
        let thread_id = client.thread(&app()).await;
        client.append(&thread_id, disorder(&mut numbers)).await;
        let request = BuildContextRequest {
            policy: Some(MemoryPolicy {
                window_size: Some(i32::try_from(2 + numbers.below(40)).unwrap()),
                recent_window: Some(i32::try_from(numbers.below(12)).unwrap()),
                ..mode(if seed % 2 == 0 {
                    MemoryMode::Window
                } else {
                    MemoryMode::Hybrid
                })
            }),
            formats: ALL.to_vec(),
            ..context_request(&thread_id, "word?")
        };
        for max_tokens in (12..1_200).step_by(37) {
            let request = BuildContextRequest {
                max_tokens: Some(max_tokens),
                ..request.clone()
            };
            let context = client.context(request).await;
            check_context(&context, max_tokens);
            valid_everywhere(&context);
            let text = body(&context, ProviderFormat::Text);
            assert!(text.ends_with("Human: word?\n\nAssistant:"));
        }
    }
    // A cut never separates a call from its result.
    let thread_id = client.thread(&app()).await;
    let mut said = Vec::new();
    for number in 0..10 {
        let id = format!("call-{number}");
        said.push(say(Role::User, &"why ".repeat(number + 1)));
        said.push(tool_call(&id, "tool", value!({"number": number})));
        said.push(tool_result(&id, &"so ".repeat(20 - number)));
        said.push(say(Role::Assistant, "Done."));
    }
    client.append(&thread_id, said).await;
    for (window_size, max_tokens) in (1..40).zip((10..).step_by(23)) {
        let request = BuildContextRequest {
            policy: Some(MemoryPolicy {
                window_size: Some(window_size),
                ..mode(MemoryMode::Window)
            }),
            formats: ALL.to_vec(),
            max_tokens: Some(max_tokens),
            ..context_request(&thread_id, "word?")
        };
        let context = client.context(request).await;
        check_context(&context, max_tokens);
        pairs(&context);
        let messages = openai(&context);
        let in_words = messages
            .iter()
            .any(|one| one["content"].to_string().contains("[calls"));
        assert!(!in_words, "a call lost its result: {messages:?}");
    }
}

#[apply(trial)]
async fn formats_that_were_not_requested_are_absent() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = diary::store(&client, &thread_id).await;
    let build = async |formats: Vec<i32>| {
        let request = BuildContextRequest {
            formats,
            freshness: recollect_tests::fresh_from(&stored.revision),
            // Scores move a little while other tests fill the index: where every
            // match is taken, that changes nothing.
            policy: Some(MemoryPolicy {
                top_k: Some(100),
                ..Default::default()
            }),
            ..context_request(&thread_id, "What is the error code of the heating?")
        };
        client.context(request).await
    };
    let none = build(vec![]).await;
    assert!(none.rendered.is_empty());
    let all = build(vec![1, 3, 5, 5, 1]).await;
    assert_eq!(all.hash, none.hash);
    let recalled = &block_texts(&all, Kind::Recalled)[0];
    let first = &openai(&all)[0];
    assert_eq!(first, &value!({"role": "user", "content": recalled}));
    let first = &anthropic(&all)[0];
    assert_eq!(first["content"][0]["text"], value!(recalled));
    let text = body(&all, ProviderFormat::Text);
    assert!(text.starts_with(&format!("Human: {recalled}\n\nHuman: ")));
    assert_eq!(body(&build(vec![5]).await, ProviderFormat::Text), text);
    let formats: Vec<i32> = all.rendered.iter().map(|one| one.format).collect();
    assert_eq!(formats, [1, 3, 5]);
}
