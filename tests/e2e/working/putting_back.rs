//! What was read from a working memory can be put back.

use memory_contract::proto::{
    DeleteMemoryRequest, Memory, MemoryInput, Part, PutWorkingMemoryRequest, Reasoning, Role,
    SupersedeMemoryRequest, WorkingMemory, part,
};
use recollect_tests::{
    app, apply, by_session, file, listed, mask, memory, metadata, say, session, tool_call,
    tool_result, trial, with_parts,
};
use serde_json::json;

use super::{a_session, archive, get, put, put_in, put_memory, put_of, texts};
use crate::plain;

/// All that a working memory says, as a caller who read it sends it back.
fn back(memory: &WorkingMemory) -> PutWorkingMemoryRequest {
    PutWorkingMemoryRequest {
        messages: memory.messages.clone(),
        summary: Some(memory.summary.clone()),
        memories: memory.memories.clone(),
        data: Some(memory.data.clone()),
        model: memory.model.clone(),
        ..put_of(&memory.thread_id, Vec::new())
    }
}

#[apply(trial)]
async fn r12_what_was_read_is_put_back_and_nothing_changes() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(a_session(&app), Vec::new());
    request.summary = Some("Ada sails.".to_owned());
    request.data = Some(metadata(json!({"boat": 7})));
    request.model = "gpt-4o".to_owned();
    request.memories = vec![
        listed("Ada has a boat."),
        Memory {
            external_id: "port".to_owned(),
            topics: vec!["sailing".to_owned()],
            entities: vec!["Bonn".to_owned()],
            metadata: metadata(json!({"n": 1})),
            pinned: Some(true),
            ..listed("The boat is in Bonn.")
        },
    ];
    let first = put_memory(&client, request).await;
    let reasoning = Part {
        content: Some(part::Content::Reasoning(Reasoning {
            provider: 3,
            text: "A sail tears at its seam.".to_owned(),
            signature: "c2lnbmVk".to_owned(),
            ..Default::default()
        })),
        ..Default::default()
    };
    let mut named = say(Role::User, "Look at this seam.");
    named.name = "Ada".to_owned();
    named.external_id = "01JD3Q7Z4M8T5V9W2X6Y0ZABCD".to_owned();
    named.metadata = metadata(json!({"client": 1.10}));
    named
        .parts
        .push(file("https://example.org/seam.png", "A torn seam"));
    let mut messages = vec![
        named,
        with_parts(Role::Assistant, vec![reasoning]),
        tool_call("call_1", "measure", json!({"seam": 3})),
        tool_result("call_1", "42 cm"),
    ];
    messages.extend((0..200).map(|n| say(Role::Assistant, &format!("Stitch {n}."))));
    let more = (200..450).map(|n| say(Role::Assistant, &format!("Stitch {n}.")));
    client.append(&first.thread_id, messages).await;
    client.append(&first.thread_id, more.collect()).await;

    let read = get(&client, &first.thread_id).await;
    assert_eq!((read.messages.len(), read.omitted_message_count), (454, 0));
    let mut all = back(&read);
    all.update_mask = Some(mask(&["messages", "summary", "memories", "data", "model"]));
    for request in [back(&read), all] {
        let answer = put(&client, request).await;
        assert_eq!((answer.branched, answer.revision.as_str()), (false, ""));
        assert_eq!(answer.warnings, []);
        let stored = answer.working_memory.unwrap();
        assert_eq!(stored.messages, read.messages);
        assert_eq!(stored.memories.len(), 2);
        for (stored, read) in stored.memories.iter().zip(&read.memories) {
            let same = Memory {
                etag: read.etag.clone(),
                update_time: read.update_time,
                persist_time: read.persist_time,
                ..stored.clone()
            };
            assert_eq!(same, *read);
        }
        assert_eq!(
            (stored.summary, stored.data),
            (read.summary.clone(), read.data.clone())
        );
    }
    assert_eq!(client.all_memories(&app, "ada").await.len(), 2);
    assert_eq!(archive(&client, &first.thread_id).await.len(), 454);
}

#[apply(trial)]
async fn r12_a_caller_reads_changes_and_puts_a_working_memory() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    client.append_turn(&thread_id, "Hello", "Good day").await;
    let mut read = get(&client, &thread_id).await;
    // Ids of another thread that a message still carries mean nothing.
    for message in &mut read.messages {
        message.thread_id = "another".to_owned();
        message.parent_message_id = "another".to_owned();
        (message.seq, message.depth, message.branch) = (-1, -1, -1);
    }
    let mut new = read.messages[0].clone();
    new.message_id = String::new();
    new.parts = say(Role::User, "And now?").parts;
    read.messages.push(new);
    let answer = put(&client, back(&read)).await;
    assert!(!answer.branched);
    let stored = answer.working_memory.unwrap();
    assert_eq!(texts(&stored), ["Hello", "Good day", "And now?"]);
    assert_eq!(
        stored.messages[2].parent_message_id,
        stored.messages[1].message_id
    );

    let mut changed = stored.clone();
    changed.messages[1].parts = say(Role::Assistant, "Good evening").parts;
    let answer = put(&client, back(&changed)).await;
    assert!(answer.branched);
    let stored = answer.working_memory.unwrap();
    assert_eq!(texts(&stored), ["Hello", "Good evening", "And now?"]);
    assert_eq!(archive(&client, &thread_id).await.len(), 5);
}

