//! Messages in the formats of providers: what is appended in one comes back in it, and
//! in the others.

use std::fs;

use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, BuildContextResponse, GetMessageRequest,
    ImportMessagesRequest, MemoryMode, MemoryPolicy, Message, ProviderFormat, ProviderMessages,
    Role, SearchMethod, SearchRequest, import_messages_response::Outcome, part::Content,
    tool_result_part,
};
use recollect_tests::{
    Client, app, apply, body, body_json, by_id, by_session, context_request, history_request, mode,
    project_dir, search_request, session, trial,
};
use serde_json::{Value, json};
use tokio_stream::StreamExt as _;
use tonic::Code;

use crate::context::chat_rules;
use crate::{acme, plain};

const PROVIDERS: [(ProviderFormat, &str, &str); 4] = [
    (ProviderFormat::OpenaiChat, "openai_chat", "messages"),
    (ProviderFormat::OpenaiResponses, "openai_responses", "input"),
    (
        ProviderFormat::AnthropicMessages,
        "anthropic_messages",
        "messages",
    ),
    (ProviderFormat::Gemini, "gemini", "contents"),
];

/// A file of a provider's request, with its system prompt.
fn golden(name: &str) -> Value {
    let path = project_dir().join(format!("crates/memory-formats/tests/golden/{name}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn of(format: ProviderFormat, json: impl ToString) -> ProviderMessages {
    ProviderMessages {
        format: format.into(),
        json: json.to_string(),
    }
}

async fn append(client: &Client, thread_id: &str, messages: Vec<ProviderMessages>) -> String {
    let request = AppendMessagesRequest {
        thread: by_id(thread_id),
        provider_messages: messages,
        ..Default::default()
    };
    client.call(request).await.revision
}

/// Stores the conversation of a golden file. The system prompt belongs to each request.
async fn store(client: &Client, format: ProviderFormat, name: &str, list: &str) -> String {
    let thread_id = client.thread(&app()).await;
    let mut messages = golden(name)[list].clone();
    if messages[0]["role"] == "system" {
        messages.as_array_mut().unwrap().remove(0);
    }
    // One call a message, as in a conversation.
    for message in messages.as_array().unwrap() {
        append(client, &thread_id, vec![of(format, message)]).await;
    }
    thread_id
}

async fn context(client: &Client, thread_id: &str) -> BuildContextResponse {
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            window_enabled: Some(false),
            ..mode(MemoryMode::Window)
        }),
        system_prompt: "You help.".to_owned(),
        formats: vec![1, 2, 3, 4, 5],
        ..context_request(thread_id, "")
    };
    client.context(request).await
}

fn dropped(context: &BuildContextResponse, format: ProviderFormat) -> i32 {
    let rendered = context.rendered.iter();
    let mut rendered = rendered.filter(|one| one.format() == format);
    rendered.next().unwrap().dropped_part_count
}

#[apply(trial)]
async fn t18_what_a_provider_wrote_comes_back_in_its_format() {
    let client = plain().await;
    for (format, name, list) in PROVIDERS {
        let thread_id = store(&client, format, name, list).await;
        let context = context(&client, &thread_id).await;
        assert_eq!(body_json(&context, format), golden(name), "{name}");
        assert_eq!(dropped(&context, format), 0, "{name}");
    }
}

#[apply(trial)]
async fn t19_a_conversation_of_one_provider_is_valid_for_the_others() {
    let client = plain().await;
    for (from, name, list) in PROVIDERS {
        let thread_id = store(&client, from, name, list).await;
        let context = context(&client, &thread_id).await;
        for (to, ..) in PROVIDERS.into_iter().filter(|(to, ..)| *to != from) {
            match to {
                ProviderFormat::OpenaiChat => chat_rules::openai(&context),
                ProviderFormat::OpenaiResponses => chat_rules::responses(&context),
                ProviderFormat::AnthropicMessages => chat_rules::anthropic(&context),
                _ => chat_rules::gemini(&context),
            };
            assert!(dropped(&context, to) > 0, "{name} {to:?}");
        }
        let text = body(&context, ProviderFormat::Text);
        assert!(text.contains("Assistant: Rain."), "{text}");
        assert_eq!(
            dropped(&context, ProviderFormat::Text),
            dropped(
                &context,
                match from {
                    ProviderFormat::Gemini => ProviderFormat::AnthropicMessages,
                    _ => ProviderFormat::Gemini,
                }
            ),
            "{name}"
        );
    }
}

