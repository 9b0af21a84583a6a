//! Bad input: each wrong field is named, and nothing is stored.

use memory_contract::proto::Memory;
use recollect_tests::{Dynamic, Refused as _, app, apply, trial};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

fn many(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("label {number}")).collect()
}

#[apply(trial)]
async fn wrong_memories_are_refused_with_their_fields() {
    let client = plain().await;
    let app = app();
    let bobs = client.thread_of(&app, "bob").await;
    let others = client.append_text(&bobs, "I am Bob.").await;
    let others = others.messages[0].message_id.clone();
    let unknown = uuid::Uuid::new_v4().to_string();
    let good = json!({"text": "Likes tea."});
    let cases = [
        (json!({}), "text"),
        (json!({"text": ""}), "text"),
        (json!({"text": " \n\t"}), "text"),
        (json!({"text": "a\u{0}b"}), "text"),
        (json!({"text": "x".repeat(4_097)}), "text"),
        (
            json!({"text": "x", "external_id": "r".repeat(129)}),
            "external_id",
        ),
        (json!({"text": "x", "external_id": "\u{0}"}), "external_id"),
        (json!({"text": "x", "type": 9}), "type"),
        (json!({"text": "x", "topics": many(17)}), "topics"),
        (json!({"text": "x", "topics": ["a", ""]}), "topics[1]"),
        (
            json!({"text": "x", "topics": ["t".repeat(65)]}),
            "topics[0]",
        ),
        (json!({"text": "x", "entities": many(17)}), "entities"),
        (
            json!({"text": "x", "entities": ["e".repeat(129)]}),
            "entities[0]",
        ),
        (
            json!({"text": "x", "metadata": json!({"a": "x".repeat(16 * 1024)}).to_string()}),
            "metadata",
        ),
        (
            json!({"text": "x", "metadata": r#"{"a": {"b": {"c": {"d": {"e": {}}}}}}"#}),
            "metadata",
        ),
        (
            json!({"text": "x", "metadata": r#"{"a\u0000": 1}"#}),
            "metadata",
        ),
        (
            json!({"text": "x", "metadata": r#"{"a": NaN}"#}),
            "metadata",
        ),
        (json!({"text": "x", "metadata": "[]"}), "metadata"),
        (
            json!({"text": "x", "source_message_ids": ["nonsense"]}),
            "source_message_ids[0]",
        ),
        (
            json!({"text": "x", "source_message_ids": vec![&unknown; 33]}),
            "source_message_ids",
        ),
        (
            json!({"text": "x", "source_message_ids": [others]}),
            "source_message_ids[0]",
        ),
        (
            json!({"text": "x", "source_message_ids": [unknown]}),
            "source_message_ids[0]",
        ),
    ];
    let tea = client.remember_one(&app, "ada", "Has tea.").await;
    for (memory, field) in cases {
        let request =
            json!({"user": {"app_id": app, "user_id": "ada"}, "memories": [good, memory]});
        let answer = Dynamic::call(&client, "MemoryService/AddMemories", request).await;
        answer
            .refused()
            .names_field(&format!("memories[1].{field}"));
        let request = json!({"memory_id": tea.memory_id, "replacement": memory});
        let answer = Dynamic::call(&client, "MemoryService/SupersedeMemory", request).await;
        answer
            .refused()
            .names_field(&format!("replacement.{field}"));
    }
    assert_eq!(
        client.all_memories(&app, "ada").await.len(),
        1,
        "all or none"
    );
    // All wrong fields at once.
    let request =
        json!({"user": {"app_id": "", "user_id": "u".repeat(257)}, "memories": [{"text": ""}]});
    let answer = Dynamic::call(&client, "MemoryService/AddMemories", request).await;
    let failure = answer.refused().is(Code::InvalidArgument, "INVALID_FIELD");
    let fields = failure.field_names();
    assert_eq!(fields, ["user.app_id", "user.user_id", "memories[0].text"]);
    let request = json!({"user": {"app_id": app}, "memories": vec![&good; 101]});
    let answer = Dynamic::call(&client, "MemoryService/AddMemories", request).await;
    answer.refused().names_field("memories");
}

#[apply(trial)]
async fn wrong_requests_are_refused_with_their_fields() {
    let client = plain().await;
    let app = app();
    let tea = client.remember_one(&app, "ada", "Likes tea.").await;
    client.remember_one(&app, "ada", "Likes cake.").await;
    let user = json!({"app_id": app, "user_id": "ada"});
    let with = |request: Value, more: Value| {
        let mut request = request;
        let fields = request.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        request
    };
    let of = |more: Value| with(json!({"target": {"user": user}}), more);
    let stored = |more: Value| {
        let mut memory = json!({"memory_id": uuid::Uuid::new_v4(), "text": "Has cake."});
        let fields = memory.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        with(json!({ "user": user }), json!({"memories": [memory]}))
    };
    let change = |memory: Value, mask: &str| {
        let mut memory = memory;
        memory["memory_id"] = json!(tea.memory_id);
        json!({"memory": memory, "update_mask": mask})
    };
    for (method, request, field) in [
        (
            "SearchMemories",
            of(json!({"query": "x", "top_k": 0})),
            "top_k",
        ),
        (
            "SearchMemories",
            of(json!({"query": "x", "top_k": 101})),
            "top_k",
        ),
        (
            "SearchMemories",
            of(json!({"query": "x", "min_score": 1.5})),
            "min_score",
        ),
        (
            "SearchMemories",
            of(json!({"query": "x".repeat(8_193)})),
            "query",
        ),
        (
            "ListMemories",
            of(json!({"filter": {"origins": vec![1; 17]}})),
            "filter.origins",
        ),
        (
            "ImportMemories",
            json!({"user": user, "memories": [{"memory_id": tea.memory_id, "origin": 1,
                "text": "x", "superseded_by": tea.memory_id}]}),
            "memories[0].superseded_by",
        ),
        (
            "ImportMemories",
            stored(json!({"origin": 1, "known_until": "2026-01-01T00:00:00Z"})),
            "memories[0].known_until",
        ),
        (
            "ImportMemories",
            stored(json!({"origin": 3, "extraction_strategy": 9})),
            "memories[0].extraction_strategy",
        ),
        (
            "ImportMemories",
            stored(json!({"origin": 3, "extraction_strategy": 1})),
            "memories[0].extraction_strategy",
        ),
        (
            "ImportMemories",
            stored(json!({"origin": 1, "extraction_strategy": 3})),
            "memories[0].extraction_strategy",
        ),
        (
            "SearchMemories",
            of(json!({"query": "x", "method": 7})),
            "method",
        ),
        (
            "SearchMemories",
            of(json!({"query": "x", "freshness": {"max_wait": "31s"}})),
            "freshness.max_wait",
        ),
        (
            "SearchMemories",
            of(json!({"query": "x", "freshness": {"at_least_as_fresh": "soon"}})),
            "freshness.at_least_as_fresh",
        ),
        (
            "ListMemories",
            of(json!({"filter": {"thread": {"thread_id": "x"}}})),
            "filter.thread.thread_id",
        ),
        (
            "ListMemories",
            of(json!({"filter": {"origins": [0]}})),
            "filter.origins",
        ),
        (
            "ListMemories",
            of(json!({"filter": {"topics": many(17)}})),
            "filter.topics",
        ),
        (
            "ListMemories",
            of(
                json!({"filter": {"start_time": "2026-01-02T00:00:00Z", "end_time": "2026-01-01T00:00:00Z"}}),
            ),
            "filter.end_time",
        ),
        (
            "ListMemories",
            of(json!({"filter": {"metadata": r#"{"a": [1]}"#}})),
            "filter.metadata.a",
        ),
        (
            "ListMemories",
            of(json!({"filter": {"metadata": r#"{"a": {"b": 1}}"#}})),
            "filter.metadata.a",
        ),
        (
            "SearchMemories",
            of(json!({"query": "x", "filter": {"metadata": r#"{"a b": NaN}"#}})),
            "filter.metadata",
        ),
        (
            "UpdateMemory",
            change(
                json!({"metadata": r#"{"a": {"b": {"c": {"d": {"e": {}}}}}}"#}),
                "metadata",
            ),
            "memory.metadata",
        ),
        ("ListMemories", of(json!({"page_token": "x"})), "page_token"),
        ("UpdateMemory", json!({}), "memory"),
        (
            "UpdateMemory",
            change(json!({}), "userId"),
            "update_mask.paths[0]",
        ),
        (
            "UpdateMemory",
            with(
                change(json!({}), "pinned"),
                json!({"precondition": {"etag": "x".repeat(129)}}),
            ),
            "precondition.etag",
        ),
        (
            "UpdateMemory",
            change(json!({"text": ""}), "text"),
            "memory.text",
        ),
        (
            "UpdateMemory",
            change(json!({"text": "LIKES cake"}), "text"),
            "memory.text",
        ),
        (
            "UpdateMemory",
            change(json!({"topics": [""]}), "topics"),
            "memory.topics[0]",
        ),
        (
            "SupersedeMemory",
            json!({"memory_id": tea.memory_id, "replacement": {"text": "likes TEA"}}),
            "replacement.text",
        ),
        ("DeleteMemories", of(json!({"max_age": "0.5s"})), "max_age"),
        (
            "DeleteMemories",
            of(json!({"max_inactivity": "3600s"})),
            "max_inactivity",
        ),
        ("DeleteMemories", of(json!({"max_count": 0})), "max_count"),
        ("DeleteMemories", json!({"max_count": 1}), "target"),
        ("ListMemories", json!({}), "target"),
        ("SearchMemories", json!({"query": "x"}), "target"),
    ] {
        let name = format!("MemoryService/{method}");
        eprintln!("{name} {request}");
        let answer = Dynamic::call(&client, &name, request).await;
        answer.refused().names_field(field);
    }
    let unknown = json!({"memory_id": uuid::Uuid::new_v4().to_string()});
    for (method, request) in [
        ("GetMemory", unknown.clone()),
        (
            "UpdateMemory",
            json!({"memory": unknown, "update_mask": "pinned"}),
        ),
        (
            "SupersedeMemory",
            json!({"memory_id": unknown["memory_id"], "replacement": {"text": "x"}}),
        ),
    ] {
        let answer = Dynamic::call(&client, &format!("MemoryService/{method}"), request).await;
        answer.refused().is(Code::NotFound, "MEMORY_NOT_FOUND");
    }
    // Nothing has changed, except that it may be indexed now.
    let found = client.get_memory(&tea.memory_id).await.0;
    let found = Memory {
        persist_time: tea.persist_time,
        ..found
    };
    assert_eq!(found, tea);
}

#[apply(trial)]
async fn the_longest_values_are_taken() {
    let client = plain().await;
    // Four bytes each, which no compression makes short.
    let wide = |count: usize, seed: u32| -> String {
        (0..count)
            .map(|n| {
                char::from_u32(0x1F300 + (u32::try_from(n).unwrap() * 7 + seed) % 700).unwrap()
            })
            .collect()
    };
    let (app, user) = (
        wide(128, 1),
        format!("{}{}", uuid::Uuid::new_v4(), wide(220, 2)),
    );
    let request = json!({"user": {"app_id": app, "user_id": user}, "memories": [{
        "external_id": wide(128, 3),
        "text": wide(4_096, 4),
        "topics": (0..16).map(|n| wide(64, n)).collect::<Vec<_>>(),
        "entities": (0..16).map(|n| wide(128, n)).collect::<Vec<_>>(),
        "metadata": json!({"a": {"b": {"c": {"d": {"e": wide(4_000, 5)}}}}}).to_string(),
    }]});
    for created in [true, false] {
        let request = request.clone();
        let answer = Dynamic::call(&client, "MemoryService/AddMemories", request).await;
        let answer = answer.unwrap().into_inner();
        assert_eq!(answer[0]["memories"][0]["created"] == json!(true), created);
    }
    let stored = client.all_memories(&app, &user).await;
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].text, wide(4_096, 4));
}
