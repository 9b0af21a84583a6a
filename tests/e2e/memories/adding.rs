//! Storing, changing and superseding.

use std::collections::HashSet;

use memory_contract::proto::{Memory, MemoryInput, MemoryOrigin, MemoryType, UpdateMemoryRequest};
use recollect_tests::{
    Refused as _, app, apply, has_etag, mask, memory, memory_search, memory_texts, metadata,
    parsed, trial,
};
use serde_json::json;
use tonic::Code;

use super::{delete, supersede, update};
use crate::plain;

#[apply(trial)]
async fn r09_a_memory_comes_back_with_all_its_fields() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let said = client
        .append_text(&thread_id, "I go to Paris in May.")
        .await;
    let time = prost_types::Timestamp {
        seconds: 1_746_000_000,
        nanos: 123_456_000,
    };
    let input = MemoryInput {
        external_id: "trip_planning_paris".to_owned(),
        text: "Ada travels to Paris in May.".to_owned(),
        r#type: MemoryType::Episodic.into(),
        topics: vec!["travel".to_owned()],
        entities: vec!["Paris".to_owned(), "Ada".to_owned()],
        event_time: Some(time),
        source_message_ids: vec![said.messages[0].message_id.clone()],
        pinned: Some(true),
        metadata: metadata(json!({"case": 4711, "share": 0.5, "tags": ["a", {"b": [null, true]}]})),
        kind: String::new(),
        attributes: String::new(),
    };
    let added = client.remember(&app, "ada", vec![input.clone()]).await;
    assert!(added.memories[0].created);
    let stored = added.memories[0].memory.clone().unwrap();
    let again = client.remember(&app, "ada", vec![input.clone()]).await;
    assert!(!again.memories[0].created);
    let (memory, superseded) = client.get_memory(&stored.memory_id).await;
    assert_eq!(superseded, []);
    let MemoryInput {
        external_id,
        text,
        r#type,
        topics,
        entities,
        event_time,
        source_message_ids,
        pinned,
        metadata,
        kind,
        attributes,
    } = input;
    assert_eq!(
        (&memory.external_id, &memory.text, memory.r#type),
        (&external_id, &text, r#type)
    );
    assert_eq!((&memory.topics, &memory.entities), (&topics, &entities));
    assert_eq!(memory.event_time, event_time);
    assert_eq!(memory.source_message_ids, source_message_ids);
    assert_eq!(memory.pinned, pinned);
    assert_eq!(parsed(&memory.metadata), parsed(&metadata));
    assert_eq!((&memory.kind, &memory.attributes), (&kind, &attributes));
    assert_eq!(memory.thread_id, thread_id);
    assert_eq!(memory.origin(), MemoryOrigin::Caller);
    assert_eq!(
        (memory.app_id.as_str(), memory.user_id.as_str()),
        (app.as_str(), "ada")
    );
    assert!(memory.valid_from.is_some() && memory.valid_until.is_none());
    assert!(memory.create_time.is_some() && memory.update_time.is_some());
    assert_eq!(
        (memory.superseded_by.as_str(), memory.made_by.as_str()),
        ("", "")
    );
    assert_eq!(memory.etag, stored.etag);
}

#[apply(trial)]
async fn r09_the_same_text_is_stored_once_however_many_store_it_at_once() {
    let client = plain().await;
    let app = app();
    let tasks = (0..24).map(|number| {
        let (client, app) = (client.clone(), app.clone());
        let text = ["Likes tea", "likes  TEA.", "Likes\ntea!"][number % 3];
        async move { client.remember(&app, "ada", vec![memory(text)]).await }
    });
    let answers = futures::future::join_all(tasks).await;
    let all: Vec<_> = answers.iter().flat_map(|answer| &answer.memories).collect();
    let ids: HashSet<&str> = all
        .iter()
        .map(|added| added.memory.as_ref().unwrap().memory_id.as_str())
        .collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(all.iter().filter(|added| added.created).count(), 1);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 1);
    // The same text for another user is another memory.
    let bobs = client
        .remember(&app, "bob", vec![memory("Likes tea")])
        .await;
    assert!(bobs.memories[0].created);
}

#[apply(trial)]
async fn r09_the_same_record_updates_the_memory() {
    let client = plain().await;
    let app = app();
    let put = async |text: &str| {
        let input = MemoryInput {
            external_id: "home".to_owned(),
            ..memory(text)
        };
        let added = client.remember(&app, "ada", vec![input]).await;
        (added.memories[0].clone(), added.revision)
    };
    let (first, _) = put("Lives in Paris.").await;
    let (second, revision) = put("Lives in Rome.").await;
    assert!(first.created && !second.created);
    let (first, second) = (first.memory.unwrap(), second.memory.unwrap());
    assert_eq!(first.memory_id, second.memory_id);
    assert_ne!(first.etag, second.etag);
    let found = client.search_memories(memory_search(&app, "ada", "lives", &revision));
    assert_eq!(memory_texts(&found.await), ["Lives in Rome."]);
}

