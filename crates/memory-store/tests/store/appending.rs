use std::collections::BTreeSet;

use memory_contract::{
    MessageId, RequestId,
    message::{Parent, Role},
};
use memory_store::{Append, AppendError, StoreError};
use uuid::Uuid;

use crate::world::{World, after, new_thread, said};

#[tokio::test]
async fn concurrent_appends_are_numbered_without_gaps() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let tasks = (0..16).map(|_| async {
        let mut seqs = Vec::new();
        for count in 1..=5 {
            let messages = (0..count).map(|_| said(Role::User, "hello")).collect();
            let appended = world.append(thread, messages).await.unwrap();
            let numbers: Vec<i64> = appended
                .messages
                .iter()
                .map(|message| message.seq)
                .collect();
            assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1));
            seqs.extend(numbers);
        }
        seqs
    });
    let seqs: Vec<i64> = futures::future::join_all(tasks)
        .await
        .into_iter()
        .flatten()
        .collect();
    let distinct: BTreeSet<i64> = seqs.iter().copied().collect();
    assert_eq!(distinct.len(), seqs.len());
    assert_eq!(
        distinct.into_iter().collect::<Vec<_>>(),
        (1..=16 * 15).collect::<Vec<_>>()
    );

    let thread = world
        .store
        .threads(&world.caller)
        .get_thread(thread)
        .await
        .unwrap();
    assert_eq!((thread.last_seq, thread.message_count), (240, 240));
    // All messages are on one branch.
    let branches = world
        .store
        .threads(&world.caller)
        .list_branches(thread.id, 0, 10)
        .await
        .unwrap();
    assert_eq!(branches.items.len(), 1);
    assert_eq!(
        (branches.items[0].depth, branches.items[0].message_count),
        (240, 240)
    );
}

#[tokio::test]
async fn a_request_id_stores_once_even_when_called_twice_at_once() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    for _ in 0..20 {
        let request_id = Some(RequestId::new());
        let call = || async {
            // A retry makes new ids for messages that have none of the caller's.
            let messages = vec![said(Role::User, "once"), said(Role::Assistant, "only")];
            let append = Append {
                thread,
                messages,
                request_id,
                expected_head: None,
            };
            world
                .store
                .messages(&world.caller)
                .append(&append)
                .await
                .unwrap()
        };
        let (first, second) = futures::future::join(call(), call()).await;
        assert_ne!(first.replayed, second.replayed);
        assert_eq!(first.messages, second.messages);
        assert_eq!(first.revision, second.revision);
    }
    let thread = world
        .store
        .threads(&world.caller)
        .get_thread(thread)
        .await
        .unwrap();
    assert_eq!(thread.message_count, 40);
}

#[tokio::test]
async fn a_request_id_is_for_one_content_in_one_thread() {
    let world = World::new().await;
    let (thread, other) = (world.thread().await.id, world.thread().await.id);
    let request_id = Some(RequestId::new());
    let append = |thread, text: &str| Append {
        thread,
        messages: vec![said(Role::User, text)],
        request_id,
        expected_head: None,
    };
    world
        .store
        .messages(&world.caller)
        .append(&append(thread, "hello"))
        .await
        .unwrap();
    for (thread, text) in [(thread, "other"), (other, "hello")] {
        let error = world
            .store
            .messages(&world.caller)
            .append(&append(thread, text))
            .await
            .unwrap_err();
        assert!(
            matches!(error, StoreError::Append(AppendError::RequestReused)),
            "{error:?}"
        );
    }
    // Two threads at once: one wins, the other stores nothing.
    for _ in 0..20 {
        let request_id = Some(RequestId::new());
        let call = |thread| async move {
            let messages = vec![after(Parent::Root, Role::User, "hello")];
            Append {
                thread,
                messages,
                request_id,
                expected_head: None,
            }
        };
        let (one, two) = (call(thread).await, call(other).await);
        let (one, two) = futures::future::join(
            world.store.messages(&world.caller).append(&one),
            world.store.messages(&world.caller).append(&two),
        )
        .await;
        assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    }
    let counts: Vec<i64> = world
        .owner()
        .await
        .query(
            "SELECT t.message_count, t.last_seq, t.branch_count::bigint, count(m.*), count(o.*)
             FROM recollect.threads t LEFT JOIN recollect.messages m USING (thread_id)
             LEFT JOIN recollect.outbox o USING (thread_id, seq) GROUP BY t.thread_id, 1, 2, 3",
            &[],
        )
        .await
        .unwrap()
        .iter()
        .map(|row| {
            let counts: Vec<i64> = (0..5).map(|place| row.get(place)).collect();
            assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
            counts[0]
        })
        .collect();
    assert_eq!(counts.iter().sum::<i64>(), 21);
}

