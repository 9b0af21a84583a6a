//! Golden files of each format, and properties of reading and writing.
//!
//! The files in `tests/golden/` follow the published schemas of the providers' APIs.

use memory_contract::{
    message::{Content, NewMessage, Part, Provider, Role},
    proto,
    proto::ProviderMessages,
};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::json::Node;

const PROVIDERS: [Provider; 4] = [
    Provider::OpenaiChat,
    Provider::OpenaiResponses,
    Provider::AnthropicMessages,
    Provider::Gemini,
];

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/golden/",
            $name,
            ".json"
        ))
    };
}

mod answers;
mod results;

/// A whole request of each provider.
fn request(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenaiChat => golden!("openai_chat"),
        Provider::OpenaiResponses => golden!("openai_responses"),
        Provider::AnthropicMessages => golden!("anthropic_messages"),
        Provider::Gemini => golden!("gemini"),
    }
}

fn messages_of(provider: Provider, json: &str) -> Vec<NewMessage> {
    new_messages_from(Vec::new(), vec![provider_messages(provider, json)]).unwrap()
}

fn provider_messages(provider: Provider, json: &str) -> ProviderMessages {
    ProviderMessages {
        format: proto::ProviderFormat::from(provider).into(),
        json: json.to_owned(),
    }
}

/// Writes messages. A system message at the beginning is the system prompt.
fn write(format: Format, messages: &[NewMessage]) -> Rendered {
    let said: Vec<Said<'_>> = messages
        .iter()
        .enumerate()
        .map(|(place, message)| Said {
            role: message.role,
            name: &message.name,
            parts: &message.parts,
            is_prompt: place == 0 && message.role == Role::System,
        })
        .collect();
    let labels = Labels {
        user: "Human".to_owned(),
        assistant: "Assistant".to_owned(),
        image_detail: Default::default(),
    };
    render(format, &said, &labels)
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn what_a_provider_wrote_goes_back_unchanged() {
    for provider in PROVIDERS {
        let json = request(provider);
        let rendered = write(Format::Provider(provider), &messages_of(provider, json));
        assert_eq!(value(&rendered.body), value(json), "{provider:?}");
        assert_eq!(rendered.dropped_parts, 0, "{provider:?}");
    }
}

#[test]
fn reasoning_of_compatible_apis_goes_back_in_turns_with_tools() {
    let json = golden!("openai_chat.reasoning");
    let format = Format::Provider(Provider::OpenaiChat);
    let rendered = write(format, &messages_of(Provider::OpenaiChat, json));
    assert_eq!(value(&rendered.body), value(json));
    assert_eq!(rendered.dropped_parts, 0);

    // A turn without a call takes none.
    let json = r#"[{"role": "user", "content": "Hello!"},
        {"role": "assistant", "content": "Hello.", "reasoning": "A greeting.",
         "reasoning_details": [{"type": "reasoning.text", "text": "A greeting."}]}]"#;
    let messages = messages_of(Provider::OpenaiChat, json);
    assert_eq!(messages[1].parts.len(), 3);
    let rendered = write(format, &messages);
    assert_eq!(
        rendered.body,
        r#"{"messages":[{"role":"user","content":"Hello!"},{"role":"assistant","content":"Hello."}]}"#
    );
    assert_eq!(rendered.dropped_parts, 2);
}

