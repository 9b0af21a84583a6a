//! Which parts of a working memory a put changes.

use memory_contract::proto::{
    ExtractionStrategy, MemoryPolicy, PutWorkingMemoryRequest, Role, WorkingMemory,
};
use prost_types::{FieldMask, Timestamp};
use recollect_tests::{Client, app, apply, listed, mask, metadata, parsed, seconds, trial};
use serde_json::{Value, json};

use super::{get, put_memory, put_of, said, texts};
use crate::plain;

/// All fields that a mask may name.
const FIELDS: [&str; 6] = ["messages", "summary", "memories", "data", "ttl", "model"];

/// A put of all fields.
fn everything(thread_id: &str) -> PutWorkingMemoryRequest {
    PutWorkingMemoryRequest {
        summary: Some("They met.".to_owned()),
        memories: vec![listed("Ada counts.")],
        data: Some(metadata(json!({"n": 2}))),
        ttl: Some(seconds(3_600)),
        model: "gpt-4o".to_owned(),
        ..put_of(
            thread_id,
            vec![said(Role::User, "one"), said(Role::Assistant, "two")],
        )
    }
}

/// A put of other values for all fields.
fn others(thread_id: &str) -> PutWorkingMemoryRequest {
    PutWorkingMemoryRequest {
        summary: Some("They met again.".to_owned()),
        memories: vec![listed("Ada reads.")],
        data: Some(metadata(json!({"other": true}))),
        ttl: Some(seconds(7_200)),
        model: "gpt-4".to_owned(),
        ..put_of(thread_id, vec![said(Role::User, "three")])
    }
}

fn extraction(strategy: ExtractionStrategy) -> MemoryPolicy {
    MemoryPolicy {
        extraction: strategy.into(),
        ..Default::default()
    }
}

/// A put of one field of another, or of nothing.
fn only(thread_id: &str, field: &str, all: PutWorkingMemoryRequest) -> PutWorkingMemoryRequest {
    let mut put = put_of(thread_id, Vec::new());
    match field {
        "messages" => put.messages = all.messages,
        "summary" => put.summary = all.summary,
        "memories" => put.memories = all.memories,
        "data" => put.data = all.data,
        "ttl" => put.ttl = all.ttl,
        "model" => put.model = all.model,
        other => panic!("no field {other}"),
    }
    put
}

/// What is stored, field by field. A ttl is the hours that are left, rounded.
fn state(stored: &WorkingMemory) -> Vec<(&'static str, Value)> {
    let memories = stored.memories.iter().map(|one| one.text.clone());
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let hours = |end: Timestamp| (end.seconds - now as i64 + 1_800) / 3_600;
    let values = [
        json!(texts(stored)),
        json!(stored.summary),
        memories.collect(),
        parsed(&stored.data),
        json!(stored.expire_time.map(hours)),
        json!(stored.model),
    ];
    FIELDS.into_iter().zip(values).collect()
}

/// A thread with a put of everything.
async fn full(client: &Client) -> WorkingMemory {
    let thread_id = client.thread(&app()).await;
    put_memory(client, everything(&thread_id)).await
}

fn named(paths: &[&str]) -> Option<FieldMask> {
    Some(mask(paths))
}

