//! Memories on separate servers: promotion, forgetting, without an index, switched off.

use std::time::Duration;

use memory_contract::proto::{IndexState, MemoryInput, MemoryPolicy, ReindexRequest};
use recollect_tests::{
    Dynamic, Fault, Key, Options, Qdrant, Refused as _, Server, apply, check_context,
    context_request, eventually, known_texts, memory, memory_search, memory_texts,
    trial_with_own_server,
};
use tonic::Code;

use super::{backdate, database, days};

const PLAIN: &str = "embedding.kind = \"none\"";
const LONG: Duration = Duration::from_secs(60);

#[apply(trial_with_own_server)]
async fn r10_promotion_is_idempotent() {
    let (dir, server, client) = Server::start_own(&Options::with(&[PLAIN])).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    let count = async || client.index_status().await.point_count;
    let added = client
        .remember("app", "ada", vec![memory("Likes oolong.")])
        .await;
    let id = added.memories[0].memory.clone().unwrap().memory_id;
    eventually("it is in the index", LONG, async || count().await == 1).await;
    eventually("it is stamped", LONG, async || {
        client.get_memory(&id).await.0.persist_time.is_some()
    })
    .await;
    // Not stamped, and held: a worker that learns it once more stops between the
    // upsert and the stamp, where it is killed.
    for sql in [
        "UPDATE recollect.memories SET persisted_at = NULL",
        "BEGIN",
        "SELECT 1 FROM recollect.memories FOR UPDATE",
    ] {
        database.batch_execute(sql).await.unwrap();
    }
    let reindex = ReindexRequest::default();
    let queued = client.call(reindex).await;
    assert_eq!(queued.queued_count, 1);
    eventually("the worker waits for the row", LONG, async || {
        let anew = "SELECT pg_stat_clear_snapshot()";
        database.batch_execute(anew).await.unwrap();
        let waits = "SELECT 1 FROM pg_stat_activity
             WHERE wait_event_type = 'Lock' AND query LIKE '%SET persisted_at%'";
        let waiting = database.query(waits, &[]).await.unwrap().len() == 1;
        waiting && client.index_status().await.pending_count == 1
    })
    .await;
    assert!(client.get_memory(&id).await.0.persist_time.is_none());
    server.kill();

    let server = Server::start(&dir, &Options::with(&[PLAIN]));
    let client = server.client(Key::Acme).await;
    eventually("it is stamped after all", LONG, async || {
        client.get_memory(&id).await.0.persist_time.is_some()
    })
    .await;
    let stamped = client.get_memory(&id).await.0;
    let search = memory_search("app", "ada", "oolong", &added.revision);
    assert_eq!(client.search_memories(search).await.memories.len(), 1);
    assert_eq!(client.all_memories("app", "ada").await.len(), 1);
    // Once more changes nothing.
    let reindex = ReindexRequest::default();
    client.call(reindex).await;
    eventually("all is done", LONG, async || {
        let status = client.index_status().await;
        (status.pending_count, status.point_count) == (0, 1)
    })
    .await;
    let again = client.get_memory(&id).await.0;
    assert_eq!(
        (again.persist_time, again.etag),
        (stamped.persist_time, stamped.etag)
    );
}

#[apply(trial_with_own_server)]
async fn r15_long_term_memory_can_be_switched_off() {
    let (dir, server, client) = Server::start_own(&Options::with(&[PLAIN])).await;
    let added = client
        .remember("app", "ada", vec![memory("Likes oolong.")])
        .await;
    let search = memory_search("app", "ada", "oolong", &added.revision);
    assert_eq!(
        client.search_memories(search.clone()).await.memories.len(),
        1
    );
    let thread_id = client.thread_of("app", "ada").await;
    let context = client.context(context_request(&thread_id, "oolong")).await;
    assert_eq!(known_texts(&context), ["Likes oolong."]);
    assert!(server.stop().await.success());

    let server = Server::start(&dir, &Options::with(&[PLAIN, "memories.enabled = false"]));
    let client = server.client(Key::Acme).await;
    let mut tried = 0;
    for method in Dynamic::methods() {
        let name = Dynamic::name(&method);
        if name.starts_with("MemoryService/") {
            let answer = Dynamic::call_empty(&client, &method).await;
            answer
                .refused()
                .is(Code::FailedPrecondition, "LONG_TERM_MEMORY_OFF");
            tried += 1;
        }
    }
    assert_eq!(tried, 11);
    let context = client.context(context_request(&thread_id, "oolong")).await;
    check_context(&context, 1_000_000);
    assert!(known_texts(&context).is_empty());
    let reindex = ReindexRequest::default();
    let queued = client.call(reindex).await;
    assert_eq!(queued.queued_count, 0, "nothing is indexed");
    assert!(server.stop().await.success());

    // Memories stored before are available again.
    let server = Server::start(&dir, &Options::with(&[PLAIN]));
    let client = server.client(Key::Acme).await;
    let found = client.search_memories(search).await;
    assert_eq!(memory_texts(&found), ["Likes oolong."]);
}