#[apply(trial)]
async fn a_superseded_memory_that_is_put_back_stays_superseded() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(a_session(&app), Vec::new());
    request.memories = vec![listed("Ada lives in Bonn.")];
    let first = put_memory(&client, request).await;
    let supersede = SupersedeMemoryRequest {
        memory_id: first.memories[0].memory_id.clone(),
        replacement: Some(MemoryInput {
            ..memory("Ada lives in Bergen.")
        }),
    };
    client.call(supersede).await;
    let read = get(&client, &first.thread_id).await;
    put_memory(&client, back(&read)).await;
    let all = client.all_memories(&app, "ada").await;
    let valid: Vec<&str> = all
        .iter()
        .filter(|one| one.valid_until.is_none())
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(valid, ["Ada lives in Bergen."]);
}

#[apply(trial)]
async fn r12_a_memory_that_is_put_back_with_another_text_is_the_same_memory() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(a_session(&app), Vec::new());
    request.memories = vec![listed("Ada lives in Bonn."), listed("Ada likes tea.")];
    request.memories[0].metadata = metadata(json!({"n": 1}));
    let first = put_memory(&client, request).await;
    let mut read = first.clone();
    read.memories[0].text = "Ada lives in Bergen.".to_owned();
    read.memories[0].metadata = String::new();
    let stored = put_memory(&client, back(&read)).await;
    let ids = |memory: &WorkingMemory| -> Vec<String> {
        let memories = memory.memories.iter();
        memories.map(|one| one.memory_id.clone()).collect()
    };
    assert_eq!(ids(&stored), ids(&first));
    assert_eq!(stored.memories[0].text, "Ada lives in Bergen.");
    assert_eq!(stored.memories[0].metadata, first.memories[0].metadata);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 2);
}

#[apply(trial)]
async fn r12_a_deleted_memory_does_not_come_back_with_a_put() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(a_session(&app), Vec::new());
    request.memories = vec![listed("Ada lives in Bonn."), listed("Ada likes tea.")];
    let read = put_memory(&client, request).await;
    let delete = DeleteMemoryRequest {
        memory_id: read.memories[1].memory_id.clone(),
    };
    client.call(delete).await;
    let refused = client.refused(back(&read)).await;
    refused.names_field("memories[1].memory_id");
    // Nor does an id of another user name a memory.
    let others = PutWorkingMemoryRequest {
        thread: by_session(session(&app, "bob", "thread:1")),
        memories: read.memories[..1].to_vec(),
        ..Default::default()
    };
    let refused = client.refused(others).await;
    refused.names_field("memories[0].memory_id");
    assert_eq!(client.all_memories(&app, "ada").await.len(), 1);
    assert_eq!(client.all_memories(&app, "bob").await.len(), 0);
}

#[apply(trial)]
async fn no_memory_of_a_put_takes_the_place_of_another() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(a_session(&app), Vec::new());
    request.memories = vec![listed("Ada has a dog."), listed("Ada has a cat.")];
    request.memories[1].external_id = "pet".to_owned();
    let read = put_memory(&client, request).await;
    let with = |change: &dyn Fn(&mut Vec<Memory>)| {
        let mut request = back(&read);
        change(&mut request.memories);
        request
    };
    // The texts change places, one moves up, two are the same one, one takes the other's own id.
    let swapped = with(&|all| {
        all[0].text = "Ada has a cat.".to_owned();
        all[1].text = "Ada has a dog.".to_owned();
    });
    let moved = with(&|all| {
        all[0].text = "Ada has a cat.".to_owned();
        all[1].text = "Ada has a fish.".to_owned();
    });
    let taken = with(&|all| all[0].external_id = "pet".to_owned());
    for request in [swapped, moved, taken] {
        client.refused(request).await.names_field("memories[0]");
    }
    let twice = with(&|all| all[1].memory_id = all[0].memory_id.clone());
    let refused = client.refused(twice).await;
    refused.names_field("memories[1].memory_id");
    let texts = async || {
        let mut texts: Vec<String> = client
            .all_memories(&app, "ada")
            .await
            .into_iter()
            .map(|one| one.text)
            .collect();
        texts.sort();
        texts
    };
    assert_eq!(texts().await, ["Ada has a cat.", "Ada has a dog."]);
    // The same text again is the same memory.
    let same = with(&|all| all[0].text = "Ada has a cat.".to_owned());
    put_memory(&client, same).await;
}
