//! What the providers' APIs refuse although their schemas allow it, from their references and from
//! reports of their users.

use std::collections::HashSet;

use memory_contract::message::Provider;
use serde_json::Value;

/// Why a provider would refuse the body of a request.
type Refusal = String;

/// Checks the messages of a body.
pub fn check(provider: Provider, body: &Value) -> Result<(), Refusal> {
    let checked = match provider {
        Provider::OpenaiChat => openai_chat(list(&body["messages"])),
        Provider::OpenaiResponses => openai_responses(list(&body["input"])),
        Provider::AnthropicMessages => anthropic(&body["system"], list(&body["messages"])),
        Provider::Gemini => gemini(list(&body["contents"])),
    };
    checked.map_err(|refusal| format!("{provider:?}: {refusal}\n{body:#}"))
}

/// Fails with a refusal unless a condition holds.
macro_rules! require {
    ($condition:expr, $($refusal:tt)+) => {
        if !$condition {
            return Err(format!($($refusal)+));
        }
    };
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_plain(text: &str, most: usize) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=most).contains(&text.len()) && text.chars().all(allowed)
}

/// The calls of a conversation, and those that wait for their results.
#[derive(Default)]
struct Calls {
    used: HashSet<String>,
    open: Vec<String>,
}

impl Calls {
    fn call(&mut self, id: &str) -> Result<(), Refusal> {
        require!(
            self.used.insert(id.to_owned()),
            "the call {id} is there twice"
        );
        self.open.push(id.to_owned());
        Ok(())
    }

    fn answer(&mut self, id: &str) -> Result<(), Refusal> {
        let place = self.open.iter().position(|open| open == id);
        let place = place.ok_or_else(|| format!("no open call has the id {id}"))?;
        self.open.remove(place);
        Ok(())
    }

    fn all_answered(&self) -> Result<(), Refusal> {
        require!(
            self.open.is_empty(),
            "calls without a result: {:?}",
            self.open
        );
        Ok(())
    }
}

fn openai_chat(messages: &[Value]) -> Result<(), Refusal> {
    let mut calls = Calls::default();
    for message in messages {
        let role = text(&message["role"]);
        if role == "tool" {
            calls.answer(text(&message["tool_call_id"]))?;
            continue;
        }
        calls.all_answered()?;
        if let Some(name) = message.get("name") {
            require!(is_plain(text(name), 64), "the name {name}");
        }
        let called = list(&message["tool_calls"]);
        require!(
            message.get("tool_calls").is_none() || !called.is_empty(),
            "tool_calls is empty"
        );
        require!(
            !message["content"].is_null() || !called.is_empty(),
            "an assistant has neither content nor tool_calls"
        );
        if let Value::Array(parts) = &message["content"] {
            require!(!parts.is_empty(), "content is empty");
            for part in parts.iter().filter(|part| part["type"] == "image_url") {
                let url = text(&part["image_url"]["url"]);
                let is_image = url.starts_with("http") || url.starts_with("data:image/");
                require!(role == "user" && is_image, "the image {url}");
            }
        }
        for call in called {
            let function = &call["function"];
            calls.call(text(&call["id"]))?;
            require!(
                text(&call["id"]).len() <= 40,
                "the id of {call} is too long"
            );
            require!(is_plain(text(&function["name"]), 64), "the name of {call}");
        }
    }
    calls.all_answered()
}

fn openai_responses(items: &[Value]) -> Result<(), Refusal> {
    let mut calls = Calls::default();
    for (place, item) in items.iter().enumerate() {
        match text(&item["type"]) {
            "function_call" => {
                let id = text(&item["call_id"]);
                require!((1..=64).contains(&id.len()), "the call_id {id}");
                require!(is_plain(text(&item["name"]), 64), "the name of {item}");
                calls.call(id)?;
            }
            "function_call_output" => calls.answer(text(&item["call_id"]))?,
            "reasoning" => {
                let next = items.get(place + 1).unwrap_or(&Value::Null);
                let goes_on = next["role"] == "assistant"
                    || ["function_call", "reasoning"].contains(&text(&next["type"]));
                require!(goes_on, "reasoning without its following item");
            }
            "message" => {
                // A model may speak after its calls.
                if item["role"] != "assistant" {
                    calls.all_answered()?;
                }
                let is_empty = item["content"].as_array().is_some_and(Vec::is_empty);
                require!(!is_empty, "content is empty");
            }
            _ => {}
        }
    }
    calls.all_answered()
}

fn anthropic(system: &Value, messages: &[Value]) -> Result<(), Refusal> {
    let is_blank = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
    require!(!is_blank(system), "system is blank");
    let mut calls = Calls::default();
    for (place, message) in messages.iter().enumerate() {
        let role = if place % 2 == 0 { "user" } else { "assistant" };
        require!(message["role"] == role, "the roles do not alternate");
        let blocks = list(&message["content"]);
        require!(
            message["content"].is_string() || !blocks.is_empty(),
            "content is empty"
        );
        require!(!is_blank(&message["content"]), "content is blank");
        let waited = std::mem::take(&mut calls.open);
        let mut answered = Calls {
            open: waited,
            ..Calls::default()
        };
        let mut others = false;
        for block in blocks {
            let kind = text(&block["type"]);
            match kind {
                "tool_use" => {
                    calls.call(text(&block["id"]))?;
                    require!(is_plain(text(&block["id"]), 256), "the id of {block}");
                    require!(is_plain(text(&block["name"]), 128), "the name of {block}");
                }
                "tool_result" => {
                    require!(!others, "a tool_result comes after other blocks");
                    answered.answer(text(&block["tool_use_id"]))?;
                    let pieces = list(&block["content"]);
                    let has_content = !is_blank(&block["content"])
                        && (block["content"].is_string() || !pieces.is_empty());
                    require!(
                        block["is_error"] != true || has_content,
                        "an error without content"
                    );
                    let blank = pieces.iter().any(|piece| is_blank(&piece["text"]));
                    require!(!blank, "a blank text in a tool_result");
                }
                "text" => require!(!is_blank(&block["text"]), "a blank text"),
                "thinking" => {
                    require!(!text(&block["signature"]).is_empty(), "unsigned thinking");
                    require!(Some(block) != blocks.last(), "thinking ends a message");
                }
                _ => {}
            }
            others |= kind != "tool_result";
        }
        answered.all_answered()?;
    }
    calls.all_answered()
}

fn gemini(contents: &[Value]) -> Result<(), Refusal> {
    let mut calls = 0;
    for (place, content) in contents.iter().enumerate() {
        require!(
            place > 0 || content["role"] == "user",
            "a model speaks first"
        );
        let parts = list(&content["parts"]);
        let count = |key: &str| parts.iter().filter(|part| part.get(key).is_some()).count();
        let answers = count("functionResponse");
        require!(
            answers == calls,
            "{answers} responses follow {calls} function calls"
        );
        for part in parts {
            if let Some(said) = part.get("text") {
                // A signature may come in an empty text, and goes back in it.
                let is_signed = part.get("thoughtSignature").is_some();
                require!(is_signed || !text(said).is_empty(), "an empty text");
            }
            if let Some(answer) = part.get("functionResponse") {
                require!(answer["response"].is_object(), "{answer} has no object");
            }
        }
        calls = count("functionCall");
        require!(
            calls == 0 || content["role"] == "model",
            "a user calls a function"
        );
    }
    require!(calls == 0, "{calls} function calls without responses");
    Ok(())
}
