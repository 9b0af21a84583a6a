//! Imports from other memory systems: mem0, Zep, and Redis's agent memory server. The files
//! have the shapes of mem0ai 2.2, zep-cloud 4.0 and 2, and agent-memory-client 0.14.

use std::fs;

use memory_contract::proto::{
    DeleteMessageRequest, GetThreadRequest, GetWorkingMemoryRequest, Memory, MemoryOrigin,
    MemoryType, Role,
};
use recollect_tests::{
    Client, Finished, Key, PLAIN, app, apply, by_id, by_session, free_addr, parsed, project_dir,
    recollect, recollect_at, session, texts, trial,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plain;

/// A file of another system, with the app in place of its namespace.
struct Source {
    dir: TempDir,
    system: &'static str,
    name: &'static str,
}

impl Source {
    fn new(system: &'static str, name: &'static str, app: &str) -> Self {
        let path = project_dir().join("tests/e2e/transfer/foreign").join(name);
        let text = fs::read_to_string(path).unwrap();
        let text = text.replace(
            "\"namespace\": \"travel\"",
            &format!("\"namespace\": \"{app}\""),
        );
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(name), text).unwrap();
        Self { dir, system, name }
    }

    fn args<'a>(&self, path: &'a str, app: &'a str) -> Vec<&'a str> {
        vec![
            "import",
            path,
            "--from",
            self.system,
            "--app",
            app,
            "--json",
            "--no-wait",
        ]
    }

    fn path(&self) -> String {
        self.dir.path().join(self.name).display().to_string()
    }

    /// Imports it, and returns the summary.
    fn import(&self, app: &str) -> Value {
        let path = self.path();
        let finished = recollect_at(&PLAIN.ready().addr, Key::Acme, &self.args(&path, app));
        finished.ok().json()
    }

    /// Reads it without a server.
    fn preview(&self, app: &str) -> Value {
        let (path, nowhere) = (self.path(), free_addr());
        let args = [
            &self.args(&path, app)[..],
            &["--dry-run", "--addr", &nowhere],
        ]
        .concat();
        recollect(&args, &[]).ok().json()
    }
}

/// A summary's numbers by these names.
fn numbers<const N: usize>(summary: &Value, names: [&str; N]) -> [i64; N] {
    names.map(|name| {
        let number = summary[name].as_i64();
        number.unwrap_or_else(|| panic!("{name}: {summary}"))
    })
}

fn with_text<'a>(memories: &'a [Memory], text: &str) -> &'a Memory {
    let found = memories.iter().find(|memory| memory.text == text);
    found.unwrap_or_else(|| panic!("{text}: {memories:#?}"))
}

async fn seconds(client: &Client, app: &str, user: &str) -> Vec<(String, Option<i64>)> {
    let memories = client.all_memories(app, user).await;
    let update = |memory: Memory| (memory.etag, memory.update_time.map(|time| time.seconds));
    memories.into_iter().map(update).collect()
}

#[apply(trial)]
async fn j27_memories_of_mem0_are_imported_once_with_their_history() {
    let client = plain().await;
    let app = app();
    let source = Source::new("mem0", "mem0.json", &app);
    let left_out = json!({
        "expiration dates (kept as metadata)": 1, "relations of the graph store": 1,
    });
    let preview = source.preview(&app);
    assert_eq!(numbers(&preview, ["memories", "refused"]), [5, 0]);
    assert_eq!(preview["left_out"], left_out);
    assert_eq!(client.all_memories(&app, "ada").await, []);

    let first = source.import(&app);
    assert_eq!(
        numbers(&first, ["memories", "merged", "refused"]),
        [4, 1, 0]
    );
    assert_eq!(first["left_out"], left_out);
    let memories = client.all_memories(&app, "ada").await;
    assert_eq!(memories.len(), 3, "{memories:#?}");
    let current = with_text(&memories, "Lives in Bergen");
    assert_eq!(current.external_id, "0f4d2c1e-6a7b-4c8d-9e0f-1a2b3c4d5e6f");
    assert_eq!(current.create_time.unwrap().seconds, 1_736_501_400);
    assert_eq!(current.create_time.unwrap().nanos, 125_000_000);
    assert_eq!(current.valid_from.unwrap().seconds, 1_740_938_400);
    let expected = json!({"source": "onboarding", "agent_id": "concierge", "run_id": "run-7"});
    assert_eq!(parsed(&current.metadata), expected);
    let (_, superseded) = client.get_memory(&current.memory_id).await;
    assert_eq!(superseded.len(), 1);
    assert_eq!(superseded[0].text, "Lives in Oslo");
    assert_eq!(superseded[0].valid_from, current.create_time);
    assert_eq!(superseded[0].valid_until, current.valid_from);
    // mem0 changed the text when it learned of the change.
    assert_eq!(superseded[0].known_until, current.valid_from);
    let pinned = with_text(&memories, "Is allergic to walnuts");
    assert!(pinned.pinned());
    assert_eq!(pinned.topics, ["health", "food"]);
    assert_eq!(pinned.create_time.unwrap().seconds, 1_736_697_600);
    assert_eq!(
        parsed(&pinned.metadata),
        json!({"expiration_date": "2030-01-01"})
    );
    // What is about an agent and no user belongs to the app.
    let of_app = client.all_memories(&app, "").await;
    assert_eq!(of_app.len(), 1);
    assert_eq!(
        parsed(&of_app[0].metadata),
        json!({"agent_id": "concierge"})
    );
    assert_eq!(of_app[0].create_time.unwrap().seconds, 1_738_580_400);

    let before = seconds(&client, &app, "ada").await;
    let second = source.import(&app);
    assert_eq!(
        numbers(&second, ["memories", "merged", "refused"]),
        [4, 1, 0]
    );
    assert_eq!(seconds(&client, &app, "ada").await, before);
}

