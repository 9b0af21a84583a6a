//! Messages and their parts.

use memory_contract::proto::{AppendMessagesRequest, MessageInput, Role};
use prost_types::Timestamp;
use recollect_tests::{Dynamic, Refused as _, app, apply, by_id, say, trial};
use serde_json::{Value, json};
use tonic::Code;
use uuid::Uuid;

use super::{APPEND, append, check, fields, length, user, with};
use crate::bulk;

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!({"x": 1}), |inner, _| json!({"x": inner}))
}

#[apply(trial)]
async fn fields_of_messages_have_limits() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let good = append(&thread_id, user(json!([{"text": "x"}])));
    let text = |bytes: usize| json!("x".repeat(bytes));
    let parts = |count: usize| json!(vec![json!({"text": "x"}); count]);
    let messages = |count: usize| json!(vec![user(json!([{"text": "x"}])); count]);
    let of_message = [
        length("messages[0].name", 256),
        (
            "messages[0].parts[0].text",
            json!([text(256 * 1024)]),
            json!([text(256 * 1024 + 1)]),
        ),
        (
            "messages[0].parts",
            json!([parts(1), parts(64)]),
            json!([parts(0), parts(65)]),
        ),
        (
            "messages",
            json!([messages(1), messages(256)]),
            json!([messages(0), messages(257)]),
        ),
    ];
    fields(client, APPEND, &good, &of_message).await;
}

#[apply(trial)]
async fn fields_of_tools_and_files_have_limits() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let (user, assistant, tool) = ("ROLE_USER", "ROLE_ASSISTANT", "ROLE_TOOL");
    let call = json!({"tool_call_id": "c", "name": "n"});
    let result = json!({"tool_call_id": "c", "content": [{"text": "t"}]});
    let file = json!({"type": "FILE_TYPE_IMAGE", "url": "https://example.org"});
    let bare = json!({"type": "FILE_TYPE_IMAGE"});
    let of_part = |role: &str, kind: &str, content: &Value| {
        append(
            &thread_id,
            json!({"role": role, "parts": [{kind: content}]}),
        )
    };
    for (role, kind, content, key, limit, required) in [
        (assistant, "tool_call", &call, "tool_call_id", 128, true),
        (assistant, "tool_call", &call, "name", 128, true),
        (tool, "tool_result", &result, "tool_call_id", 128, true),
        (tool, "tool_result", &result, "name", 128, false),
        (user, "file", &bare, "upload_file_id", 256, true),
        (user, "file", &bare, "tool_file_id", 256, true),
        (user, "file", &file, "name", 512, false),
        (user, "file", &file, "mime_type", 128, false),
        (user, "file", &file, "caption", 4_096, false),
    ] {
        let field = format!("messages[0].parts[0].{kind}.{key}");
        let request = of_part(role, kind, content);
        fields(client, APPEND, &request, &[length(&field, limit)]).await;
        let refused = required.then_some(field.as_str());
        check(client, (APPEND, with(&request, &field, ""), refused)).await;
    }
    for (file, field) in [
        (json!({"url": "u"}), "type"),
        (json!({"type": "FILE_TYPE_IMAGE", "url": ""}), "url"),
        (
            json!({"type": "FILE_TYPE_IMAGE", "url": "u", "width": 100_001}),
            "width",
        ),
        (
            json!({"type": "FILE_TYPE_IMAGE", "url": "u", "height": -1}),
            "height",
        ),
        (
            json!({"type": "FILE_TYPE_AUDIO", "url": "u", "duration": "86401s"}),
            "duration",
        ),
        (
            json!({"type": "FILE_TYPE_DOCUMENT", "url": "u", "page_count": 100_001}),
            "page_count",
        ),
        (json!({"type": "FILE_TYPE_AUDIO"}), "location"),
        (
            json!({"type": "FILE_TYPE_AUDIO", "url": "u", "size_bytes": -1}),
            "size_bytes",
        ),
    ] {
        let field = format!("messages[0].parts[0].file.{field}");
        let request = of_part(user, "file", &file);
        check(client, (APPEND, request, Some(&field))).await;
    }
}

