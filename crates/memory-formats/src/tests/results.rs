//! Results of tools as they really come: several under one id, and failures without words.

use memory_contract::message::{ToolCall, ToolOutput, ToolResult};

use super::*;

fn call(id: &str, n: u32) -> Part {
    Content::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "f".to_owned(),
        arguments: format!("{{\"n\":{n}}}"),
    })
    .into()
}

fn result(id: &str, text: &str, is_error: bool) -> NewMessage {
    let result = ToolResult {
        call_id: id.to_owned(),
        name: String::new(),
        output: vec![ToolOutput::Text(text.to_owned())],
        is_error,
    };
    NewMessage::new(Role::Tool, vec![Content::ToolResult(result).into()])
}

fn assistant(parts: Vec<Part>) -> NewMessage {
    NewMessage::new(Role::Assistant, parts)
}

/// The argument of each call that OpenAI is sent, with its result.
fn pairs(messages: &[NewMessage]) -> Vec<(u64, String)> {
    let body = value(&write(Format::Provider(Provider::OpenaiChat), messages).body);
    let said = body["messages"].as_array().unwrap();
    let calls = said.iter().filter_map(|one| one["tool_calls"].as_array());
    calls
        .flatten()
        .map(|call| {
            let arguments = value(call["function"]["arguments"].as_str().unwrap());
            let mut results = said.iter().filter(|one| one["tool_call_id"] == call["id"]);
            let result = results.next().unwrap();
            assert!(results.next().is_none());
            let result = result["content"].as_str().unwrap().to_owned();
            (arguments["n"].as_u64().unwrap(), result)
        })
        .collect()
}

#[test]
fn results_under_one_id_answer_its_calls_in_order() {
    let (one, two) = (result("x", "one", false), result("x", "two", false));
    let in_order = [(1, "one".to_owned()), (2, "two".to_owned())];
    for messages in [
        // In one message, in two, and one after the other.
        vec![
            assistant(vec![call("x", 1), call("x", 2)]),
            one.clone(),
            two.clone(),
        ],
        vec![
            assistant(vec![call("x", 1)]),
            assistant(vec![call("x", 2)]),
            one.clone(),
            two.clone(),
        ],
        vec![
            assistant(vec![call("x", 1)]),
            one.clone(),
            assistant(vec![call("x", 2)]),
            two.clone(),
        ],
        // A result too many.
        vec![
            assistant(vec![call("x", 1), call("x", 2)]),
            one.clone(),
            two,
            one.clone(),
        ],
    ] {
        assert_eq!(pairs(&messages), in_order);
    }
    // A result too few answers the nearest call.
    let messages = [
        assistant(vec![call("x", 1)]),
        assistant(vec![call("x", 2)]),
        one,
    ];
    assert_eq!(pairs(&messages), [(2, "one".to_owned())]);
}

#[test]
fn a_failure_without_words_is_put_into_some() {
    for blank in ["", " \n"] {
        let messages = [
            NewMessage::new(Role::User, vec![Part::text("Go.")]),
            assistant(vec![call("x", 1)]),
            result("x", blank, true),
        ];
        for provider in PROVIDERS {
            let body = write(Format::Provider(provider), &messages).body;
            assert!(
                body.contains("The tool failed without a message."),
                "{body}"
            );
        }
        // Success may be empty.
        let messages = [
            messages[0].clone(),
            messages[1].clone(),
            result("x", blank, false),
        ];
        for provider in PROVIDERS {
            let body = write(Format::Provider(provider), &messages).body;
            assert!(!body.contains("failed"), "{body}");
        }
    }
}

#[test]
fn calls_without_an_id_are_answered_in_order() {
    let chat = |id: &str| {
        format!(
            r#"[{{"role": "assistant", "tool_calls": [
                {{"type": "function", {id} "function": {{"name": "f", "arguments": "{{\"n\":1}}"}}}},
                {{"type": "function", {id} "function": {{"name": "f", "arguments": "{{\"n\":2}}"}}}}]}},
              {{"role": "tool", {} "content": "one"}}, {{"role": "tool", {} "content": "two"}}]"#,
            id.replace("id", "tool_call_id"),
            id.replace("id", "tool_call_id"),
        )
    };
    let in_order = [(1, "one".to_owned()), (2, "two".to_owned())];
    for id in ["", r#""id": "","#, r#""id": null,"#] {
        let read = messages_of(Provider::OpenaiChat, &chat(id));
        assert_eq!(pairs(&read), in_order, "{id}");
    }
    let responses = r#"[
        {"type": "function_call", "name": "f", "arguments": "{\"n\":1}"},
        {"type": "function_call", "name": "f", "arguments": "{\"n\":2}"},
        {"type": "function_call_output", "output": "one"},
        {"type": "function_call_output", "output": "two"}]"#;
    assert_eq!(
        pairs(&messages_of(Provider::OpenaiResponses, responses)),
        in_order
    );
    let anthropic = r#"[
        {"role": "assistant", "content": [
            {"type": "tool_use", "name": "f", "input": {"n": 1}},
            {"type": "tool_use", "name": "f", "input": {"n": 2}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "content": "one"}, {"type": "tool_result", "content": "two"}]}]"#;
    assert_eq!(
        pairs(&messages_of(Provider::AnthropicMessages, anthropic)),
        in_order
    );
}

#[test]
fn results_without_an_id_answer_the_calls_right_before_them() {
    let call = |name: &str, n: u32| {
        format!(
            r#"{{"type": "function", "function": {{"name": "{name}", "arguments": "{{\"n\":{n}}}"}}}}"#
        )
    };
    // The call before was never answered, and names are in another order.
    let chat = format!(
        r#"[{{"role": "assistant", "tool_calls": [{}]}}, {{"role": "user", "content": "stop"}},
            {{"role": "assistant", "tool_calls": [{}, {}]}},
            {{"role": "tool", "name": "h", "content": "three"}},
            {{"role": "tool", "name": "g", "content": "two"}}]"#,
        call("f", 1),
        call("g", 2),
        call("h", 3)
    );
    let expected = [(2, "two".to_owned()), (3, "three".to_owned())];
    assert_eq!(pairs(&messages_of(Provider::OpenaiChat, &chat)), expected);
    // In a request of their own.
    let calls = format!(
        r#"[{{"role": "assistant", "tool_calls": [{0}, {0}]}}]"#,
        call("f", 1)
    );
    let mut messages = messages_of(Provider::OpenaiChat, &calls);
    let results = r#"[{"role": "tool", "name": "f", "content": "one"},
        {"role": "tool", "name": "f", "content": "two"}]"#;
    messages.extend(messages_of(Provider::OpenaiChat, results));
    let expected = [(1, "one".to_owned()), (1, "two".to_owned())];
    assert_eq!(pairs(&messages), expected);
    // Nothing says which call it answers.
    let unknown = provider_messages(Provider::OpenaiChat, r#"{"role": "tool", "content": "x"}"#);
    let refused = new_messages_from(Vec::new(), vec![unknown]).unwrap_err();
    assert!(refused.0[0].problem.contains("tool_call_id"), "{refused}");
}
