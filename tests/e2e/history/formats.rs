//! Histories in the formats of providers.

use memory_contract::proto::{
    FileDelivery, GetHistoryRequest, GetHistoryResponse, MemoryPolicy, ProviderFormat, Role,
    Thread, UpdateThreadRequest,
};
use recollect_tests::{
    app, apply, file, history_request, say, texts, tool_call, tool_result, trial, with_parts,
};
use serde_json::{Value, json};

use crate::plain;

/// The body of a history in a format, as JSON.
fn body(history: &GetHistoryResponse, format: ProviderFormat) -> Value {
    let mut rendered = history.rendered.iter();
    let rendered = rendered.find(|one| one.format() == format).unwrap();
    serde_json::from_str(&rendered.body).unwrap()
}

#[apply(trial)]
async fn a_history_is_rendered_for_the_apis_of_providers() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let said = vec![
        say(Role::System, "You help."),
        say(Role::User, "Is it raining in Oslo?"),
        tool_call("c1", "weather", json!({"city": "Oslo"})),
        tool_result("c1", "rain"),
        say(Role::Assistant, "Yes."),
    ];
    client.append(&thread_id, said).await;
    let formats = [
        ProviderFormat::AnthropicMessages,
        ProviderFormat::OpenaiChat,
        ProviderFormat::Text,
    ];
    let request = GetHistoryRequest {
        formats: formats.map(i32::from).to_vec(),
        ..history_request(&thread_id)
    };
    let history = client.call(request).await;
    let plain = client.call(history_request(&thread_id)).await;
    assert_eq!(history.messages, plain.messages);
    assert_eq!(history.total_tokens, plain.total_tokens);
    assert!(plain.rendered.is_empty());
    let given: Vec<_> = history.rendered.iter().map(|one| one.format()).collect();
    assert_eq!(given, formats, "in the order of the request");

    let openai = body(&history, ProviderFormat::OpenaiChat);
    let roles = openai["messages"].as_array().unwrap().iter();
    let roles: Vec<_> = roles.map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant"]);
    assert_eq!(openai["messages"][3]["tool_call_id"], "c1");
    let anthropic = body(&history, ProviderFormat::AnthropicMessages);
    assert_eq!(
        anthropic["messages"][2]["content"][0]["type"],
        "tool_result"
    );
    let text = &history.rendered[2].body;
    assert!(text.contains("Human: Is it raining in Oslo?"), "{text}");
}

#[apply(trial)]
async fn the_policy_of_the_thread_says_how_a_history_is_rendered() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let picture = file("https://example.org/a.png", "a cat");
    client
        .append(&thread_id, vec![with_parts(Role::User, vec![picture])])
        .await;
    let request = GetHistoryRequest {
        formats: vec![ProviderFormat::OpenaiChat.into()],
        ..history_request(&thread_id)
    };
    let sent = client.call(request.clone()).await.rendered[0].body.clone();
    assert!(sent.contains("image_url"), "{sent}");
    let policy = MemoryPolicy {
        file_delivery: FileDelivery::Text.into(),
        ..Default::default()
    };
    let thread = Thread {
        thread_id: thread_id.clone(),
        policy: Some(policy),
        ..Default::default()
    };
    let update = UpdateThreadRequest {
        thread: Some(thread),
        ..Default::default()
    };
    client.call(update).await;
    let described = client.call(request).await.rendered[0].body.clone();
    assert!(!described.contains("image_url"), "{described}");
    assert!(described.contains("a cat"), "{described}");
}

#[apply(trial)]
async fn a_rendered_history_fits_into_a_response() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    for number in 0..16 {
        let text = format!("{number} {}", "a ".repeat(100_000));
        client
            .append(&thread_id, vec![say(Role::User, &text)])
            .await;
    }
    let request = GetHistoryRequest {
        max_tokens: Some(10_000_000),
        formats: vec![ProviderFormat::OpenaiChat.into()],
        ..history_request(&thread_id)
    };
    let history = client.call(request).await;
    let said = texts(&history.messages);
    assert!(history.truncated && !said.is_empty() && said.len() < 16);
    assert!(said.last().unwrap().starts_with("15 "), "the newest stay");
    let left_out = 16 - i64::try_from(said.len()).unwrap();
    assert_eq!(history.omitted_message_count, left_out);
    let body = body(&history, ProviderFormat::OpenaiChat);
    assert_eq!(body["messages"].as_array().unwrap().len(), said.len());
}
