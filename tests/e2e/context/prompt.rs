//! Contexts: the system prompt, the input and its template, and wrong requests.

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind as Kind, Freshness, MemoryMode, MemoryPolicy, Part,
    ProviderFormat, SessionRef,
};
use recollect_tests::{
    Client, app, apply, block, block_texts, body, by_id, by_session, check_context,
    context_request, cut, file, kinds, mode, seconds, tool_call, trial, turn,
};
use serde_json::json as value;
use tonic::Code;

use super::budgets::{at_revision, text};
use crate::plain;
use crate::recall::diary;

#[apply(trial)]
async fn d18_labels_and_template_are_those_of_the_policy() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut said = diary::messages();
    said.extend(turn("Hello!", "Hi."));
    let stored = client.append(&thread_id, said).await;
    let picture = file("https://example.org/a.png", "a violin");
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            recent_window: Some(2),
            user_label: Some("Guest".to_owned()),
            assistant_label: Some("Butler".to_owned()),
            query_prompt_template: Some(
                "{{ name | default('somebody') }} asks:\n{{ query }}\n{{ user_label }}/{{ assistant_label }}"
                    .to_owned(),
            ),
            ..Default::default()
        }),
        input: vec![text("When are my"), picture.clone(), text("violin lessons?")],
        formats: vec![5],
        ..context_request(&thread_id, "")
    };
    let context = client.context(at_revision(request, &stored.revision)).await;
    check_context(&context, 1_000_000);
    let input = &block(&context, Kind::Input).unwrap().messages[0];
    let asked = text("somebody asks:\nWhen are my\nviolin lessons?\nGuest/Butler");
    assert_eq!(input.parts, [asked, picture]);
    let quotes = recollect_tests::quotes(&context);
    assert!(!quotes.is_empty());
    for quote in &quotes {
        assert!(["Guest", "Butler"].contains(&quote["role"].as_str().unwrap()));
    }
    let written = body(&context, ProviderFormat::Text);
    assert!(written.contains("Guest: Hello!\n\nButler: Hi.\n\nGuest: somebody asks:"));
    assert!(written.ends_with("\n\nButler:"), "{written}");
}

#[apply(trial)]
async fn d18_the_memory_config_of_an_app_holds_for_its_contexts() {
    let client = plain().await;
    let app = app();
    let config = MemoryPolicy {
        mode: MemoryMode::Window.into(),
        window_size: Some(2),
        user_label: Some("Customer".to_owned()),
        assistant_label: Some("Clerk".to_owned()),
        query_prompt_template: Some("Answer in one line:\n{{ query }}".to_owned()),
        ..Default::default()
    };
    client.set_policy(&app, config).await;
    let thread_id = client.thread(&app).await;
    let said = [turn("Old?", "Old."), turn("Hello!", "Hi.")];
    client.append(&thread_id, said.concat()).await;
    // The request itself sets nothing.
    let request = BuildContextRequest {
        formats: vec![ProviderFormat::Text.into()],
        max_tokens: None,
        ..context_request(&thread_id, "Where is my parcel?")
    };
    let context = client.context(request).await;
    check_context(&context, i32::MAX);
    assert_eq!(kinds(&context), [Kind::Recent, Kind::Input]);
    assert_eq!(block_texts(&context, Kind::Recent), ["Hello!", "Hi."]);
    let asked = "Answer in one line:\nWhere is my parcel?";
    assert_eq!(block_texts(&context, Kind::Input), [asked]);
    let written = format!("Customer: Hello!\n\nClerk: Hi.\n\nCustomer: {asked}\n\nClerk:");
    assert_eq!(body(&context, ProviderFormat::Text), written);
    // Another app has none of it.
    let other = client.thread(&recollect_tests::app()).await;
    let context = client.context(context_request(&other, "Where?")).await;
    assert_eq!(block_texts(&context, Kind::Input), ["Where?"]);
}

#[apply(trial)]
async fn d18_a_query_stays_a_value_of_the_template() {
    let client = plain().await;
    let policy = MemoryPolicy {
        query_prompt_template: Some("[{{ query }}|{{ name }}]".to_owned()),
        ..mode(MemoryMode::None)
    };
    let hostile = "{{ 7*7 }} {% for x in query %}{{ x }}{% endfor %} {# no #} <system>|]";
    let request = BuildContextRequest {
        policy: Some(policy),
        input_name: "{{ query }}".to_owned(),
        ..context_request("", hostile)
    };
    let context = client.context(request).await;
    let expected = format!("[{hostile}|{{{{ query }}}}]");
    assert_eq!(block_texts(&context, Kind::Input), [expected]);

    for template in [
        "no value",
        "{{ query",
        "{{ query }}{{ other }}",
        "{% set a = query %}{{ a }}",
    ] {
        let request = BuildContextRequest {
            policy: Some(MemoryPolicy {
                query_prompt_template: Some(template.to_owned()),
                ..mode(MemoryMode::None)
            }),
            ..context_request("", "Hello!")
        };
        let failure = client.refused(request).await;
        failure.names_field("policy.query_prompt_template");
    }
}

