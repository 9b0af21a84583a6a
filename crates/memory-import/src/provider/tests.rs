//! Tests of the detection of providers' formats.

use super::*;

#[test]
fn formats_of_providers_are_detected() {
    for (json, format) in [
        (
            r#"{"messages": [{"role": "user", "content": "x"}]}"#,
            Provider::OpenaiChat,
        ),
        (
            r#"{"system": "s", "messages": [{"role": "user", "content": "x"}]}"#,
            Provider::AnthropicMessages,
        ),
        (
            r#"{"messages": [{"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "n", "input": {}}]}]}"#,
            Provider::AnthropicMessages,
        ),
        (
            r#"[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]"#,
            Provider::OpenaiChat,
        ),
        (
            r#"{"choices": [{"message": {"role": "assistant", "content": "x"}}]}"#,
            Provider::OpenaiChat,
        ),
        (
            r#"{"model": "gpt-5", "input": "My dog is Pixel"}"#,
            Provider::OpenaiResponses,
        ),
        (
            r#"{"instructions": "Be kind.", "input": "My dog is Pixel"}"#,
            Provider::OpenaiResponses,
        ),
        (
            r#"{"type": "message", "role": "assistant", "content": [
                {"type": "text", "text": "x"}, {"type": "tool_use", "id": "a", "name": "n"}]}"#,
            Provider::AnthropicMessages,
        ),
        (
            r#"{"input": [{"role": "user", "content": "x"}]}"#,
            Provider::OpenaiResponses,
        ),
        (
            r#"{"object": "response", "output": []}"#,
            Provider::OpenaiResponses,
        ),
        (
            r#"{"object": "response", "output": [{"type": "reasoning", "summary": []},
                {"type": "web_search_call", "id": "a", "status": "completed"},
                {"type": "message", "role": "assistant", "content": []}]}"#,
            Provider::OpenaiResponses,
        ),
        (
            r#"[{"type": "message", "role": "user", "content": "x"}]"#,
            Provider::OpenaiResponses,
        ),
        (
            r#"[{"role": "user", "content": "x"},
                {"type": "function_call", "call_id": "a", "name": "n", "arguments": ""}]"#,
            Provider::OpenaiResponses,
        ),
        (
            r#"{"contents": [{"parts": [{"text": "x"}]}]}"#,
            Provider::Gemini,
        ),
        (
            r#"{"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}}]}"#,
            Provider::Gemini,
        ),
        (
            r#"{"candidates": [{"finishReason": "SAFETY"}]}"#,
            Provider::Gemini,
        ),
        (
            r#"[{"role": "model", "parts": [{"functionCall": {"name": "f"}}]}]"#,
            Provider::Gemini,
        ),
        (
            r#"[{"role": "user", "parts": [{"text": "x"}]}]"#,
            Provider::Gemini,
        ),
    ] {
        let document = serde_json::from_str(json).unwrap();
        assert_eq!(detected(&document), Some(format), "{json}");
    }
    for json in [
        r#"{"role": "user", "text": "x"}"#,
        r#"{"output": "x"}"#,
        "7",
        "[]",
        r#"{"messages": []}"#,
        r#"{"input": [{"type": "foo", "x": 1}]}"#,
        r#"{"input": [{"role": "user", "content": "x"}, {"type": "foo", "x": 1}]}"#,
        r#"{"object": "response", "output": [{"type": "weird"}]}"#,
        r#"[{"type": "human", "data": {"content": "x"}}]"#,
        r#"[{"type": "foo", "x": 1}]"#,
        r#"[{"type": "text", "text": "x"}]"#,
        r#"[{"type": "PushEvent", "actor": "x"}, {"type": "IssueEvent"}]"#,
        r#"[{"type": "page", "title": "My diary", "content": "I like tea"}]"#,
        r#"[{"type": "phone_call", "caller": "Ada", "text": "I like tea"},
            {"type": "video_call", "caller": "Bob"}]"#,
        r#"{"input": [{"type": "mcp_diary", "text": "I like tea"}]}"#,
        r#"[{"type": "function_call", "caller": "Ada"}]"#,
        r#"[{"parts": [{"sku": 1}], "name": "engine"}]"#,
        r#"{"contents": [{"parts": [{"weird": 1}]}]}"#,
        r#"{"contents": []}"#,
        r#"{"candidates": [{"name": "Ada"}]}"#,
        r#"{"choices": [{"name": "tea"}]}"#,
        r#"{"input": "x", "output": "y", "model": "m"}"#,
        r#"{"input": "x"}"#,
        r#"{"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "x"}]}"#,
        // One foreign entry among messages.
        r#"[{"role": "user", "content": "x"}, {"type": "human", "data": {}}]"#,
    ] {
        let document = serde_json::from_str(json).unwrap();
        assert_eq!(detected(&document), None, "{json}");
    }
}

#[test]
fn problems_name_their_place() {
    let error = |json| messages(Provider::Gemini, json, false).unwrap_err();
    assert_eq!(
        error(r#"{"contents": [{"parts": 7}]}"#),
        "contents[0].parts must be a list"
    );
    assert!(error("{").starts_with("it must be JSON"));
    assert_eq!(error(r#"{"contents": []}"#), "there are no messages");
}

#[test]
fn ids_of_answers_are_kept_unless_they_are_imported_again() {
    let json = r#"{"id": "msg_01XFDUDYJgAACzvnptvVoYEL", "type": "message",
        "role": "assistant", "content": [{"type": "text", "text": "Hi."}]}"#;
    let id = |again| {
        let messages = messages(Provider::AnthropicMessages, json, again).unwrap();
        messages[0].external_id.clone()
    };
    assert_eq!(id(false), "msg_01XFDUDYJgAACzvnptvVoYEL");
    assert_eq!(id(true), "");
}
