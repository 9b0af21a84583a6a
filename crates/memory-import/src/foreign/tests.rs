//! Tests of the shapes that the readers take.

use serde_json::json;

use super::fields::time_of;
use super::*;
use crate::record::ImportRecord;

/// What a document holds, one line a record.
fn records(system: System, json: Value) -> Vec<String> {
    let defaults = Defaults {
        app: "default".to_owned(),
        user: None,
        session: None,
    };
    let mut found = Vec::new();
    let mut documents = Documents::new(system, &defaults, "f");
    documents.read(json, "", None, &mut |read| {
        found.push(match read.value {
            Ok(ImportRecord::Memory(memory)) => {
                format!("{}/{}: {}", memory.app_id, memory.user_id, memory.text)
            }
            Ok(ImportRecord::Thread(thread)) => {
                let session = thread.session.unwrap_or_default();
                format!("thread {}/{}", session.user_id, session.session_key)
            }
            Ok(ImportRecord::Message { message, .. }) => format!("message {}", message.external_id),
            Ok(ImportRecord::WorkingMemory(put)) => format!("{} messages", put.messages.len()),
            Ok(ImportRecord::LeftOut(what, count)) => format!("{count} {what}"),
            Ok(other) => format!("{other:?}"),
            Err(problem) => format!("! {}: {problem}", read.place),
        });
        true
    });
    found
}

#[test]
fn pages_lists_and_single_memories_of_mem0_are_read() {
    let memory = |id: &str| json!({"id": id, "memory": id, "user_id": "ada", "app_id": "x"});
    let page = json!({"count": 2, "next": null, "results": [memory("1"), memory("2")]});
    assert_eq!(records(System::Mem0, page), ["x/ada: 1", "x/ada: 2"]);
    let list = json!([memory("1")]);
    assert_eq!(records(System::Mem0, list), ["x/ada: 1"]);
    assert_eq!(records(System::Mem0, memory("3")), ["x/ada: 3"]);
    let wrong = records(System::Mem0, json!({"results": [7, {"id": "1"}]}));
    assert_eq!(wrong.len(), 2);
    assert!(wrong[0].starts_with("! results[0]"), "{wrong:?}");
    assert!(wrong[1].contains("`memory`"), "{wrong:?}");
}

#[test]
fn memories_of_mem0_are_recognized() {
    let memory = json!({"id": "1", "memory": "Likes tea", "user_id": "ada"});
    for document in [
        memory.clone(),
        json!([memory]),
        json!({"results": [memory], "relations": []}),
        json!({"memories": [{"memory": "Likes tea", "hash": "x"}]}),
    ] {
        assert_eq!(detected(&document), Some(System::Mem0), "{document}");
    }
    for other in [
        json!({"memory": "Likes tea"}),
        json!({"memory": {"id": "1"}, "id": "1"}),
        json!({"results": []}),
        json!({"results": [{"id": "1"}]}),
    ] {
        assert_eq!(detected(&other), None, "{other}");
    }
}

#[test]
fn an_export_of_chatgpt_may_begin_with_an_empty_or_broken_conversation() {
    let node = json!({"n": {"id": "n", "parent": null, "children": [], "message":
        {"id": "n", "author": {"role": "user"}, "content":
            {"content_type": "text", "parts": ["Hi"]}}}});
    let real = json!({"title": "y", "conversation_id": "c2", "mapping": node});
    for (first, becomes) in [
        (
            json!({"title": "x", "conversation_id": "c1", "mapping": {}, "current_node": null}),
            "1 conversations without messages",
        ),
        (
            json!({"title": "x", "conversation_id": "c1", "mapping": null}),
            "1 conversations without messages",
        ),
        (json!({"title": "x"}), "! [0]: `mapping` is missing"),
    ] {
        let document = json!([first, real]);
        assert_eq!(detected(&document), Some(System::Chatgpt), "{document}");
        let found = records(System::Chatgpt, document);
        assert_eq!(found, [becomes, "thread /c2", "message n"]);
    }
    assert_eq!(detected(&json!({"mapping": {}, "title": "x"})), None);
}

