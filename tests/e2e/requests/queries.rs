//! Histories, lists, recall and search.

use recollect_tests::{Client, app, apply, trial};
use serde_json::{Value, json};

use super::{Case, edges, values};
use crate::bulk;

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
        (
            json!({"metadata": {"a": {"b": 1}}}),
            Some("filter.metadata.a"),
        ),
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

#[apply(trial)]
async fn fields_of_histories_and_lists_have_limits() {
    let client = &bulk().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let history = "MessageService/GetHistory";
    let thread = |key: &str, value: Value| json!({"thread_id": thread_id, key: value});
    values(
        client,
        history,
        "max_tokens",
        &[json!(1), json!(10_000_000)],
        &[json!(-1), json!(10_000_001)],
        |v| thread("max_tokens", v),
    )
    .await;
    values(
        client,
        history,
        "message_limit",
        &[json!(0), json!(2_000_000_000)],
        &[json!(-1)],
        |v| thread("message_limit", v),
    )
    .await;
    edges(client, history, "model", 128, |text| {
        thread("model", json!(text))
    })
    .await;
    values(
        client,
        history,
        "oversized_turn",
        &[json!(0), json!(3)],
        &[json!(99)],
        |v| thread("oversized_turn", v),
    )
    .await;

    let list = "MessageService/ListMessages";
    values(
        client,
        list,
        "order",
        &[json!(0), json!(2)],
        &[json!(3)],
        |v| thread("order", v),
    )
    .await;
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
        (
            "ThreadService/ListBranches",
            json!({"thread_id": thread_id}),
        ),
        ("AdminService/ListDeadLetters", json!({})),
    ] {
        let with = |key: &str, value: Value| {
            let mut request = request.clone();
            request[key] = value;
            request
        };
        values(
            client,
            method,
            "page_size",
            &[json!(0), json!(100_000)],
            &[json!(-1)],
            |v| with("page_size", v),
        )
        .await;
        values(
            client,
            method,
            "page_token",
            &[json!("")],
            &[json!("x"), json!("ZZZZ")],
            |v| with("page_token", v),
        )
        .await;
    }
}

#[apply(trial)]
async fn fields_of_recall_and_search_have_limits() {
    let client = &bulk().await;
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
        ("neighbors_before", 20),
        ("neighbors_after", 20),
    ] {
        let good = [json!(0), json!(limit)];
        let bad = [json!(-1), json!(limit + 1)];
        values(client, recall, key, &good, &bad, |v| with(key, v)).await;
    }
    let good = [json!(0), json!(10_000_000)];
    let bad = [json!(-1), json!(10_000_001)];
    values(client, recall, "max_tokens", &good, &bad, |v| {
        with("max_tokens", v)
    })
    .await;
    edges(client, recall, "model", 128, |text| {
        with("model", json!(text))
    })
    .await;
    values(
        client,
        recall,
        "mode",
        &[json!(0), json!(3)],
        &[json!(4)],
        |v| with("mode", v),
    )
    .await;
    values(
        client,
        search,
        "limit",
        &[json!(0), json!(9_999)],
        &[json!(-1)],
        |v| with("limit", v),
    )
    .await;
    for method in [recall, search] {
        edges(client, method, "query", 8_192, |text| {
            with("query", json!(text))
        })
        .await;
        let good = [json!(0.0), json!(1.0)];
        let bad = [json!(-0.01), json!(1.01), json!("NaN")];
        values(client, method, "min_score", &good, &bad, |v| {
            with("min_score", v)
        })
        .await;
        let bad = [json!("-1s"), json!("30.1s")];
        values(
            client,
            method,
            "max_wait",
            &[json!("0s"), json!("30s")],
            &bad,
            |v| with("max_wait", v),
        )
        .await;
        let bad = [json!("x"), json!("%"), json!("A".repeat(5_000))];
        values(
            client,
            method,
            "at_least_as_fresh",
            &[json!("")],
            &bad,
            |v| with("at_least_as_fresh", v),
        )
        .await;
        values(
            client,
            method,
            "scope",
            &[json!(0), json!(3)],
            &[json!(4)],
            |v| with("scope", v),
        )
        .await;
        values(
            client,
            method,
            "method",
            &[json!(0), json!(3)],
            &[json!(4)],
            |v| with("method", v),
        )
        .await;
        filters(client, method, &with).await;
    }
    filters(
        client,
        "MessageService/ListMessages",
        &|key: &str, value: Value| json!({"thread_id": thread_id, key: value}),
    )
    .await;
    let empty = Case {
        method: search,
        request: json!({"thread_id": thread_id, "query": ""}),
        refused: Some("query"),
    };
    empty.check(client).await;
}