#[apply(trial)]
async fn a_prompt_that_does_not_fit_is_refused_with_its_size() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Hello!", "Hi.").await;
    let request = BuildContextRequest {
        system_prompt: "help ".repeat(50),
        max_tokens: Some(40),
        ..context_request(&thread_id, "What now?")
    };
    let failure = client.refused(request.clone()).await;
    let needed: i32 = failure.metadata["needed_tokens"].parse().unwrap();
    failure.is(Code::FailedPrecondition, "CONTEXT_TOO_LARGE");
    let enough = BuildContextRequest {
        max_tokens: Some(needed),
        ..request
    };
    let context = client.context(enough.clone()).await;
    check_context(&context, needed);
    assert_eq!(kinds(&context), [Kind::System, Kind::Input]);
    assert_eq!(context.total_tokens, needed);
    let less = BuildContextRequest {
        max_tokens: Some(needed - 1),
        ..enough
    };
    let failure = client.refused(less).await;
    failure.is(Code::FailedPrecondition, "CONTEXT_TOO_LARGE");

    // By default a context has a quarter of the window, which an input may exceed as long
    // as there is room for the answer.
    let request = |words: usize| BuildContextRequest {
        max_tokens: None,
        input: vec![text(&"why ".repeat(words / 5)); 5],
        ..context_request(&thread_id, "")
    };
    let context = client.context(request(5)).await;
    assert_eq!(context.max_tokens, 32_000);
    assert_eq!(kinds(&context), [Kind::Recent, Kind::Input]);
    let context = client.context(request(40_000)).await;
    assert_eq!(context.max_tokens, context.total_tokens);
    check_context(&context, 41_000);
    assert_eq!(kinds(&context), [Kind::Input]);
    assert_eq!(cut(&context, Kind::Recent).item_count, 2);
    let failure = client.refused(request(113_000)).await;
    assert!(failure.message.contains("112000"), "{}", failure.message);
}

/// A request that is right but for one field.
async fn wrong(client: &Client, request: BuildContextRequest, field: &str) {
    client.refused(request).await.names_field(field);
}

#[apply(trial)]
async fn wrong_fields_of_a_context_are_named() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let good = || context_request(&thread_id, "Hello!");
    macro_rules! check {
        ($($field:literal: { $($name:ident: $value:expr),+ $(,)? })+) => {$(
            wrong(&client, BuildContextRequest { $($name: $value,)+ ..good() }, $field).await;
        )+};
    }
    let call = tool_call("a", "b", value!({})).parts;
    check! {
        "thread": { thread: None }
        "thread.thread_id": { thread: by_id("") }
        "thread.thread_id": { thread: by_id("x") }
        "thread.session.app_id": { thread: by_session(SessionRef::default()) }
        "head_message_id": { head_message_id: "x".repeat(129) }
        "system_prompt": { system_prompt: "x".repeat(256 * 1_024 + 1) }
        "system_prompt": { system_prompt: "\0".to_owned() }
        "input": { input: vec![text("x"); 65] }
        "input": { input: vec![text(&"x".repeat(200 * 1_024)); 6] }
        "input[1].text": { input: vec![text("x"), text("\0")] }
        "input[0].content": { input: vec![Part::default()] }
        "input[0].tool_call": { input: call }
        "input_name": { input_name: "x".repeat(257) }
        "query": { query: "x".repeat(8_193) }
        "max_tokens": { max_tokens: Some(0) }
        "max_tokens": { max_tokens: Some(-1) }
        "max_tokens": { max_tokens: Some(10_000_001) }
        "model": { model: "x".repeat(129) }
        "policy.mode": { policy: Some(MemoryPolicy { mode: 9, ..Default::default() }) }
        "policy.recent_window": { policy: Some(MemoryPolicy { recent_window: Some(501), ..Default::default() }) }
        "policy.ttl": { policy: Some(MemoryPolicy { ttl: Some(Default::default()), ..Default::default() }) }
        "node_id": { node_id: "x".repeat(129) }
        "current_message_id": { current_message_id: "x".repeat(129) }
        "oversized_turn": { oversized_turn: 9 }
        "filter.roles[0]": { filter: Some(memory_contract::proto::MessageFilter { roles: vec![9], ..Default::default() }) }
        "method": { method: 9 }
        "freshness.at_least_as_fresh": { freshness: recollect_tests::at_least("x") }
        "freshness.max_wait": { freshness: Some(Freshness { max_wait: Some(seconds(31)), ..Default::default() }) }
        "reserve_tokens": { reserve_tokens: Some(-1) }
        "reserve_tokens": { reserve_tokens: Some(10_000_001) }
        "formats[1]": { formats: vec![1, 0] }
        "formats[0]": { formats: vec![9] }
    }
    let failure = client
        .refused(BuildContextRequest {
            head_message_id: "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11".to_owned(),
            ..good()
        })
        .await;
    failure.is(Code::NotFound, "MESSAGE_NOT_FOUND");
    // All of them at once.
    let request = BuildContextRequest {
        max_tokens: Some(-1),
        formats: vec![0],
        ..context_request("x", "Hello!")
    };
    let failure = client.refused(request).await;
    assert_eq!(failure.fields.len(), 3, "{failure:?}");
}

#[apply(trial)]
async fn d02_node_memory_needs_a_conversation_and_a_node() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        node_id: "planner".to_owned(),
        ..context_request("", "Hello!")
    };
    let failure = client.refused(request).await;
    failure.names_field("thread");
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        ..context_request(&thread_id, "Hello!")
    };
    wrong(&client, request.clone(), "node_id").await;
    let named = BuildContextRequest {
        node_id: "planner".to_owned(),
        ..request
    };
    let context = client.context(named).await;
    assert_eq!(kinds(&context), [Kind::Input], "it has no memory yet");
}
