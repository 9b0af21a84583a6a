//! A user of a working memory in the manner of Redis's agent memory server.

use std::collections::BTreeSet;

use memory_contract::proto::{
    ExtractionStrategy, GetHistoryRequest, GetWorkingMemoryRequest, ListMessagesRequest,
    MemoryPolicy, Message, PutWorkingMemoryRequest, PutWorkingMemoryResponse, Role, SearchRequest,
    SessionRef, WorkingMemory,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Options, SOON, Server, app, apply, by_session, eventually, eventually_some, listed,
    metadata, say, seconds, session, target_session, target_thread, target_user, text_of, texts,
    trial, trial_with_own_server,
};
use serde_json::json;
use tonic::Code;

use crate::acme;

/// A message as the client keeps it: with a ULID and a time.
fn message(ulid: &str, role: Role, text: &str) -> Message {
    Message {
        message_id: ulid.to_owned(),
        role: role.into(),
        parts: say(role, text).parts,
        create_time: Some(Timestamp {
            seconds: 1_760_000_000,
            nanos: 0,
        }),
        ..Default::default()
    }
}

fn trip() -> Vec<Message> {
    vec![
        message(
            "01K7XQ4Y8RC8V0N5W0D3T1H2PA",
            Role::User,
            "I'm planning a trip to Paris next month",
        ),
        message(
            "01K7XQ51WB7T6Z9Q4S8XJ2M3CE",
            Role::Assistant,
            "What type of activities interest you?",
        ),
        message(
            "01K7XQ6B3ZD5GY7H1VKF4E8NQR",
            Role::User,
            "Museums. I live in Bergen. My budget is $3000.",
        ),
    ]
}

async fn put(
    client: &Client,
    session: &SessionRef,
    messages: Vec<Message>,
) -> PutWorkingMemoryResponse {
    let request = PutWorkingMemoryRequest {
        thread: by_session(session.clone()),
        messages,
        ..Default::default()
    };
    client.call(request).await
}

async fn get(client: &Client, session: &SessionRef) -> WorkingMemory {
    let request = GetWorkingMemoryRequest {
        thread: by_session(session.clone()),
        ..Default::default()
    };
    client.call(request).await.working_memory.unwrap()
}

fn ids(memory: &WorkingMemory) -> Vec<&str> {
    let messages = memory.messages.iter();
    messages.map(|one| one.external_id.as_str()).collect()
}

#[apply(trial)]
async fn j07_a_client_puts_a_session_again_and_again() {
    let client = acme().await;
    let session = session(&app(), "ada", "chat_123");
    let mut kept = trip();
    let sent = |kept: &[Message]| -> Vec<String> {
        kept.iter().map(|one| one.message_id.clone()).collect()
    };
    let history = async || {
        let request = GetHistoryRequest {
            thread: by_session(session.clone()),
            ..Default::default()
        };
        texts(&client.call(request).await.messages)
    };

    // The session is put, and put again with the next turn, without an etag.
    let first = put(&client, &session, kept.clone()).await;
    assert_eq!((first.branched, first.warnings), (false, vec![]));
    assert_eq!(ids(&first.working_memory.unwrap()), sent(&kept));
    kept.push(message(
        "01K7XQ7M2KJ9W4B6R0ECN5A1TX",
        Role::Assistant,
        "The Louvre, then.",
    ));
    let second = put(&client, &session, kept.clone()).await;
    assert!(!second.branched);
    let second = second.working_memory.unwrap();
    assert_eq!(ids(&second), sent(&kept));
    assert_eq!(history().await.len(), 4);

    // The user edits an earlier message: the same ids, another text.
    kept[0] = message(
        "01K7XQ4Y8RC8V0N5W0D3T1H2PA",
        Role::User,
        "I'm planning a trip to Lyon next month",
    );
    let edited = put(&client, &session, kept.clone()).await;
    assert!(edited.branched);
    let edited = edited.working_memory.unwrap();
    assert_eq!(ids(&edited), sent(&kept));
    let said: Vec<String> = texts(&edited.messages);
    assert_eq!(said[0], "I'm planning a trip to Lyon next month");
    assert_eq!(said[1..], texts(&second.messages)[1..]);
    assert_eq!(get(&client, &session).await.messages, edited.messages);
    assert_eq!(history().await, said);
    // What the client holds is what is stored: nothing more is written.
    let same = put(&client, &session, kept.clone()).await;
    assert_eq!((same.branched, same.revision.as_str()), (false, ""));

    // A message is inserted before the last one.
    let note = message(
        "01K7XQ80ZQ3F5X7C9V1B3N5M7K",
        Role::System,
        "Answer in French.",
    );
    kept.insert(3, note);
    let inserted = put(&client, &session, kept.clone()).await;
    assert!(inserted.branched);
    let inserted = inserted.working_memory.unwrap();
    assert_eq!(ids(&inserted), sent(&kept));
    assert_eq!(history().await.len(), 5);
    // Every version is in the thread: 4 messages, 4 of the edited branch, and 2.
    let request = ListMessagesRequest {
        target: target_session(session.clone()),
        ..Default::default()
    };
    let all = client.call(request).await.messages;
    assert_eq!(all.len(), 10);
    let of = |messages: &[Message]| -> Vec<(String, String)> {
        let pairs = messages.iter();
        pairs
            .map(|one| (one.message_id.clone(), text_of(one)))
            .collect()
    };
    assert_eq!(of(&all[..4]), of(&second.messages));
}