#[apply(trial)]
async fn metadata_and_json_have_limits() {
    let client = &bulk().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let big = |bytes: usize| json!({"x": "y".repeat(bytes)});
    let text = |value: &Value| json!(value.to_string());
    let good = json!([
        "",
        "{}",
        text(&nested(5)),
        text(&big(16_000)),
        " {\"a b\" : 12345678901234567890.5} ",
    ]);
    let bad = json!([
        text(&nested(6)),
        text(&big(16 * 1024 + 1)),
        text(&json!({"x": "\u{0}"})),
        text(&json!({"\u{0}": 1})),
        "{\"x\": NaN}",
        "{\"x\": [-Infinity]}",
        "[1]",
        "1",
        "null",
        "{",
        "{} {}",
    ]);
    let message = append(&thread_id, user(json!([{"text": "x"}])));
    let of_message = [("messages[0].metadata", good.clone(), bad.clone())];
    fields(client, APPEND, &message, &of_message).await;
    let in_session = |metadata: &Value| {
        let session = json!({"app_id": name, "session_key": Uuid::new_v4().to_string()});
        json!({"session": session, "metadata": metadata})
    };
    for method in ["ThreadService/CreateThread", "ThreadService/ResolveThread"] {
        for metadata in good.as_array().unwrap() {
            check(client, (method, in_session(metadata), None)).await;
        }
        for metadata in bad.as_array().unwrap() {
            check(client, (method, in_session(metadata), Some("metadata"))).await;
        }
    }
    let update = json!({"thread": {"thread_id": thread_id}, "update_mask": "metadata"});
    let of_update = [("thread.metadata", good, bad)];
    fields(client, "ThreadService/UpdateThread", &update, &of_update).await;

    let lists = (2..33).fold(json!([1]), |inner, _| json!([inner]));
    let good = json!([
        text(&json!({})),
        text(&nested(32)),
        text(&json!({"x": lists[0]})),
        text(&big(260_000)),
        " [1.50, 12345678901234567890] ",
        "null",
    ]);
    let bad = json!([
        text(&json!({ "x": lists })),
        text(&big(256 * 1024 + 1)),
        text(&nested(60)),
        "{",
        "",
        "[1] 2",
        "{\"x\": \"\u{0}\"}",
    ]);
    for (role, part, path) in [
        ("ROLE_USER", json!({}), "json"),
        (
            "ROLE_TOOL",
            json!({"tool_result": {"tool_call_id": "c", "content": [{}]}}),
            "tool_result.content[0].json",
        ),
    ] {
        let field = format!("messages[0].parts[0].{path}");
        let request = append(&thread_id, json!({"role": role, "parts": [part]}));
        let of_part = [(field.as_str(), good.clone(), bad.clone())];
        fields(client, APPEND, &request, &of_part).await;
    }
}

