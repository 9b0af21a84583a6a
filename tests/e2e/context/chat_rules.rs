//! The rules of providers for messages, from their API references.

use std::collections::HashSet;

use memory_contract::proto::AnthropicPrompt;
use prost_types::Struct;
use recollect_tests::object_json;
use serde_json::{Value, json as value};

/// Everything that OpenAI's reference asks of `messages`.
pub fn openai(messages: &[Struct]) -> Vec<Value> {
    let messages: Vec<Value> = messages.iter().map(object_json).collect();
    let plain = |text: &str, most: usize| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        assert!(
            (1..=most).contains(&text.len()) && text.chars().all(allowed),
            "{text:?}"
        );
    };
    let mut open: Vec<String> = Vec::new();
    let mut used = HashSet::new();
    for message in &messages {
        let fields = message.as_object().unwrap();
        let role = fields["role"].as_str().unwrap();
        if role == "tool" {
            let id = fields["tool_call_id"].as_str().unwrap();
            let place = open.iter().position(|open| open == id);
            open.remove(place.unwrap_or_else(|| panic!("no call has the id {id}: {messages:?}")));
            assert!(fields["content"].is_string());
            assert_eq!(fields.len(), 3);
            continue;
        }
        assert!(open.is_empty(), "calls without a result before {message}");
        assert!(["system", "user", "assistant"].contains(&role), "{role}");
        if let Some(name) = fields.get("name") {
            plain(name.as_str().unwrap(), 64);
        }
        match &fields["content"] {
            Value::String(_) => {}
            Value::Null => assert!(fields.contains_key("tool_calls"), "{message}"),
            Value::Array(parts) => {
                assert!(!parts.is_empty());
                for part in parts {
                    match part["type"].as_str().unwrap() {
                        "text" => assert!(part["text"].is_string()),
                        "image_url" => {
                            assert_eq!(role, "user", "only users show pictures");
                            assert!(
                                part["image_url"]["url"]
                                    .as_str()
                                    .unwrap()
                                    .starts_with("http")
                            );
                        }
                        other => panic!("{other}"),
                    }
                }
            }
            other => panic!("{other}"),
        }
        for call in fields
            .get("tool_calls")
            .into_iter()
            .flat_map(|calls| calls.as_array().unwrap())
        {
            assert_eq!(role, "assistant");
            assert_eq!(call["type"], "function");
            let id = call["id"].as_str().unwrap();
            plain(id, 40);
            assert!(used.insert(id.to_owned()), "{id} twice");
            open.push(id.to_owned());
            plain(call["function"]["name"].as_str().unwrap(), 64);
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert!(
                serde_json::from_str::<Value>(arguments)
                    .unwrap()
                    .is_object()
            );
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
    messages
}

/// Everything that Anthropic's reference asks of `messages`.
pub fn anthropic(prompt: &AnthropicPrompt) -> Vec<Value> {
    let messages: Vec<Value> = prompt.messages.iter().map(object_json).collect();
    let mut open: Vec<String> = Vec::new();
    let mut used = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "they alternate: {messages:?}");
        let content = message["content"].as_array().unwrap();
        assert!(!content.is_empty(), "{message}");
        let mut others = false;
        let mut calls = Vec::new();
        for block in content {
            match block["type"].as_str().unwrap() {
                "text" => {
                    assert!(
                        !block["text"].as_str().unwrap().trim().is_empty(),
                        "{message}"
                    );
                    others = true;
                }
                "image" => {
                    assert_eq!((role, &block["source"]["type"]), ("user", &value!("url")));
                    others = true;
                }
                "tool_use" => {
                    assert_eq!(role, "assistant");
                    let id = block["id"].as_str().unwrap();
                    assert!(used.insert(id.to_owned()), "{id} twice");
                    assert!(block["input"].is_object());
                    calls.push(id.to_owned());
                }
                "tool_result" => {
                    assert!(role == "user" && !others, "results come first: {message}");
                    let id = block["tool_use_id"].as_str().unwrap();
                    let place = open.iter().position(|open| open == id);
                    open.remove(place.unwrap_or_else(|| panic!("no call has the id {id}")));
                }
                other => panic!("{other}"),
            }
        }
        assert!(open.is_empty(), "calls without a result: {open:?}");
        open = calls;
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
    messages
}
