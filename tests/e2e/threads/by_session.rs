//! Requests name a thread by the caller's own names, and an append creates it.

use std::collections::HashSet;

use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, BuildContextResponse, GetHistoryRequest,
    GetThreadRequest, ListThreadsRequest, MemoryPolicy, RecallRequest, RecallScope, Role,
    SearchRequest, SessionRef, message_input::Parent,
};
use prost_reflect::MessageDescriptor;
use recollect_tests::{
    Client, Dynamic, Refused as _, SOON, app, apply, by_id, by_session, context_request,
    eventually, recall_request, say, search_request, seconds, session, target_app, target_session,
    texts, trial, turn,
};
use serde_json::{Value, json};
use tonic::Code;
use uuid::Uuid;

use crate::isolation::reads::requests_for;
use crate::plain;

fn append(session: &SessionRef, question: &str, answer: &str) -> AppendMessagesRequest {
    AppendMessagesRequest {
        thread: by_session(session.clone()),
        messages: turn(question, answer),
        ..Default::default()
    }
}

fn message_count(context: &BuildContextResponse) -> usize {
    context
        .blocks
        .iter()
        .map(|block| block.messages.len())
        .sum()
}

async fn does_not_exist(client: &Client, session: &SessionRef) {
    let request = GetThreadRequest {
        thread: by_session(session.clone()),
    };
    let refused = client.refused(request).await;
    let refused = refused.is(Code::NotFound, "THREAD_NOT_FOUND");
    assert!(refused.message.contains("AppendMessages"), "{refused:?}");
}

#[apply(trial)]
async fn an_append_by_session_creates_the_thread_once_under_concurrency() {
    let client = plain().await;
    let app = app();
    let named = session(&app, "ada", "thread:new");
    let calls = (0..16).map(|number| {
        let (client, named) = (client.clone(), named.clone());
        async move {
            let text = format!("question {number}");
            client.call(append(&named, &text, "answer")).await
        }
    });
    let answers = futures::future::join_all(calls).await;
    let ids: HashSet<&str> = answers.iter().map(|one| one.thread_id.as_str()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let created = answers.iter().filter(|one| one.thread_created).count();
    assert_eq!(created, 1);
    let thread_id = answers[0].thread_id.as_str();
    let stored = client.all_messages(thread_id).await;
    assert_eq!(stored.len(), 32);
    let request = ListThreadsRequest {
        target: target_app(&app),
        ..Default::default()
    };
    let threads = client.call(request).await.threads;
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0].session_key, "thread:new");
    assert_eq!(threads[0].user_id, "ada");
    assert_eq!(threads[0].message_count, 32);
}

#[apply(trial)]
async fn two_calls_make_a_chat_turn() {
    let client = plain().await;
    let named = session(&app(), "ada", "thread:chat");
    let mut said = Vec::new();
    for number in 1..=3 {
        let question = format!("question {number}");
        let context = client
            .context(BuildContextRequest {
                thread: by_session(named.clone()),
                ..context_request("", &question)
            })
            .await;
        assert_eq!(message_count(&context), said.len() + 1, "{context:?}");
        let answer = format!("answer {number}");
        let appended = client.call(append(&named, &question, &answer)).await;
        assert_eq!(appended.thread_created, number == 1);
        said.extend([question, answer]);
        assert_eq!(texts(&client.all_messages(&appended.thread_id).await), said);
    }
}