#[apply(trial_with_own_server)]
async fn b09_policies_forget_in_the_background() {
    let options = Options::with(&[PLAIN, "worker.forget_interval = \"1s\""]);
    let (_dir, _server, client) = Server::start_own(&options).await;
    let facts = || (0..6).map(|n| memory(&format!("Fact {n}"))).collect();
    client.remember("kept", "ada", facts()).await;
    client.remember("bound", "ada", facts()).await;
    let policy = MemoryPolicy {
        memory_max_count: Some(2),
        ..Default::default()
    };
    client.set_policy("bound", policy).await;
    eventually("they are forgotten", LONG, async || {
        client.all_memories("bound", "ada").await.len() == 2
    })
    .await;
    eventually("and from the index", LONG, async || {
        client.index_status().await.point_count == 8
    })
    .await;
    assert_eq!(client.all_memories("kept", "ada").await.len(), 6);
}

#[apply(trial_with_own_server)]
async fn b09_policies_forget_by_age_and_disuse_in_the_background() {
    let options = Options::with(&[PLAIN, "worker.forget_interval = \"1s\""]);
    let (_dir, server, client) = Server::start_own(&options).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    let pinned = MemoryInput {
        pinned: Some(true),
        ..memory("Is pinned.")
    };
    for app in ["aged", "kept", "unused"] {
        for (input, stored, used) in [
            (memory("Is old."), 60, None),
            (memory("Is old and of use."), 60, Some(20)),
            (memory("Is some weeks old."), 20, None),
            (pinned.clone(), 60, None),
        ] {
            let added = client.remember(app, "ada", vec![input]).await;
            let id = added.memories[0].memory.clone().unwrap().memory_id;
            backdate(&database, &id, stored, used).await;
        }
    }
    let aged = MemoryPolicy {
        memory_max_age: days(30),
        ..Default::default()
    };
    let unused = MemoryPolicy {
        memory_max_inactivity: days(30),
        ..Default::default()
    };
    for (app, policy) in [("aged", aged), ("unused", unused)] {
        client.set_policy(app, policy).await;
    }
    let left = async |app: &str| -> Vec<String> {
        let left = client.all_memories(app, "ada").await.into_iter();
        left.map(|memory| memory.text).collect()
    };
    for (app, expected) in [
        ("aged", &["Is pinned.", "Is some weeks old."][..]),
        (
            "unused",
            &["Is pinned.", "Is some weeks old.", "Is old and of use."],
        ),
    ] {
        eventually(app, LONG, async || left(app).await.len() <= expected.len()).await;
        assert_eq!(left(app).await, expected, "{app}");
    }
    assert_eq!(left("kept").await.len(), 4);
    eventually("and from the index", LONG, async || {
        client.index_status().await.point_count == 2 + 3 + 4
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn b02_without_the_index_memories_are_found_by_word() {
    let qdrant = Qdrant::new();
    let (_dir, _server, client) =
        Server::start_own(&Options::with(&[&qdrant.config(), PLAIN])).await;
    eventually("the index is ready", LONG, async || {
        client.index_status().await.state() == IndexState::Ready
    })
    .await;
    let added = client
        .remember("app", "ada", vec![memory("Likes oolong.")])
        .await;
    client.remember_one("app", "bob", "Sells oolong.").await;
    let search = memory_search("app", "ada", "oolong", &added.revision);
    let found = client.search_memories(search.clone()).await;
    assert_eq!(found.degradations, []);
    qdrant.set_fault(Fault::Unavailable);
    let found = client.search_memories(search).await;
    assert_eq!(memory_texts(&found), ["Likes oolong."]);
    assert_eq!(found.degradations.len(), 1, "{found:?}");
    let thread_id = client.thread_of("app", "ada").await;
    let context = client.context(context_request(&thread_id, "oolong")).await;
    assert_eq!(known_texts(&context), ["Likes oolong."]);
    assert_eq!(context.degradations.len(), 1, "said once: {context:?}");
}
