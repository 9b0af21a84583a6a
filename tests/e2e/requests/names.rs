//! Names, ids and text.

use recollect_tests::{app, apply, trial};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{APPEND, Case, append, edges, user, values};
use crate::bulk;

fn query_without(thread_id: &str, key: &str, value: &str) -> Value {
    json!({"thread_id": thread_id, key: value})
}

#[apply(trial)]
async fn fields_of_sessions_and_threads_have_limits() {
    let client = &bulk().await;
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
        edges(
            client,
            method,
            "title",
            512,
            |text| json!({"session": {"app_id": name, "session_key": unique()}, "title": text}),
        )
        .await;
        let ttl = |ttl| json!({"session": {"app_id": name, "session_key": unique()}, "ttl": ttl});
        values(
            client,
            method,
            "ttl",
            &[json!("1s"), json!("315360000s"), Value::Null],
            &[
                json!("0s"),
                json!("0.999s"),
                json!("-1s"),
                json!("316224001s"),
            ],
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
    edges(
        client,
        "ThreadService/UpdateThread",
        "title",
        512,
        |text| json!({"thread_id": thread_id, "title": text, "update_mask": "title"}),
    )
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

#[apply(trial)]
async fn nul_is_refused_wherever_there_is_text() {
    let client = &bulk().await;
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
        (
            "ThreadService/ListThreads",
            json!({"app_id": nul}),
            "app_id",
        ),
        (
            "ThreadService/ListThreads",
            json!({"user_id": nul}),
            "user_id",
        ),
        (
            "MessageService/ExportMessages",
            json!({"app_id": nul}),
            "app_id",
        ),
        (
            APPEND,
            said(user(json!([{"text": nul}]))),
            "messages[0].parts[0].text",
        ),
        (
            APPEND,
            said(json!({"role": 1, "name": nul, "parts": [{"text": ""}]})),
            "messages[0].name",
        ),
        (
            APPEND,
            call("tool_call_id"),
            "messages[0].parts[0].tool_call.tool_call_id",
        ),
        (APPEND, call("name"), "messages[0].parts[0].tool_call.name"),
        (
            APPEND,
            said(json!({"role": "ROLE_TOOL", "parts": [{"tool_result": result}]})),
            "messages[0].parts[0].tool_result.text",
        ),
        (APPEND, file("url"), "messages[0].parts[0].file.url"),
        (APPEND, file("caption"), "messages[0].parts[0].file.caption"),
        (
            "MessageService/GetHistory",
            query_without(&thread_id, "model", nul),
            "model",
        ),
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

#[apply(trial)]
async fn ids_that_are_none_are_refused() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let message = Uuid::new_v4().to_string();
    for (method, request) in crate::isolation::reads::requests_for(&thread_id, &message) {
        let texts = [
            "",
            "x",
            "0198c1de",
            "00000000-0000-0000-0000-00000000000g",
            "\u{0}",
        ];
        for text in texts {
            // Where no id means all threads, an empty one is good; without any
            // conversation node memory answers FAILED_PRECONDITION.
            let optional = [
                "MessageService/ExportMessages",
                "AdminService/Reindex",
                "AdminService/ListTransactions",
                "NodeMemoryService/ListNodeMemories",
            ];
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
    for text in ["x", "\u{0}"] {
        let case = Case {
            method: "MessageService/ExportMessages",
            request: json!({"after_thread_id": text}),
            refused: Some("after_thread_id"),
        };
        case.check(client).await;
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
        (
            APPEND,
            said("parent_message_id"),
            "messages[0].parent_message_id",
        ),
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

#[apply(trial)]
async fn a_choice_of_two_is_neither_both_nor_none() {
    let client = &bulk().await;
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
