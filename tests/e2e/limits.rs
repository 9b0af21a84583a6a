//! Every limit of the contract: at the limit it works, one beyond it is refused,
//! and the refusal names the field.

use memory_contract::proto::{AppendMessagesRequest, MessageInput, Part, Role, part::Content};
use prost_types::Timestamp;
use recollect_tests::{Client, Dynamic, Refused as _, app, say, trials, with_parts};
use serde_json::{Value, json};
use tonic::Code;
use uuid::Uuid;

use crate::plain;

trials![
    fields_of_sessions_and_threads_have_limits,
    fields_of_messages_have_limits,
    fields_of_tools_and_files_have_limits,
    metadata_and_json_have_limits,
    sizes_of_messages_and_batches_have_limits,
    fields_of_histories_and_lists_have_limits,
    fields_of_recall_and_search_have_limits,
    nul_is_refused_wherever_there_is_text,
    ids_that_are_none_are_refused,
    roles_and_parts_have_to_fit,
    parents_within_a_batch_cannot_form_a_cycle,
    times_out_of_range_are_refused,
    several_wrong_fields_are_all_named,
    a_choice_of_two_is_neither_both_nor_none,
];

/// A request of a method, and what becomes of it: none where it is good, or the
/// field that is refused.
struct Case<'a> {
    method: &'a str,
    request: Value,
    refused: Option<&'a str>,
}

impl Case<'_> {
    async fn check(self, client: &Client) {
        let mut shown = self.request.to_string();
        shown.truncate(shown.floor_char_boundary(300));
        let answer = Dynamic::call(client, self.method, self.request).await;
        match self.refused {
            None => {
                let failure = answer.err().map(recollect_tests::Failure::from);
                assert_eq!(failure, None, "{} of {shown}", self.method);
            }
            Some(field) => {
                eprintln!("{} of {shown}", self.method);
                answer.refused().names_field(field);
            }
        }
    }
}

fn letters(count: usize) -> String {
    // Characters are counted, not bytes.
    "ä".repeat(count)
}

/// Checks a field at its limit and one beyond.
async fn edges(
    client: &Client,
    method: &str,
    field: &str,
    limit: usize,
    request: impl Fn(String) -> Value,
) {
    for (count, refused) in [(limit, None), (limit + 1, Some(field))] {
        let case = Case {
            method,
            request: request(letters(count)),
            refused,
        };
        case.check(client).await;
    }
}

/// Checks good and bad values of a field.
async fn values(
    client: &Client,
    method: &str,
    field: &str,
    good: &[Value],
    bad: &[Value],
    request: impl Fn(Value) -> Value,
) {
    let good = good.iter().map(|value| (value, None));
    let bad = bad.iter().map(|value| (value, Some(field)));
    for (value, refused) in good.chain(bad) {
        let case = Case {
            method,
            request: request(value.clone()),
            refused,
        };
        case.check(client).await;
    }
}

async fn fields_of_sessions_and_threads_have_limits() {
    let client = &plain().await;
    let unique = || format!("thread:{}", Uuid::new_v4());
    let name = app();
    let with = |session: Value| json!({"session": session});
    for method in ["ThreadService/CreateThread", "ThreadService/ResolveThread"] {
        edges(client, method, "session.app_id", 128, |text| {
            with(json!({"app_id": text, "session_key": unique()}))
        })
        .await;
        edges(client, method, "session.user_id", 256, |text| {
            with(json!({"app_id": name, "user_id": text, "session_key": unique()}))
        })
        .await;
        edges(client, method, "session.session_key", 512, |text| {
            let salt = Uuid::new_v4().to_string();
            let key = text.chars().skip(36).collect::<String>() + &salt;
            with(json!({"app_id": name, "session_key": key}))
        })
        .await;
        edges(client, method, "title", 512, |text| {
            json!({"session": {"app_id": name, "session_key": unique()}, "title": text})
        })
        .await;
        let ttl = |ttl| json!({"session": {"app_id": name, "session_key": unique()}, "ttl": ttl});
        values(
            client,
            method,
            "ttl",
            &[json!("1s"), json!("315360000s"), Value::Null],
            &[json!("0s"), json!("0.999s"), json!("-1s"), json!("316224001s")],
            ttl,
        )
        .await;
        let empty = Case {
            method,
            request: with(json!({"session_key": unique()})),
            refused: Some("session.app_id"),
        };
        empty.check(client).await;
    }
    let thread_id = client.thread(&name).await;
    edges(client, "ThreadService/UpdateThread", "title", 512, |text| {
        json!({"thread_id": thread_id, "title": text, "update_mask": "title"})
    })
    .await;
    values(
        client,
        "ThreadService/UpdateThread",
        "ttl",
        &[json!("1000s")],
        &[json!("0s"), json!("-5s"), json!("316224001s")],
        |ttl| json!({"thread_id": thread_id, "ttl": ttl, "update_mask": "ttl"}),
    )
    .await;
}