#[apply(trial)]
async fn j27_threads_and_facts_of_zep_are_imported_once() {
    let client = plain().await;
    let app = app();
    let source = Source::new("zep", "zep.jsonl", &app);
    let counted = ["threads", "stored", "known", "memories", "refused"];
    assert_eq!(numbers(&source.preview(&app), counted), [2, 5, 0, 3, 0]);
    let first = source.import(&app);
    assert_eq!(numbers(&first, counted), [2, 5, 0, 3, 0]);
    let left_out = json!({
        "profiles of users": 1, "summaries of threads": 1, "nodes without a summary": 1,
    });
    assert_eq!(first["left_out"], left_out);

    let thread = client.resolve(session(&app, "ada", "support-1138")).await;
    let messages = client.all_messages(&thread.thread_id).await;
    let said = texts(&messages);
    assert_eq!(said[0], "I left Acme; since April I work at Globex.");
    let roles: Vec<Role> = messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    let asked = &messages[0];
    assert_eq!(asked.name, "Ada");
    assert_eq!(asked.external_id, "11111111-0000-4000-8000-000000000001");
    assert_eq!(asked.create_time.unwrap().seconds, 1_743_501_600);
    assert_eq!(parsed(&asked.metadata), json!({"channel": "mail"}));

    let memories = client.all_memories(&app, "ada").await;
    assert_eq!(memories.len(), 3);
    let former = with_text(&memories, "Ada works at Acme");
    assert_eq!(former.entities, ["Ada", "Acme"]);
    assert_eq!(former.topics, ["WORKS_AT"]);
    assert_eq!(former.valid_from.unwrap().seconds, 1_685_577_600);
    assert_eq!(former.valid_until.unwrap().seconds, 1_743_465_600);
    assert_eq!(former.known_until.unwrap().seconds, 1_743_501_610);
    assert_eq!(former.origin(), MemoryOrigin::Caller);
    assert_eq!(
        parsed(&former.metadata)["attributes"]["position"],
        "engineer"
    );
    let fact = with_text(&memories, "Ada works at Globex");
    assert_eq!(fact.origin(), MemoryOrigin::Extracted);
    assert_eq!(fact.source_message_ids, [asked.message_id.as_str()]);
    assert_eq!(fact.thread_id, thread.thread_id);
    assert_eq!(fact.valid_until, None);

    // The shapes of an older API.
    let legacy = client.resolve(session(&app, "ben", "legacy-7")).await;
    assert_eq!(parsed(&legacy.metadata)["plan"], "pro");
    let messages = client.all_messages(&legacy.thread_id).await;
    assert_eq!(messages[0].name, "Ben");
    assert_eq!(parsed(&messages[1].metadata), json!({"role": "norole"}));

    let before = seconds(&client, &app, "ada").await;
    let second = source.import(&app);
    assert_eq!(numbers(&second, counted), [2, 0, 5, 3, 0]);
    assert_eq!(client.all_messages(&thread.thread_id).await.len(), 3);
    assert_eq!(seconds(&client, &app, "ada").await, before);

    // A fact goes with the message that it came from.
    let request = DeleteMessageRequest {
        thread: by_id(&thread.thread_id),
        message_id: asked.message_id.clone(),
    };
    client.call(request).await;
    let left = client.all_memories(&app, "ada").await;
    assert!(
        left.iter().all(|memory| memory.text != fact.text),
        "{left:#?}"
    );
    assert_eq!(left.len(), 2);
}

