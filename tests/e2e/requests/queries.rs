//! Histories, lists, recall and search.

use recollect_tests::{Client, app, apply, trial};
use serde_json::{Value, json};

use super::{check_all, fields, length, with};
use crate::bulk;

async fn filters(client: &Client, method: &str, good: &Value) {
    let keys = |count: usize, length: usize| {
        let keys = (0..count).map(|n| (format!("{n:0>length$}"), json!(n)));
        Value::Object(keys.collect()).to_string()
    };
    let of_metadata = |text: &str| json!({ "metadata": text });
    let names = |count: usize| -> Value { (0..count).map(|n| json!(n.to_string())).collect() };
    let cases = [
        (json!({}), None),
        (json!({"roles": ["ROLE_USER", "ROLE_TOOL"]}), None),
        (json!({"roles": ["ROLE_USER", 0]}), Some("filter.roles[1]")),
        (json!({"roles": [77]}), Some("filter.roles[0]")),
        (json!({"names": names(32)}), None),
        (json!({"names": names(33)}), Some("filter.names")),
        (json!({"names": ["Ada", "\u{0}"]}), Some("filter.names[1]")),
        (of_metadata(""), None),
        (of_metadata("{}"), None),
        (of_metadata(&keys(16, 64)), None),
        (of_metadata(&keys(17, 3)), Some("filter.metadata")),
        (of_metadata(&keys(1, 65)), None),
        (of_metadata(r#"{"a": 1.5, "b": null, "c": true}"#), None),
        (
            of_metadata(r#"{"a b": 1, "a.b": "2", "\"größe\"": false}"#),
            None,
        ),
        (of_metadata(r#"{"a": [1]}"#), Some("filter.metadata.a")),
        (of_metadata(r#"{"a": {"b": 1}}"#), Some("filter.metadata.a")),
        (of_metadata(r#"{"a": NaN}"#), Some("filter.metadata")),
        (of_metadata(r#"{"a": "\u0000"}"#), Some("filter.metadata")),
        (of_metadata(r#"["a"]"#), Some("filter.metadata")),
        (of_metadata("{"), Some("filter.metadata")),
        (
            json!({"start_time": "2025-01-01T00:00:00Z", "end_time": "2025-01-01T00:00:00Z"}),
            Some("filter.end_time"),
        ),
    ];
    let cases = cases.map(|(filter, refused)| (method, with(good, "filter", filter), refused));
    check_all(client, cases).await;
}

#[apply(trial)]
async fn fields_of_histories_and_lists_have_limits() {
    let client = &bulk().await;
    let name = app();
    let thread_id = client.thread(&name).await;
    let of_thread = json!({"thread": {"thread_id": thread_id}});
    let target = json!({ "target": of_thread });
    let of_history = [
        (
            "max_tokens",
            json!([1, 10_000_000]),
            json!([0, -1, 10_000_001]),
        ),
        ("max_messages", json!([1, 500]), json!([0, -1, 501])),
        length("model", 128),
        ("oversized_turn", json!([0, 3]), json!([99])),
    ];
    fields(client, "MessageService/GetHistory", &of_thread, &of_history).await;
    let list = "MessageService/ListMessages";
    let events = "EventService/ListEvents";
    let of_user = json!({"target": {"user": {"app_id": name, "user_id": "ada"}}});
    let of_app = json!({"target": {"app": {"app_id": name}}});
    let by_time = ["create_time", "create_time desc"];
    let others = ["seq up", "SEQ", "seq, create_time", "desc", "\u{0}"];
    for (method, request, good, bad) in [
        (list, &target, ["seq", "seq desc"], by_time),
        (list, &of_user, by_time, ["seq", "seq desc"]),
        (list, &of_app, by_time, ["update_time", "seq desc"]),
        (events, &of_thread, ["number", "number desc"], by_time),
    ] {
        let orders = [
            ("order_by", json!([""]), json!(others)),
            ("order_by", json!(good), json!(bad)),
        ];
        fields(client, method, request, &orders).await;
    }
    let (documents, namespaces) = (
        "DocumentService/SearchDocuments",
        "DocumentService/ListNamespaces",
    );
    let of_documents = json!({"user": {"app_id": name, "user_id": "ada"}});
    let skip = [("skip", json!([0, 100_000]), json!([-1, 100_001]))];
    fields(client, documents, &of_documents, &skip).await;
    fields(client, namespaces, &of_documents, &skip).await;
    let by_query = with(&of_documents, "query", "x");
    let skip = [("skip", json!([0, 1_000]), json!([-1, 1_001]))];
    fields(client, documents, &by_query, &skip).await;
    let of_ledger = with(&of_thread, "kind", 1);
    let of_page = [
        ("page_size", json!([0, 100_000]), json!([-1])),
        ("page_token", json!([""]), json!(["x", "ZZZZ"])),
    ];
    for (method, request) in [
        (list, &target),
        (events, &of_thread),
        (
            "ThreadService/ListThreads",
            &json!({"target": {"app": {"app_id": name}}}),
        ),
        ("ThreadService/ListBranches", &of_thread),
        ("LedgerService/ListLedger", &of_ledger),
        (documents, &of_documents),
        (namespaces, &of_documents),
        ("AdminService/ListDeadLetters", &json!({})),
    ] {
        fields(client, method, request, &of_page).await;
    }
}

#[apply(trial)]
async fn fields_of_recall_and_search_have_limits() {
    let client = &bulk().await;
    let thread_id = client.thread(&app()).await;
    let target = json!({"thread": {"thread_id": thread_id}});
    let good = json!({"target": target, "query": "x"});
    let (recall, search) = ("RecallService/Recall", "RecallService/Search");
    let of_recall = [
        ("policy.window_size", json!([1, 500]), json!([0, 501])),
        ("policy.recent_window", json!([0, 500]), json!([-1, 501])),
        ("policy.top_k", json!([0, 100]), json!([-1, 101])),
        ("policy.neighbors_before", json!([0, 20]), json!([-1, 21])),
        ("policy.neighbors_after", json!([0, 20]), json!([-1, 21])),
        (
            "policy.min_score",
            json!([0.0, 1.0]),
            json!([-0.01, 1.01, "NaN"]),
        ),
        ("policy.scope", json!([0, 4]), json!([5])),
        ("policy.mode", json!([0, 6]), json!([7])),
        (
            "max_tokens",
            json!([1, 10_000_000]),
            json!([0, -1, 10_000_001]),
        ),
        ("unlimited", json!([{}]), json!([])),
        length("model", 128),
    ];
    fields(client, recall, &good, &of_recall).await;
    let of_search = [
        ("top_k", json!([1, 100]), json!([0, -1, 101])),
        ("min_score", json!([0.0, 1.0]), json!([-0.01, 1.01, "NaN"])),
        ("scope", json!([0, 4]), json!([5])),
    ];
    fields(client, search, &good, &of_search).await;
    let of_both = [
        length("query", 8_192),
        (
            "freshness.max_wait",
            json!(["0s", "30s"]),
            json!(["-1s", "30.1s"]),
        ),
        ("freshness", json!([{}, {"eventual": {}}]), json!([])),
        (
            "freshness.at_least_as_fresh",
            json!([]),
            json!(["", "x", "%", "A".repeat(5_000)]),
        ),
        ("method", json!([0, 3]), json!([4])),
    ];
    for method in [recall, search] {
        fields(client, method, &good, &of_both).await;
        filters(client, method, &good).await;
    }
    let of_thread = json!({ "target": target });
    filters(client, "MessageService/ListMessages", &of_thread).await;
    let empty = with(&good, "query", "");
    check_all(client, [(search, empty, Some("query"))]).await;
}