/// A turn of an agent, as Anthropic's API has it.
fn turn() -> Vec<ProviderMessages> {
    let arguments = r#"{"q" : "Oslo",  "n": 1.50, "id": 12345678901234567890}"#;
    let asked = r#"{"role": "user", "content": "What is the weather?"}"#;
    let called = format!(
        r#"{{"type": "message", "role": "assistant", "content": [
            {{"type": "thinking", "thinking": "Perhaps Zanzibar.", "signature": "EqQB+/=="}},
            {{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {arguments}}}]}}"#
    );
    let answered = r#"{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": "Drizzle near Holmenkollen."}, {"type": "search_result", "source": "s", "title": "Timbuktu", "content": []}]}]}"#;
    [asked, &called, answered]
        .map(|json| of(ProviderFormat::AnthropicMessages, json))
        .to_vec()
}

fn contents(message: &Message) -> Vec<&Content> {
    let parts = message.parts.iter();
    parts.filter_map(|part| part.content.as_ref()).collect()
}

#[apply(trial)]
async fn t18_signatures_ids_and_arguments_are_stored_byte_for_byte() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    append(&client, &thread_id, turn()).await;
    let messages = client.call(history_request(&thread_id)).await.messages;
    let roles: Vec<Role> = messages.iter().map(Message::role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    let [Content::Reasoning(thought), Content::ToolCall(call)] = contents(&messages[1])[..] else {
        panic!("{messages:?}");
    };
    assert_eq!(thought.provider(), ProviderFormat::AnthropicMessages);
    assert_eq!(
        (thought.text.as_str(), thought.signature.as_str()),
        ("Perhaps Zanzibar.", "EqQB+/==")
    );
    assert_eq!(call.tool_call_id, "toolu_1");
    assert_eq!(
        call.arguments,
        r#"{"q" : "Oslo",  "n": 1.50, "id": 12345678901234567890}"#
    );
    assert!(!call.invalid_json);
    let [Content::ToolResult(result)] = contents(&messages[2])[..] else {
        panic!("{messages:?}");
    };
    // The name is that of the call in the same request.
    assert_eq!(
        (result.tool_call_id.as_str(), result.name.as_str()),
        ("toolu_1", "look")
    );
    assert!(matches!(
        &result.content[1].content,
        Some(tool_result_part::Content::Opaque(opaque)) if opaque.r#type == "search_result"
    ));
    // Reasoning counts, because it is sent back.
    assert!(messages[1].token_count > call.arguments.len() as i32 / 8 + 12);
}

#[apply(trial)]
async fn t18_recorded_answers_are_stored_once_under_their_providers_ids() {
    let client = plain().await;
    for (format, name, id, kinds) in [
        (
            ProviderFormat::OpenaiChat,
            "openai_chat.response",
            "chatcmpl-CbT2fK0vXwq9zGd1mYhR7uLpJ4sEo",
            "reasoning text call call",
        ),
        (
            ProviderFormat::OpenaiResponses,
            "openai_responses.response",
            "resp_67ccd2bed1ec8190b14f964abc054267",
            "reasoning opaque call call text text",
        ),
        (
            ProviderFormat::AnthropicMessages,
            "anthropic_messages.response",
            "msg_01XFDUDYJgAACzvnptvVoYEL",
            "reasoning reasoning opaque opaque text call call",
        ),
        (
            ProviderFormat::Gemini,
            "gemini.response",
            "vKqLaIjoO5KRmtkPxZ-z4Aw",
            "reasoning text call call text",
        ),
    ] {
        let thread_id = client.thread(&app()).await;
        client.append_text(&thread_id, "Oslo and Rome?").await;
        let request = AppendMessagesRequest {
            thread: by_id(&thread_id),
            provider_messages: vec![of(format, golden(name))],
            ..Default::default()
        };
        let stored = client.call(request.clone()).await;
        assert!(!stored.replayed, "{name}");
        assert_eq!(stored.messages[0].external_id, id, "{name}");
        let again = client.call(request.clone()).await;
        assert!(again.replayed, "{name}");
        assert_eq!(again.messages, stored.messages, "{name}");
        let get = GetMessageRequest {
            thread: by_id(&thread_id),
            message_id: id.to_owned(),
        };
        let message = client.call(get).await.message.unwrap();
        assert_eq!(message.message_id, stored.messages[0].message_id);
        let stored: Vec<&str> = contents(&message)
            .into_iter()
            .map(|content| match content {
                Content::Text(_) => "text",
                Content::Reasoning(_) => "reasoning",
                Content::ToolCall(_) => "call",
                Content::Opaque(_) => "opaque",
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(stored.join(" "), kinds, "{name}");

        // Beside a message without an external id it is not a replay.
        let asked = of(
            ProviderFormat::AnthropicMessages,
            json!({"role": "user", "content": "x"}),
        );
        let mixed = AppendMessagesRequest {
            provider_messages: vec![asked, of(format, golden(name))],
            ..request
        };
        let refused = client.refused(mixed).await;
        refused.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
        assert_eq!(client.all_messages(&thread_id).await.len(), 2, "{name}");
    }
}

#[apply(trial)]
async fn ids_that_a_server_repeats_are_not_kept() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    for text in ["One.", "Two."] {
        let answer = json!({"id": "chatcmpl-123", "choices": [
            {"message": {"role": "assistant", "content": text}}]});
        append(
            &client,
            &thread_id,
            vec![of(ProviderFormat::OpenaiChat, answer)],
        )
        .await;
    }
    let messages = client.all_messages(&thread_id).await;
    assert_eq!(messages.len(), 2);
    assert!(
        messages
            .iter()
            .all(|message| message.external_id.is_empty())
    );
}

#[apply(trial)]
async fn an_error_names_every_wrong_field_of_a_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let called = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "x".repeat(129), "name": "x".repeat(129), "input": {}},
        {"type": "tool_use", "id": "x".repeat(129), "name": "look", "input": {}}]});
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        provider_messages: vec![of(ProviderFormat::AnthropicMessages, called)],
        ..Default::default()
    };
    let refused = client.refused(request).await;
    let refused = refused.is(Code::InvalidArgument, "INVALID_FIELD");
    let place = "provider_messages[0].json.content";
    assert_eq!(
        refused.field_names(),
        [
            format!("{place}[0]"),
            format!("{place}[0]"),
            format!("{place}[1]")
        ]
    );
}