#[apply(trial)]
async fn j07_the_extraction_strategy_comes_with_the_put() {
    let client = acme().await;
    let app = app();
    let session = session(&app, "ada", "chat_123");
    let request = PutWorkingMemoryRequest {
        thread: by_session(session.clone()),
        messages: trip(),
        data: Some(metadata(json!({"user_timezone": "America/New_York"}))),
        policy: Some(MemoryPolicy {
            extraction: ExtractionStrategy::Discrete.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    client.call(request).await;
    let found = eventually_some("a memory of the user", SOON, async || {
        let all = client.all_memories(&app, "ada").await;
        all.into_iter().find(|one| one.text.contains("Bergen"))
    })
    .await;
    assert!(!found.source_message_ids.is_empty(), "{found:?}");
    // Another put without a policy leaves it.
    put(&client, &session, trip()).await;
    let thread = client.resolve(session).await;
    let policy = thread.policy.unwrap();
    assert_eq!(policy.extraction(), ExtractionStrategy::Discrete);
}

#[apply(trial_with_own_server)]
async fn j09_a_ttl_for_privacy_erases_the_messages_and_what_was_made_of_them() {
    let (_dir, _server, client) = Server::start_own(&Options::default()).await;
    let app = app();
    let private = session(&app, "ada", "chat_private");
    let lasting = session(&app, "ada", "chat_lasting");
    let mut elsewhere = trip();
    // Messages with equal content are one match.
    elsewhere[2].parts = say(Role::User, "Food. I live in Bergen. I have little money.").parts;
    let with_ttl = |session: &SessionRef, ttl: i64| PutWorkingMemoryRequest {
        thread: by_session(session.clone()),
        messages: match *session == private {
            true => trip(),
            false => elsewhere.clone(),
        },
        ttl: Some(seconds(ttl)),
        policy: Some(MemoryPolicy {
            extraction: ExtractionStrategy::Discrete.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    // A ttl alone ends the working memory, and the answer says that the messages stay.
    let answer = client.call(with_ttl(&lasting, 3_600)).await;
    let memory_of = |answer: PutWorkingMemoryResponse| answer.working_memory.unwrap();
    let stays = memory_of(answer);
    assert!(stays.expire_time.is_some());
    assert_eq!(stays.thread_expire_time, None);

    // One that erases the thread says when. It is put again with each turn.
    let mut request = PutWorkingMemoryRequest {
        ttl_deletes_thread: true,
        memories: vec![listed("Ada travels in spring.")],
        ..with_ttl(&private, 3_600)
    };
    let answer = client.call(request.clone()).await;
    let ends = memory_of(answer);
    let (thread_ends, memory_ends) = (ends.thread_expire_time.unwrap(), ends.expire_time.unwrap());
    assert!(
        (thread_ends.seconds - memory_ends.seconds).abs() <= 1,
        "{ends:?}"
    );
    let untimed = PutWorkingMemoryRequest {
        ttl: None,
        ..request.clone()
    };
    client
        .refused(untimed)
        .await
        .names_field("ttl_deletes_thread");
    // The threads in which a search of the user finds what was said.
    let found = async || -> BTreeSet<String> {
        let request = SearchRequest {
            target: target_user(&app, "ada"),
            query: "Where does Ada live? In Bergen?".to_owned(),
            ..Default::default()
        };
        let matches = client.call(request).await.matches.into_iter();
        let messages = matches.filter_map(|one| one.message);
        let told = messages.filter(|one| text_of(one).contains("Bergen"));
        told.map(|one| one.thread_id).collect()
    };
    assert_eq!(found().await.len(), 2);
    eventually("a fact of both sessions", SOON, async || {
        let all = client.all_memories(&app, "ada").await;
        all.iter().any(|one| one.source_message_ids.len() == 2)
    })
    .await;
    let indexed = async |messages: i64| {
        eventually("the index has these messages", SOON * 3, async || {
            let memories = client.all_memories(&app, "ada").await.len() as i64;
            client.index_status().await.point_count == messages + memories
        })
        .await;
    };
    indexed(6).await;

    // The time of the private session comes.
    request.ttl = Some(seconds(5));
    client.call(request).await;
    let read = GetWorkingMemoryRequest {
        thread: by_session(private.clone()),
        ..Default::default()
    };
    eventually("the session has ended", SOON, async || {
        let answer = client
            .working_memories()
            .get_working_memory(read.clone())
            .await;
        answer.is_err_and(|status| status.code() == Code::NotFound)
    })
    .await;
    let by_id: ListMessagesRequest = ListMessagesRequest {
        target: target_thread(&ends.thread_id),
        ..Default::default()
    };
    client
        .refused(by_id)
        .await
        .is(Code::NotFound, "THREAD_NOT_FOUND");
    assert_eq!(found().await, BTreeSet::from([stays.thread_id.clone()]));
    // Its vectors leave the index.
    indexed(3).await;
    // What the lasting session said stays, with the memory that was put.
    let all = client.all_memories(&app, "ada").await;
    assert!(
        all.iter().any(|one| one.text == "Ada travels in spring."),
        "{all:?}"
    );
    let stayed: Vec<String> = texts(&get(&client, &lasting).await.messages);
    assert_eq!(stayed.len(), 3);
    for memory in &all {
        for source in &memory.source_message_ids {
            assert!(
                stays.messages.iter().any(|one| one.message_id == *source),
                "{memory:?}"
            );
        }
    }
}
