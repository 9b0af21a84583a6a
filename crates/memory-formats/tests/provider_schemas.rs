//! What Recollect renders, against the published schemas of the providers' requests and what else
//! they are known to refuse.
//!
//! `tests/schemas/` is written by `scripts/provider-schemas` from the types of the
//! providers' own packages. Their objects are closed: a field that a provider does not
//! define fails.

mod refusals;

use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use memory_contract::message::{NewMessage, Provider, Role};
use memory_contract::proto::{
    self, FileRef, FileType, MessageInput, OpaquePart, ProviderFormat, ProviderMessages, Reasoning,
    ToolCall, ToolResult, file_ref::Location, part::Content, tool_result_part::Content as Output,
};
use memory_formats::{Format, Labels, Said, new_messages_from, render};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

const PROVIDERS: [Provider; 4] = [
    Provider::OpenaiChat,
    Provider::OpenaiResponses,
    Provider::AnthropicMessages,
    Provider::Gemini,
];

fn schema_of(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenaiChat => include_str!("schemas/openai_chat.json"),
        Provider::OpenaiResponses => include_str!("schemas/openai_responses.json"),
        Provider::AnthropicMessages => include_str!("schemas/anthropic_messages.json"),
        Provider::Gemini => include_str!("schemas/gemini.json"),
    }
}

/// The schemas of the providers, in the order of [`PROVIDERS`].
static SCHEMAS: LazyLock<(Schemas, Vec<SchemaIndex>)> = LazyLock::new(|| {
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    let compiled = PROVIDERS.map(|provider| {
        let url = format!("https://schemas.invalid/{provider:?}.json");
        let schema = serde_json::from_str(schema_of(provider)).expect("the file is JSON");
        compiler
            .add_resource(&url, schema)
            .expect("the URL is valid");
        compiler
            .compile(&url, &mut schemas)
            .expect("the file is a schema")
    });
    (schemas, compiled.to_vec())
});

/// Checks the body of a request.
fn check(provider: Provider, body: &Value) -> Result<(), String> {
    let mut body = body.clone();
    if provider == Provider::OpenaiChat {
        for message in body["messages"].as_array_mut().into_iter().flatten() {
            // Fields of compatible APIs, which OpenAI's own schema lacks.
            let message = message.as_object_mut().expect("a message is an object");
            message.remove("reasoning_content");
            message.remove("reasoning_details");
        }
    }
    let (schemas, compiled) = &*SCHEMAS;
    let place = PROVIDERS.iter().position(|one| *one == provider);
    let schema = compiled[place.expect("each provider has a schema")];
    if let Err(error) = schemas.validate(&body, schema) {
        return Err(format!("{provider:?}: {error:#}\n{body:#}"));
    }
    if provider == Provider::Gemini {
        // The types of Gemini's package leave every field optional; its reference requires these.
        for content in body["contents"].as_array().into_iter().flatten() {
            let role = content["role"].as_str().unwrap_or_default();
            let parts = content["parts"].as_array().map_or(0, Vec::len);
            if !["user", "model"].contains(&role) || parts == 0 {
                return Err(format!("{content:#}"));
            }
        }
    }
    Ok(())
}

/// Writes messages for a provider. A system message at the beginning is the system prompt.
fn rendered(provider: Provider, messages: &[NewMessage]) -> Value {
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
        user: "User".to_owned(),
        assistant: "Assistant".to_owned(),
        image_detail: Default::default(),
    };
    let body = render(Format::Provider(provider), &said, &labels).body;
    serde_json::from_str(&body).expect("a body is JSON")
}

macro_rules! golden {
    ($name:literal) => {
        include_str!(concat!("golden/", $name, ".json"))
    };
}

const REQUESTS: [(Provider, &str); 4] = [
    (Provider::OpenaiChat, golden!("openai_chat")),
    (Provider::OpenaiResponses, golden!("openai_responses")),
    (Provider::AnthropicMessages, golden!("anthropic_messages")),
    (Provider::Gemini, golden!("gemini")),
];

fn value(json: &str) -> Value {
    serde_json::from_str(json).expect("a golden file is JSON")
}

fn messages_of(provider: Provider, json: &str) -> Vec<NewMessage> {
    let json = ProviderMessages {
        format: ProviderFormat::from(provider).into(),
        json: json.to_owned(),
    };
    new_messages_from(Vec::new(), vec![json]).expect("a golden file can be read")
}

