//! A session's data and its memories.

use memory_contract::proto::{
    GetThreadRequest, Memory, MemoryOrigin, Role, UpdateWorkingMemoryDataRequest,
    UpdateWorkingMemoryDataResponse,
};
use recollect_tests::{
    Client, Failure, Options, SOON, Server, app, apply, by_id, by_session, eventually, has_etag,
    listed, mask, memory_search, memory_texts, metadata, parsed, search_request, session, trial,
    trial_with_own_server,
};
use serde_json::{Value, json};
use tonic::Code;

use super::{a_session, all_of, get, memory_of, put, put_in, put_memory, put_of, said};
use crate::plain;

async fn patch(
    client: &Client,
    thread_id: &str,
    patch: Value,
    etag: &str,
) -> Result<UpdateWorkingMemoryDataResponse, Failure> {
    let request = UpdateWorkingMemoryDataRequest {
        thread: by_id(thread_id),
        patch: metadata(patch),
        precondition: match etag {
            "" => None,
            etag => has_etag(etag),
        },
    };
    let mut service = client.working_memories();
    let answer = service.update_working_memory_data(request).await;
    Ok(answer?.into_inner())
}

#[apply(trial)]
async fn r08_data_is_changed_by_a_merge_patch() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = patch(
        &client,
        &thread_id,
        json!({"a": 1, "b": {"c": 2, "d": [1, 2]}}),
        "",
    )
    .await;
    let first = first.unwrap();
    let memory = get(&client, &thread_id).await;
    assert_eq!(parsed(&memory.data), parsed(&first.data));
    assert_eq!(memory.etag, first.etag);
    let change = json!({"a": null, "b": {"c": {"e": "x"}, "d": [3]}, "f": "g"});
    let second = patch(&client, &thread_id, change, &first.etag)
        .await
        .unwrap();
    let expected = json!({"b": {"c": {"e": "x"}, "d": [3]}, "f": "g"});
    assert_eq!(parsed(&second.data), expected);
    assert_ne!(second.etag, first.etag);
    // Seen before, and changed since.
    let stale = patch(&client, &thread_id, json!({"f": "h"}), &first.etag).await;
    let failure = stale.unwrap_err().is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(failure.metadata["etag"], second.etag);
    patch(&client, &thread_id, json!({}), "*").await.unwrap();
    let empty = client.thread(&app()).await;
    let none = patch(&client, &empty, json!({"f": "h"}), "*").await;
    none.unwrap_err().is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(parsed(&get(&client, &thread_id).await.data), expected);
    // A whole one takes its place, and one that the mask names and that is unset empties it.
    let mut request = put_of(&thread_id, Vec::new());
    request.data = Some(metadata(json!({"new": true, "nothing": null})));
    let memory = put_memory(&client, request).await;
    assert_eq!(parsed(&memory.data), json!({"new": true, "nothing": null}));
    let mut request = put_of(&thread_id, Vec::new());
    request.update_mask = Some(mask(&["data"]));
    let memory = put_memory(&client, request).await;
    assert_eq!(memory.data, "");
}

#[apply(trial)]
async fn r08_patches_at_the_same_time_all_stay() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let tasks = (0..24).map(|number| {
        let (client, thread_id) = (client.clone(), thread_id.clone());
        let change = json!({format!("k{number}"): number, "of": {format!("n{number}"): true}});
        async move { patch(&client, &thread_id, change, "").await }
    });
    for answer in futures::future::join_all(tasks).await {
        answer.unwrap();
    }
    let data = parsed(&get(&client, &thread_id).await.data);
    assert_eq!(data.as_object().unwrap().len(), 25);
    assert_eq!(data["of"].as_object().unwrap().len(), 24);
}

#[apply(trial)]
async fn r08_data_is_never_searched() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(
        a_session(&app),
        vec![said(Role::User, "The weather is fine.")],
    );
    request.data = Some(metadata(json!({"password": "xylophone quartz"})));
    let answer = put(&client, request).await;
    let thread_id = &answer.working_memory.as_ref().unwrap().thread_id;
    let search = |query: &str| search_request(thread_id, query, &answer.revision);
    let found = client.search(search("weather")).await;
    assert_eq!(found.matches.len(), 1);
    let found = client.search(search("xylophone quartz")).await;
    let shown = format!("{found:?}");
    assert!(!shown.contains("xylophone"), "{shown}");
    let found = client
        .search_memories(memory_search(&app, "ada", "xylophone", ""))
        .await;
    assert_eq!(memory_texts(&found), [""; 0]);
}