/// The values of one field by another state, the rest by this one.
fn with(
    state: &[(&'static str, Value)],
    field: &str,
    other: &[(&'static str, Value)],
) -> Vec<(&'static str, Value)> {
    let pairs = state.iter().zip(other);
    pairs
        .map(|(kept, changed)| match kept.0 == field {
            true => changed.clone(),
            false => kept.clone(),
        })
        .collect()
}

fn cleared() -> Vec<(&'static str, Value)> {
    let values = [
        json!([]),
        json!(""),
        json!([]),
        Value::Null,
        Value::Null,
        json!(""),
    ];
    FIELDS.into_iter().zip(values).collect()
}

#[apply(trial)]
async fn r12_without_a_mask_a_put_changes_the_fields_that_are_set() {
    let client = plain().await;
    let before = state(&full(&client).await);
    assert!(before.iter().zip(cleared()).all(|(one, none)| *one != none));
    let thread_id = client.thread(&app()).await;
    let other = put_memory(&client, others(&thread_id)).await;
    let other = state(&other);
    assert!(before.iter().zip(&other).all(|(one, two)| one != two));
    for field in FIELDS {
        let stored = full(&client).await;
        let id = &stored.thread_id;
        let put = put_memory(&client, only(id, field, others(id))).await;
        let expected = with(&before, field, &other);
        assert_eq!(state(&put), expected, "{field}");
        assert_eq!(state(&get(&client, id).await), expected);
    }
    // A put of nothing changes nothing.
    let stored = full(&client).await;
    let same = put_memory(&client, put_of(&stored.thread_id, Vec::new())).await;
    assert_eq!(state(&same), before);
    assert_eq!(same.expire_time, stored.expire_time);
}

#[apply(trial)]
async fn r12_a_mask_names_the_fields_to_replace() {
    let client = plain().await;
    let before = state(&full(&client).await);
    let thread_id = client.thread(&app()).await;
    let other = put_memory(&client, others(&thread_id)).await;
    let other = state(&other);
    for field in FIELDS {
        // The other fields of the request are ignored.
        let stored = full(&client).await;
        let request = PutWorkingMemoryRequest {
            update_mask: named(&[field]),
            ..others(&stored.thread_id)
        };
        let put = put_memory(&client, request).await;
        let expected = with(&before, field, &other);
        assert_eq!(state(&put), expected, "{field}");

        // A named field that is unset is cleared.
        let stored = full(&client).await;
        let request = PutWorkingMemoryRequest {
            update_mask: named(&[field]),
            ..put_of(&stored.thread_id, Vec::new())
        };
        let put = put_memory(&client, request).await;
        let expected = with(&before, field, &cleared());
        assert_eq!(state(&put), expected, "{field}");
        let found = get(&client, &stored.thread_id).await;
        assert_eq!(state(&found), expected, "{field}");
    }
    // Several, one of them set.
    let stored = full(&client).await;
    let id = &stored.thread_id;
    let request = PutWorkingMemoryRequest {
        update_mask: named(&["data", "memories"]),
        ..only(id, "data", others(id))
    };
    let put = put_memory(&client, request).await;
    let expected = with(&before, "data", &other);
    let expected = with(&expected, "memories", &cleared());
    assert_eq!(state(&put), expected);
}

#[apply(trial)]
async fn r12_an_asterisk_names_all_fields() {
    let client = plain().await;
    let stored = full(&client).await;
    let thread_id = &stored.thread_id;
    let all = PutWorkingMemoryRequest {
        update_mask: named(&["*"]),
        ..others(thread_id)
    };
    let put = put_memory(&client, all).await;
    let other = state(&put);
    assert_eq!(other[0].1, json!(["three"]));
    // Of the fields, one is set; the others are cleared.
    for field in FIELDS {
        let stored = full(&client).await;
        let id = &stored.thread_id;
        let one = PutWorkingMemoryRequest {
            update_mask: named(&["*"]),
            ..only(id, field, others(id))
        };
        let put = put_memory(&client, one).await;
        let expected = with(&cleared(), field, &other);
        assert_eq!(state(&put), expected, "{field}");
    }
    let nothing = PutWorkingMemoryRequest {
        update_mask: named(&["*"]),
        ..put_of(thread_id, Vec::new())
    };
    let put = put_memory(&client, nothing).await;
    assert_eq!(state(&put), cleared());
    // What was said stays in the thread.
    assert_eq!(client.all_messages(thread_id).await.len(), 3);
}

#[apply(trial)]
async fn a_mask_of_a_put_names_known_fields() {
    let client = plain().await;
    let stored = full(&client).await;
    let before = get(&client, &stored.thread_id).await;
    for path in ["context", "thread", "precondition", "policy", "data.n", ""] {
        let request = PutWorkingMemoryRequest {
            update_mask: named(&["summary", path]),
            ..others(&stored.thread_id)
        };
        let refused = client.refused(request).await;
        refused.names_field("update_mask.paths[1]");
    }
    assert_eq!(get(&client, &stored.thread_id).await.etag, before.etag);
}

#[apply(trial)]
async fn a_policy_of_a_put_is_set_with_a_mask_too() {
    let client = plain().await;
    let stored = full(&client).await;
    let request = PutWorkingMemoryRequest {
        update_mask: named(&["summary"]),
        policy: Some(extraction(ExtractionStrategy::Preferences)),
        ..put_of(&stored.thread_id, Vec::new())
    };
    put_memory(&client, request).await;
    let thread = client.get_thread(&stored.thread_id).await;
    let policy = thread.policy.unwrap();
    assert_eq!(policy.extraction(), ExtractionStrategy::Preferences);
}
