//! Names, ids and text.

use recollect_tests::{app, apply, trial};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{APPEND, append, check, check_all, fields, length, letters, user, with};
use crate::bulk;

#[apply(trial)]
async fn fields_of_sessions_and_threads_have_limits() {
    let client = &bulk().await;
    let name = app();
    let unique = || format!("thread:{}", Uuid::new_v4());
    let session = || json!({"session": {"app_id": name, "session_key": unique()}});
    // Each request has a new session key.
    let long_key = |count: usize| letters(count - 36) + &Uuid::new_v4().to_string();
    for method in ["ThreadService/CreateThread", "ThreadService/ResolveThread"] {
        let keys = [
            (json!(long_key(512)), None),
            (json!(long_key(513)), Some("session.session_key")),
        ];
        for (key, refused) in keys {
            let request = with(&session(), "session.session_key", key);
            check(client, (method, request, refused)).await;
        }
        for field in [
            length("session.app_id", 128),
            length("session.user_id", 256),
            length("title", 512),
            ("ttl", json!(["1s"]), json!(["0s", "0.999s"])),
            ("ttl", json!(["315360000s"]), json!(["-1s", "316224001s"])),
            ("ttl", json!([null]), json!([])),
            ("session.app_id", json!([]), json!([""])),
        ] {
            fields(client, method, &session(), &[field]).await;
        }
    }
    let thread_id = client.thread(&name).await;
    let of_thread = |key: &str| json!({"thread": {"thread_id": thread_id}, "update_mask": key});
    let update = "ThreadService/UpdateThread";
    fields(
        client,
        update,
        &of_thread("title"),
        &[length("thread.title", 512)],
    )
    .await;
    let refused = json!(["0s", "-5s", "316224001s"]);
    let ttl = [("thread.ttl", json!(["1000s"]), refused)];
    fields(client, update, &of_thread("ttl"), &ttl).await;
}

#[apply(trial)]
async fn nul_is_refused_wherever_there_is_text() {
    let client = &bulk().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let nul = "a\u{0}b";
    let session = json!({"app_id": name, "session_key": "thread:nul"});
    let of_session = json!({"session": session});
    let in_session = |key: &str| with(&of_session, &format!("session.{key}"), nul);
    let said = |message: Value| append(&thread_id, message);
    let call = |key: &str| {
        let call = with(&json!({"tool_call_id": "c", "name": "n"}), key, nul);
        said(json!({"role": "ROLE_ASSISTANT", "parts": [{"tool_call": call}]}))
    };
    let file = |key: &str| {
        let file = with(&json!({"type": "FILE_TYPE_IMAGE", "url": "u"}), key, nul);
        said(user(json!([{"file": file}])))
    };
    let result = json!({"tool_call_id": "c", "content": [{"text": nul}]});
    let of_query = json!({"target": {"thread": {"thread_id": thread_id}}, "query": "x"});
    let query = |key: &str| with(&of_query, key, nul);
    let resolve = "ThreadService/ResolveThread";
    let recall = "RecallService/Recall";
    let cases = [
        (resolve, in_session("app_id"), "session.app_id"),
        (resolve, in_session("user_id"), "session.user_id"),
        (resolve, in_session("session_key"), "session.session_key"),
        (resolve, json!({"session": session, "title": nul}), "title"),
        (
            "ThreadService/ListThreads",
            json!({"target": {"app": {"app_id": nul}}}),
            "target.app.app_id",
        ),
        (
            "ThreadService/ListThreads",
            json!({"target": {"user": {"app_id": name, "user_id": nul}}}),
            "target.user.user_id",
        ),
        (
            "TransferService/ExportRecords",
            json!({"target": {"app": {"app_id": nul}}}),
            "target.app.app_id",
        ),
        (
            "TransferService/ExportRecords",
            json!({"target": {"user": {"app_id": name, "user_id": nul}}}),
            "target.user.user_id",
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
            "messages[0].parts[0].tool_result.content[0].text",
        ),
        (APPEND, file("url"), "messages[0].parts[0].file.url"),
        (APPEND, file("caption"), "messages[0].parts[0].file.caption"),
        (
            "MessageService/GetHistory",
            json!({"thread": {"thread_id": thread_id}, "model": nul}),
            "model",
        ),
        (recall, query("query"), "query"),
        (recall, query("model"), "model"),
        ("RecallService/Search", query("query"), "query"),
        (
            "RecallService/Search",
            json!({"target": {"user": {"app_id": nul, "user_id": "ada"}}, "query": "x"}),
            "target.user.app_id",
        ),
    ];
    let refused = cases.map(|(method, request, field)| (method, request, Some(field)));
    check_all(client, refused).await;
}

