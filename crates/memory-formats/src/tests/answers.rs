//! What is stored of recorded answers of each provider.

use super::*;
use memory_contract::message::{Opaque, Reasoning, ToolCall};

/// The only message of an answer.
fn answer(provider: Provider, json: &str) -> NewMessage {
    let mut messages = messages_of(provider, json);
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert_eq!(messages[0].role, Role::Assistant);
    messages.remove(0)
}

fn reasoning(part: &Part) -> &Reasoning {
    match &part.content {
        Content::Reasoning(reasoning) => reasoning,
        other => panic!("{other:?}"),
    }
}

fn call(part: &Part) -> (&str, &str, &str) {
    match &part.content {
        Content::ToolCall(ToolCall {
            id,
            name,
            arguments,
        }) => (id, name, arguments),
        other => panic!("{other:?}"),
    }
}

fn opaque_part(part: &Part) -> &Opaque {
    match &part.content {
        Content::Opaque(opaque) => opaque,
        other => panic!("{other:?}"),
    }
}

const OSLO: &str = r#"{"city":  "Oslo"}"#;
const ROME: &str = r#"{"city": "Rome"}"#;

#[test]
fn an_answer_of_chat_completions_keeps_reasoning_and_parallel_calls() {
    let message = answer(Provider::OpenaiChat, golden!("openai_chat.response"));
    assert_eq!(
        message.external_id,
        "chatcmpl-CbT2fK0vXwq9zGd1mYhR7uLpJ4sEo"
    );
    let [thought, text, oslo, rome] = message.parts.as_slice() else {
        panic!("{message:?}");
    };
    assert_eq!(reasoning(thought).text, "Two cities, two calls.");
    assert_eq!(reasoning(thought).provider, Provider::OpenaiChat);
    assert_eq!(text, &Part::text("I look."));
    let id = "call_00_9nLfpIQ6VO1JCaEsJcU8WZnS";
    assert_eq!(call(oslo), (id, "get_weather", OSLO));
    let id = "call_01_B7hQ2eNf0yKxTz5vWcRj3mGa";
    assert_eq!(call(rome), (id, "get_weather", ROME));
}