const APPEND: &str = "MessageService/AppendMessages";

fn append(thread_id: &str, message: Value) -> Value {
    json!({"thread_id": thread_id, "messages": [message]})
}

fn user(parts: Value) -> Value {
    json!({"role": "ROLE_USER", "parts": parts})
}

async fn fields_of_messages_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    edges(client, APPEND, "messages[0].name", 256, |name| {
        append(&thread_id, json!({"role": "ROLE_USER", "name": name, "parts": [{"text": "x"}]}))
    })
    .await;
    for (bytes, refused) in [
        (256 * 1024, None),
        (256 * 1024 + 1, Some("messages[0].parts[0].text")),
    ] {
        let case = Case {
            method: APPEND,
            request: append(&thread_id, user(json!([{"text": "x".repeat(bytes)}]))),
            refused,
        };
        case.check(client).await;
    }
    for (count, refused) in [
        (0, Some("messages[0].parts")),
        (1, None),
        (64, None),
        (65, Some("messages[0].parts")),
    ] {
        let parts: Vec<Value> = (0..count).map(|_| json!({"text": "x"})).collect();
        let case = Case {
            method: APPEND,
            request: append(&thread_id, user(json!(parts))),
            refused,
        };
        case.check(client).await;
    }
    for (count, refused) in [
        (0, Some("messages")),
        (1, None),
        (256, None),
        (257, Some("messages")),
    ] {
        let messages: Vec<Value> = (0..count).map(|_| user(json!([{"text": "x"}]))).collect();
        let case = Case {
            method: APPEND,
            request: json!({"thread_id": thread_id, "messages": messages}),
            refused,
        };
        case.check(client).await;
    }
}

async fn fields_of_tools_and_files_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let part = |role: &str, kind: &str, good: Value, key: &str, text: String| {
        let mut content = good;
        content[key] = json!(text);
        append(&thread_id, json!({"role": role, "parts": [{kind: content}]}))
    };
    let call = json!({"tool_call_id": "c", "name": "n"});
    let result = json!({"tool_call_id": "c", "text": "t"});
    let file = json!({"type": "FILE_TYPE_IMAGE", "url": "https://example.org"});
    let bare = json!({"type": "FILE_TYPE_IMAGE"});
    for (role, kind, good, key, limit, required) in [
        ("ROLE_ASSISTANT", "tool_call", &call, "tool_call_id", 128, true),
        ("ROLE_ASSISTANT", "tool_call", &call, "name", 128, true),
        ("ROLE_TOOL", "tool_result", &result, "tool_call_id", 128, true),
        ("ROLE_TOOL", "tool_result", &result, "name", 128, false),
        ("ROLE_USER", "file", &bare, "upload_file_id", 256, true),
        ("ROLE_USER", "file", &bare, "tool_file_id", 256, true),
        ("ROLE_USER", "file", &bare, "url", 2_048, true),
        ("ROLE_USER", "file", &file, "name", 512, false),
        ("ROLE_USER", "file", &file, "mime_type", 128, false),
        ("ROLE_USER", "file", &file, "caption", 4_096, false),
    ] {
        let field = format!("messages[0].parts[0].{kind}.{key}");
        edges(client, APPEND, &field, limit, |text| part(role, kind, good.clone(), key, text)).await;
        let empty = Case {
            method: APPEND,
            request: part(role, kind, good.clone(), key, String::new()),
            refused: required.then_some(field.as_str()),
        };
        empty.check(client).await;
    }
    for (file, field) in [
        (json!({"url": "u"}), "type"),
        (json!({"type": "FILE_TYPE_AUDIO"}), "location"),
        (json!({"type": "FILE_TYPE_AUDIO", "url": "u", "size_bytes": -1}), "size_bytes"),
    ] {
        let field = format!("messages[0].parts[0].file.{field}");
        let case = Case {
            method: APPEND,
            request: append(&thread_id, user(json!([{"file": file}]))),
            refused: Some(&field),
        };
        case.check(client).await;
    }
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!({"x": 1}), |inner, _| json!({"x": inner}))
}