#[apply(trial)]
async fn b09_a_newer_fact_supersedes_and_does_not_erase() {
    let client = plain().await;
    let app = app();
    let paris = client.remember_one(&app, "ada", "Lives in Paris.").await;
    let done = supersede(&client, &paris.memory_id, memory("Lives in Rome.")).await;
    let (rome, old) = (done.memory.unwrap(), done.superseded.unwrap());
    assert_eq!(old.superseded_by, rome.memory_id);
    assert!(old.valid_until.is_some() && rome.valid_until.is_none());
    // A retry, also with other case, returns the same memory.
    let again = supersede(&client, &paris.memory_id, memory("lives in ROME")).await;
    assert_eq!(again.memory.unwrap().memory_id, rome.memory_id);

    let mut search = memory_search(&app, "ada", "lives", &done.revision);
    let found = client.search_memories(search.clone()).await;
    assert_eq!(memory_texts(&found), ["Lives in Rome."]);
    search.filter = Some(memory_contract::proto::MemoryFilter {
        include_superseded: true,
        ..Default::default()
    });
    let mut found = memory_texts(&client.search_memories(search).await);
    found.sort();
    assert_eq!(found, ["Lives in Paris.", "Lives in Rome."]);
    let oslo = supersede(&client, &rome.memory_id, memory("Lives in Oslo.")).await;
    let oslo = oslo.memory.unwrap();
    let (_, history) = client.get_memory(&oslo.memory_id).await;
    let texts: Vec<&str> = history.iter().map(|memory| memory.text.as_str()).collect();
    assert_eq!(texts, ["Lives in Rome.", "Lives in Paris."]);
    // A superseded memory cannot be superseded by another one.
    let request = memory_contract::proto::SupersedeMemoryRequest {
        memory_id: paris.memory_id.clone(),
        replacement: Some(memory("Lives in Bonn.")),
    };
    let answer = client.refused(request).await;
    answer.is(Code::Aborted, "ETAG_CHANGED");
    // The chain closes over what is erased.
    assert!(delete(&client, &rome.memory_id).await.0);
    let (_, history) = client.get_memory(&oslo.memory_id).await;
    assert_eq!(history.len(), 1);
    assert_eq!(history[0].superseded_by, oslo.memory_id);
}