#[test]
fn a_thread_or_a_fact_of_zep_by_itself_is_read() {
    let thread = json!({"thread_id": "t", "user_id": "ada", "messages": {"items": [
        {"uuid": "m", "role": "user", "content": "Hi."}]}});
    assert_eq!(records(System::Zep, thread), ["thread ada/t", "message m"]);
    let fact = json!({"uuid": "f", "fact": "Ada likes tea", "rating": 0.9});
    assert_eq!(records(System::Zep, fact), ["default/: Ada likes tea"]);
}

#[test]
fn sessions_and_records_of_redis_are_told_apart() {
    let session = json!({"session_id": "s", "user_id": "ada", "messages": [
        {"id": "m", "role": "user", "content": "Hi."}]});
    assert_eq!(
        records(System::Redis, session.clone()),
        ["thread ada/s", "message m"]
    );
    let mut with_data = session;
    with_data["data"] = json!({"step": 1});
    assert_eq!(
        records(System::Redis, with_data),
        ["thread ada/s", "1 messages"]
    );
    let page = json!({"memories": [{"id": "r", "text": "Likes tea", "session_id": "s"}],
        "total": 1});
    assert_eq!(records(System::Redis, page), ["default/: Likes tea"]);
}

#[test]
fn times_of_python_and_postgres_are_read() {
    for text in [
        "2025-03-01T09:00:00Z",
        "2025-03-01T09:00:00",
        "2025-03-01 09:00:00",
        "2025-03-01 10:00:00+01:00",
        "2025-03-01T01:00:00.000-08:00",
        "2025-03-01 10:00:00.123+01",
        "2025-03-01 01:00:00-0800",
        "2025-03-01 14:30:00+05:30",
    ] {
        assert_eq!(
            time_of(&json!(text)).unwrap().seconds,
            1_740_819_600,
            "{text}"
        );
    }
    assert_eq!(
        time_of(&json!("2025-03-01")).unwrap().seconds,
        1_740_787_200
    );
    for wrong in [
        "yesterday",
        "2025-03-01 10:00:00+é1",
        "2025-03-01 10:00:00+1é2",
        "T+",
    ] {
        assert!(time_of(&json!(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn a_message_whose_time_cannot_be_read_is_named() {
    let langchain = |time: Value| json!({"type": "human", "content": "Hi", "created_at": time});
    let row = |time: Value| {
        json!({"session_id": "s", "id": 7, "created_at": time,
            "message": {"type": "human", "content": "Hi"}})
    };
    let claude = |time: Value| {
        json!({"uuid": "c", "chat_messages": [
            {"uuid": "m", "sender": "human", "text": "Hi", "created_at": time},
            {"uuid": "n", "sender": "assistant", "text": "Hello"}]})
    };
    let problem = "`created_at`: \"yesterday\" is not a time";
    let check = |system, document: &dyn Fn(Value) -> Value, place: &str| {
        let broken = records(system, document(json!("yesterday")));
        let is_named = |one: &String| *one == format!("! {place}: {problem}");
        assert!(broken.iter().any(is_named), "{broken:?}");
        for none in [Value::Null, json!("")] {
            let found = records(system, document(none));
            assert!(found.iter().all(|one| !one.starts_with('!')), "{found:?}");
        }
    };
    check(System::Langchain, &langchain, "");
    check(System::N8n, &row, "");
    check(System::Claude, &claude, "chat_messages[0]");
}

#[test]
fn a_file_without_anything_of_redis_is_refused() {
    for json in [
        json!([]),
        json!({}),
        json!({"foo": 1}),
        json!([{"a": 1}]),
        json!({"results": [{"memory": "x"}]}),
    ] {
        let found = records(System::Redis, json.clone());
        let refused = "! : it has no sessions or records of Redis's agent memory server";
        assert_eq!(found, [refused], "{json}");
    }
    // A server without records.
    let empty = json!({"memories": [], "total": 0});
    assert!(records(System::Redis, empty).is_empty());
}
