//! Threads: creating, finding, listing, changing, expiring.

use std::collections::HashSet;

use futures::future::join_all;
use memory_contract::proto::{
    AppendMessagesRequest, CreateThreadRequest, GetAppPolicyRequest, GetHistoryRequest,
    GetThreadRequest, ListThreadsRequest, ResolveThreadRequest, Thread, UpdateThreadRequest,
};
use prost_types::FieldMask;
use recollect_tests::{
    Client, Refused as _, SOON, app, apply, by_id, by_session, eventually, mask, metadata, parsed,
    seconds, session, target_app, target_user, texts, trial, turn,
};
use serde_json::json;
use tonic::Code;

use super::session_keys::leaves_user_out;
use crate::plain;

#[apply(trial)]
async fn t08_session_keys_have_their_meaning() {
    let client = plain().await;
    let app = app();
    let find = async |user: &str, key: &str| client.resolve(session(&app, user, key)).await;

    let for_user = find("", "user:ada").await;
    assert_eq!(for_user.user_id, "ada");
    assert_eq!(for_user.thread_id, find("ada", "user:ada").await.thread_id);

    let first = find("ada", "thread:1").await;
    assert_eq!(first.thread_id, find("ada", "thread:1").await.thread_id);
    assert_ne!(first.thread_id, find("ada", "thread:2").await.thread_id);
    assert_ne!(first.thread_id, find("bob", "thread:1").await.thread_id);

    let visit = find("ada", "session:monday").await;
    assert_ne!(
        visit.thread_id,
        find("ada", "session:tuesday").await.thread_id
    );

    let shared = find("", "global").await;
    assert_eq!(shared.user_id, "", "a global thread belongs to no user");
    assert_eq!(shared.thread_id, find("", "global").await.thread_id);
    // With a user it is refused: this user's thread would be everybody's.
    for user in ["ada", "bob"] {
        let request = ResolveThreadRequest {
            session: Some(session(&app, user, "global")),
            ..Default::default()
        };
        leaves_user_out(client.refused(request).await);
    }
    let all = list(&client, &app, "", 0).await;
    assert_eq!(all.len(), 7, "a refused call stores nothing");
}

#[apply(trial)]
async fn t15_two_apps_with_one_key_stay_separate() {
    let client = plain().await;
    let (one, other) = (app(), app());
    let first = client.resolve(session(&one, "ada", "thread:1")).await;
    let second = client.resolve(session(&other, "ada", "thread:1")).await;
    assert_ne!(first.thread_id, second.thread_id);

    client.append_text(&first.thread_id, "Only here.").await;
    assert!(client.all_messages(&second.thread_id).await.is_empty());
    assert_eq!(client.get_thread(&second.thread_id).await.message_count, 0);
}

#[apply(trial)]
async fn l09_custom_session_ids_isolate_users() {
    let client = plain().await;
    let app = app();
    let ada = client.resolve(session(&app, "ada", "session:1")).await;
    let bob = client.resolve(session(&app, "bob", "session:1")).await;
    assert_ne!(ada.thread_id, bob.thread_id);
    // By session alone, several ids of each user, and no policy.
    let key = |number: usize| format!("session:{number}");
    for number in 1..=3 {
        for user in ["ada", "bob"] {
            let request = AppendMessagesRequest {
                thread: by_session(session(&app, user, &key(number))),
                messages: turn(&format!("I am {user} in {number}."), "Hello!"),
                ..Default::default()
            };
            client.call(request).await;
        }
    }
    for number in 1..=3 {
        for user in ["ada", "bob"] {
            let request = GetHistoryRequest {
                thread: by_session(session(&app, user, &key(number))),
                ..Default::default()
            };
            let history = client.call(request).await.messages;
            let expected = [format!("I am {user} in {number}."), "Hello!".to_owned()];
            assert_eq!(texts(&history), expected);
        }
    }
    let request = GetAppPolicyRequest { app_id: app };
    let stored = client.call(request).await.app_policy.unwrap();
    assert_eq!(stored.update_time, None, "the app has no policy");
}

