//! Imports of what other products export: ChatGPT, Claude, Slack, LangChain, n8n and
//! OpenMemory. The files are those of `crates/memory-import/tests/exports`, which have the
//! shapes of real exports.

use std::fs;

use memory_contract::proto::{Memory, Role};
use recollect_tests::{
    Client, Finished, Key, PLAIN, app, apply, free_addr, history_request, parsed, project_dir,
    recollect, recollect_at, session, texts, trial,
};
use serde_json::{Value, json};

use crate::plain;

/// A file or folder of an export.
fn export(name: &str) -> String {
    let folder = project_dir().join("crates/memory-import/tests/exports");
    folder.join(name).display().to_string()
}

fn import(path: &str, app: &str) -> Finished {
    let args = [
        "import",
        path,
        "--app",
        app,
        "--user",
        "ada",
        "--json",
        "--no-wait",
    ];
    recollect_at(&PLAIN.ready().addr, Key::Acme, &args)
}

/// The numbers of threads, stored and known messages, memories and refused parts.
fn numbers(summary: &Value) -> [i64; 5] {
    ["threads", "stored", "known", "memories", "refused"].map(|name| {
        let number = summary[name].as_i64();
        number.unwrap_or_else(|| panic!("{name}: {summary}"))
    })
}

/// The id of a conversation, and its history: each message's role and text.
async fn history(client: &Client, app: &str, key: &str) -> (String, Vec<(Role, String)>) {
    let thread_id = client.resolve(session(app, "ada", key)).await.thread_id;
    let history = client.call(history_request(&thread_id)).await;
    let said = texts(&history.messages).into_iter();
    let roles = history.messages.iter().map(|message| message.role());
    (thread_id, roles.zip(said).collect())
}

fn said(roles_and_texts: &[(Role, &str)]) -> Vec<(Role, String)> {
    let said = roles_and_texts.iter();
    said.map(|(role, text)| (*role, (*text).to_owned()))
        .collect()
}

#[apply(trial)]
async fn j28_an_export_of_chatgpt_reads_as_it_was_shown_and_keeps_its_branches() {
    let client = plain().await;
    let (app, path) = (app(), export("chatgpt.json"));
    let nowhere = free_addr();
    let preview = recollect(
        &["import", &path, "--dry-run", "--json", "--addr", &nowhere],
        &[],
    );
    assert_eq!(numbers(&preview.json()), [2, 11, 0, 0, 1]);

    let first = import(&path, &app);
    assert_eq!(first.code, Some(1), "one conversation is broken: {first:?}");
    let first = first.json();
    assert_eq!(numbers(&first), [2, 11, 0, 0, 1]);
    assert_eq!(first["errors"][0]["place"], "[2]");
    let left_out = json!({
        "contents of files (their names are kept)": 2,
        "conversations without messages": 1,
        "hidden messages (system prompts, custom instructions, tools' notes)": 1,
        "thoughts of the model": 2,
    });
    assert_eq!(first["left_out"], left_out);

    let bread = "67c2f5a1-3b9c-8001-a4d2-0e6f7b8c9d10";
    let (thread_id, shown) = history(&client, &app, bread).await;
    let expected = said(&[
        (Role::User, "How often do I feed a rye starter?"),
        (
            Role::Assistant,
            "Twice a day at room temperature ([Bread Lab](https://bread.example.org/rye)).",
        ),
        (
            Role::User,
            "It looks like this. How much flour for 120 g in three days?",
        ),
        (Role::Assistant, ""),
        (Role::Tool, ""),
        (Role::Assistant, "240 g of flour."),
    ]);
    assert_eq!(shown, expected);
    let all = texts(&client.all_messages(&thread_id).await);
    assert_eq!(all.len(), 9, "{all:?}");
    for abandoned in ["How do I feed a starter?", "Once a week is plenty."] {
        assert!(all.iter().any(|text| text == abandoned), "{all:?}");
    }
    let thread = client.get_thread(&thread_id).await;
    assert_eq!(thread.title, "Feeding a rye starter");
    assert_eq!(parsed(&thread.metadata)["default_model_slug"], "gpt-4o");

    // It was left at a question, before an answer that was stopped.
    let boat = "67c30b77-94f0-8001-b7aa-1d2e3f405162";
    let (boat_id, shown) = history(&client, &app, boat).await;
    let asked = (Role::User, "Find a name for my boat.");
    assert_eq!(shown, said(&[asked]));
    client.append_text(&boat_id, "It is blue.").await;

    let second = import(&path, &app).json();
    assert_eq!(numbers(&second), [2, 0, 11, 0, 1]);
    let (_, shown) = history(&client, &app, boat).await;
    assert_eq!(
        shown,
        said(&[asked, (Role::User, "It is blue.")]),
        "it went on here"
    );
}