async fn metadata_and_json_have_limits() {
    let client = &plain().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let big = |bytes: usize| json!({"x": "y".repeat(bytes)});
    let good = [json!({}), nested(5), big(16_000)];
    let bad = [nested(6), big(16 * 1024 + 1), json!({"x": "\u{0}"}), json!({"\u{0}": 1})];
    values(client, APPEND, "messages[0].metadata", &good, &bad, |metadata| {
        append(
            &thread_id,
            json!({"role": "ROLE_USER", "parts": [{"text": "x"}], "metadata": metadata}),
        )
    })
    .await;
    for method in ["ThreadService/CreateThread", "ThreadService/ResolveThread"] {
        values(client, method, "metadata", &good, &bad, |metadata| {
            let key = Uuid::new_v4().to_string();
            json!({"session": {"app_id": name, "session_key": key}, "metadata": metadata})
        })
        .await;
    }
    values(client, "ThreadService/UpdateThread", "metadata", &good, &bad, |metadata| {
        json!({"thread_id": thread_id, "metadata": metadata, "update_mask": "metadata"})
    })
    .await;

    let lists = (2..33).fold(json!([1]), |inner, _| json!([inner]));
    let good = [json!({}), nested(32), json!({"x": lists[0]}), big(260_000)];
    let bad = [json!({"x": lists}), big(256 * 1024 + 1), json!({"x": ["\u{0}"]})];
    for (role, path, wrap) in [
        ("ROLE_USER", "json", (|value| json!({"json": value})) as fn(Value) -> Value),
        ("ROLE_ASSISTANT", "tool_call.arguments", |value| {
            json!({"tool_call": {"tool_call_id": "c", "name": "n", "arguments": value}})
        }),
        ("ROLE_TOOL", "tool_result.json", |value| {
            json!({"tool_result": {"tool_call_id": "c", "json": value}})
        }),
    ] {
        let field = format!("messages[0].parts[0].{path}");
        let request = |value| append(&thread_id, json!({"role": role, "parts": [wrap(value)]}));
        values(client, APPEND, &field, &good, &bad, request).await;
    }
    // What is far too deep is not even decoded, so there is no field to name.
    let deep = Part {
        content: Some(Content::Json(recollect_tests::json(nested(60)))),
    };
    let request = AppendMessagesRequest {
        thread_id,
        messages: vec![with_parts(Role::User, vec![deep])],
        ..Default::default()
    };
    let refused = client.messages().append_messages(request).await.refused();
    refused.is(Code::InvalidArgument, "INVALID_FIELD");
}