#[apply(trial)]
async fn resolving_a_session_concurrently_gives_one_thread() {
    let client = plain().await;
    let app = app();
    let calls = (0..16).map(|_| {
        let (mut threads, app) = (client.threads(), app.clone());
        async move {
            let request = ResolveThreadRequest {
                session: Some(session(&app, "ada", "thread:1")),
                ..Default::default()
            };
            threads.resolve_thread(request).await.unwrap().into_inner()
        }
    });
    let answers = join_all(calls).await;
    let ids: HashSet<String> = answers
        .iter()
        .map(|answer| answer.thread.clone().unwrap().thread_id)
        .collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(answers.iter().filter(|answer| answer.created).count(), 1);
}

#[apply(trial)]
async fn resolving_changes_nothing_in_a_thread_that_exists() {
    let client = plain().await;
    let app = app();
    let resolve = async |title: &str| {
        let request = ResolveThreadRequest {
            session: Some(session(&app, "ada", "thread:1")),
            title: title.to_owned(),
            metadata: metadata(json!({"made_as": title})),
            ..Default::default()
        };
        client.call(request).await
    };
    let first = resolve("first").await;
    let second = resolve("second").await;
    assert!(first.created && !second.created);
    assert_eq!(first.thread, second.thread);
    assert_eq!(second.thread.unwrap().title, "first");
}

#[apply(trial)]
async fn creating_a_thread_twice_is_refused() {
    let client = plain().await;
    let request = CreateThreadRequest {
        session: Some(session(&app(), "ada", "thread:1")),
        title: "Repairs".to_owned(),
        metadata: metadata(json!({"plan": "gold", "level": 3})),
        ..Default::default()
    };
    let thread = client.call(request.clone()).await.thread.unwrap();
    assert_eq!(thread.title, "Repairs");
    assert_eq!(parsed(&thread.metadata), parsed(&request.metadata));
    assert_eq!((thread.last_seq, thread.message_count), (0, 0));
    assert_eq!(thread.head_message_id, "");
    assert!(thread.create_time.is_some() && thread.expire_time.is_none());
    assert_eq!(client.get_thread(&thread.thread_id).await, thread);

    let refused = client.refused(request).await;
    refused.is(Code::AlreadyExists, "THREAD_ALREADY_EXISTS");
}

#[apply(trial)]
async fn creating_a_thread_without_a_key_makes_one() {
    let client = plain().await;
    let app = app();
    let create = async || {
        let request = CreateThreadRequest {
            session: Some(session(&app, "ada", "")),
            ..Default::default()
        };
        client.call(request).await.thread.unwrap()
    };
    let (first, second) = (create().await, create().await);
    assert!(first.session_key.starts_with("session:"), "{first:?}");
    assert_ne!(first.session_key, second.session_key);
}

#[apply(trial)]
async fn a_thread_is_found_by_its_session() {
    let client = plain().await;
    let app = app();
    let thread = client.resolve(session(&app, "ada", "thread:1")).await;
    let get = async |key: &str| {
        let request = GetThreadRequest {
            thread: by_session(session(&app, "ada", key)),
        };
        client.threads().get_thread(request).await
    };
    assert_eq!(
        get("thread:1").await.unwrap().into_inner().thread,
        Some(thread)
    );
    get("thread:2")
        .await
        .refused()
        .is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial)]
async fn updating_changes_only_the_fields_in_the_mask() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let update = async |paths: &[&str], title: &str, level: i32| {
        let request = UpdateThreadRequest {
            thread: Some(Thread {
                thread_id: thread_id.to_owned(),
                title: title.to_owned(),
                metadata: metadata(json!({"level": level})),
                ..Default::default()
            }),
            update_mask: Some(FieldMask {
                paths: paths.iter().map(|&path| path.to_owned()).collect(),
            }),
            precondition: None,
        };
        client.threads().update_thread(request).await
    };
    let changed = async |paths: &[&str], title: &str, level: i32| -> Thread {
        let response = update(paths, title, level).await.unwrap();
        response.into_inner().thread.unwrap()
    };
    let level = |thread: &Thread| parsed(&thread.metadata) == json!({"level": 1});

    let both = changed(&["title", "metadata"], "One", 1).await;
    assert!(both.title == "One" && level(&both), "{both:?}");
    let titled = changed(&["title"], "Two", 2).await;
    assert!(titled.title == "Two" && level(&titled), "{titled:?}");
    let filled = changed(&["metadata"], "Three", 3).await;
    assert_eq!(filled.title, "Two");
    assert_eq!(parsed(&filled.metadata), json!({"level": 3}));
    assert_eq!(client.get_thread(&thread_id).await, filled);

    let unknown = update(&["title", "user_id"], "Four", 4).await.refused();
    assert_eq!(unknown.code, Code::InvalidArgument, "{unknown:?}");
    assert!(
        unknown.fields[0].0.starts_with("update_mask"),
        "{unknown:?}"
    );
    // An error that is too long for headers would end the connection for all.
    let many = update(&["zz"; 100_000], "Four", 4).await.refused();
    assert_eq!(many.code, Code::InvalidArgument);
    assert!(
        (1..100).contains(&many.fields.len()),
        "{}",
        many.fields.len()
    );
    assert!(many.message.len() < 4_000, "{}", many.message.len());
    assert_eq!(client.get_thread(&thread_id).await, filled);
    // Without a mask all fields that are set change.
    let all = changed(&[], "Four", 4).await;
    assert_eq!(all.title, "Four");
    assert_eq!(parsed(&all.metadata), json!({"level": 4}));
}