#[apply(trial)]
async fn j27_sessions_and_records_of_redis_are_imported_once() {
    let client = plain().await;
    let (app, other) = (app(), recollect_tests::app());
    let source = Source::new("redis", "redis.json", &app);
    let counted = [
        "threads",
        "stored",
        "known",
        "memories",
        "working_memories",
        "refused",
    ];
    assert_eq!(
        numbers(&source.preview(&other), counted),
        [2, 3, 0, 3, 1, 0]
    );
    let first = source.import(&other);
    assert_eq!(numbers(&first, counted), [2, 3, 0, 3, 1, 0]);
    let left_out = json!({"extraction strategies (set the policy of the app)": 1});
    assert_eq!(first["left_out"], left_out);

    let trip = session(&app, "ada", "trip-42");
    let request = || GetWorkingMemoryRequest {
        thread: by_session(trip.clone()),
        ..Default::default()
    };
    let working = client.call(request()).await.working_memory.unwrap();
    assert_eq!(working.summary, "Ada is planning a trip to Paris in June.");
    let expected = json!({"step": "flights", "budget": {"eur": 1500}});
    assert_eq!(parsed(&working.data), expected);
    assert!(working.expire_time.is_some());
    assert_eq!(working.thread_expire_time, None, "the thread stays");
    assert_eq!(texts(&working.messages).len(), 2);
    let asked = &working.messages[0];
    assert_eq!(asked.external_id, "01JTK0000000000000000000M1");
    assert_eq!(working.memories.len(), 1);
    assert_eq!(working.memories[0].text, "Prefers trains to planes");
    assert_eq!(
        working.memories[0].external_id,
        "01JTK0000000000000000000R1"
    );
    assert_eq!(
        working.memories[0].create_time.unwrap().seconds,
        1_746_090_000
    );

    let memories = client.all_memories(&app, "ada").await;
    assert_eq!(memories.len(), 3);
    let visit = with_text(&memories, "Visited Paris with her sister");
    assert_eq!(visit.r#type(), MemoryType::Episodic);
    assert_eq!(visit.event_time.unwrap().seconds, 1_718_323_200);
    assert_eq!(visit.topics, ["travel", "family"]);
    assert_eq!(visit.entities, ["Paris"]);
    assert_eq!(visit.source_message_ids, [asked.message_id.as_str()]);
    assert_eq!(visit.thread_id, working.thread_id);
    let copied = with_text(&memories, "user: I love croissants");
    let expected = json!({"memory_type": "message", "session_id": "gone-1"});
    assert_eq!(parsed(&copied.metadata), expected);
    // A session without a namespace is in the app that was given.
    let request_of = GetThreadRequest {
        thread: by_session(session(&other, "ada", "small-talk")),
    };
    let small = client.call(request_of).await.thread.unwrap();
    assert_eq!(small.message_count, 1);

    // The conversation goes on here, and a second import leaves it alone.
    client
        .append_text(&working.thread_id, "And Charles de Gaulle?")
        .await;
    let (before, working) = (
        seconds(&client, &app, "ada").await,
        client.call(request()).await.working_memory.unwrap(),
    );
    let second = source.import(&other);
    assert_eq!(numbers(&second, counted), [2, 0, 3, 3, 1, 0]);
    let after = client.call(request()).await.working_memory.unwrap();
    assert_eq!(after.etag, working.etag);
    assert_eq!(after.messages, working.messages);
    assert_eq!(seconds(&client, &app, "ada").await, before);
}

#[apply(trial)]
async fn parts_of_a_foreign_file_that_are_wrong_are_named() {
    let app = app();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.json").display().to_string();
    let import = |system: &str, document: Value, more: &[&str]| -> Finished {
        fs::write(&path, document.to_string()).unwrap();
        let args = [
            "import",
            &path,
            "--from",
            system,
            "--app",
            &app,
            "--json",
            "--no-wait",
        ];
        recollect_at(&PLAIN.ready().addr, Key::Acme, &[&args, more].concat())
    };
    let memories = json!({"results": [
        {"id": "1", "memory": "Likes tea", "user_id": "ada"},
        {"id": "2", "user_id": "ada"},
        {"id": "3", "memory": "x".repeat(5_000), "user_id": "ada"},
        {"id": "4", "memory": "Likes jam", "user_id": "ada", "created_at": "yesterday"},
        {"id": "5", "memory": "Likes figs", "user_id": "ada",
         "metadata": {"note": "n".repeat(20_000)}},
    ]});
    let finished = import("mem0", memories, &[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let summary = finished.json();
    assert_eq!(numbers(&summary, ["memories", "refused"]), [2, 3]);
    let places: Vec<&str> = summary["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["place"].as_str().unwrap())
        .collect();
    for place in ["results[1]", "results[2]", "results[3]"] {
        assert!(
            places.iter().any(|found| found.contains(place)),
            "{summary}"
        );
    }
    let left_out = json!({"metadata above 16 KiB or 5 levels": 1});
    assert_eq!(summary["left_out"], left_out);

    let nothing = import("zep", json!({"color": "blue"}), &[]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    let again = import("redis", json!([]), &["--again"]);
    assert_eq!(again.code, Some(2), "{again:?}");
}