#[apply(trial)]
async fn arguments_reasoning_and_opaque_parts_have_limits() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let long = |bytes: usize| json!("x".repeat(bytes));
    let (fits, too_long) = (long(256 * 1024), long(256 * 1024 + 1));
    let texts = || {
        (
            json!(["", " {broken", "[1]", fits]),
            json!([too_long, "\u{0}"]),
        )
    };
    let (call, reasoning, opaque) = ("tool_call", "reasoning", "opaque");
    let parts = [
        (call, json!({"tool_call_id": "c", "name": "n"})),
        (reasoning, json!({"provider": "PROVIDER_FORMAT_GEMINI"})),
        (
            opaque,
            json!({"provider": "PROVIDER_FORMAT_GEMINI", "type": "t", "json": "{}"}),
        ),
    ];
    let [of_call, of_reasoning, of_opaque] = parts.map(|(kind, content)| {
        append(
            &thread_id,
            json!({"role": "ROLE_ASSISTANT", "parts": [{kind: content}]}),
        )
    });
    for (request, path) in [
        (&of_call, "tool_call.arguments"),
        (&of_call, "signature"),
        (&of_reasoning, "reasoning.text"),
        (&of_reasoning, "reasoning.signature"),
        (&of_reasoning, "reasoning.encrypted_content"),
    ] {
        let field = format!("messages[0].parts[0].{path}");
        let (good, bad) = texts();
        fields(client, APPEND, request, &[(field.as_str(), good, bad)]).await;
    }
    let providers = || {
        let good = json!([1, 2, 3, 4]);
        (good, json!([0, 5, 6, "PROVIDER_FORMAT_TEXT"]))
    };
    let place = |path: &str| format!("messages[0].parts[0].{path}");
    let (good, bad) = providers();
    let provider = place("reasoning.provider");
    let of_reasonings = [
        (provider.as_str(), good, bad),
        (
            &place("reasoning.summaries"),
            json!([vec!["x"; 64], [fits]]),
            json!([vec!["x"; 65], ["x", fits], ["\u{0}"]]),
        ),
        (&place("signature"), json!([""]), json!(["c2ln"])),
    ];
    fields(client, APPEND, &of_reasoning, &of_reasonings).await;
    let id = place("reasoning.id");
    fields(client, APPEND, &of_reasoning, &[length(&id, 256)]).await;
    let (good, bad) = providers();
    let provider = place("opaque.provider");
    let kind = place("opaque.type");
    let object = |bytes: usize| format!("{{\"x\":\"{}\"}}", "y".repeat(bytes - 8));
    let of_opaques = [
        (provider.as_str(), good, bad),
        length(&kind, 128),
        (&kind, json!([]), json!([""])),
        (
            &place("opaque.json"),
            json!(["{\"a\": 1, \"a\": 2} ", object(256 * 1024)]),
            json!(["", "[]", "1", "{", object(256 * 1024 + 1)]),
        ),
    ];
    fields(client, APPEND, &of_opaque, &of_opaques).await;
    let result = json!({"tool_result": {"tool_call_id": "c", "content": []}});
    let request = append(&thread_id, json!({"role": "ROLE_TOOL", "parts": [result]}));
    let pieces = |count: usize| json!(vec![json!({"text": "x"}); count]);
    let content = place("tool_result.content");
    let of_result = [
        (content.as_str(), json!([pieces(64)]), json!([pieces(65)])),
        (
            &place("tool_result.content[0].content"),
            json!([]),
            json!([]),
        ),
    ];
    fields(client, APPEND, &request, &of_result).await;
    for (role, part, path) in [
        (
            "ROLE_USER",
            json!({"reasoning": {"provider": 1}}),
            "reasoning",
        ),
        (
            "ROLE_TOOL",
            json!({"tool_call": {"tool_call_id": "c", "name": "n"}}),
            "tool_call",
        ),
        (
            "ROLE_ASSISTANT",
            json!({"tool_result": {"tool_call_id": "c"}}),
            "tool_result",
        ),
    ] {
        let request = append(&thread_id, json!({"role": role, "parts": [part]}));
        check(client, (APPEND, request, Some(&place(path)))).await;
    }
}

#[apply(trial)]
async fn sizes_of_messages_and_batches_have_limits() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let parts = |count: usize, bytes: usize| -> Value {
        (0..count)
            .map(|_| json!({"text": "x".repeat(bytes)}))
            .collect()
    };
    // Each part has a few bytes around its text.
    for (bytes, refused) in [
        (256 * 1024 - 16, None),
        (256 * 1024, Some("messages[0].parts")),
    ] {
        let request = append(&thread_id, user(parts(4, bytes)));
        check(client, (APPEND, request, refused)).await;
    }
    for (bytes, refused) in [(256 * 1024 - 64, None), (256 * 1024, Some("messages"))] {
        let messages: Vec<Value> = (0..12).map(|_| user(parts(1, bytes))).collect();
        let request = json!({"thread": {"thread_id": thread_id}, "messages": messages});
        check(client, (APPEND, request, refused)).await;
    }
}