#[apply(trial)]
async fn a_read_by_an_unknown_session_answers_empty() {
    let client = plain().await;
    let app = app();
    let named = session(&app, "ada", "thread:none");
    let history = GetHistoryRequest {
        thread: by_session(named.clone()),
        ..Default::default()
    };
    let history = client.call(history).await;
    assert_eq!((history.messages.len(), history.total_tokens), (0, 0));
    assert!(!history.truncated && !history.tokenizer.is_empty());
    let recall = RecallRequest {
        target: target_session(named.clone()),
        ..recall_request("", "anything", "")
    };
    let recalled = client.recall(recall).await;
    assert_eq!((recalled.messages.len(), recalled.total_tokens), (0, 0));
    assert!(recalled.effective_policy.is_some());
    let search = SearchRequest {
        target: target_session(named.clone()),
        ..search_request("", "anything", "")
    };
    assert_eq!(client.search(search).await.matches, []);
    let context = client
        .context(BuildContextRequest {
            thread: by_session(named.clone()),
            ..context_request("", "Hello!")
        })
        .await;
    assert_eq!(message_count(&context), 1);
    does_not_exist(&client, &named).await;

    // The other threads of the user are searched, unless the request narrows the scope.
    let other = client.thread_of(&app, "ada").await;
    let stored = client.append_text(&other, "My dog is called Pixel.").await;
    for (scope, expected) in [
        (RecallScope::Unspecified, vec!["My dog is called Pixel."]),
        (RecallScope::User, vec!["My dog is called Pixel."]),
        (RecallScope::Thread, vec![]),
    ] {
        let search = SearchRequest {
            target: target_session(named.clone()),
            scope: scope.into(),
            ..search_request("", "dog Pixel", &stored.revision)
        };
        let found = client.search(search).await;
        assert_eq!(texts(&found.matches), expected, "{scope:?}");
        let recall = RecallRequest {
            target: target_session(named.clone()),
            policy: Some(MemoryPolicy {
                scope: scope.into(),
                ..Default::default()
            }),
            ..recall_request("", "dog Pixel", &stored.revision)
        };
        let recalled = client.recall(recall).await;
        assert_eq!(texts(&recalled.messages), expected, "{scope:?}");
    }
    does_not_exist(&client, &named).await;
}

/// The calls that answer for a session without a thread: reads as from an empty thread,
/// writes by creating it, a deletion by deleting nothing.
const ANSWERED: [&str; 11] = [
    "MessageService/GetHistory",
    "MessageService/AppendMessages",
    "RecallService/Recall",
    "RecallService/Search",
    "ContextService/BuildContext",
    "PolicyService/GetEffectivePolicy",
    "WorkingMemoryService/PutWorkingMemory",
    "CheckpointService/GetCheckpoint",
    "CheckpointService/ListCheckpoints",
    "CheckpointService/PutCheckpoint",
    "ThreadService/DeleteThread",
];

/// The place in a request that names its thread.
fn place_of(request: &mut Value) -> &mut Value {
    match request.get("target").is_some() {
        true => &mut request["target"]["thread"],
        false => &mut request["thread"],
    }
}

#[apply(trial)]
async fn every_call_that_names_a_thread_takes_its_session() {
    let client = plain().await;
    let app = app();
    let message = Uuid::new_v4().to_string();
    for (method, request) in requests_for(&Uuid::new_v4().to_string(), &message) {
        let key = format!("thread:{method}");
        let named = json!({"app_id": app, "user_id": "ada", "session_key": key});
        let mut by_name = request.clone();
        // An update names the thread in the thread itself.
        let is_update = method == "ThreadService/UpdateThread";
        match is_update {
            true => {
                let fields = by_name["thread"].as_object_mut().unwrap();
                fields.remove("thread_id").unwrap();
                fields.extend(named.as_object().unwrap().clone());
            }
            false => {
                let place = place_of(&mut by_name);
                assert!(place["thread_id"].is_string(), "{method}");
                *place = json!({"session": named});
            }
        }
        let answer = Dynamic::call(&client, method, by_name.clone()).await;
        match ANSWERED.contains(&method) {
            true => drop(answer.unwrap()),
            false => {
                answer.refused().is(Code::NotFound, "THREAD_NOT_FOUND");
            }
        }
        // With the thread, both names give the same answer: a value, or the same refusal.
        let thread_id = client.resolve(session(&app, "ada", &key)).await.thread_id;
        if method == "ThreadService/WatchThread" {
            continue;
        }
        let mut by_id = request;
        match is_update {
            true => by_id["thread"]["thread_id"] = json!(thread_id),
            false => *place_of(&mut by_id) = json!({"thread_id": thread_id}),
        }
        let outcome = async |request: Value| {
            let answer = Dynamic::call(&client, method, request).await;
            answer
                .map(drop)
                .map_err(|status| (status.code(), status.message().to_owned()))
        };
        let first = outcome(by_id.clone()).await;
        if method != "ThreadService/DeleteThread" {
            assert_eq!(outcome(by_name).await, first, "{method}");
        }
    }
}

