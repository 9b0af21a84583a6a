//! The rules of providers for messages, from their API references.

use std::collections::HashSet;

use memory_contract::proto::{BuildContextResponse, ProviderFormat};
use recollect_tests::{body_json, chat_messages, check_rendered};
use serde_json::Value;

/// Everything that OpenAI's reference asks of `messages`.
pub fn openai(context: &BuildContextResponse) -> Vec<Value> {
    let body = body_json(context, ProviderFormat::OpenaiChat);
    check_rendered(ProviderFormat::OpenaiChat, &body);
    let messages = chat_messages(context);
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
                            let url = part["image_url"]["url"].as_str().unwrap();
                            let is_image = ["http", "data:image/"]
                                .into_iter()
                                .any(|start| url.starts_with(start));
                            assert!(is_image, "{url}");
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
pub fn anthropic(context: &BuildContextResponse) -> Vec<Value> {
    let body = body_json(context, ProviderFormat::AnthropicMessages);
    check_rendered(ProviderFormat::AnthropicMessages, &body);
    let messages = body["messages"].as_array().unwrap().clone();
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
                    assert_eq!(role, "user");
                    let source = &block["source"];
                    let is_inline = source["data"].is_string() && source["media_type"].is_string();
                    match source["type"].as_str().unwrap() {
                        "url" => assert!(source["url"].is_string(), "{block}"),
                        "base64" => assert!(is_inline, "{block}"),
                        other => panic!("{other}"),
                    }
                    others = true;
                }
                "thinking" | "redacted_thinking" => {
                    assert_eq!(role, "assistant");
                    let proof = block.get("signature").or_else(|| block.get("data"));
                    assert!(!proof.unwrap().as_str().unwrap().is_empty(), "{block}");
                    assert_ne!(Some(block), content.last(), "thinking ends {message}");
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

/// Everything that OpenAI's reference asks of the `input` of responses.
pub fn responses(context: &BuildContextResponse) -> Vec<Value> {
    let body = body_json(context, ProviderFormat::OpenaiResponses);
    check_rendered(ProviderFormat::OpenaiResponses, &body);
    let items = body["input"].as_array().unwrap().clone();
    let mut open: Vec<String> = Vec::new();
    let mut used = HashSet::new();
    for (place, item) in items.iter().enumerate() {
        match item["type"].as_str().unwrap() {
            "message" => {
                assert!(open.is_empty(), "calls without an output before {item}");
                let role = item["role"].as_str().unwrap();
                assert!(["user", "assistant", "system"].contains(&role), "{item}");
                let kind = if role == "assistant" {
                    "output_text"
                } else {
                    "input_text"
                };
                match &item["content"] {
                    Value::String(_) => {}
                    Value::Array(parts) => {
                        assert!(!parts.is_empty(), "{item}");
                        for part in parts {
                            let own = part["type"].as_str().unwrap();
                            assert!(own == kind || own == "input_image", "{part}");
                        }
                    }
                    other => panic!("{other}"),
                }
            }
            "function_call" => {
                let id = item["call_id"].as_str().unwrap();
                assert!(
                    (1..=64).contains(&id.len()) && used.insert(id.to_owned()),
                    "{id}"
                );
                assert!(item["name"].is_string() && item["arguments"].is_string());
                open.push(id.to_owned());
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap();
                let call = open.iter().position(|open| open == id);
                open.remove(call.unwrap_or_else(|| panic!("no call has the id {id}")));
                assert!(
                    item["output"].is_string() || item["output"].is_array(),
                    "{item}"
                );
            }
            "reasoning" => {
                assert!(item["summary"].is_array(), "{item}");
                let next = items.get(place + 1).unwrap();
                assert!(next["type"] != "function_call_output" && next["role"] != "user");
            }
            other => panic!("{other}"),
        }
    }
    assert!(open.is_empty(), "calls without an output: {open:?}");
    items
}

/// Everything that Gemini's reference asks of `contents`.
pub fn gemini(context: &BuildContextResponse) -> Vec<Value> {
    let body = body_json(context, ProviderFormat::Gemini);
    check_rendered(ProviderFormat::Gemini, &body);
    let contents = body["contents"].as_array().unwrap().clone();
    let mut open: Vec<(String, String)> = Vec::new();
    for (place, content) in contents.iter().enumerate() {
        let role = content["role"].as_str().unwrap();
        assert!(
            role == "user" || (role == "model" && place > 0),
            "{content}"
        );
        let parts = content["parts"].as_array().unwrap();
        assert!(!parts.is_empty());
        let mut calls = Vec::new();
        for part in parts {
            let function = |key: &str| {
                let function = part.get(key)?;
                let field = |name: &str| function[name].as_str().unwrap().to_owned();
                Some((function.clone(), (field("id"), field("name"))))
            };
            if let Some((call, id)) = function("functionCall") {
                assert_eq!(role, "model");
                assert!(call["args"].is_object(), "{call}");
                let first = calls.is_empty();
                assert!(!first || part["thoughtSignature"].is_string(), "{content}");
                calls.push(id);
            } else if let Some((response, id)) = function("functionResponse") {
                assert_eq!(role, "user");
                assert!(response["response"].is_object(), "{response}");
                let call = open.iter().position(|open| *open == id);
                open.remove(call.unwrap_or_else(|| panic!("no call is {id:?}")));
            } else {
                assert!(open.is_empty(), "calls without a response before {part}");
                let is_file = part["fileData"].is_object() || part["inlineData"].is_object();
                assert!(part["text"].is_string() || is_file, "{part}");
            }
        }
        assert!(open.is_empty(), "calls without a response: {open:?}");
        open = calls;
    }
    assert!(open.is_empty(), "calls without a response: {open:?}");
    contents
}

/// Checks each provider's rules.
pub fn valid_everywhere(context: &BuildContextResponse) {
    openai(context);
    responses(context);
    anthropic(context);
    gemini(context);
}