#[apply(trial)]
async fn roles_and_parts_have_to_fit() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let call = json!({"tool_call": {"tool_call_id": "c", "name": "n"}});
    let result = json!({"tool_result": {"tool_call_id": "c", "content": [{"text": "t"}]}});
    for (role, part, field) in [
        (json!(0), json!({"text": "x"}), "role"),
        (json!(5), json!({"text": "x"}), "role"),
        (json!("ROLE_USER"), json!({}), "parts[0].content"),
        (json!("ROLE_USER"), call.clone(), "parts[0].tool_call"),
        (json!("ROLE_TOOL"), call, "parts[0].tool_call"),
        (
            json!("ROLE_ASSISTANT"),
            result.clone(),
            "parts[0].tool_result",
        ),
        (json!("ROLE_SYSTEM"), result, "parts[0].tool_result"),
    ] {
        let field = format!("messages[0].{field}");
        let request = append(&thread_id, json!({"role": role, "parts": [part]}));
        check(client, (APPEND, request, Some(&field))).await;
    }
    assert!(client.all_messages(&thread_id).await.is_empty());
}

#[apply(trial)]
async fn parents_within_a_batch_cannot_form_a_cycle() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let (a, b) = (Uuid::new_v4().to_string(), Uuid::new_v4().to_string());
    let message = |id: &str, parent: &str| {
        let mut message = user(json!([{"text": "x"}]));
        message["message_id"] = json!(id);
        if !parent.is_empty() {
            message["parent_message_id"] = json!(parent);
        }
        message
    };
    for (messages, field) in [
        (vec![message(&a, &a)], "messages[0].parent_message_id"),
        (
            vec![message(&a, &b), message(&b, &a)],
            "messages[0].parent_message_id",
        ),
        (
            vec![message(&a, ""), message(&a, "")],
            "messages[1].message_id",
        ),
    ] {
        let request = json!({"thread": {"thread_id": thread_id}, "messages": messages});
        check(client, (APPEND, request, Some(field))).await;
    }
    assert!(client.all_messages(&thread_id).await.is_empty());
}

#[apply(trial)]
async fn times_out_of_range_are_refused() {
    let client = bulk().await;
    let thread_id = client.thread(&app()).await;
    for (seconds, nanos, good) in [
        (-62_135_596_800, 0, true),
        (-62_135_596_801, 0, false),
        (253_402_300_799, 999_999_999, true),
        (253_402_300_800, 0, false),
        (0, -1, false),
        (0, 1_000_000_000, false),
        (i64::MAX, 0, false),
        (i64::MIN, 0, false),
    ] {
        let message = MessageInput {
            create_time: Some(Timestamp { seconds, nanos }),
            ..say(Role::User, "When?")
        };
        let request = AppendMessagesRequest {
            thread: by_id(&thread_id),
            messages: vec![message],
            ..Default::default()
        };
        let answer = client.messages().append_messages(request).await;
        if good {
            answer.unwrap();
        } else {
            answer.refused().names_field("messages[0].create_time");
        }
    }
}

#[apply(trial)]
async fn several_wrong_fields_are_all_named() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let messages = json!([
        {"role": "ROLE_USER", "parts": [{"text": "fine"}]},
        {"role": "ROLE_USER", "parts": [{"text": "\u{0}"}]},
        {"role": 0, "parts": [{"text": "fine"}]},
        {"role": "ROLE_USER", "parts": []},
    ]);
    let request = json!({"thread": {"thread_id": thread_id}, "messages": messages});
    let failure = Dynamic::call(client, APPEND, request).await.refused();
    let failure = failure.is(Code::InvalidArgument, "INVALID_FIELD");
    let named = failure.field_names();
    assert_eq!(
        named,
        [
            "messages[1].parts[0].text",
            "messages[2].role",
            "messages[3].parts"
        ]
    );
}