#[apply(trial)]
async fn malformed_ids_are_refused() {
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
            let field = match request.get("target") {
                Some(_) => "target.thread.thread_id",
                None => "thread.thread_id",
            };
            let wrong = with(&request, field, text);
            check(client, (method, wrong, Some(field))).await;
        }
    }
    for method in ["MessageService/GetMessage", "MessageService/DeleteMessage"] {
        for text in ["", "a\nb", &letters(129)] {
            let request = json!({"thread": {"thread_id": thread_id}, "message_id": text});
            check(client, (method, request, Some("message_id"))).await;
        }
    }
    for text in ["x", "\u{0}"] {
        let request = json!({"after_thread_id": text});
        check(
            client,
            (
                "TransferService/ExportRecords",
                request,
                Some("after_thread_id"),
            ),
        )
        .await;
    }
    let good = append(&thread_id, user(json!([{"text": "x"}])));
    let of_append = ["message_id", "parent_message_id"].map(|key| format!("messages[0].{key}"));
    let of_append = of_append.iter().map(String::as_str);
    for field in of_append.chain(["request_id"]) {
        let wrong = with(&good, field, "no-uuid");
        check(client, (APPEND, wrong, Some(field))).await;
    }
    for text in ["a\nb", &letters(129)] {
        for field in [
            "expected_head",
            "messages[0].parent_message_id",
            "messages[0].external_id",
        ] {
            check(client, (APPEND, with(&good, field, text), Some(field))).await;
        }
        let history = json!({"thread": {"thread_id": thread_id}, "head_message_id": text});
        let history = (
            "MessageService/GetHistory",
            history,
            Some("head_message_id"),
        );
        check(client, history).await;
    }
}

#[apply(trial)]
async fn a_request_without_a_choice_names_what_is_required() {
    let client = &bulk().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let person = json!({"app_id": name, "user_id": "ada"});
    let without_user = json!({"app_id": name});
    let recall = "RecallService/Recall";
    let search = "RecallService/Search";
    let scoped = |field: &str, target: &str, value: &Value, scope: i32| {
        with(
            &json!({"target": {target: value}, "query": "x"}),
            field,
            scope,
        )
    };
    let (get, list) = ("ThreadService/GetThread", "MessageService/ListMessages");
    let nothing = json!({"target": {"thread": {}}});
    let mut cases = vec![
        (get, json!({}), Some("thread")),
        (get, json!({"thread": {}}), Some("thread")),
        (list, json!({}), Some("target")),
        (list, json!({"target": {}}), Some("target")),
        (list, nothing, Some("target.thread")),
    ];
    for (method, field) in [(recall, "policy.scope"), (search, "scope")] {
        cases.push((method, json!({"query": "x"}), Some("target")));
        for scope in 0..=4 {
            // A scope refines a conversation, and nothing else.
            let wrong = (scope > 0).then_some(field);
            cases.push((method, scoped(field, "user", &person, scope), wrong));
            cases.push((method, scoped(field, "app", &without_user, scope), wrong));
            let named = json!({"thread_id": thread_id});
            let of_thread = scoped(field, "thread", &named, scope);
            cases.push((method, of_thread, None));
        }
        cases.push((
            method,
            scoped(field, "user", &without_user, 0),
            Some("target.user.user_id"),
        ));
        let nameless = scoped(field, "app", &json!({}), 0);
        cases.push((method, nameless, Some("target.app.app_id")));
    }
    check_all(client, cases).await;
}

#[apply(trial)]
async fn only_calls_that_create_an_object_accept_that_it_is_absent() {
    let client = &bulk().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let memory_id = client.remember_one(&name, "ada", "Likes tea.").await;
    let memory_id = memory_id.memory_id;
    let named = json!({"thread_id": thread_id});
    let cases = [
        (
            "ThreadService/UpdateThread",
            json!({"thread": {"thread_id": thread_id, "title": "x"}}),
        ),
        (
            "MemoryService/UpdateMemory",
            json!({"memory": {"memory_id": memory_id, "text": "Likes jam."}}),
        ),
        (
            "PlanService/UpdatePlanStep",
            json!({"thread": named, "step": {"step_id": "s", "status": 3}}),
        ),
        ("PolicyService/DeleteAppPolicy", json!({"app_id": name})),
    ];
    for (method, request) in cases {
        let request = with(&request, "precondition", json!({"absent": {}}));
        check(client, (method, request, Some("precondition.absent"))).await;
    }
    assert_eq!(client.get_thread(&thread_id).await.title, "");
    assert_eq!(client.get_memory(&memory_id).await.0.text, "Likes tea.");
}