async fn sizes_of_messages_and_batches_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let parts = |count: usize, bytes: usize| -> Value {
        (0..count).map(|_| json!({"text": "x".repeat(bytes)})).collect()
    };
    // Each part has a few bytes around its text.
    for (bytes, refused) in [
        (256 * 1024 - 16, None),
        (256 * 1024, Some("messages[0].parts")),
    ] {
        let case = Case {
            method: APPEND,
            request: append(&thread_id, user(parts(4, bytes))),
            refused,
        };
        case.check(client).await;
    }
    for (bytes, refused) in [(256 * 1024 - 64, None), (256 * 1024, Some("messages"))] {
        let messages: Vec<Value> = (0..12).map(|_| user(parts(1, bytes))).collect();
        let case = Case {
            method: APPEND,
            request: json!({"thread_id": thread_id, "messages": messages}),
            refused,
        };
        case.check(client).await;
    }
}

async fn fields_of_histories_and_lists_have_limits() {
    let client = &plain().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let history = "MessageService/GetHistory";
    let thread = |key: &str, value: Value| json!({"thread_id": thread_id, key: value});
    values(client, history, "max_tokens", &[json!(1), json!(10_000_000)], &[json!(-1), json!(10_000_001)], |v| {
        thread("max_tokens", v)
    })
    .await;
    values(client, history, "message_limit", &[json!(0), json!(2_000_000_000)], &[json!(-1)], |v| {
        thread("message_limit", v)
    })
    .await;
    edges(client, history, "model", 128, |text| thread("model", json!(text))).await;
    values(client, history, "oversized_turn", &[json!(0), json!(3)], &[json!(99)], |v| {
        thread("oversized_turn", v)
    })
    .await;

    let list = "MessageService/ListMessages";
    values(client, list, "order", &[json!(0), json!(2)], &[json!(3)], |v| thread("order", v)).await;
    for (bytes, refused) in [(4_096, None), (4_097, Some("text_template"))] {
        let case = Case {
            method: list,
            request: thread("text_template", json!("x".repeat(bytes))),
            refused,
        };
        case.check(client).await;
    }
    for (method, request) in [
        (list, json!({"thread_id": thread_id})),
        ("ThreadService/ListThreads", json!({"app_id": name})),
        ("ThreadService/ListBranches", json!({"thread_id": thread_id})),
        ("AdminService/ListDeadLetters", json!({})),
    ] {
        let with = |key: &str, value: Value| {
            let mut request = request.clone();
            request[key] = value;
            request
        };
        values(client, method, "page_size", &[json!(0), json!(100_000)], &[json!(-1)], |v| {
            with("page_size", v)
        })
        .await;
        values(client, method, "page_token", &[json!("")], &[json!("x"), json!("ZZZZ")], |v| {
            with("page_token", v)
        })
        .await;
    }
}

async fn fields_of_recall_and_search_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let with = |key: &str, value: Value| {
        let mut request = json!({"thread_id": thread_id, "query": "x"});
        request[key] = value;
        request
    };
    let (recall, search) = ("RecallService/Recall", "RecallService/Search");
    for (key, limit) in [
        ("recent_window", 500),
        ("top_k", 100),
        ("neighbours_before", 20),
        ("neighbours_after", 20),
    ] {
        let good = [json!(0), json!(limit)];
        let bad = [json!(-1), json!(limit + 1)];
        values(client, recall, key, &good, &bad, |v| with(key, v)).await;
    }
    let good = [json!(0), json!(10_000_000)];
    let bad = [json!(-1), json!(10_000_001)];
    values(client, recall, "max_tokens", &good, &bad, |v| with("max_tokens", v)).await;
    edges(client, recall, "model", 128, |text| with("model", json!(text))).await;
    values(client, recall, "mode", &[json!(0), json!(3)], &[json!(4)], |v| with("mode", v)).await;
    values(client, search, "limit", &[json!(0), json!(9_999)], &[json!(-1)], |v| with("limit", v))
        .await;
    for method in [recall, search] {
        edges(client, method, "query", 8_192, |text| with("query", json!(text))).await;
        let good = [json!(0.0), json!(1.0)];
        let bad = [json!(-0.01), json!(1.01), json!("NaN")];
        values(client, method, "min_score", &good, &bad, |v| with("min_score", v)).await;
        let bad = [json!("-1s"), json!("30.1s")];
        values(client, method, "max_wait", &[json!("0s"), json!("30s")], &bad, |v| {
            with("max_wait", v)
        })
        .await;
        let bad = [json!("x"), json!("%"), json!("A".repeat(5_000))];
        values(client, method, "at_least_as_fresh", &[json!("")], &bad, |v| {
            with("at_least_as_fresh", v)
        })
        .await;
        values(client, method, "scope", &[json!(0), json!(3)], &[json!(4)], |v| with("scope", v))
            .await;
        values(client, method, "method", &[json!(0), json!(3)], &[json!(4)], |v| with("method", v))
            .await;
        filters(client, method, &with).await;
    }
    filters(client, "MessageService/ListMessages", &|key: &str, value: Value| {
        json!({"thread_id": thread_id, key: value})
    })
    .await;
    let empty = Case {
        method: search,
        request: json!({"thread_id": thread_id, "query": ""}),
        refused: Some("query"),
    };
    empty.check(client).await;
}