#[test]
fn arguments_and_opaque_parts_keep_their_bytes() {
    let exact = [
        (
            Provider::AnthropicMessages,
            r#"{"city" : "Oslo",  "days": 3.0, "id": 12345678901234567890}"#,
        ),
        (
            Provider::AnthropicMessages,
            r#"{"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "weather Oslo"}}"#,
        ),
        (Provider::Gemini, r#"{"city" : "Oslo",  "days": 3.0}"#),
        (Provider::Gemini, r#"{"degrees" : 15.0}"#),
        (
            Provider::OpenaiChat,
            r#""{\"city\" : \"Oslo\",\n \"days\": 3.0}""#,
        ),
        (Provider::OpenaiChat, r#""{\"zone\": \"Eur""#),
        (
            Provider::OpenaiResponses,
            r#"{"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "Oslo"}}"#,
        ),
    ];
    for (provider, bytes) in exact {
        let json = request(provider);
        assert!(json.contains(bytes), "{bytes}");
        let rendered = write(Format::Provider(provider), &messages_of(provider, json));
        assert!(rendered.body.contains(bytes), "{bytes}: {}", rendered.body);
    }
}

#[test]
fn a_conversation_is_written_for_the_other_providers() {
    let messages = messages_of(
        Provider::AnthropicMessages,
        request(Provider::AnthropicMessages),
    );
    for (provider, expected) in [
        (
            Provider::OpenaiChat,
            golden!("anthropic_messages.as_openai_chat"),
        ),
        (
            Provider::OpenaiResponses,
            golden!("anthropic_messages.as_openai_responses"),
        ),
        (Provider::Gemini, golden!("anthropic_messages.as_gemini")),
    ] {
        let rendered = write(Format::Provider(provider), &messages);
        assert_eq!(value(&rendered.body), value(expected), "{provider:?}");
        assert_eq!(rendered.dropped_parts, 5, "{provider:?}");
    }
}

#[test]
fn nothing_that_is_for_one_provider_reaches_another() {
    let secrets = [
        "EqQBCkYI",
        "EmwKAhgB",
        "JVBERi0=",
        "srvtoolu",
        "EqgfCioI",
        "gAAAAABo",
        "CjAB0e2Kb",
        "Cl8B0e2Kb",
        "UklGRg",
        "ws_1",
        "rs_",
        "print(1)",
        "knows",
        "may rain",
    ];
    for from in PROVIDERS {
        let json = request(from);
        let messages = messages_of(from, json);
        let others = PROVIDERS.into_iter().filter(|to| *to != from);
        let formats = others.map(Format::Provider).chain([Format::Text]);
        for format in formats {
            let rendered = write(format, &messages);
            for secret in secrets {
                assert!(!rendered.body.contains(secret), "{from:?} {rendered:?}");
            }
            assert!(rendered.dropped_parts > 0, "{from:?} {format:?}");
            assert!(rendered.body.contains("Rain."), "{from:?} {format:?}");
        }
    }
}

#[test]
fn calls_without_an_id_are_paired_by_name_and_number() {
    let asked = r#"{"parts": [{"text": "And the weather?"}]}"#;
    let mut messages = messages_of(Provider::Gemini, asked);
    messages.extend(messages_of(Provider::Gemini, golden!("gemini.response")));
    let answers = r#"[{"role": "user", "parts": [
        {"functionResponse": {"name": "get_weather", "response": {"output": "rain"}}},
        {"functionResponse": {"name": "get_weather", "response": {"output": "sun"}}}]}]"#;
    messages.extend(messages_of(Provider::Gemini, answers));
    let body = write(Format::Provider(Provider::OpenaiChat), &messages).body;
    let body = value(&body);
    let said = |place: usize| body["messages"][place].clone();
    for (place, id, city, answer) in [
        (0, "get_weather", "{\"city\":  \"Oslo\"}", "rain"),
        (1, "get_weather-2", "{\"city\": \"Rome\"}", "sun"),
    ] {
        let call = &said(1)["tool_calls"][place];
        assert_eq!(call["id"], id);
        assert_eq!(call["function"]["arguments"], city);
        assert_eq!(said(2 + place)["tool_call_id"], id);
        assert_eq!(said(2 + place)["content"], answer);
    }
    let body = write(Format::Provider(Provider::Gemini), &messages).body;
    let parts = &value(&body)["contents"][1]["parts"];
    assert_eq!(parts[2]["thoughtSignature"], "CjAB");
    assert_eq!(parts[3].get("thoughtSignature"), None);
    assert_eq!(parts[4]["thoughtSignature"], "CkAB");
}

#[test]
fn errors_name_the_place_in_the_json() {
    let long = "x".repeat(129);
    let cases = [
        (Provider::OpenaiChat, "{".to_owned(), "", "must be JSON"),
        (Provider::OpenaiChat, "7".to_owned(), "", "must be an object"),
        (
            Provider::OpenaiChat,
            r#"{"messages": [{"role": "narrator", "content": "x"}]}"#.to_owned(),
            ".messages[0].role",
            "narrator",
        ),
        (
            Provider::OpenaiChat,
            r#"{"choices": [{}, {}]}"#.to_owned(),
            ".choices",
            "has 2",
        ),
        (
            Provider::AnthropicMessages,
            r#"[{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "text"}]}]"#
                .to_owned(),
            "[1].content[0].text",
            "is required",
        ),
        (
            Provider::AnthropicMessages,
            format!(
                r#"{{"role": "assistant", "content": [{{"type": "tool_use", "id": "a", "name": "{long}", "input": {{}}}}]}}"#
            ),
            ".content[0]",
            "tool_call.name must have at most 128 characters",
        ),
        (
            Provider::AnthropicMessages,
            r#"{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "n"}]}"#
                .to_owned(),
            ".content[0]",
            "tool_call belongs in a message with ROLE_ASSISTANT",
        ),
        (
            Provider::Gemini,
            r#"{"contents": [{"parts": [{"functionCall": {"args": {}}}]}]}"#.to_owned(),
            ".contents[0].parts[0].functionCall.name",
            "is required",
        ),
        (
            Provider::OpenaiResponses,
            r#"{"input": [{"type": "function_call", "call_id": "x"}]}"#.to_owned(),
            ".input[0].name",
            "is required",
        ),
    ];
    for (provider, json, place, problem) in cases {
        let json = provider_messages(provider, &json);
        let error = new_messages_from(Vec::new(), vec![json]).unwrap_err();
        assert_eq!(
            error.0[0].field,
            format!("provider_messages[0].json{place}")
        );
        assert!(error.0[0].problem.contains(problem), "{error}");
    }
    let both = new_messages_from(
        vec![proto::MessageInput::default()],
        vec![provider_messages(Provider::Gemini, "[]")],
    );
    assert_eq!(both.unwrap_err().0[0].field, "provider_messages");
    let none = vec![provider_messages(Provider::Gemini, "[]")];
    let none = new_messages_from(Vec::new(), none).unwrap_err();
    assert_eq!(none.0[0].field, "provider_messages");
}