#[test]
fn a_refusal_is_a_text() {
    for (provider, json, id) in [
        (
            Provider::OpenaiChat,
            golden!("openai_chat.refusal.response"),
            "chatcmpl-CbT3aP8dQm2xVn6rKt4wLs0yHgZcB",
        ),
        (
            Provider::AnthropicMessages,
            golden!("anthropic_messages.refusal.response"),
            "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        ),
    ] {
        let message = answer(provider, json);
        assert_eq!(message.parts, [Part::text("Not that.")], "{provider:?}");
        assert_eq!(message.external_id, id);
    }
    // Gemini answers a refused prompt without content: there is nothing to store.
    let blocked = r#"{"candidates": [{"finishReason": "SAFETY", "index": 0}]}"#;
    let blocked = provider_messages(Provider::Gemini, blocked);
    let error = new_messages_from(Vec::new(), vec![blocked]).unwrap_err();
    assert_eq!(
        error.0[0].field,
        "provider_messages[0].json.candidates[0].content"
    );
}

#[test]
fn a_spoken_answer_is_its_transcript() {
    let message = answer(
        Provider::OpenaiChat,
        r#"{"role": "assistant", "content": null, "refusal": null,
            "audio": {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Rain."}}"#,
    );
    assert_eq!(message.parts, [Part::text("Rain.")]);
}

#[test]
fn an_answer_of_responses_keeps_each_item() {
    let json = golden!("openai_responses.response");
    let message = answer(Provider::OpenaiResponses, json);
    assert_eq!(message.external_id, "resp_67ccd2bed1ec8190b14f964abc054267");
    let [thought, search, oslo, rome, text, refusal] = message.parts.as_slice() else {
        panic!("{message:?}");
    };
    let thought = reasoning(thought);
    assert_eq!(
        thought.id,
        "rs_6876cf02e0bc8192b74af0fb64b715ff06fa2fcced15a5ac"
    );
    assert_eq!(thought.encrypted, "gAAAAABo=");
    assert_eq!(thought.summaries, ["**Looking**"]);
    assert_eq!(opaque_part(search).kind, "web_search_call");
    assert_eq!(call(oslo), ("call_1", "get_weather", OSLO));
    assert_eq!(call(rome), ("call_2", "get_weather", ROME));
    // Annotations are not stored; what they annotate is.
    assert_eq!(text, &Part::text("One moment."));
    assert_eq!(refusal, &Part::text("Not that."));
}

#[test]
fn an_answer_of_anthropic_keeps_each_block() {
    let json = golden!("anthropic_messages.response");
    let message = answer(Provider::AnthropicMessages, json);
    assert_eq!(message.external_id, "msg_01XFDUDYJgAACzvnptvVoYEL");
    let [thought, redacted, search, found, text, oslo, rome] = message.parts.as_slice() else {
        panic!("{message:?}");
    };
    assert_eq!(reasoning(thought).text, "Two cities, two calls.");
    assert_eq!(reasoning(thought).signature, "EqQBCkYIBxgCKkA+/w==");
    assert_eq!(reasoning(redacted).encrypted, "EmwKAhgBEgy3va3pzix+/w==");
    assert_eq!(opaque_part(search).kind, "server_tool_use");
    // Later requests have to return it with its encrypted content.
    let found = opaque_part(found);
    assert_eq!(found.kind, "web_search_tool_result");
    assert!(
        found
            .json
            .contains(r#""encrypted_content": "EqgfCioIARgBIiQ3""#)
    );
    // Citations are not stored; the text is.
    assert_eq!(text, &Part::text("It rains there."));
    let id = "toolu_01A09q90qw90lq917835lq9";
    assert_eq!(call(oslo), (id, "get_weather", OSLO));
    assert_eq!(call(rome), ("toolu_01B", "get_weather", ROME));
}

#[test]
fn an_answer_of_gemini_keeps_thoughts_and_signatures() {
    let message = answer(Provider::Gemini, golden!("gemini.response"));
    assert_eq!(message.external_id, "vKqLaIjoO5KRmtkPxZ-z4Aw");
    let [thought, text, oslo, rome, end] = message.parts.as_slice() else {
        panic!("{message:?}");
    };
    assert_eq!(reasoning(thought).text, "Two cities, two calls.");
    assert_eq!(text, &Part::text("I look."));
    assert_eq!(call(oslo), ("get_weather", "get_weather", OSLO));
    assert_eq!(oslo.signature, "CjAB");
    assert_eq!(call(rome), ("get_weather-2", "get_weather", ROME));
    assert_eq!(rome.signature, "");
    assert_eq!(end.signature, "CkAB");
}

#[test]
fn ids_of_answers_stay_unique_in_a_request() {
    let json = golden!("anthropic_messages.refusal.response");
    let twice = [json, json].map(|json| provider_messages(Provider::AnthropicMessages, json));
    let messages = new_messages_from(Vec::new(), twice.to_vec()).unwrap();
    let ids: Vec<&str> = messages
        .iter()
        .map(|message| message.external_id.as_str())
        .collect();
    assert_eq!(ids, ["msg_013Zva2CMHLNnXjNJJKqJ2EF", ""]);
}

#[test]
fn ids_are_taken_from_answers_only_and_only_if_they_can_be_unique() {
    let long = "x".repeat(129);
    let control = "msg_0123456789abcdef\\u0007";
    for id in ["chatcmpl-123", &long, control, ""] {
        let json = format!(
            r#"{{"id": "{id}", "choices": [{{"message": {{"role": "assistant", "content": "Hi."}}}}]}}"#
        );
        let message = answer(Provider::OpenaiChat, &json);
        assert_eq!(message.external_id, "", "{id}");
    }
    // An item has its own id, and a response that has none leaves it.
    let item = r#"{"type": "message", "id": "msg_67ccd2bf17f0819081ff3bb2cf6508e6",
        "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}"#;
    let list = format!("[{item}]");
    let response = format!(r#"{{"id": "resp_1", "output": [{item}]}}"#);
    for json in [item, &list, &response] {
        let message = answer(Provider::OpenaiResponses, json);
        assert_eq!(
            message.external_id, "msg_67ccd2bf17f0819081ff3bb2cf6508e6",
            "{json}"
        );
    }
    // What a caller wrote has none.
    let asked = r#"{"id": "msg_0123456789abcdef0123", "role": "user", "content": "Hi."}"#;
    for provider in [
        Provider::OpenaiChat,
        Provider::OpenaiResponses,
        Provider::AnthropicMessages,
    ] {
        assert_eq!(
            messages_of(provider, asked)[0].external_id,
            "",
            "{provider:?}"
        );
    }
}