async fn filters(client: &Client, method: &str, with: &impl Fn(&str, Value) -> Value) {
    let keys = |count: usize, length: usize| -> Value {
        let keys = (0..count).map(|n| (format!("{n:0>length$}"), json!(n)));
        Value::Object(keys.collect())
    };
    let names = |count: usize| -> Value { (0..count).map(|n| json!(n.to_string())).collect() };
    for (filter, refused) in [
        (json!({}), None),
        (json!({"roles": ["ROLE_USER", "ROLE_TOOL"]}), None),
        (json!({"roles": ["ROLE_USER", 0]}), Some("filter.roles[1]")),
        (json!({"roles": [77]}), Some("filter.roles[0]")),
        (json!({"names": names(32)}), None),
        (json!({"names": names(33)}), Some("filter.names")),
        (json!({"names": ["Ada", "\u{0}"]}), Some("filter.names[1]")),
        (json!({"metadata": keys(16, 64)}), None),
        (json!({"metadata": keys(17, 3)}), Some("filter.metadata")),
        (json!({"metadata": keys(1, 65)}), Some("filter.metadata")),
        (json!({"metadata": {"a": 1.5}}), Some("filter.metadata.a")),
        (json!({"metadata": {"a": null}}), Some("filter.metadata.a")),
        (json!({"metadata": {"a": [1]}}), Some("filter.metadata.a")),
        (json!({"metadata": {"a": {"b": 1}}}), Some("filter.metadata.a")),
        (
            json!({"start_time": "2025-01-01T00:00:00Z", "end_time": "2025-01-01T00:00:00Z"}),
            Some("filter.end_time"),
        ),
    ] {
        let case = Case {
            method,
            request: with("filter", filter),
            refused,
        };
        case.check(client).await;
    }
}