#[apply(trial)]
async fn r08_data_is_bounded_before_and_after_a_patch() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let nested = |levels: usize| (1..levels).fold(json!({"x": 1}), |inner, _| json!({"x": inner}));
    let half = "x".repeat(130 * 1024);
    patch(&client, &thread_id, nested(32), "").await.unwrap();
    patch(&client, &thread_id, json!({"x": null, "a": half}), "")
        .await
        .unwrap();
    let memory = get(&client, &thread_id).await;
    for (change, what) in [
        (nested(33), "levels"),
        (json!({"b": "x".repeat(256 * 1024)}), "bytes"),
        // The result would be too large.
        (json!({"b": half}), "bytes"),
    ] {
        let failure = patch(&client, &thread_id, change, "").await.unwrap_err();
        let failure = failure.names_field("patch");
        assert!(failure.fields[0].1.contains(what), "{failure:?}");
    }
    let mut request = put_of(&thread_id, Vec::new());
    request.data = Some(metadata(nested(33)));
    client.refused(request).await.names_field("data");
    assert_eq!(get(&client, &thread_id).await, memory);
    // It can be read and written through the transport at its deepest.
    let mut request = put_of(&thread_id, Vec::new());
    request.data = Some(metadata(nested(32)));
    let memory = put_memory(&client, request).await;
    assert_eq!(parsed(&memory.data), nested(32));
}

#[apply(trial)]
async fn r09_memories_are_searchable_in_other_sessions_and_promoted() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(a_session(&app), vec![said(Role::User, "I go to Paris.")]);
    request.memories = vec![Memory {
        external_id: "trip_planning_paris".to_owned(),
        topics: vec!["travel".to_owned()],
        entities: vec!["Paris".to_owned()],
        metadata: metadata(json!({"trip": 7})),
        ..listed("Ada is planning a trip to Paris.")
    }];
    let stored = put_memory(&client, request.clone()).await;
    assert_eq!(
        parsed(&stored.memories[0].metadata),
        parsed(&request.memories[0].metadata)
    );
    assert_eq!(stored.memories[0].origin(), MemoryOrigin::WorkingMemory);
    assert_eq!(stored.memories[0].thread_id, stored.thread_id);
    eventually("the memory is promoted", SOON, async || {
        get(&client, &stored.thread_id).await.memories[0]
            .persist_time
            .is_some()
    })
    .await;
    let found = client
        .search_memories(memory_search(&app, "ada", "trip to Paris", ""))
        .await;
    assert_eq!(memory_texts(&found), ["Ada is planning a trip to Paris."]);
    let others = client
        .search_memories(memory_search(&app, "bob", "trip to Paris", ""))
        .await;
    assert_eq!(memory_texts(&others), [""; 0]);
    // Put again, by its record: it is the same one, as it is now.
    request.thread = by_session(session(&app, "ada", "another"));
    request.memories[0].text = "Ada was in Paris.".to_owned();
    let again = put_memory(&client, request).await;
    assert_eq!(again.memories[0].memory_id, stored.memories[0].memory_id);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 1);
    let first = get(&client, &stored.thread_id).await;
    assert_eq!(first.memories[0].text, "Ada was in Paris.");
}

#[apply(trial)]
async fn r09_memories_are_replaced_as_a_list_and_stay_in_long_term_memory() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(a_session(&app), Vec::new());
    request.memories = vec![
        listed("Likes tea."),
        listed("Likes jazz."),
        listed("likes  TEA"),
    ];
    let stored = put_memory(&client, request).await;
    let list = |memory: &memory_contract::proto::WorkingMemory| -> Vec<String> {
        memory.memories.iter().map(|one| one.text.clone()).collect()
    };
    // Memories with the same text are one.
    assert_eq!(list(&stored), ["Likes tea.", "Likes jazz."]);
    let mut request = put_of(&stored.thread_id, all_of(&stored));
    request.memories = vec![listed("Likes jazz."), listed("Lives in Bonn.")];
    let replaced = put_memory(&client, request).await;
    assert_eq!(list(&replaced), ["Likes jazz.", "Lives in Bonn."]);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 3);
    // One that is erased for good is not there either.
    let request = memory_contract::proto::DeleteMemoryRequest {
        memory_id: replaced.memories[0].memory_id.clone(),
    };
    client.call(request).await;
    let after = get(&client, &stored.thread_id).await;
    assert_eq!(list(&after), ["Lives in Bonn."]);
    assert_ne!(after.etag, replaced.etag);
}

#[apply(trial_with_own_server)]
async fn r15_without_long_term_memory_a_session_keeps_its_memories() {
    let config = ["embedding.kind = \"none\"", "memories.enabled = false"];
    let (_dir, _server, client) = Server::start_own(&Options::with(&config)).await;
    let app = app();
    let mut request = put_in(a_session(&app), vec![said(Role::User, "I like tea.")]);
    request.memories = vec![listed("Ada likes tea.")];
    let answer = put(&client, request).await;
    let stored = memory_of(answer.clone());
    // Once the message is indexed, the memory would have been.
    let request = search_request(&stored.thread_id, "tea", &answer.revision);
    assert_eq!(client.search(request).await.matches.len(), 1);
    let memory = get(&client, &stored.thread_id).await;
    assert_eq!(memory.memories[0].text, "Ada likes tea.");
    assert_eq!(memory.memories[0].persist_time, None);
    let request = memory_search(&app, "ada", "tea", "");
    let refused = client.refused(request).await;
    refused.is(Code::FailedPrecondition, "LONG_TERM_MEMORY_OFF");
    let request = GetThreadRequest {
        thread: by_id(stored.thread_id),
    };
    client.call(request).await;
}