#[test]
fn golden_files_match_the_schemas() {
    let written = [
        (Provider::OpenaiChat, golden!("openai_chat.reasoning")),
        (
            Provider::OpenaiChat,
            golden!("anthropic_messages.as_openai_chat"),
        ),
        (
            Provider::OpenaiResponses,
            golden!("anthropic_messages.as_openai_responses"),
        ),
        (Provider::Gemini, golden!("anthropic_messages.as_gemini")),
    ];
    for (provider, json) in REQUESTS.into_iter().chain(written) {
        check(provider, &value(json)).unwrap();
    }
}

#[test]
fn the_schemas_refuse_what_the_providers_refuse() {
    let wrong = [
        (
            Provider::OpenaiChat,
            r#"{"messages": [{"role": "tool", "content": "x"}]}"#,
        ),
        (
            Provider::OpenaiChat,
            r#"{"messages": [{"role": "user", "content": "x", "said": 1}]}"#,
        ),
        (
            Provider::OpenaiResponses,
            r#"{"input": [{"type": "message", "role": "user", "content": [
                {"type": "input_image", "image_url": "https://example.org/a.png"}]}]}"#,
        ),
        (
            Provider::OpenaiResponses,
            r#"{"input": [{"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "x"}]}]}"#,
        ),
        (
            Provider::AnthropicMessages,
            r#"{"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}]}"#,
        ),
        (
            Provider::AnthropicMessages,
            r#"{"messages": [{"role": "tool", "content": "x"}]}"#,
        ),
        (
            Provider::Gemini,
            r#"{"contents": [{"role": "user", "parts": [{"functionCall": {"args": "x"}}]}]}"#,
        ),
        (
            Provider::Gemini,
            r#"{"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}"#,
        ),
    ];
    for (provider, json) in wrong {
        assert!(check(provider, &value(json)).is_err(), "{json}");
    }
}

#[test]
fn the_rules_refuse_what_the_schemas_allow_and_the_providers_refuse() {
    let wrong = [
        (
            Provider::OpenaiChat,
            r#"{"messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]}"#,
        ),
        (
            Provider::OpenaiChat,
            r#"{"messages": [{"role": "assistant", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}]}"#,
        ),
        (
            Provider::OpenaiResponses,
            r#"{"input": [{"type": "reasoning", "id": "rs_1", "summary": []}]}"#,
        ),
        (
            Provider::AnthropicMessages,
            r#"{"messages": [{"role": "assistant", "content": "x"}]}"#,
        ),
        (
            Provider::AnthropicMessages,
            r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]}"#,
        ),
        (
            Provider::AnthropicMessages,
            r#"{"messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "is_error": true}]}]}"#,
        ),
        (
            Provider::Gemini,
            r#"{"contents": [
                {"role": "user", "parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}]}"#,
        ),
    ];
    for (provider, json) in wrong {
        let body = value(json);
        check(provider, &body).unwrap();
        assert!(refusals::check(provider, &body).is_err(), "{json}");
    }
}

#[test]
fn a_conversation_of_one_provider_matches_the_schema_of_each() {
    for (from, json) in REQUESTS {
        let messages = messages_of(from, json);
        for to in PROVIDERS {
            check(to, &rendered(to, &messages)).unwrap();
        }
    }
}

/// As long as an id of a call may be.
const LONG_ID: &str = "call_0123456789_0123456789_0123456789_0123456789_0123456789_0123456789_\
    0123456789_0123456789_0123456789_0123456789_012345678";

/// Content of any part, valid in a message of some role.
fn any_content() -> impl Strategy<Value = Content> {
    let id = || select(vec!["call_1", "call 2", "x", "toolu_3", LONG_ID]);
    let text = || select(vec!["", " ", "Hello.", "[1] \"quoted\"\n", "日本語"]);
    let json = || select(vec!["{}", "{\"a\": [1.0, null]}", "[1]", "\"x\"", "7"]);
    prop_oneof![
        text().prop_map(|text| Content::Text(text.to_owned())),
        json().prop_map(|json| Content::Json(json.to_owned())),
        (id(), prop_oneof![json(), text()]).prop_map(|(id, arguments)| {
            Content::ToolCall(ToolCall {
                tool_call_id: id.to_owned(),
                name: "look up".to_owned(),
                arguments: arguments.to_owned(),
                ..Default::default()
            })
        }),
        (
            id(),
            prop::collection::vec(any_output(), 0..3),
            any::<bool>()
        )
            .prop_map(|(id, content, is_error)| {
                Content::ToolResult(ToolResult {
                    tool_call_id: id.to_owned(),
                    name: String::new(),
                    content: content.into_iter().map(Into::into).collect(),
                    is_error,
                })
            }),
        any_file().prop_map(Content::File),
        (select(PROVIDERS.to_vec()), any::<[bool; 4]>()).prop_map(|(provider, has)| {
            let [id, text, signature, encrypted] = has;
            let optional = |is: bool, text: &str| match is {
                true => text.to_owned(),
                false => String::new(),
            };
            Content::Reasoning(Reasoning {
                provider: ProviderFormat::from(provider).into(),
                id: optional(id, "rs_1"),
                text: optional(text, "Hm."),
                summaries: Vec::new(),
                signature: optional(signature, "RXFR"),
                encrypted_content: optional(encrypted, "Z0FB"),
            })
        }),
        any_opaque().prop_map(Content::Opaque),
    ]
}

