//! An update changes the fields of a thread that it names, under an etag.

use memory_contract::proto::{
    MemoryMode, MemoryPolicy, ResolveThreadRequest, Role, SetHeadRequest, Thread,
    UpdateThreadRequest,
};
use recollect_tests::{
    Client, Failure, Key, PLAIN, app, apply, by_id, has_etag, mask, metadata, say, seconds,
    session, trial,
};
use serde_json::json;
use tonic::Code;

use super::session_keys::leaves_user_out;
use crate::plain;

fn under(etag: &str, mut request: UpdateThreadRequest) -> UpdateThreadRequest {
    request.precondition = match etag {
        "" => None,
        etag => has_etag(etag),
    };
    request
}

fn change(thread: Thread, paths: &[&str]) -> UpdateThreadRequest {
    UpdateThreadRequest {
        thread: Some(thread),
        update_mask: (!paths.is_empty()).then(|| mask(paths)),
        precondition: None,
    }
}

async fn update(client: &Client, thread: Thread, paths: &[&str]) -> Thread {
    client.call(change(thread, paths)).await.thread.unwrap()
}

fn titled(thread_id: &str, title: &str) -> Thread {
    Thread {
        thread_id: thread_id.to_owned(),
        title: title.to_owned(),
        ..Default::default()
    }
}

#[apply(trial)]
async fn without_a_mask_the_fields_of_a_thread_that_are_set_change() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let of = |thread: Thread| Thread {
        thread_id: thread_id.clone(),
        ..thread
    };
    let policy = |top_k, recent_window| MemoryPolicy {
        top_k,
        recent_window,
        ..Default::default()
    };
    let first = of(Thread {
        title: "One".to_owned(),
        metadata: metadata(json!({"level": 1})),
        policy: Some(policy(Some(3), None)),
        ..Default::default()
    });
    let first = update(&client, first, &[]).await;
    let second = of(Thread {
        ttl: Some(seconds(3_600)),
        policy: Some(policy(None, Some(2))),
        ..Default::default()
    });
    let second = update(&client, second, &[]).await;
    assert_eq!(
        (&second.title, &second.metadata),
        (&first.title, &first.metadata)
    );
    assert_eq!(
        second.policy,
        Some(policy(Some(3), Some(2))),
        "policies are merged"
    );
    assert!(second.expire_time.is_some());
    assert_eq!(second.ttl, None, "it is input only");
    assert_eq!(client.get_thread(&thread_id).await, second);
    // A thread that was read can be sent back as a whole: other fields are ignored.
    let third = Thread {
        title: "Three".to_owned(),
        ..second.clone()
    };
    let third = update(&client, third, &[]).await;
    assert_eq!(
        (third.title.as_str(), &third.policy),
        ("Three", &second.policy)
    );
    assert_eq!(third.expire_time, second.expire_time);

    let nothing = client.refused(change(of(Thread::default()), &[])).await;
    nothing.names_field("update_mask");
}

#[apply(trial)]
async fn a_mask_replaces_sets_and_clears_the_fields_of_a_thread() {
    let client = plain().await;
    let app = app();
    let request = ResolveThreadRequest {
        session: Some(session(&app, "ada", "thread:1")),
        title: "One".to_owned(),
        metadata: metadata(json!({"level": 1})),
        ttl: Some(seconds(3_600)),
        policy: Some(MemoryPolicy {
            mode: MemoryMode::Window.into(),
            top_k: Some(3),
            ..Default::default()
        }),
        ..Default::default()
    };
    let thread = client.call(request).await.thread.unwrap();
    let bare = || titled(&thread.thread_id, "");
    let single = Thread {
        policy: Some(MemoryPolicy {
            recent_window: Some(1),
            user_label: Some("ignored".to_owned()),
            ..Default::default()
        }),
        ..bare()
    };
    let paths = ["policy.recent_window", "policy.top_k"];
    let changed = update(&client, single.clone(), &paths).await;
    let expected = MemoryPolicy {
        mode: MemoryMode::Window.into(),
        recent_window: Some(1),
        ..Default::default()
    };
    assert_eq!(changed.policy, Some(expected));
    assert_eq!(
        (changed.title.as_str(), changed.expire_time),
        ("One", thread.expire_time)
    );
    let replaced = update(&client, single.clone(), &["policy"]).await;
    assert_eq!(replaced.policy, single.policy);
    let cleared = update(&client, bare(), &["title", "metadata", "ttl", "policy"]).await;
    assert_eq!(cleared.title, "");
    assert_eq!((cleared.metadata.as_str(), cleared.policy), ("", None));
    assert_eq!(cleared.expire_time, None);

    for path in ["expire_time", "user_id", "etag", "policy.nothing", "*"] {
        let refused = client.refused(change(bare(), &["title", path])).await;
        refused.names_field("update_mask.paths[1]");
    }
}

