//! Tests of OpenAI's chat format.

use super::*;
use serde_json::json;

#[test]
fn a_tool_call_and_its_answer_keep_together() {
    let mut chat = Chat::default();
    let call = chat
        .message(
            &json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1",
            "type": "function",
            "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]}),
        )
        .unwrap();
    let Some(Content::ToolCall(call)) = &call.parts[0].content else {
        panic!("{call:?}")
    };
    assert_eq!(
        (call.name.as_str(), call.tool_call_id.as_str()),
        ("weather", "c1")
    );
    assert_eq!(call.arguments, "{\"city\": \"Oslo\"}");

    let answer = chat
        .message(&json!({"role": "tool", "tool_call_id": "c1", "content": "rain"}))
        .unwrap();
    assert_eq!(answer.role(), Role::Tool);
    let Some(Content::ToolResult(result)) = &answer.parts[0].content else {
        panic!()
    };
    assert_eq!(result.name, "weather");
}

#[test]
fn parts_become_texts_and_references() {
    let message = Chat::default()
        .message(&json!({"role": "user", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
            {"type": "file", "file": {"file_id": "f-1", "filename": "a.pdf"}}]}))
        .unwrap();
    let locations: Vec<_> = message.parts[1..]
        .iter()
        .map(|part| match &part.content {
            Some(Content::File(file)) => file.location.clone().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        locations,
        [
            Location::Url("data:image/png;base64,AAAA".to_owned()),
            Location::Url("https://example.org/cat.png".to_owned()),
            Location::UploadFileId("f-1".to_owned()),
        ]
    );
}

#[test]
fn problems_are_reported_in_words() {
    let check = |json: Value, words: &str| {
        let error = Chat::default().message(&json).unwrap_err();
        assert!(error.contains(words), "{json}: {error}");
    };
    check(json!([]), "object");
    check(json!({"content": "hello"}), "`role` is missing");
    check(json!({"role": "narrator", "content": "x"}), "narrator");
    check(json!({"role": "user"}), "`content` is missing");
    check(json!({"role": "user", "content": 7}), "list of parts");
    check(
        json!({"role": "user", "content": [{"type": "smell"}]}),
        "smell",
    );
    check(json!({"role": "tool", "content": "x"}), "tool_call_id");
    check(
        json!({"role": "user", "content": "x", "created_at": "soon"}),
        "soon",
    );
}

#[test]
fn arguments_that_are_not_json_are_kept_as_they_were_written() {
    let message = Chat::default()
        .message(&json!({"role": "assistant", "tool_calls": [
            {"id": "c1", "function": {"name": "f", "arguments": "{broken"}}]}))
        .unwrap();
    let Some(Content::ToolCall(call)) = &message.parts[0].content else {
        panic!()
    };
    assert_eq!(call.arguments, "{broken");
}
