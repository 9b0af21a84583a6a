//! Lists of threads, users, apps and messages: wrong requests, and the command line.

use recollect_tests::{Dynamic, Key, PLAIN, Refused as _, app, apply, trial};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

#[apply(trial)]
async fn wrong_lists_are_refused_with_their_fields() {
    let client = plain().await;
    let app = app();
    for number in 0..3 {
        let thread = client.thread_of(&app, &format!("user{number}")).await;
        client.append_text(&thread, "Hello.").await;
    }
    let token = async |method: &str, request: Value| {
        let answer = Dynamic::call(&client, method, request).await.unwrap();
        let answer = answer.into_inner();
        answer[0]["next_page_token"].as_str().unwrap().to_owned()
    };
    let (threads, users, messages) = (
        "ThreadService/ListThreads",
        "ThreadService/ListUsers",
        "MessageService/ListMessages",
    );
    let of_app = json!({"app_id": app});
    let target = json!({"app": of_app});
    let of_threads = token(threads, json!({"target": target, "page_size": 1})).await;
    let of_users = token(users, json!({"app_id": app, "page_size": 1})).await;
    let of_messages = token(messages, json!({"target": target, "page_size": 1})).await;
    for (method, request, field) in [
        (threads, json!({"order_by": "title"}), "order_by"),
        (threads, json!({"order_by": "update_time down"}), "order_by"),
        (
            threads,
            json!({"order_by": "create_time, update_time"}),
            "order_by",
        ),
        (
            threads,
            json!({"order_by": "create_time desc desc"}),
            "order_by",
        ),
        (
            threads,
            json!({"metadata": r#"{"a": {"b": {"c": 1}}}"#}),
            "metadata",
        ),
        (threads, json!({"metadata": r#"{"a": [1]}"#}), "metadata.a"),
        (threads, json!({"metadata": r#"{"a b": NaN}"#}), "metadata"),
        (threads, json!({"metadata": "[]"}), "metadata"),
        (
            threads,
            json!({"target": {"thread": {"session": of_app}}}),
            "target.thread",
        ),
        (
            threads,
            json!({"target": target, "order_by": "update_time", "page_token": of_threads}),
            "page_token",
        ),
        (
            threads,
            json!({"target": target, "metadata": r#"{"a": 1}"#, "page_token": of_threads}),
            "page_token",
        ),
        (threads, json!({"page_token": of_threads}), "page_token"),
        (threads, json!({"page_token": of_users}), "page_token"),
        (users, json!({}), "app_id"),
        (users, json!({"app_id": "a".repeat(129)}), "app_id"),
        (
            users,
            json!({"app_id": "another", "page_token": of_users}),
            "page_token",
        ),
        (users, json!({"app_id": app, "page_size": -1}), "page_size"),
        (messages, json!({}), "target"),
        (
            messages,
            json!({"target": {"app": {}}}),
            "target.app.app_id",
        ),
        (
            messages,
            json!({"target": {"user": {"app_id": app, "user_id": "u".repeat(257)}}}),
            "target.user.user_id",
        ),
        (
            messages,
            json!({"target": {"user": {"app_id": app}}, "page_token": of_messages}),
            "page_token",
        ),
        (
            messages,
            json!({"target": target, "order_by": "create_time desc", "page_token": of_messages}),
            "page_token",
        ),
        (
            "ThreadService/ListApps",
            json!({"page_size": -1}),
            "page_size",
        ),
        (
            "ThreadService/ListApps",
            json!({"page_token": of_users}),
            "page_token",
        ),
    ] {
        eprintln!("{method} {request}");
        let answer = Dynamic::call(&client, method, request).await;
        let failure = answer.refused().names_field(field);
        assert_eq!(failure.code, Code::InvalidArgument);
    }
}

#[apply(trial)]
async fn users_and_apps_are_listed_on_the_command_line() {
    let client = plain().await;
    let app = app();
    let thread = client.thread_of(&app, "ada").await;
    client.append_text(&thread, "Hello.").await;
    let run = |args: &[&str]| recollect_tests::recollect_at(&PLAIN.ready().addr, Key::Acme, args);
    let shown = run(&["users", "--app", &app]).ok().stdout;
    assert!(shown.contains("ada"), "{shown}");
    let users = run(&["users", "--app", &app, "--json"]).ok().json_lines();
    assert_eq!(users[0]["userId"], "ada");
    assert_eq!(users[0]["messageCount"], "1");
    let apps = run(&["apps", "--limit", "100000", "--json"])
        .ok()
        .json_lines();
    assert!(apps.iter().any(|one| one["appId"] == app.as_str()));
    let by_update = ["threads", "--app", &app, "--order-by", "update_time"];
    assert!(run(&by_update).ok().stdout.contains(&thread));
    let other = ["threads", "--app", &app, "--metadata", r#"{"a": 1}"#];
    assert!(!run(&other).ok().stdout.contains(&thread));
}