#[apply(trial)]
async fn a_dry_run_says_what_is_to_be_stored_and_that_nothing_was() {
    let path = export("claude.json");
    let nowhere = free_addr();
    let preview = recollect(&["import", &path, "--dry-run", "--addr", &nowhere], &[]).ok();
    let shown = &preview.stdout;
    assert!(shown.contains("To store"), "{shown}");
    assert!(
        !shown.contains("Stored") && !shown.contains("Known"),
        "{shown}"
    );
    let last = "Nothing was stored; leave out --dry-run to import.";
    assert_eq!(shown.lines().last(), Some(last), "{shown}");
}

#[apply(trial)]
async fn j28_an_export_of_claude_reads_as_it_was_shown() {
    let client = plain().await;
    let (app, path) = (app(), export("claude.json"));
    assert_eq!(numbers(&import(&path, &app).ok().json()), [2, 9, 0, 0, 0]);
    let train = "3f2b8c10-7d4e-4a6f-9b1c-2e5d8f7a6b03";
    let (thread_id, shown) = history(&client, &app, train).await;
    let expected = said(&[
        (Role::User, "Is there a night train to Narvik?"),
        (Role::Assistant, "I will look it up."),
        (Role::Tool, ""),
        (Role::Assistant, "Yes, it leaves Stockholm at 18:08."),
        (
            Role::User,
            "Does my ticket cover a bed?\n[ticket.txt]\nStockholm C to Narvik, seat 41, no bed.",
        ),
        (Role::Assistant, "No, it is a seat."),
    ]);
    assert_eq!(shown, expected);
    let all = texts(&client.all_messages(&thread_id).await);
    assert!(all.contains(&"No.".to_owned()), "{all:?}");
    assert_eq!(numbers(&import(&path, &app).ok().json()), [2, 0, 9, 0, 0]);
}

#[apply(trial)]
async fn j28_channels_and_threads_of_slack_are_imported_once() {
    let client = plain().await;
    let (app, path) = (app(), export("slack"));
    let first = import(&path, &app);
    assert_eq!(first.code, Some(1), "one message has no time: {first:?}");
    assert_eq!(numbers(&first.json()), [3, 8, 0, 0, 1]);
    let (thread_id, shown) = history(&client, &app, "C024BE91L/1740819700.000300").await;
    let expected = said(&[
        (
            Role::User,
            "@Ben Okafor who checks the backups in #general?",
        ),
        (Role::User, "I do, tonight."),
        (Role::User, "Backups are fine."),
    ]);
    assert_eq!(shown, expected);
    let messages = client.all_messages(&thread_id).await;
    assert_eq!(messages[0].name, "Ada");
    assert_eq!(numbers(&import(&path, &app).json()), [3, 0, 8, 0, 1]);
}

#[apply(trial)]
async fn j28_messages_of_langchain_and_rows_of_n8n_are_imported_once() {
    let client = plain().await;
    let app = app();
    for name in ["langchain_dict", "langchain_dumpd"] {
        let path = export(&format!("{name}.json"));
        assert_eq!(numbers(&import(&path, &app).ok().json()), [1, 5, 0, 0, 0]);
        assert_eq!(numbers(&import(&path, &app).ok().json()), [1, 0, 5, 0, 0]);
        let (_, shown) = history(&client, &app, &format!("session:{name}")).await;
        let expected = said(&[
            (Role::System, "You answer in one sentence."),
            (Role::User, "How warm is it here?"),
            (Role::Assistant, ""),
            (Role::Tool, ""),
            (Role::Assistant, "Nine degrees, and it rains."),
        ]);
        assert_eq!(shown, expected, "{name}");
    }
    // The table and its lines are the same rows.
    let rows = import(&export("n8n.jsonl"), &app).ok().json();
    assert_eq!(numbers(&rows), [2, 5, 0, 0, 0]);
    let again = import(&export("n8n.csv"), &app).ok().json();
    assert_eq!(numbers(&again), [2, 0, 5, 0, 0]);
    let (_, shown) = history(&client, &app, "whatsapp-4790000001").await;
    let expected = said(&[
        (Role::User, "Where is order 1138?"),
        (Role::Assistant, "It left on Monday, \"express\"."),
    ]);
    assert_eq!(shown, expected);
}