#[apply(trial)]
async fn a_thread_and_its_session_stand_in_one_choice() {
    fn check(message: &MessageDescriptor, place: &str) {
        let Some(id) = message.get_field_by_name("thread_id") else {
            return;
        };
        let choice = id.containing_oneof();
        let choice = choice.unwrap_or_else(|| panic!("{place}: thread_id is in no oneof"));
        let mut names: Vec<String> = choice.fields().map(|one| one.name().to_owned()).collect();
        names.truncate(2);
        assert_eq!(names, ["thread_id", "session"], "{place}");
        let numbers: Vec<u32> = choice.fields().map(|one| one.number()).collect();
        assert_eq!(numbers[..2], [1, 2], "{place}");
    }
    for method in Dynamic::methods() {
        let input = method.input();
        check(&input, input.name());
        let node = input.fields().find_map(|field| match field.kind() {
            prost_reflect::Kind::Message(inner) if inner.name() == "NodeRef" => Some(inner),
            _ => None,
        });
        if let Some(node) = node {
            check(&node, "NodeRef");
        }
    }
}

#[apply(trial)]
async fn a_replay_by_session_answers_with_the_same_thread() {
    let client = plain().await;
    let app = app();
    let named = session(&app, "ada", "thread:1");
    let request = AppendMessagesRequest {
        request_id: Uuid::new_v4().to_string(),
        ..append(&named, "Once?", "Once.")
    };
    let first = client.call(request.clone()).await;
    assert!(first.thread_created && !first.replayed);
    let again = client.call(request.clone()).await;
    assert!(again.replayed && !again.thread_created);
    assert_eq!(again.thread_id, first.thread_id);
    assert_eq!(again.messages, first.messages);
    assert_eq!(again.revision, first.revision);
    // The name of the thread is not part of the content.
    let by_id = AppendMessagesRequest {
        thread: by_id(&first.thread_id),
        ..request.clone()
    };
    assert!(client.call(by_id).await.replayed);

    let elsewhere = session(&app, "ada", "thread:2");
    let reused = AppendMessagesRequest {
        thread: by_session(elsewhere.clone()),
        ..request
    };
    let refused = client.refused(reused).await;
    refused.is(Code::AlreadyExists, "REQUEST_ID_REUSED");
    does_not_exist(&client, &elsewhere).await;
}

#[apply(trial)]
async fn a_refused_append_creates_no_thread() {
    let client = plain().await;
    let named = session(&app(), "ada", "thread:1");
    let moved = AppendMessagesRequest {
        expected_head: Some(Uuid::new_v4().to_string()),
        ..append(&named, "Q", "A")
    };
    client.refused(moved).await.is(Code::Aborted, "HEAD_MOVED");
    does_not_exist(&client, &named).await;
    let mut follows = say(Role::User, "And then?");
    follows.parent = Some(Parent::ParentMessageId(Uuid::new_v4().to_string()));
    let orphan = AppendMessagesRequest {
        messages: vec![follows],
        ..append(&named, "Q", "A")
    };
    let refused = client.refused(orphan).await;
    assert_ne!(refused.code, Code::Ok);
    does_not_exist(&client, &named).await;
    // An empty thread is what a new one is.
    let expected = AppendMessagesRequest {
        expected_head: Some(String::new()),
        ..append(&named, "Q", "A")
    };
    assert!(client.call(expected).await.thread_created);
}

#[apply(trial)]
async fn a_thread_that_an_append_creates_lives_as_long_as_its_app_says() {
    let client = plain().await;
    let app = app();
    let policy = MemoryPolicy {
        ttl: Some(seconds(3_600)),
        ..Default::default()
    };
    client.set_policy(&app, policy).await;
    let named = session(&app, "ada", "thread:1");
    let appended = client.call(append(&named, "Q", "A")).await;
    let thread = client.get_thread(&appended.thread_id).await;
    assert!(thread.expire_time.is_some() && !thread.ephemeral);
    // When it has expired, the next append begins another one.
    client.expire(&appended.thread_id).await;
    let request = GetThreadRequest {
        thread: by_session(named.clone()),
    };
    eventually("the thread expires", SOON, async || {
        client.threads().get_thread(request.clone()).await.is_err()
    })
    .await;
    let next = client.call(append(&named, "Q", "A")).await;
    assert!(next.thread_created);
    assert_ne!(next.thread_id, appended.thread_id);
}