#[tokio::test]
async fn the_expected_head_is_checked_and_a_replay_comes_before_it() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    let append = |expected_head, request_id| Append {
        thread,
        messages: vec![said(Role::User, "hello")],
        request_id,
        expected_head: Some(expected_head),
    };
    let request_id = Some(RequestId::new());
    let first = world
        .store
        .messages(&world.caller)
        .append(&append(None, request_id))
        .await
        .unwrap();
    let head = Some(first.messages[0].id);
    let error = world
        .store
        .messages(&world.caller)
        .append(&append(None, None))
        .await
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Append(AppendError::HeadMoved { head: moved }) if moved == head),
        "{error:?}"
    );
    assert!(
        world
            .store
            .messages(&world.caller)
            .append(&append(None, request_id))
            .await
            .unwrap()
            .replayed
    );
    world
        .store
        .messages(&world.caller)
        .append(&append(head.map(Into::into), None))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_refused_append_stores_nothing() {
    let world = World::new().await;
    let (thread, other) = (world.thread().await.id, world.thread().await.id);
    let foreign = world.say(other, Role::User, "elsewhere").await;
    let deleted = world.say(thread, Role::User, "gone").await;
    world
        .store
        .messages(&world.caller)
        .delete_message(thread, deleted)
        .await
        .unwrap();
    let before = world
        .store
        .threads(&world.caller)
        .get_thread(thread)
        .await
        .unwrap();

    for parent in [
        foreign,
        deleted,
        MessageId::new(),
        MessageId::from(Uuid::nil()),
    ] {
        let messages = vec![
            said(Role::User, "fine"),
            after(Parent::Message(parent.into()), Role::Assistant, "not"),
        ];
        let error = world.append(thread, messages).await.unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Append(AppendError::ParentNotFound { index: 1 })
            ),
            "{error:?}"
        );
    }
    // Its own answer, and one that comes later.
    let mut cycle = vec![said(Role::User, "one"), said(Role::User, "two")];
    cycle[0].message.parent = Parent::Message(cycle[1].message.id.into());
    let error = world.append(thread, cycle.clone()).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Append(AppendError::ParentNotFound { index: 0 })
        ),
        "{error:?}"
    );
    cycle[0].message.parent = Parent::Message(cycle[0].message.id.into());
    let error = world.append(thread, cycle).await.unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Append(AppendError::ParentNotFound { index: 0 })
        ),
        "{error:?}"
    );

    for used in [foreign, deleted] {
        let mut messages = vec![said(Role::User, "fine"), said(Role::User, "not")];
        messages[1].message.id = used;
        let error = world.append(thread, messages).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Append(AppendError::MessageExists { id }) if id == used),
            "{error:?}"
        );
    }
    let mut twins = vec![said(Role::User, "one"), said(Role::User, "two")];
    twins[1].message.id = twins[0].message.id;
    let error = world.append(thread, twins).await.unwrap_err();
    assert!(
        matches!(error, StoreError::Append(AppendError::MessageExists { .. })),
        "{error:?}"
    );

    assert_eq!(
        world
            .store
            .threads(&world.caller)
            .get_thread(thread)
            .await
            .unwrap(),
        before
    );
    let row = world
        .owner()
        .await
        .query_one(
            "SELECT (SELECT count(*) FROM recollect.messages WHERE thread_id = $1),
                    (SELECT count(*) FROM recollect.outbox WHERE thread_id = $1 AND op = 'upsert')",
            &[&thread.uuid()],
        )
        .await
        .unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1, 0));
    // The next seq follows the last one.
    let appended = world
        .append(thread, vec![said(Role::User, "next")])
        .await
        .unwrap();
    assert_eq!(appended.messages[0].seq, 2);
}

#[tokio::test]
async fn an_expired_thread_takes_no_messages() {
    let world = World::new().await;
    let mut new = new_thread("app", "ada", "session:1");
    new.ttl = Some(std::time::Duration::from_secs(3));
    let thread = world
        .store
        .threads(&world.caller)
        .create_thread(&new)
        .await
        .unwrap()
        .id;
    world.say(thread, Role::User, "in time").await;
    tokio::time::sleep(std::time::Duration::from_millis(3_050)).await;
    let error = world
        .append(thread, vec![said(Role::User, "late")])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::ThreadNotFound), "{error:?}");
}