#[apply(trial)]
async fn a_thread_is_updated_by_its_own_names() {
    let client = plain().await;
    let app = app();
    let named = |title: &str| Thread {
        app_id: app.clone(),
        user_id: "ada".to_owned(),
        session_key: "thread:42".to_owned(),
        title: title.to_owned(),
        ..Default::default()
    };
    let missing = client.refused(change(named("One"), &[])).await;
    missing.is(Code::NotFound, "THREAD_NOT_FOUND");
    let thread = client.resolve(session(&app, "ada", "thread:42")).await;
    let changed = update(&client, named("One"), &[]).await;
    assert_eq!(changed.thread_id, thread.thread_id);
    assert_eq!(client.get_thread(&thread.thread_id).await.title, "One");
    // The forms of session keys mean what they mean elsewhere.
    let global = client.resolve(session(&app, "", "global")).await;
    let of_all = Thread {
        user_id: String::new(),
        session_key: "global".to_owned(),
        ..named("Everybody")
    };
    assert_eq!(
        update(&client, of_all, &[]).await.thread_id,
        global.thread_id
    );
    // The id comes first.
    let both = Thread {
        thread_id: global.thread_id.clone(),
        ..named("Two")
    };
    assert_eq!(update(&client, both, &[]).await.thread_id, global.thread_id);

    let wrong = async |thread: Thread, field: &str| {
        client.refused(change(thread, &[])).await.names_field(field);
    };
    let ours = Thread {
        session_key: "global".to_owned(),
        ..named("Mine")
    };
    let refused = client.refused(change(ours, &[])).await;
    leaves_user_out(refused);
    wrong(titled("", "Three"), "thread.thread_id").await;
    wrong(titled("x", "Three"), "thread.thread_id").await;
    let keyless = Thread {
        session_key: String::new(),
        ..named("Three")
    };
    wrong(keyless, "thread.thread_id").await;
    let long = Thread {
        app_id: "x".repeat(129),
        ..named("Three")
    };
    wrong(long, "thread.app_id").await;
    let unnamed = UpdateThreadRequest::default();
    client.refused(unnamed).await.names_field("thread");
}

#[apply(trial)]
async fn the_etag_of_a_thread_changes_with_its_own_fields_alone() {
    let client = plain().await;
    let app = app();
    let thread = client.resolve(session(&app, "ada", "thread:1")).await;
    let id = thread.thread_id.as_str();
    assert!(!thread.etag.is_empty());
    let first = client.append(id, vec![say(Role::User, "one")]).await;
    client.append_text(id, "two").await;
    let head = SetHeadRequest {
        thread: by_id(id),
        head_message_id: first.messages[0].message_id.clone(),
        expected_head: None,
    };
    assert_eq!(client.call(head).await.thread.unwrap().etag, thread.etag);
    client
        .delete_message(id, &first.messages[0].message_id)
        .await;
    client.clear_thread(id).await;
    assert_eq!(client.get_thread(id).await.etag, thread.etag);
    assert_eq!(
        client.resolve(session(&app, "ada", "thread:1")).await.etag,
        thread.etag
    );

    let to = |title: &str, etag: &str| under(etag, change(titled(id, title), &[]));
    let changed = client.call(to("One", &thread.etag)).await.thread.unwrap();
    assert_ne!(changed.etag, thread.etag);
    assert_eq!(client.get_thread(id).await, changed);
    let stale = client.refused(to("Two", &thread.etag)).await;
    let stale = stale.is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(stale.metadata["etag"], changed.etag);
    assert_eq!(client.get_thread(id).await, changed);
    client.call(to("Any", "*")).await;
    client.call(to("Unchecked", "")).await;
    // An etag within the thread is no condition.
    let read_before = Thread {
        title: "As read".to_owned(),
        ..changed
    };
    update(&client, read_before, &["title"]).await;
    let long = client.refused(to("x", &"x".repeat(129))).await;
    long.names_field("precondition.etag");

    // A thread that takes the place of a deleted one has another etag.
    let last = client.get_thread(id).await;
    client.delete_thread(id).await;
    let next = client.resolve(session(&app, "ada", "thread:1")).await;
    let old = Thread {
        thread_id: String::new(),
        title: "Old".to_owned(),
        ..last.clone()
    };
    let old = client.refused(under(&last.etag, change(old, &[]))).await;
    let old = old.is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(old.metadata["etag"], next.etag);
    for etag in [last.etag.as_str(), "*"] {
        let gone = client.refused(to("Gone", etag)).await;
        gone.is(Code::NotFound, "THREAD_NOT_FOUND");
    }
}

#[apply(trial)]
async fn of_concurrent_updates_of_a_thread_under_one_etag_one_succeeds() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut etag = client.get_thread(&thread_id).await.etag;
    for round in 0..3 {
        let mut calls = Vec::new();
        for number in 0..6 {
            let client = PLAIN.client(Key::Acme).await;
            let title = format!("{round}.{number}");
            let request = under(&etag, change(titled(&thread_id, &title), &[]));
            calls.push(tokio::spawn(async move {
                client.threads().update_thread(request).await
            }));
        }
        let (mut won, mut lost) = (Vec::new(), Vec::new());
        for call in calls {
            match call.await.unwrap() {
                Ok(answer) => won.push(answer.into_inner().thread.unwrap()),
                Err(status) => lost.push(Failure::from(status)),
            }
        }
        assert_eq!((won.len(), lost.len()), (1, 5));
        for failure in lost {
            failure.is(Code::Aborted, "ETAG_CHANGED");
        }
        let winner = won.remove(0);
        assert_eq!(client.get_thread(&thread_id).await, winner);
        etag = winner.etag;
    }
}
