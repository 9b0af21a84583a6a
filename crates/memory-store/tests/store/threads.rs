use std::{collections::HashSet, time::Duration};

use memory_contract::{
    json::JsonObject,
    message::{Content, MessageFilter, Opaque, Part, Provider, Reasoning, Role, ToolCall},
    policy::PolicyChange,
    precondition::Precondition,
};
use memory_store::{MessageQuery, Order, StoreError, ThreadChange, ThreadError, ThreadListQuery};

use crate::world::{World, caller, new_thread, said};

fn object(text: &str) -> JsonObject {
    JsonObject::parse(text.to_owned()).unwrap()
}

#[tokio::test]
async fn concurrent_callers_resolve_the_same_thread() {
    let world = World::new().await;
    let new = new_thread("app", "ada", "thread:1");
    let calls = (0..16).map(|_| world.store.threads(&world.caller).resolve_thread(&new));
    let resolved: Vec<_> = futures::future::join_all(calls)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        resolved
            .iter()
            .map(|found| found.thread.id)
            .collect::<HashSet<_>>()
            .len(),
        1
    );
    assert_eq!(resolved.iter().filter(|found| found.created).count(), 1);
    let error = world
        .store
        .threads(&world.caller)
        .create_thread(&new)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Thread(ThreadError::Exists)));
    // The same names of another tenant are another thread.
    let theirs = world
        .store
        .threads(&caller("b"))
        .create_thread(&new)
        .await
        .unwrap();
    assert_ne!(theirs.id, resolved[0].thread.id);
}

#[tokio::test]
async fn the_longest_names_fit() {
    let world = World::new().await;
    let wide = |count: usize| "\u{1F9E0}\u{10348}".repeat(count / 2);
    let new = new_thread(&wide(128), &wide(256), &wide(512));
    let thread = world
        .store
        .threads(&world.caller)
        .create_thread(&new)
        .await
        .unwrap();
    assert_eq!(
        world
            .store
            .threads(&world.caller)
            .find_thread(&new.session)
            .await
            .unwrap(),
        thread
    );
    // Names that only look alike when they are written one after the other.
    let one = world.thread_of("ab", "c", "d").await.id;
    let two = world.thread_of("a", "bc", "d").await.id;
    assert_ne!(one, two);
}

#[tokio::test]
async fn an_expired_session_starts_afresh_and_the_old_one_is_swept() {
    let world = World::new().await;
    let short = Duration::from_secs(3);
    let mut first = new_thread("app", "ada", "session:1");
    first.ttl = Some(short);
    let mut second = new_thread("app", "ada", "session:2");
    second.ttl = Some(short);
    let first_id = world
        .store
        .threads(&world.caller)
        .create_thread(&first)
        .await
        .unwrap()
        .id;
    let second_id = world
        .store
        .threads(&world.caller)
        .create_thread(&second)
        .await
        .unwrap()
        .id;
    world.say(first_id, Role::User, "hello").await;
    assert_eq!(
        world
            .workers
            .erasures(&world.store)
            .sweep_threads(10)
            .await
            .unwrap(),
        0
    );
    tokio::time::sleep(short + Duration::from_millis(50)).await;
    for (id, names) in [(first_id, &first.session), (second_id, &second.session)] {
        for error in [
            world
                .store
                .threads(&world.caller)
                .get_thread(id)
                .await
                .unwrap_err(),
            world
                .store
                .threads(&world.caller)
                .find_thread(names)
                .await
                .unwrap_err(),
            world
                .store
                .threads(&world.caller)
                .delete_thread(id)
                .await
                .unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::ThreadNotFound), "{error:?}");
        }
    }
    let page = world
        .store
        .threads(&world.caller)
        .list_threads(&ThreadListQuery {
            limit: 10,
            ..Default::default()
        })
        .await;
    assert!(page.unwrap().items.is_empty());

    let afresh = world
        .store
        .threads(&world.caller)
        .resolve_thread(&first)
        .await
        .unwrap();
    assert!(afresh.created && afresh.thread.id != first_id);
    assert_eq!(
        world
            .workers
            .erasures(&world.store)
            .sweep_threads(10)
            .await
            .unwrap(),
        1
    );
    let row = world
        .owner()
        .await
        .query_one("SELECT count(*) FROM recollect.threads", &[])
        .await
        .unwrap();
    assert_eq!(row.get::<_, i64>(0), 1);
    // The removal of the thread that had messages is queued for the index.
    let jobs = world
        .outbox
        .claim(10, Duration::from_secs(60))
        .await
        .unwrap()
        .jobs;
    assert_eq!(
        jobs.iter().map(|job| job.thread).collect::<Vec<_>>(),
        [first_id]
    );
}

