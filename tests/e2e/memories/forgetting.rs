//! Forgetting by age, disuse and number.

use std::time::Duration;

use memory_contract::proto::{
    DeleteMemoriesRequest, DeleteMemoriesResponse, GetMemoryRequest, MemoryInput, MemoryOrigin,
    Role,
};
use recollect_tests::{
    Client, PLAIN, app, apply, eventually, memory, memory_search, memory_texts, say, seconds,
    target_app, target_user, trial,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tonic::Code;

use super::{backdate, database, days, update};
use crate::plain;

fn forget(app: &str, user: &str) -> DeleteMemoriesRequest {
    DeleteMemoriesRequest {
        target: target_user(app, user),
        ..Default::default()
    }
}

async fn forgotten(client: &Client, request: DeleteMemoriesRequest) -> DeleteMemoriesResponse {
    client.call(request).await
}

fn second() -> Option<prost_types::Duration> {
    Some(seconds(1))
}

fn texts(response: &DeleteMemoriesResponse) -> Vec<&str> {
    let memories = response.memories.iter();
    memories.map(|memory| memory.text.as_str()).collect()
}

#[apply(trial)]
async fn b09_a_pinned_memory_is_never_forgotten() {
    let client = plain().await;
    let app = app();
    let pinned = MemoryInput {
        pinned: Some(true),
        ..memory("Is allergic to peanuts.")
    };
    let inputs = vec![pinned, memory("Wore a red hat."), memory("Asked for tea.")];
    let added = client.remember(&app, "ada", inputs).await;
    let hat = added.memories[1].memory.clone().unwrap();
    update(
        &client,
        memory_contract::proto::Memory {
            pinned: Some(true),
            ..hat.clone()
        },
        &["pinned"],
    )
    .await;
    let old = DeleteMemoriesRequest {
        max_age: second(),
        max_count: Some(1),
        ..forget(&app, "ada")
    };
    eventually(
        "the memories are old",
        Duration::from_secs(20),
        async || {
            let dry = DeleteMemoriesRequest {
                dry_run: true,
                ..old.clone()
            };
            forgotten(&client, dry).await.deleted_count == 1
        },
    )
    .await;
    let done = forgotten(&client, old.clone()).await;
    assert_eq!(texts(&done), ["Asked for tea."]);
    assert_eq!(forgotten(&client, old).await.deleted_count, 0);
    let left = client.all_memories(&app, "ada").await;
    let left: Vec<&str> = left.iter().map(|memory| memory.text.as_str()).collect();
    assert_eq!(left, ["Wore a red hat.", "Is allergic to peanuts."]);
}

#[apply(trial)]
async fn b09_a_dry_run_reports_the_memories_to_be_forgotten() {
    let client = plain().await;
    let app = app();
    let facts = |user: &str| {
        (0..5)
            .map(|n| memory(&format!("{user}'s fact {n}")))
            .collect()
    };
    client.remember(&app, "ada", facts("ada")).await;
    client.remember(&app, "bob", facts("bob")).await;
    let dry = DeleteMemoriesRequest {
        max_count: Some(2),
        dry_run: true,
        ..forget(&app, "ada")
    };
    let reported = forgotten(&client, dry.clone()).await;
    let expected = ["ada's fact 0", "ada's fact 1", "ada's fact 2"];
    assert_eq!(texts(&reported), expected);
    assert_eq!((reported.deleted_count, reported.more), (3, false));
    assert_eq!(
        client.all_memories(&app, "ada").await.len(),
        5,
        "nothing is erased"
    );
    let done = forgotten(
        &client,
        DeleteMemoriesRequest {
            dry_run: false,
            ..dry.clone()
        },
    )
    .await;
    assert_eq!(texts(&done), texts(&reported));
    assert_eq!(client.all_memories(&app, "ada").await.len(), 2);
    assert_eq!(client.all_memories(&app, "bob").await.len(), 5);
    assert_eq!(forgotten(&client, dry.clone()).await.deleted_count, 0);
    // Over all users the number counts for each.
    let all = DeleteMemoriesRequest {
        target: target_app(&app),
        max_count: Some(1),
        ..dry
    };
    let reported = forgotten(&client, all).await;
    assert_eq!(reported.deleted_count, 1 + 4);
    let search = memory_search(&app, "ada", "fact", "");
    let mut found = memory_texts(&client.search_memories(search).await);
    found.sort();
    assert!(
        found.iter().all(|text| !expected.contains(&text.as_str())),
        "{found:?}"
    );
}

#[apply(trial)]
async fn b09_unused_and_old_memories_are_forgotten() {
    let client = plain().await;
    let app = app();
    let database = database(PLAIN.ready().line["postgres"].as_str().unwrap()).await;
    let pinned = MemoryInput {
        pinned: Some(true),
        ..memory("Is pinned.")
    };
    // Stored and last returned, in days before today.
    for (input, stored, used) in [
        (memory("Was never asked for."), 60, None),
        (memory("Was asked for in spring."), 90, Some(40)),
        (memory("Was asked for last week."), 90, Some(7)),
        (pinned, 90, None),
        (memory("Is rather new."), 20, None),
    ] {
        let added = client.remember(&app, "ada", vec![input]).await;
        let id = added.memories[0].memory.clone().unwrap().memory_id;
        backdate(&database, &id, stored, used).await;
    }
    let reported = async |request: DeleteMemoriesRequest| {
        let reported = forgotten(&client, request).await;
        let texts: Vec<String> = texts(&reported).into_iter().map(str::to_owned).collect();
        assert_eq!(reported.deleted_count, i64::try_from(texts.len()).unwrap());
        texts
    };
    let aged = DeleteMemoriesRequest {
        max_age: days(75),
        ..forget(&app, "ada")
    };
    let unused = DeleteMemoriesRequest {
        max_inactivity: days(30),
        ..forget(&app, "ada")
    };
    let dry = |request: &DeleteMemoriesRequest| DeleteMemoriesRequest {
        dry_run: true,
        ..request.clone()
    };
    // Memories used longest ago are forgotten first.
    let old = ["Was asked for in spring.", "Was asked for last week."];
    let useless = ["Was never asked for.", "Was asked for in spring."];
    assert_eq!(reported(dry(&aged)).await, old);
    assert_eq!(reported(dry(&unused)).await, useless);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 5);
    assert_eq!(reported(unused.clone()).await, useless);
    assert!(reported(unused).await.is_empty());
    assert_eq!(reported(aged).await, old[1..]);
    let left = client.all_memories(&app, "ada").await;
    let left: Vec<&str> = left.iter().map(|memory| memory.text.as_str()).collect();
    assert_eq!(left, ["Is rather new.", "Is pinned."]);
}