fn any_output() -> impl Strategy<Value = Output> {
    prop_oneof![
        Just(Output::Text("15 degrees".to_owned())),
        Just(Output::Text(String::new())),
        Just(Output::Json("{\"degrees\": 15}".to_owned())),
        Just(Output::Json("[15]".to_owned())),
        any_file().prop_map(Output::File),
    ]
}

fn any_file() -> impl Strategy<Value = FileRef> {
    let location = select(vec![
        Location::Url("https://example.org/a.png".to_owned()),
        Location::Url("gs://bucket/a.pdf".to_owned()),
        Location::Url("data:image/png;base64,iVBORw0KGgo=".to_owned()),
        Location::Url("data:image/bmp;base64,Qk0=".to_owned()),
        Location::Url("data:audio/wav;base64,UklGRg==".to_owned()),
        Location::Url("data:text/plain,Hello".to_owned()),
        Location::UploadFileId("file-1".to_owned()),
    ]);
    let kind = select(vec![
        FileType::Image,
        FileType::Document,
        FileType::Audio,
        FileType::Video,
    ]);
    let caption = select(vec!["", "A cat."]);
    (location, kind, caption).prop_map(|(location, kind, caption)| FileRef {
        r#type: kind.into(),
        location: Some(location),
        caption: caption.to_owned(),
        ..Default::default()
    })
}

/// Pieces that the user may send, for they stand in messages of any role.
fn any_opaque() -> impl Strategy<Value = OpaquePart> {
    let pieces = [
        (
            ProviderFormat::OpenaiChat,
            "input_audio",
            r#"{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}"#,
        ),
        (
            ProviderFormat::OpenaiResponses,
            "input_file",
            r#"{"type": "input_file", "file_id": "file-1"}"#,
        ),
        (
            ProviderFormat::AnthropicMessages,
            "document",
            r#"{"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}}"#,
        ),
        (
            ProviderFormat::Gemini,
            "inlineData",
            r#"{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}"#,
        ),
    ];
    select(pieces.to_vec()).prop_map(|(provider, kind, json)| OpaquePart {
        provider: provider.into(),
        r#type: kind.to_owned(),
        json: json.to_owned(),
    })
}

fn belongs(role: proto::Role, content: &Content) -> bool {
    match content {
        Content::ToolCall(_) | Content::Reasoning(_) => role == proto::Role::Assistant,
        Content::ToolResult(_) => role == proto::Role::Tool,
        // Only the user sends files and sounds.
        Content::Opaque(_) => role == proto::Role::User,
        _ => true,
    }
}

fn any_message() -> impl Strategy<Value = MessageInput> {
    let role = select(vec![
        proto::Role::User,
        proto::Role::Assistant,
        proto::Role::Assistant,
        proto::Role::Tool,
        proto::Role::System,
    ]);
    let signature = select(vec!["", "Q2pBQg=="]);
    let parts = prop::collection::vec((any_content(), signature), 1..6);
    (role, parts, select(vec!["", "Ada", "Ünal!"])).prop_map(|(role, parts, name)| {
        let mut parts: Vec<proto::Part> = parts
            .into_iter()
            .filter(|(content, _)| belongs(role, content))
            .map(|(content, signature)| {
                let signature = match content {
                    Content::Reasoning(_) => String::new(),
                    _ => signature.to_owned(),
                };
                proto::Part {
                    content: Some(content),
                    signature,
                }
            })
            .collect();
        if parts.is_empty() {
            parts.push(Content::Text("Hello.".to_owned()).into());
        }
        MessageInput {
            role: role.into(),
            name: name.to_owned(),
            parts,
            ..Default::default()
        }
    })
}

proptest! {
    #[test]
    fn no_provider_refuses_a_conversation(inputs in prop::collection::vec(any_message(), 1..10)) {
        let messages = new_messages_from(inputs, Vec::new()).unwrap();
        for provider in PROVIDERS {
            let body = rendered(provider, &messages);
            let checked = check(provider, &body).and_then(|()| refusals::check(provider, &body));
            prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
        }
    }
}