async fn nul_is_refused_wherever_there_is_text() {
    let client = &plain().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let nul = "a\u{0}b";
    let session = json!({"app_id": name, "session_key": "thread:nul"});
    let with = |key: &str| {
        let mut session = session.clone();
        session[key] = json!(nul);
        json!({"session": session})
    };
    let said = |message: Value| append(&thread_id, message);
    let call = |key: &str| {
        let mut call = json!({"tool_call_id": "c", "name": "n"});
        call[key] = json!(nul);
        said(json!({"role": "ROLE_ASSISTANT", "parts": [{"tool_call": call}]}))
    };
    let file = |key: &str| {
        let mut file = json!({"type": "FILE_TYPE_IMAGE", "url": "u"});
        file[key] = json!(nul);
        said(user(json!([{"file": file}])))
    };
    let result = json!({"tool_call_id": "c", "text": nul});
    let query = |key: &str| {
        let mut request = json!({"thread_id": thread_id, "query": "x"});
        request[key] = json!(nul);
        request
    };
    let resolve = "ThreadService/ResolveThread";
    let recall = "RecallService/Recall";
    for (method, request, field) in [
        (resolve, with("app_id"), "session.app_id"),
        (resolve, with("user_id"), "session.user_id"),
        (resolve, with("session_key"), "session.session_key"),
        (resolve, json!({"session": session, "title": nul}), "title"),
        ("ThreadService/ListThreads", json!({"app_id": nul}), "app_id"),
        ("ThreadService/ListThreads", json!({"user_id": nul}), "user_id"),
        ("MessageService/ExportMessages", json!({"app_id": nul}), "app_id"),
        (APPEND, said(user(json!([{"text": nul}]))), "messages[0].parts[0].text"),
        (APPEND, said(json!({"role": 1, "name": nul, "parts": [{"text": ""}]})), "messages[0].name"),
        (APPEND, call("tool_call_id"), "messages[0].parts[0].tool_call.tool_call_id"),
        (APPEND, call("name"), "messages[0].parts[0].tool_call.name"),
        (
            APPEND,
            said(json!({"role": "ROLE_TOOL", "parts": [{"tool_result": result}]})),
            "messages[0].parts[0].tool_result.text",
        ),
        (APPEND, file("url"), "messages[0].parts[0].file.url"),
        (APPEND, file("caption"), "messages[0].parts[0].file.caption"),
        ("MessageService/GetHistory", query_without(&thread_id, "model", nul), "model"),
        (recall, query("query"), "query"),
        (recall, query("model"), "model"),
        ("RecallService/Search", query("query"), "query"),
        (
            "RecallService/Search",
            json!({"user": {"app_id": nul, "user_id": "ada"}, "query": "x"}),
            "user.app_id",
        ),
    ] {
        let case = Case {
            method,
            request,
            refused: Some(field),
        };
        case.check(client).await;
    }
}

fn query_without(thread_id: &str, key: &str, value: &str) -> Value {
    json!({"thread_id": thread_id, key: value})
}

async fn ids_that_are_none_are_refused() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let message = Uuid::new_v4().to_string();
    for (method, request) in crate::isolation::requests_for(&thread_id, &message) {
        let texts = ["", "x", "0198c1de", "00000000-0000-0000-0000-00000000000g", "\u{0}"];
        for text in texts {
            // Where no id means all threads, an empty one is good.
            let optional = ["MessageService/ExportMessages", "AdminService/Reindex"];
            if text.is_empty() && optional.contains(&method) {
                continue;
            }
            let mut wrong = request.clone();
            wrong["thread_id"] = json!(text);
            let case = Case {
                method,
                request: wrong,
                refused: Some("thread_id"),
            };
            case.check(client).await;
        }
    }
    for method in ["MessageService/GetMessage", "MessageService/DeleteMessage"] {
        for text in ["", "x"] {
            let case = Case {
                method,
                request: json!({"thread_id": thread_id, "message_id": text}),
                refused: Some("message_id"),
            };
            case.check(client).await;
        }
    }
    let said = |key: &str| {
        let mut message = user(json!([{"text": "x"}]));
        message[key] = json!("no-uuid");
        append(&thread_id, message)
    };
    let with = |key: &str| {
        let mut request = append(&thread_id, user(json!([{"text": "x"}])));
        request[key] = json!("no-uuid");
        request
    };
    for (method, request, field) in [
        (APPEND, said("message_id"), "messages[0].message_id"),
        (APPEND, said("parent_message_id"), "messages[0].parent_message_id"),
        (APPEND, with("request_id"), "request_id"),
        (APPEND, with("expected_head"), "expected_head"),
        (
            "MessageService/GetHistory",
            json!({"thread_id": thread_id, "head_message_id": "no-uuid"}),
            "head_message_id",
        ),
    ] {
        let case = Case {
            method,
            request,
            refused: Some(field),
        };
        case.check(client).await;
    }
}