#[apply(trial)]
async fn j28_a_later_export_adds_what_is_new_in_it() {
    let client = plain().await;
    let app = app();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chat.json").display().to_string();
    let texts = [
        "Which tea?",
        "Green.",
        "And at night?",
        "Rooibos.",
        "Thanks!",
    ];
    let message = |number: usize, text: &str| {
        json!({
            "uuid": format!("m{number}"),
            "parent_message_uuid": format!("m{}", number - 1),
            "sender": if number % 2 == 1 { "human" } else { "assistant" },
            "created_at": format!("2025-04-02T08:0{number}:00Z"),
            "text": text,
        })
    };
    let export = |texts: &[&str]| {
        let messages = texts.iter().zip(1..);
        let messages: Vec<Value> = messages
            .map(|(text, number)| message(number, text))
            .collect();
        let export = json!([{"uuid": "c1", "name": "Tea", "chat_messages": messages}]);
        fs::write(&path, export.to_string()).unwrap();
        import(&path, &app).ok().json()
    };
    assert_eq!(numbers(&export(&texts[..2])), [1, 2, 0, 0, 0]);
    assert_eq!(numbers(&export(&texts[..4])), [1, 2, 2, 0, 0]);
    // The first message was edited in place.
    let edited = ["Which coffee?", texts[1], texts[2], texts[3], texts[4]];
    let last = export(&edited);
    assert_eq!(numbers(&last), [1, 1, 3, 0, 0]);
    let left_out = json!({"messages that changed since (the stored ones were kept)": 1});
    assert_eq!(last["left_out"], left_out);
    let (_, shown) = history(&client, &app, "c1").await;
    let shown: Vec<String> = shown.into_iter().map(|(_, text)| text).collect();
    assert_eq!(shown, texts);

    // The ids of simple lines follow from what they say.
    let path = dir.path().join("log.jsonl").display().to_string();
    let log = |texts: &[&str]| {
        let lines = texts
            .iter()
            .map(|text| json!({"role": "user", "text": text}));
        let lines: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(&path, lines).unwrap();
        import(&path, &app).ok().json()
    };
    assert_eq!(numbers(&log(&texts[..2])), [1, 2, 0, 0, 0]);
    assert_eq!(numbers(&log(&texts)), [1, 3, 2, 0, 0]);
    let (_, shown) = history(&client, &app, "session:log").await;
    let shown: Vec<String> = shown.into_iter().map(|(_, text)| text).collect();
    assert_eq!(shown, texts);
}

#[apply(trial)]
async fn j27_memories_of_openmemory_are_imported_once() {
    let client = plain().await;
    let (app, path) = (app(), export("openmemory.json"));
    let first = import(&path, &app).ok().json();
    assert_eq!(numbers(&first), [0, 0, 0, 3, 0]);
    let left_out = json!({"changes of memories' states": 1, "deleted memories": 1});
    assert_eq!(first["left_out"], left_out);
    let memories = client.all_memories(&app, "ada").await;
    let work = memories
        .iter()
        .find(|memory| memory.topics == ["work"])
        .unwrap();
    assert_eq!(work.text, "Works at the harbor office");
    assert_eq!(parsed(&work.metadata)["app"], "cursor");
    assert_eq!(numbers(&import(&path, &app).ok().json()), [0, 0, 0, 3, 0]);
    let again = client.all_memories(&app, "ada").await;
    let etags = |memories: &[Memory]| -> Vec<String> {
        memories.iter().map(|memory| memory.etag.clone()).collect()
    };
    assert_eq!(etags(&again), etags(&memories));
}

#[apply(trial)]
async fn files_of_unknown_formats_and_without_content_are_refused_in_words() {
    let app = app();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.json").display().to_string();
    for (content, words) in [
        (
            r#"[{"type": "PushEvent", "actor": "x"}, {"type": "IssueEvent"}]"#,
            "its format is not known: it is a JSON list of 2 objects with the keys actor, type.",
        ),
        ("Dear diary", "its format is not known: it is a text"),
        (
            r#"{"input": [{"type": "mcp_diary", "text": "I like tea"}]}"#,
            "its format is not known: it is a JSON object with the key input.",
        ),
        (
            r#"{"input": [{"type": "web_search_call", "id": "a", "status": "completed"}]}"#,
            "it has no text, call of a tool or file: it is a JSON object with the key input",
        ),
        (
            "[]",
            "there is nothing to import: it is a JSON list without entries",
        ),
        (
            r#"[{"type": "message", "subtype": "channel_join", "text": "", "ts": "1.0"}]"#,
            "there is nothing to import: it is a JSON list of 1 object",
        ),
    ] {
        fs::write(&path, content).unwrap();
        let refused = import(&path, &app);
        assert_eq!(refused.code, Some(1), "{content}: {refused:?}");
        let summary = refused.json();
        assert_eq!(numbers(&summary), [0, 0, 0, 0, 1]);
        let error = summary["errors"][0]["error"].as_str().unwrap();
        assert!(error.starts_with(words), "{content}: {error}");
    }
}
