//! Workers derive text from several threads at once, and each thread gets its own. The words
//! of the threads are disjoint, so that one strange word shows a leak.

use memory_contract::proto::{
    AgentEvent, AppendEventsRequest, BuildContextRequest, ContextBlockKind as Kind, MemoryMode,
    MemoryPolicy, MessageInput, ResolveThreadRequest, SearchMethod, SearchRequest,
};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, SOON, Server, app, apply, attempt, block, by_id,
    context_request, eventually, memory, mode, plan, put, quoted_texts, recall_request,
    search_request, session, texts, tool_call, tool_result, trial, trial_with_own_server, turn,
};
use serde_json::json;
use tokio_postgres::{Client as Database, NoTls};

use super::isolation::everything;
use super::{build, in_full, record_texts};
use crate::distill::ledger::{observations, verify};
use crate::distill::world::World;
use crate::{PLAIN, plain};

type Words = [&'static str; 6];

const HERONS: Words = ["heron", "reed", "marsh", "lagoon", "feather", "estuary"];
const KETTLES: Words = ["kettle", "stove", "copper", "whistle", "ladle", "pantry"];

fn report(words: Words, number: usize) -> String {
    let word = |shift: usize| words[(number + shift) % words.len()];
    format!(
        "Report {number}: the {} was found beside the {} at {}:{:02}. The {} was counted {} \
         times, and nobody touched the {} of {}.",
        word(0),
        word(1),
        number % 24,
        number * 7 % 60,
        word(2),
        number * 13 % 97,
        word(3),
        word(4)
    )
}

/// A turn of a conversation.
fn talk(words: Words, number: usize) -> Vec<MessageInput> {
    let answer = format!("I have noted the {} of report {number}.", words[number % 6]);
    turn(&report(words, number), &answer)
}

/// A step of a loop.
fn step(words: Words, number: usize) -> Vec<MessageInput> {
    let id = format!("call-{number}");
    vec![
        tool_call(&id, "inspect", json!({"thing": words[number % 6]})),
        tool_result(&id, &report(words, number)),
    ]
}

/// A policy under which a thread of 2,000 tokens has both observations and a summary.
fn derived(wanted: MemoryMode) -> MemoryPolicy {
    MemoryPolicy {
        observer_tokens: Some(1_000),
        context_window: Some(1_000),
        ..mode(wanted)
    }
}

async fn thread(client: &Client, app: &str, user: &str, policy: MemoryPolicy) -> String {
    let key = format!("thread:{}", uuid::Uuid::new_v4());
    let request = ResolveThreadRequest {
        session: Some(session(app, user, &key)),
        policy: Some(policy),
        ..Default::default()
    };
    client.call(request).await.thread.unwrap().thread_id
}

async fn feed(client: &Client, thread_id: &str, said: impl Fn(usize) -> Vec<MessageInput>) {
    for number in 0..40 {
        client.append(thread_id, said(number)).await;
    }
}

/// The derived text of a thread in a mode, once workers have made some.
async fn records(client: &Client, thread_id: &str, wanted: MemoryMode) -> String {
    let request = BuildContextRequest {
        policy: Some(mode(wanted)),
        ..context_request(thread_id, "And now?")
    };
    eventually("text is derived", SOON, async || {
        let context = build(client, request.clone()).await;
        block(&context, Kind::Distilled).is_some()
    })
    .await;
    let context = build(client, request).await;
    let all = client.all_messages(thread_id).await;
    let ids: Vec<String> = all.into_iter().map(|one| one.message_id).collect();
    let kept = in_full(&context);
    // The task of an agent is there in full beside its newest steps.
    let newest = match kept[0] == ids[0] {
        true => &kept[1..],
        false => &kept[..],
    };
    assert_eq!(newest, &ids[ids.len() - newest.len()..], "its own messages");
    record_texts(&context).concat()
}

#[track_caller]
fn is_about(text: &str, words: Words, others: Words) {
    assert!(words.iter().any(|word| text.contains(word)), "{text}");
    for word in others {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[apply(trial)]
async fn n01_a_loop_and_a_conversation_at_the_same_time_are_derived_each_by_itself() {
    let client = plain().await;
    let app = app();
    let agent = thread(&client, &app, "ada", derived(MemoryMode::Observational)).await;
    let chat = thread(&client, &app, "ada", derived(MemoryMode::Working)).await;
    let task = turn("Look after the birds.", "I will.");
    client.append(&agent, task).await;
    tokio::join!(
        feed(&client, &agent, |number| step(HERONS, number)),
        feed(&client, &chat, |number| talk(KETTLES, number))
    );
    // Each as its own policy says.
    let observed = records(&client, &agent, MemoryMode::Observational).await;
    is_about(&observed, HERONS, KETTLES);
    let summarized = records(&client, &chat, MemoryMode::Working).await;
    is_about(&summarized, KETTLES, HERONS);
    for thread_id in [&agent, &chat] {
        assert!(verify(&client, thread_id).await.ok);
    }
}

#[apply(trial)]
async fn n12_two_threads_at_once_share_nothing_that_workers_derive_from_them() {
    let client = plain().await;
    let app = app();
    let policy = derived(MemoryMode::Observational);
    let one = thread(&client, &app, "", policy.clone()).await;
    let other = thread(&client, &app, "", policy).await;
    for (thread_id, words) in [(&one, HERONS), (&other, KETTLES)] {
        let steps = plan(words[0], &words[1..3]);
        client.put_plan(put(thread_id, "", steps)).await;
        let tried = attempt("work", words[3], &format!("The {} failed.", words[4]));
        client.log_attempt(thread_id, tried, "").await;
    }
    tokio::join!(
        feed(&client, &one, |number| talk(HERONS, number)),
        feed(&client, &other, |number| talk(KETTLES, number))
    );
    for (thread_id, own, others) in [(&one, HERONS, KETTLES), (&other, KETTLES, HERONS)] {
        for wanted in [MemoryMode::Observational, MemoryMode::Working] {
            let derived = records(&client, thread_id, wanted).await;
            is_about(&derived, own, others);
        }
        is_about(&everything(&client, thread_id).await, own, others);
        // Nor is it found by its words.
        let question = [own, others].concat().join(" ");
        let context = context_request(thread_id, &question);
        let quoted = quoted_texts(&client.context(context).await).concat();
        is_about(&quoted, own, others);
        let recalled = client
            .recall(recall_request(thread_id, &question, ""))
            .await;
        is_about(&texts(&recalled.messages).concat(), own, others);
        assert!(verify(&client, thread_id).await.ok);
    }
}

#[apply(trial_with_own_server)]
async fn n02_postgres_has_each_message_and_the_index_a_vector_of_it() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &Options::serve(&url, &[]).index(&dir, "index"));
    let client = server.client(Key::Acme).await;
    let mut said = Vec::new();
    for words in [HERONS, KETTLES] {
        let thread_id = client.thread_of("app", "ada").await;
        for number in 0..5 {
            client.append(&thread_id, talk(words, number)).await;
            said.push((thread_id.clone(), report(words, number)));
        }
    }
    client
        .remember("app", "ada", vec![memory("Counts herons and kettles.")])
        .await;
    let points = async |expected: i64| {
        eventually(&format!("{expected} vectors"), SOON, async || {
            let status = client.index_status().await;
            (status.point_count, status.pending_count) == (expected, 0)
        })
        .await;
    };
    // Ten turns and a memory.
    points(21).await;
    let database = cluster.superuser().await;
    let count = "SELECT count(*) FROM recollect.messages WHERE deleted_at IS NULL";
    let rows: i64 = database.query_one(count, &[]).await.unwrap().get(0);
    assert_eq!(rows, 20);
    assert!(!dir.data().join("postgres").exists());
    // Each is found by meaning alone.
    for (thread_id, report) in said {
        let search = SearchRequest {
            method: SearchMethod::Dense.into(),
            ..search_request(&thread_id, &report, "")
        };
        let found = client.search(search).await;
        assert_eq!(found.degradations, []);
        assert_eq!(texts(&found.matches)[0], report);
        assert!(found.matches[0].dense_score.unwrap() > 0.5);
        assert_eq!(found.matches[0].lexical_score, None);
    }
    let thread_id = client.thread_of("app", "ada").await;
    client.append(&thread_id, talk(HERONS, 9)).await;
    points(23).await;
    client.delete_thread(&thread_id).await;
    points(21).await;
}

/// A thread with 40 turns, a plan, an attempt and an event, once workers have derived
/// observations and a summary from it.
async fn worked(client: &Client, words: Words, others: Words) -> String {
    let thread_id = thread(client, &app(), "ada", derived(MemoryMode::Observational)).await;
    client
        .put_plan(put(&thread_id, "", plan(words[0], &words[1..3])))
        .await;
    let tried = attempt("work", words[3], "It failed.");
    client.log_attempt(&thread_id, tried, "").await;
    let event = AppendEventsRequest {
        thread: by_id(&thread_id),
        events: vec![AgentEvent {
            r#type: words[4].to_owned(),
            ..Default::default()
        }],
        ..Default::default()
    };
    client.call(event).await;
    feed(client, &thread_id, |number| talk(words, number)).await;
    for wanted in [MemoryMode::Observational, MemoryMode::Working] {
        is_about(&records(client, &thread_id, wanted).await, words, others);
    }
    assert!(verify(client, &thread_id).await.ok);
    thread_id
}

/// Checks that a database has everything of a thread of [`worked`].
async fn holds(database: &Database, client: &Client, thread_id: &str) {
    let tables = [
        ("threads", 1),
        ("messages", 80),
        ("plans", 1),
        ("attempts", 1),
        ("agent_events", 1),
        ("transactions", 40),
    ];
    for (table, rows) in tables {
        let sql = format!("SELECT count(*) FROM recollect.{table} WHERE thread_id = '{thread_id}'");
        let found: i64 = database.query_one(&sql, &[]).await.unwrap().get(0);
        assert!(found >= rows, "{table}: {found}");
    }
    // What the workers made is there, in the words that the server returns.
    let returned = observations(client, thread_id, false).await.observations;
    assert!(!returned.is_empty());
    let stored = async |kind: &str| -> Vec<String> {
        let sql = format!(
            "SELECT text FROM recollect.distillates
             WHERE thread_id = '{thread_id}' AND kind = '{kind}' AND made_by = 'extractive'"
        );
        let rows = database.query(&sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    let observed = stored("observation").await;
    assert!(observed.len() >= returned.len(), "{observed:?}");
    for one in returned {
        assert!(observed.contains(&one.text), "{one:?} in {observed:?}");
    }
    assert!(!stored("summary").await.is_empty());
}

#[apply(trial_with_own_server)]
async fn n02_the_database_of_the_url_holds_all_of_it_and_none_is_chosen_without() {
    let world = World::new().await;
    let thread_id = worked(&world.client, HERONS, KETTLES).await;
    let external = world.cluster.superuser().await;
    holds(&external, &world.client, &thread_id).await;
    // The server has not made a private database.
    assert!(!world.dir.data().join("postgres").exists());

    // Without a URL there is one in the data directory, which has the same.
    let client = PLAIN.client(Key::Acme).await;
    let thread_id = worked(&client, KETTLES, HERONS).await;
    let url = PLAIN.ready().line["postgres"].as_str().unwrap().to_owned();
    let (embedded, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    holds(&embedded, &client, &thread_id).await;
    assert!(PLAIN.data().join("postgres").is_dir());
}