async fn roles_and_parts_have_to_fit() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let call = json!({"tool_call": {"tool_call_id": "c", "name": "n"}});
    let result = json!({"tool_result": {"tool_call_id": "c", "text": "t"}});
    for (role, part, field) in [
        (json!(0), json!({"text": "x"}), "role"),
        (json!(5), json!({"text": "x"}), "role"),
        (json!("ROLE_USER"), json!({}), "parts[0].content"),
        (json!("ROLE_USER"), call.clone(), "parts[0].tool_call"),
        (json!("ROLE_TOOL"), call, "parts[0].tool_call"),
        (json!("ROLE_ASSISTANT"), result.clone(), "parts[0].tool_result"),
        (json!("ROLE_SYSTEM"), result, "parts[0].tool_result"),
    ] {
        let field = format!("messages[0].{field}");
        let case = Case {
            method: APPEND,
            request: append(&thread_id, json!({"role": role, "parts": [part]})),
            refused: Some(&field),
        };
        case.check(client).await;
    }
    assert!(client.all_messages(&thread_id).await.is_empty());
}

async fn parents_within_a_batch_cannot_form_a_cycle() {
    let client = &plain().await;
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
        (vec![message(&a, &b), message(&b, &a)], "messages[0].parent_message_id"),
        (vec![message(&a, ""), message(&a, "")], "messages[1].message_id"),
    ] {
        let case = Case {
            method: APPEND,
            request: json!({"thread_id": thread_id, "messages": messages}),
            refused: Some(field),
        };
        case.check(client).await;
    }
    assert!(client.all_messages(&thread_id).await.is_empty());
}

async fn times_out_of_range_are_refused() {
    let client = plain().await;
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
            thread_id: thread_id.clone(),
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

async fn several_wrong_fields_are_all_named() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let messages = json!([
        {"role": "ROLE_USER", "parts": [{"text": "fine"}]},
        {"role": "ROLE_USER", "parts": [{"text": "\u{0}"}]},
        {"role": 0, "parts": [{"text": "fine"}]},
        {"role": "ROLE_USER", "parts": []},
    ]);
    let request = json!({"thread_id": thread_id, "messages": messages});
    let failure = Dynamic::call(client, APPEND, request).await.refused();
    let failure = failure.is(Code::InvalidArgument, "INVALID_FIELD");
    let named: Vec<&str> = failure.fields.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(named, ["messages[1].parts[0].text", "messages[2].role", "messages[3].parts"]);
}

async fn a_choice_of_two_is_neither_both_nor_none() {
    let client = &plain().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let session = json!({"app_id": name, "session_key": "thread:1"});
    let person = json!({"app_id": name, "user_id": "ada"});
    let nobody = json!({"app_id": name});
    let recall = "RecallService/Recall";
    let search = "RecallService/Search";
    let both = json!({"thread_id": thread_id, "session": session});
    let either = json!({"thread_id": thread_id, "user": person, "query": "x"});
    let scoped = |user: &Value, scope: i32| json!({"user": user, "query": "x", "scope": scope});
    for (method, request, refused) in [
        ("ThreadService/GetThread", both.clone(), Some("session")),
        ("ThreadService/GetThread", json!({}), Some("thread_id")),
        ("MessageService/ListMessages", both, Some("session")),
        ("MessageService/ListMessages", json!({}), Some("thread_id")),
        (recall, either.clone(), Some("user")),
        (recall, json!({"query": "x"}), Some("thread_id")),
        (search, either, Some("user")),
        (search, json!({"query": "x"}), Some("thread_id")),
        (search, scoped(&person, 0), None),
        (search, scoped(&person, 2), None),
        (search, scoped(&person, 1), Some("scope")),
        (search, scoped(&nobody, 3), None),
        (search, scoped(&nobody, 2), Some("user.user_id")),
        (search, scoped(&nobody, 0), Some("user.user_id")),
    ] {
        let case = Case {
            method,
            request,
            refused,
        };
        case.check(client).await;
    }
}