#[apply(trial)]
async fn a_change_needs_the_etag_that_was_seen() {
    let client = plain().await;
    let app = app();
    let tea = client.remember_one(&app, "ada", "Likes tea.").await;
    let change = |text: &str, etag: &str| UpdateMemoryRequest {
        memory: Some(Memory {
            memory_id: tea.memory_id.clone(),
            text: text.to_owned(),
            ..Default::default()
        }),
        update_mask: Some(mask(&["text"])),
        precondition: match etag {
            "" => None,
            etag => has_etag(etag),
        },
    };
    let requests = (0..8).map(|number| {
        let mut memories = client.memories();
        let request = change(&format!("Likes tea number {number}."), &tea.etag);
        async move { memories.update_memory(request).await }
    });
    let answers = futures::future::join_all(requests).await;
    let (done, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(done.len(), 1, "one of them has seen the newest state");
    for answer in refused {
        answer.refused().is(Code::Aborted, "ETAG_CHANGED");
    }
    client.call(change("Likes no tea.", "")).await;
    let (memory, _) = client.get_memory(&tea.memory_id).await;
    assert_eq!(memory.text, "Likes no tea.");
    let stale = client.refused(change("Likes tea.", &tea.etag)).await;
    let stale = stale.is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(stale.metadata["etag"], memory.etag);
    client.call(change("Likes tea again.", "*")).await;
    // An etag within the memory is no condition.
    let mut read_before = change("Likes it still.", "");
    read_before.memory.as_mut().unwrap().etag = tea.etag.clone();
    client.call(read_before).await;
}

#[apply(trial)]
async fn without_a_mask_a_memory_changes_in_the_fields_that_are_set() {
    let client = plain().await;
    let app = app();
    let tea = client.remember_one(&app, "ada", "Likes tea.").await;
    let change = async |memory: Memory, paths: &[&str]| {
        let memory = Memory {
            memory_id: tea.memory_id.clone(),
            ..memory
        };
        update(&client, memory, paths).await.memory.unwrap()
    };
    let drinks = Memory {
        topics: vec!["drinks".to_owned()],
        pinned: Some(true),
        ..Default::default()
    };
    let changed = change(drinks, &[]).await;
    assert_eq!(
        (changed.text.as_str(), changed.pinned),
        ("Likes tea.", Some(true))
    );
    assert_eq!(changed.topics, ["drinks"]);
    // An unset pinned stays, and so does an empty list.
    let green = Memory {
        text: "Likes green tea.".to_owned(),
        ..Default::default()
    };
    let changed = change(green, &[]).await;
    assert_eq!(
        (changed.text.as_str(), changed.pinned),
        ("Likes green tea.", Some(true))
    );
    assert_eq!(changed.topics, ["drinks"]);
    let unpinned = Memory {
        pinned: Some(false),
        ..Default::default()
    };
    assert!(!change(unpinned, &[]).await.pinned());
    let pinned = Memory {
        pinned: Some(true),
        ..Default::default()
    };
    assert!(change(pinned, &[]).await.pinned());
    // What a mask names and is unset is cleared.
    let changed = change(Memory::default(), &["topics", "pinned"]).await;
    assert_eq!((changed.topics.len(), changed.pinned()), (0, false));
    let nothing = UpdateMemoryRequest {
        memory: Some(Memory {
            memory_id: tea.memory_id.clone(),
            ..Default::default()
        }),
        update_mask: None,
        precondition: None,
    };
    client.refused(nothing).await.names_field("update_mask");
}

#[apply(trial)]
async fn a_changed_memory_is_found_by_its_new_words() {
    let client = plain().await;
    let app = app();
    let tea = client.remember_one(&app, "ada", "Likes tea.").await;
    let changed = Memory {
        memory_id: tea.memory_id.clone(),
        text: "Likes espresso.".to_owned(),
        topics: vec!["drinks".to_owned()],
        entities: vec!["Illy".to_owned()],
        ..Default::default()
    };
    let done = update(&client, changed, &["text", "topics", "entities"]).await;
    assert_eq!(done.memory.as_ref().unwrap().entities, ["Illy"]);
    for (query, found) in [("espresso", 1), ("drinks", 1), ("Illy", 1), ("tea", 0)] {
        let search = memory_search(&app, "ada", query, &done.revision);
        let answer = client.search_memories(search).await;
        assert_eq!(answer.degradations, []);
        assert_eq!(answer.memories.len(), found, "{query}");
    }
    let (memory, _) = client.get_memory(&tea.memory_id).await;
    assert!(memory.persist_time.is_some());
}

#[apply(trial)]
async fn the_metadata_of_a_memory_changes_as_a_whole() {
    let client = plain().await;
    let app = app();
    let put = async |data: serde_json::Value| {
        let input = MemoryInput {
            external_id: "home".to_owned(),
            metadata: metadata(data),
            ..memory("Lives in Oslo.")
        };
        let added = client.remember(&app, "ada", vec![input]).await;
        added.memories[0].memory.clone().unwrap()
    };
    let first = put(json!({"source": "crm", "version": 1})).await;
    let same = put(json!({"version": 1, "source": "crm"})).await;
    assert_eq!(first.etag, same.etag, "nothing has changed");
    let second = put(json!({"version": 2})).await;
    assert_eq!(parsed(&second.metadata), json!({"version": 2}));
    assert_ne!(first.etag, second.etag);
    // The text is known, so the memory stays as it is.
    let known = client.remember_one(&app, "ada", "Lives in Oslo.").await;
    assert_eq!(known.metadata, second.metadata);
    let changed = Memory {
        memory_id: first.memory_id.clone(),
        metadata: metadata(json!({"by": "hand"})),
        ..Default::default()
    };
    let done = update(&client, changed.clone(), &["metadata"]).await;
    let done = done.memory.unwrap();
    assert_eq!(parsed(&done.metadata), json!({"by": "hand"}));
    assert_eq!(done.text, "Lives in Oslo.");
    let bare = Memory {
        metadata: String::new(),
        ..changed
    };
    let done = update(&client, bare, &["metadata"]).await;
    assert_eq!(done.memory.unwrap().metadata, "");
}

#[apply(trial)]
async fn a_deleted_memory_is_not_found_any_more() {
    let client = plain().await;
    let app = app();
    let added = client
        .remember(&app, "ada", vec![memory("The code of the safe is 4711.")])
        .await;
    let id = added.memories[0].memory.as_ref().unwrap().memory_id.clone();
    let search = memory_search(&app, "ada", "code of the safe", &added.revision);
    assert_eq!(client.search_memories(search).await.memories.len(), 1);
    let (deleted, revision) = delete(&client, &id).await;
    assert!(deleted);
    // It is not found even before the index has applied the change.
    let search = memory_search(&app, "ada", "code of the safe", "");
    assert_eq!(client.search_memories(search).await.memories, []);
    let search = memory_search(&app, "ada", "code of the safe", &revision);
    assert_eq!(client.search_memories(search).await.memories, []);
    assert!(!delete(&client, &id).await.0, "again changes nothing");
    let request = memory_contract::proto::GetMemoryRequest { memory_id: id };
    let answer = client.refused(request).await;
    answer.is(Code::NotFound, "MEMORY_NOT_FOUND");
}