#[tokio::test]
async fn a_thread_is_updated_cleared_and_deleted() {
    let world = World::new().await;
    let thread = world.thread_of("app", "ada", "thread:1").await;
    let change = ThreadChange {
        title: Some("Dogs".to_owned()),
        metadata: Some(object(r#"{"a": [1, 2.5, null]}"#)),
        ttl: Some(Some(Duration::from_secs(3600))),
        policy: PolicyChange::default(),
    };
    let changed = world
        .store
        .threads(&world.caller)
        .update_thread(thread.id, &Precondition::Unchecked, &change)
        .await
        .unwrap();
    assert_eq!(
        (changed.title.as_str(), &changed.metadata),
        ("Dogs", change.metadata.as_ref().unwrap())
    );
    assert!(changed.expires.unwrap() > changed.created && changed.updated > thread.updated);
    let kept = ThreadChange {
        ttl: Some(None),
        ..Default::default()
    };
    let kept = world
        .store
        .threads(&world.caller)
        .update_thread(thread.id, &Precondition::Unchecked, &kept)
        .await
        .unwrap();
    assert_eq!((kept.title.as_str(), kept.expires), ("Dogs", None));

    world
        .append(
            thread.id,
            vec![said(Role::User, "one"), said(Role::Assistant, "two")],
        )
        .await
        .unwrap();
    assert_eq!(
        world
            .store
            .threads(&world.caller)
            .clear_thread(thread.id)
            .await
            .unwrap()
            .message_count,
        2
    );
    assert_eq!(
        world
            .store
            .threads(&world.caller)
            .clear_thread(thread.id)
            .await
            .unwrap()
            .message_count,
        0
    );
    let cleared = world
        .store
        .threads(&world.caller)
        .get_thread(thread.id)
        .await
        .unwrap();
    assert_eq!(
        (cleared.head, cleared.message_count, cleared.last_seq),
        (None, 0, 2)
    );
    let appended = world
        .append(thread.id, vec![said(Role::User, "three")])
        .await
        .unwrap();
    assert_eq!(
        (appended.messages[0].seq, appended.messages[0].branch),
        (3, 1)
    );

    assert_eq!(
        world
            .store
            .threads(&world.caller)
            .delete_thread(thread.id)
            .await
            .unwrap()
            .message_count,
        1
    );
    let error = world
        .store
        .threads(&world.caller)
        .delete_thread(thread.id)
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::ThreadNotFound));
    for table in ["threads", "branches", "messages", "requests"] {
        let count = format!("SELECT count(*) FROM recollect.{table}");
        let row = world.owner().await.query_one(&count, &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 0, "{table}");
    }
    assert!(
        world
            .store
            .threads(&world.caller)
            .resolve_thread(&new_thread("app", "ada", "thread:1"))
            .await
            .unwrap()
            .created
    );
}

#[tokio::test]
async fn threads_are_listed_in_pages_the_newest_first() {
    let world = World::new().await;
    let mut all = Vec::new();
    for (app, user) in [
        ("one", "ada"),
        ("one", "bob"),
        ("two", "ada"),
        ("two", "bob"),
        ("one", "ada"),
    ] {
        all.insert(
            0,
            world
                .thread_of(app, user, &format!("session:{}", all.len()))
                .await,
        );
    }
    let list = async |app: Option<&str>, user: Option<&str>| {
        let mut query = ThreadListQuery {
            app: app.map(memory_contract::AppId::new),
            user: user.map(memory_contract::UserId::new),
            limit: 2,
            ..Default::default()
        };
        let mut found = Vec::new();
        loop {
            let page = world
                .store
                .threads(&world.caller)
                .list_threads(&query)
                .await
                .unwrap();
            assert!(page.items.len() <= 2);
            found.extend(page.items);
            query.after = page.next;
            if query.after.is_none() {
                return found;
            }
        }
    };
    for (app, user) in [
        (None, None),
        (Some("one"), None),
        (Some("one"), Some("bob")),
        (Some("one"), Some("ada")),
    ] {
        let names = |thread: &&memory_contract::thread::Thread| {
            app.is_none_or(|app| thread.session.app.as_str() == app)
                && user.is_none_or(|user| thread.session.user.as_str() == user)
        };
        let expected: Vec<_> = all.iter().filter(names).cloned().collect();
        assert_eq!(list(app, user).await, expected, "{app:?} {user:?}");
    }
}