/// Stores what was extracted, as the worker does.
async fn extract(app_thread: &str, from: i64, to: i64, facts: &[(&str, &[&str])]) {
    let facts: Vec<_> = facts
        .iter()
        .map(|(text, sources)| {
            let hash = Sha256::digest(text.as_bytes());
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({"id": uuid::Uuid::new_v4(), "record": "", "text": text, "words": text,
                   "hash": hash, "type": "semantic", "topics": [], "entities": [], "metadata": {}, "kind": "", "attributes": {},
                   "event": null, "sources": sources, "supersedes": [], "pinned": false})
        })
        .collect();
    let database = database(PLAIN.ready().line["postgres"].as_str().unwrap()).await;
    let row = database
        .query_one(
            "SELECT status FROM recollect.extract_memories('acme', 'worker', $1::text::uuid, $2, $3,
                 $4::text::jsonb, 'extractive', 'discrete', '[]')",
            &[&app_thread, &from, &to, &json!(facts).to_string()],
        )
        .await
        .unwrap();
    assert_eq!(row.get::<_, &str>(0), "ok");
}

#[apply(trial)]
async fn b09_an_extracted_memory_goes_with_its_last_source() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let said = client
        .append(
            &thread_id,
            vec![
                say(Role::User, "My sister plays the violin."),
                say(Role::User, "The violin is hers since 1999."),
                say(Role::User, "I sleep badly."),
            ],
        )
        .await;
    let ids: Vec<&str> = said
        .messages
        .iter()
        .map(|m| m.message_id.as_str())
        .collect();
    let facts: [(&str, &[&str]); 2] = [
        ("Her sister plays the violin.", &ids[..2]),
        ("She sleeps badly.", &ids[2..]),
    ];
    extract(&thread_id, 0, 3, &facts).await;
    let all = client.all_memories(&app, "ada").await;
    assert_eq!(all.len(), 2);
    let violin = all.iter().find(|one| one.text.contains("violin")).unwrap();
    assert_eq!(violin.origin(), MemoryOrigin::Extracted);
    assert_eq!(
        (violin.origin(), violin.made_by.as_str()),
        (MemoryOrigin::Extracted, "")
    );
    assert_eq!(violin.source_message_ids, ids[..2]);
    let erase = async |id: &str| {
        client.delete_message(&thread_id, id).await;
    };
    erase(ids[2]).await;
    let found = client
        .search_memories(memory_search(&app, "ada", "sleeps badly", ""))
        .await;
    assert_eq!(found.memories, []);
    erase(ids[0]).await;
    let (violin, _) = client.get_memory(&violin.memory_id).await;
    assert_eq!(violin.source_message_ids, ids[1..2]);
    erase(ids[1]).await;
    let request = GetMemoryRequest {
        memory_id: violin.memory_id,
    };
    let answer = client.refused(request).await;
    answer.is(Code::NotFound, "MEMORY_NOT_FOUND");
    assert_eq!(client.all_memories(&app, "ada").await.len(), 0);
    // Memories that a caller stored stay.
    let more = client.append_text(&thread_id, "I like tea.").await;
    let input = MemoryInput {
        source_message_ids: vec![more.messages[0].message_id.clone()],
        ..memory("Likes tea.")
    };
    client.remember(&app, "ada", vec![input]).await;
    erase(&more.messages[0].message_id).await;
    let left = client.all_memories(&app, "ada").await;
    assert_eq!(left.len(), 1);
    assert!(left[0].source_message_ids.is_empty());
}

#[apply(trial)]
async fn returned_memories_count_as_used() {
    let client = plain().await;
    let app = app();
    let added = client
        .remember(&app, "ada", vec![memory("Likes oolong.")])
        .await;
    let other = client.remember_one(&app, "ada", "Has a dog.").await;
    let id = added.memories[0].memory.clone().unwrap().memory_id;
    assert!(client.get_memory(&id).await.0.last_use_time.is_none());
    let search = memory_search(&app, "ada", "oolong", &added.revision);
    assert_eq!(client.search_memories(search).await.memories.len(), 1);
    eventually("its use is noted", Duration::from_secs(20), async || {
        client.get_memory(&id).await.0.last_use_time.is_some()
    })
    .await;
    assert!(
        client
            .get_memory(&other.memory_id)
            .await
            .0
            .last_use_time
            .is_none()
    );
}
