//! Models whose tokens are counted, and unknown models.

use std::collections::BTreeSet;

use recollect_tests::{Client, Dynamic, Refused as _, app, apply, node, trial};
use serde_json::{Value, json};

use crate::plain;

/// A request of each method that counts for a model, without one.
async fn requests(client: &Client) -> Vec<(&'static str, Value)> {
    let app = app();
    let thread_id = client.thread(&app).await;
    let words = "Donaudampfschifffahrtsgesellschaft および 天気予報 сегодня ".repeat(5);
    client.append_turn(&thread_id, &words, &words).await;
    client.remember_one(&app, "bea", &words).await;
    let planner = node(&thread_id, "planner");
    client.add_node_turn(&planner, &words, &words).await;
    let of_node = json!({
        "thread": {"thread_id": thread_id}, "node_id": "planner",
        "policy": {"mode": "MEMORY_MODE_NODE"},
    });
    let requests = vec![
        (
            "MessageService/GetHistory",
            json!({"thread": {"thread_id": thread_id}}),
        ),
        (
            "MemoryService/GetProfile",
            json!({"user": {"app_id": app, "user_id": "bea"}}),
        ),
        (
            "RecallService/Recall",
            json!({"target": {"thread": {"thread_id": thread_id}}}),
        ),
        (
            "ContextService/BuildContext",
            json!({"thread": {"thread_id": thread_id}}),
        ),
        ("ContextService/BuildContext", of_node),
        (
            "NodeMemoryService/GetNodeHistory",
            json!({"node": {"thread": {"thread_id": thread_id}, "node_id": "planner"}}),
        ),
        (
            "PlanService/BuildBriefing",
            json!({"thread": {"thread_id": thread_id}, "task": words}),
        ),
    ];
    let counting = Dynamic::methods()
        .into_iter()
        .filter(|method| method.input().get_field_by_name("model").is_some())
        // It returns it within the working memory; its own tests try models.
        .filter(|method| method.parent_service().name() != "WorkingMemoryService")
        .inspect(|method| {
            let reported = method.output().get_field_by_name("tokenizer");
            assert!(
                reported.is_some(),
                "{} does not return it",
                method.full_name()
            );
        })
        .map(|method| Dynamic::name(&method))
        .collect::<BTreeSet<String>>();
    let tried: BTreeSet<String> = requests
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    assert_eq!(tried, counting);
    requests
}

fn with(request: &Value, model: &str) -> Value {
    let mut request = request.clone();
    request["model"] = json!(model);
    request
}

#[apply(trial)]
async fn an_unknown_model_counts_as_the_default() {
    let client = plain().await;
    for (method, request) in requests(&client).await {
        let count = async |model: &str| {
            let answer = Dynamic::call(&client, method, with(&request, model)).await;
            let answer = answer.unwrap().into_inner().remove(0);
            let tokenizer = answer["tokenizer"].as_str().unwrap().to_owned();
            (tokenizer, answer["total_tokens"].as_i64().unwrap())
        };
        let default = count("").await;
        assert_eq!(default.0, "o200k_base", "{method}");
        for unknown in [
            "an-unknown-model",
            "gpt",
            "o",
            " ",
            "gpt-4o\n; DROP TABLE messages",
            "天気/予報:最新@2026",
            "../../etc/passwd",
            &"ä".repeat(128),
        ] {
            assert_eq!(count(unknown).await, default, "{method} for {unknown}");
        }
        // A known one counts otherwise.
        let old = count("gpt-4").await;
        assert_eq!(old.0, "cl100k_base", "{method}");
        assert!(old.1 > default.1, "{method}: {old:?} {default:?}");
    }
}

#[apply(trial)]
async fn a_models_name_has_a_limit() {
    let client = plain().await;
    for (method, request) in requests(&client).await {
        for wrong in ["ä".repeat(129), "x".repeat(300_000), "a\0b".to_owned()] {
            let answer = Dynamic::call(&client, method, with(&request, &wrong)).await;
            answer.refused().names_field("model");
        }
    }
}