/// JSON in any layout.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-0.0".to_owned()),
        Just("1E+5".to_owned()),
        Just("123456789012345678901234567890".to_owned()),
        "\\PC{0,8}".prop_map(|text| json::quoted(&text)),
        Just(r#""\u00e9\n\"\\]},:""#.to_owned()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..4), "[ \n]{0,2}").prop_map(
                |(items, space)| format!("[{space}{}{space}]", items.join(&format!("{space},")))
            ),
            any_object(inner),
        ]
    })
}

fn any_object(inner: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let field = ("\\PC{0,4}", inner, "[ \t]{0,2}")
        .prop_map(|(key, value, space)| format!("{space}{}{space}:{value}", json::quoted(&key)));
    prop::collection::vec(field, 0..4).prop_map(|fields| format!("{{{}}}", fields.join(" , ")))
}

proptest! {
    #[test]
    fn any_arguments_come_back_byte_for_byte(arguments in any_object(any_json())) {
        let sources = [
            (Provider::AnthropicMessages, format!(
                r#"[{{"role": "assistant", "content": [
                    {{"input": {arguments}, "type": "tool_use", "id": "a", "name": "n"}}]}},
                    {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "a"}}]}}]"#
            )),
            (Provider::Gemini, format!(
                r#"[{{"role": "model", "parts": [{{"functionCall": {{"args": {arguments}, "name": "n"}}}}]}},
                    {{"role": "user", "parts": [{{"functionResponse": {{"name": "n", "response": {{}}}}}}]}}]"#
            )),
            (Provider::OpenaiChat, format!(
                r#"[{{"role": "assistant", "tool_calls": [
                    {{"id": "a", "function": {{"name": "n", "arguments": {}}}}}]}},
                    {{"role": "tool", "tool_call_id": "a", "content": ""}}]"#,
                json::quoted(&arguments)
            )),
        ];
        for (provider, json) in sources {
            let messages = messages_of(provider, &json);
            let call = match &messages[0].parts[0].content {
                Content::ToolCall(call) => call,
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(&call.arguments, &arguments);
            for to in PROVIDERS {
                let body = write(Format::Provider(to), &messages).body;
                let written = match to {
                    Provider::OpenaiChat | Provider::OpenaiResponses => json::quoted(&arguments),
                    Provider::AnthropicMessages | Provider::Gemini => arguments.clone(),
                };
                // A conversation that begins with the model has its call in words there.
                let in_words = json::quoted(&arguments);
                let found = body.contains(&written) || body.contains(in_words.trim_matches('"'));
                prop_assert!(found, "{to:?}: {body}");
                prop_assert!(serde_json::from_str::<Value>(&body).is_ok(), "{to:?}: {body}");
            }
        }
    }

    #[test]
    fn json_of_any_layout_is_sliced_exactly(
        values in prop::collection::vec(any_json(), 0..5),
        key in "\\PC{0,6}",
    ) {
        let list = format!(" [ {} ] ", values.join("\n,"));
        let object = format!("{{ {} : {list}, \"last\":1}}", json::quoted(&key));
        let node = Node::parse(&object, String::new()).unwrap();
        let fields = node.fields().unwrap();
        if key != "last" {
            let items = fields.get(&key).unwrap().items().unwrap();
            let texts: Vec<&str> = items.iter().map(Node::text).collect();
            prop_assert_eq!(texts, values);
        }
        prop_assert_eq!(fields.get("last").unwrap().text(), "1");
    }
}