#[apply(trial)]
async fn reasoning_is_not_searched_and_results_are() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let revision = append(&client, &thread_id, turn()).await;
    for (query, found) in [
        ("Holmenkollen", true),
        ("Zanzibar", false),
        ("Timbuktu", false),
    ] {
        let request = SearchRequest {
            method: SearchMethod::Lexical.into(),
            ..search_request(&thread_id, query, &revision)
        };
        let matches = client.call(request).await.matches;
        assert_eq!(!matches.is_empty(), found, "{query}: {matches:?}");
    }
}

#[apply(trial)]
async fn imports_take_the_formats_of_providers() {
    let client = plain().await;
    let request = ImportMessagesRequest {
        thread: by_session(session(&app(), "ada", "import")),
        provider_messages: turn(),
        ..Default::default()
    };
    let wrong = ImportMessagesRequest {
        provider_messages: vec![of(ProviderFormat::Gemini, json!({"contents": [7]}))],
        ..request.clone()
    };
    let requests = tokio_stream::iter([request, wrong]);
    let stream = client.messages().import_messages(requests).await.unwrap();
    let answers: Vec<_> = stream.into_inner().map(Result::unwrap).collect().await;
    assert!(
        matches!(&answers[0].outcome, Some(Outcome::Imported(imported)) if imported.message_count == 3),
        "{answers:?}"
    );
    assert!(
        matches!(&answers[1].outcome, Some(Outcome::Error(error)) if error.field == "provider_messages[0].json.contents[0]"),
        "{answers:?}"
    );
}

#[apply(trial)]
async fn errors_name_the_place_and_nothing_is_stored() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let long = "x".repeat(256 * 1024 + 1);
    for (format, json, field) in [
        (
            ProviderFormat::OpenaiChat,
            json!([{"role": "user", "content": "x"}, {"role": "user", "content": long}]),
            ".json[1].content",
        ),
        (
            ProviderFormat::AnthropicMessages,
            json!({"messages": [{"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "data": long}}]}]}),
            ".json.messages[0].content[0]",
        ),
        (ProviderFormat::OpenaiResponses, json!("x"), ".json"),
        (ProviderFormat::Text, json!([]), ".format"),
        (ProviderFormat::Unspecified, json!([]), ".format"),
    ] {
        let request = AppendMessagesRequest {
            thread: by_id(&thread_id),
            provider_messages: vec![of(format, json)],
            ..Default::default()
        };
        let refused = client.refused(request).await;
        let refused = refused.is(Code::InvalidArgument, "INVALID_FIELD");
        let field = format!("provider_messages[0]{field}");
        assert_eq!(refused.fields[0].0, field, "{refused:?}");
    }
    assert!(client.all_messages(&thread_id).await.is_empty());
}