#[tokio::test]
async fn messages_come_back_as_they_were_stored_filtered_and_in_pages() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let mut call = said(Role::Assistant, "Let me see.\n\u{1F436} \"quoted\" \\ back");
    let call_part = Content::ToolCall(ToolCall {
        id: "1".to_owned(),
        name: "look".to_owned(),
        arguments: "{\"z\" : 12345678901234567890,\n \"a\":[1.50, -0.0, 1e300, \"\\u00e9\"]}"
            .to_owned(),
    });
    call.message.parts.push(Part {
        content: call_part,
        signature: "c2ln".to_owned(),
    });
    let thought = Content::Reasoning(Reasoning {
        provider: Provider::AnthropicMessages,
        id: String::new(),
        text: "Hm.\n".to_owned(),
        summaries: vec!["Thinks.".to_owned()],
        signature: "EqQB+/==".to_owned(),
        encrypted: String::new(),
    });
    call.message.parts.insert(0, thought.into());
    let opaque = Content::Opaque(Opaque {
        provider: Provider::Gemini,
        kind: "executableCode".to_owned(),
        json: "{ \"executableCode\": {\"n\": 1.0} }".to_owned(),
    });
    call.message.parts.push(opaque.into());
    call.message.name = "Bot".to_owned();
    call.message.metadata = object(r#"{"n": 3, "ok": true, "lang": "en"}"#);
    call.message.created = Some(time::macros::datetime!(2019-05-17 10:00:00.123456 UTC));
    let stored = world
        .append(thread, vec![call.clone()])
        .await
        .unwrap()
        .messages[0]
        .clone();
    let read = world
        .store
        .messages(&world.caller)
        .get_message(thread, stored.id)
        .await
        .unwrap();
    assert_eq!(read.parts, call.message.parts);
    assert_eq!(read.metadata, call.message.metadata);
    assert_eq!(
        (read.name.as_str(), Some(read.created)),
        ("Bot", call.message.created)
    );
    assert_eq!(
        (read.seq, read.branch, read.depth, read.tokens, read.parent),
        (1, 1, 1, 10, None)
    );
    for text in 2..=6 {
        world
            .say(thread, Role::User, &text.to_string().repeat(100))
            .await;
    }

    let list = async |filter: MessageFilter, order, max_bytes| {
        let mut query = MessageQuery {
            thread,
            filter,
            order,
            after: None,
            limit: 2,
            max_bytes,
        };
        let (mut seqs, mut pages) = (Vec::new(), 0);
        loop {
            let page = world
                .store
                .messages(&world.caller)
                .list_messages(&query)
                .await
                .unwrap();
            assert!(page.items.len() <= 2);
            seqs.extend(page.items.iter().map(|message| message.seq));
            pages += 1;
            query.after = page.next;
            if query.after.is_none() {
                return (seqs, pages);
            }
        }
    };
    let all = MessageFilter::default;
    assert_eq!(
        list(all(), Order::Ascending, u32::MAX).await,
        (vec![1, 2, 3, 4, 5, 6], 3)
    );
    assert_eq!(
        list(all(), Order::Descending, u32::MAX).await,
        (vec![6, 5, 4, 3, 2, 1], 3)
    );
    // One message alone is more than that many bytes.
    assert_eq!(
        list(all(), Order::Ascending, 50).await,
        (vec![1, 2, 3, 4, 5, 6], 6)
    );
    let filters = [
        (
            MessageFilter {
                roles: vec![Role::Assistant],
                ..all()
            },
            vec![1],
        ),
        (
            MessageFilter {
                names: vec!["Bot".to_owned(), "Other".to_owned()],
                ..all()
            },
            vec![1],
        ),
        (
            MessageFilter {
                end: Some(time::macros::datetime!(2020-01-01 0:00 UTC)),
                ..all()
            },
            vec![1],
        ),
        (
            MessageFilter {
                start: Some(time::macros::datetime!(2020-01-01 0:00 UTC)),
                ..all()
            },
            vec![2, 3, 4, 5, 6],
        ),
        (
            MessageFilter {
                metadata: object(r#"{"n": 3, "ok": true}"#),
                ..all()
            },
            vec![1],
        ),
        (
            MessageFilter {
                metadata: object(r#"{"n": 4}"#),
                ..all()
            },
            vec![],
        ),
    ];
    for (filter, expected) in filters {
        assert_eq!(
            list(filter.clone(), Order::Ascending, u32::MAX).await.0,
            expected,
            "{filter:?}"
        );
    }
}