#[apply(trial)]
async fn listing_threads_covers_each_once_newest_first() {
    let client = plain().await;
    let app = app();
    let mut made = Vec::new();
    for number in 0..23 {
        let user = if number % 3 == 0 { "bob" } else { "ada" };
        made.push(client.thread_of(&app, user).await);
    }
    made.reverse();
    assert_eq!(list(&client, &app, "", 5).await, made);
    assert_eq!(list(&client, &app, "", 0).await, made);
    let bobs = list(&client, &app, "bob", 3).await;
    assert_eq!(bobs.len(), 8);
    assert!(bobs.iter().all(|id| made.contains(id)));
    assert!(list(&client, &app, "carol", 3).await.is_empty());
}

async fn list(client: &Client, app: &str, user: &str, page_size: i32) -> Vec<String> {
    let mut request = ListThreadsRequest {
        target: match user {
            "" => target_app(app),
            user => target_user(app, user),
        },
        page_size,
        ..Default::default()
    };
    let mut ids = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        if page_size > 0 {
            assert!(page.threads.len() <= usize::try_from(page_size).unwrap());
        }
        ids.extend(page.threads.into_iter().map(|thread| thread.thread_id));
        if page.next_page_token.is_empty() {
            return ids;
        }
        request.page_token = page.next_page_token;
    }
}

#[apply(trial)]
async fn an_expired_thread_is_not_found_and_its_key_is_free() {
    let client = plain().await;
    let app = app();
    let request = ResolveThreadRequest {
        session: Some(session(&app, "ada", "thread:1")),
        ttl: Some(seconds(3_600)),
        ..Default::default()
    };
    let resolve = async || client.call(request.clone()).await;
    let first = resolve().await.thread.unwrap();
    assert!(first.expire_time.is_some());
    client.append_text(&first.thread_id, "Briefly here.").await;
    client.expire(&first.thread_id).await;
    let get = async || {
        let request = GetThreadRequest {
            thread: by_id(&first.thread_id),
        };
        client.threads().get_thread(request).await
    };
    eventually("the thread expires", SOON, async || get().await.is_err()).await;
    get().await.refused().is(Code::NotFound, "THREAD_NOT_FOUND");
    assert!(list(&client, &app, "", 0).await.is_empty());

    let second = resolve().await;
    assert!(second.created, "an expired thread's key is free again");
    assert_ne!(second.thread.unwrap().thread_id, first.thread_id);
}

#[apply(trial)]
async fn a_thread_whose_ttl_is_removed_stays() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let set = async |ttl: Option<prost_types::Duration>| {
        let request = UpdateThreadRequest {
            thread: Some(Thread {
                thread_id: thread_id.to_owned(),
                ttl,
                ..Default::default()
            }),
            update_mask: Some(mask(&["ttl"])),
            precondition: None,
        };
        client.call(request).await.thread.unwrap()
    };
    let hour = seconds(3_600);
    let limited = set(Some(hour)).await;
    let (expires, updated) = (
        limited.expire_time.unwrap().seconds,
        limited.update_time.unwrap().seconds,
    );
    assert!((expires - updated - 3_600).abs() <= 1, "{limited:?}");
    assert_eq!(set(None).await.expire_time, None);
    assert_eq!(client.get_thread(&thread_id).await.expire_time, None);
}
