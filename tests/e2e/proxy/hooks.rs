//! `recollect hook`, which answers the hooks that `recollect connect` sets.

use std::fs;

use memory_contract::proto::{GetHistoryRequest, Role};
use recollect_tests::{
    Key, PLAIN, app, apply, by_session, history_request, recollect_reading, session, text_of, trial,
};
use serde_json::{Value, json};

use crate::plain;

#[apply(trial)]
async fn hooks_store_prompts_and_bring_memory_to_the_next_session() {
    let app = app();
    let args = ["hook", "--app", &app, "--user", "ada"];
    let addr = &PLAIN.ready().addr;
    let fire = |event: Value| recollect_reading(addr, Key::Acme, &args, &event.to_string()).ok();
    let prompt = |session: &str, prompt: &str| {
        fire(
            json!({"hook_event_name": "UserPromptSubmit", "session_id": session,
            "transcript_path": "/nowhere", "cwd": "/", "prompt": prompt}),
        )
    };
    let first = prompt("one", "My dog is called Pixel.");
    assert_eq!(first.stdout, "");
    fire(
        json!({"hook_event_name": "Stop", "session_id": "one", "stop_hook_active": false,
        "last_assistant_message": "A fine name."}),
    );
    // Two files of the agent may have the hook; the same words later are another prompt.
    let folder = tempfile::tempdir().unwrap();
    let transcript = folder.path().join("transcript.jsonl");
    let go_on = || {
        fire(
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "three",
            "transcript_path": &transcript, "prompt": "Go on."}),
        )
    };
    fs::write(&transcript, "{}").unwrap();
    go_on();
    go_on();
    fs::write(&transcript, "{}{}").unwrap();
    go_on();
    assert_eq!(said(&app, "three").await.len(), 2);

    let second = prompt("two", "What is my dog called?");
    assert!(second.stdout.contains("Pixel"), "{second:?}");
    assert!(
        second.stdout.starts_with("Each line below quotes"),
        "{second:?}"
    );
    // The agent has its own conversation.
    let own = prompt("one", "What is my dog called?");
    assert!(!own.stdout.contains("My dog is called Pixel"), "{own:?}");
    assert_eq!(
        said(&app, "one").await,
        [
            (Role::User, "My dog is called Pixel.".to_owned()),
            (Role::Assistant, "A fine name.".to_owned()),
            (Role::User, "What is my dog called?".to_owned())
        ]
    );

    // The code 2 would remove the prompt.
    for wrong in [&["hook", "--nothing"][..], &["hook"]] {
        let ended = recollect_reading(addr, Key::Acme, wrong, "");
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(!ended.stderr.is_empty(), "{ended:?}");
    }

    // The agent goes on without Recollect, and with events of any kind.
    let away = recollect_reading(
        "127.0.0.1:1",
        Key::Acme,
        &args,
        "{\"hook_event_name\": \
        \"UserPromptSubmit\", \"session_id\": \"x\", \"prompt\": \"y\"}",
    )
    .ok();
    assert_eq!(away.stdout, "");
    assert!(!away.stderr.is_empty());
    for event in [
        "",
        "{}",
        "{\"hook_event_name\": \"Other\", \"session_id\": \"x\"}",
    ] {
        assert_eq!(
            recollect_reading(addr, Key::Acme, &args, event).ok().stdout,
            ""
        );
    }
}

#[apply(trial)]
async fn hooks_of_codex_store_each_turn_once() {
    let app = app();
    let args = ["hook", "--app", &app, "--user", "ada"];
    let addr = &PLAIN.ready().addr;
    // As codex-rs/hooks/schema/generated/*.command.input.schema.json of Codex.
    let event = |name: &str, session: &str, turn: &str| {
        json!({"hook_event_name": name, "session_id": session, "turn_id": turn, "cwd": "/",
            "model": "gpt-5", "permission_mode": "default", "transcript_path": null})
    };
    let fire = |mut event: Value, field: &str, text: Value| {
        event[field] = text;
        recollect_reading(addr, Key::Acme, &args, &event.to_string()).ok()
    };
    let prompt = |session, turn, text: &str| {
        fire(
            event("UserPromptSubmit", session, turn),
            "prompt",
            text.into(),
        )
    };
    let answer = |session, turn, text: Value| {
        fire(event("Stop", session, turn), "last_assistant_message", text)
    };
    // The user's hooks and those of a plugin may both be Recollect's.
    prompt("one", "1", "My dog is called Pixel.");
    prompt("one", "1", "My dog is called Pixel.");
    assert_eq!(answer("one", "1", "A fine name.".into()).stdout, "");
    let silent = answer("one", "2", Value::Null);
    assert_eq!((silent.stdout, silent.stderr), Default::default());
    assert_eq!(
        said(&app, "one").await,
        [
            (Role::User, "My dog is called Pixel.".to_owned()),
            (Role::Assistant, "A fine name.".to_owned())
        ]
    );
    let found = prompt("two", "3", "What is my dog called?");
    assert!(found.stdout.contains("Pixel"), "{found:?}");
}

#[apply(trial)]
async fn hooks_of_gemini_cli_answer_in_json() {
    let app = app();
    let args = ["hook", "--app", &app, "--user", "ada"];
    let addr = &PLAIN.ready().addr;
    let fire = |event: Value| recollect_reading(addr, Key::Acme, &args, &event.to_string()).ok();
    let before = |session: &str, prompt: &str| {
        fire(
            json!({"hook_event_name": "BeforeAgent", "session_id": session, "cwd": "/",
            "transcript_path": "", "timestamp": "2026-01-01T00:00:00Z", "prompt": prompt}),
        )
    };
    assert_eq!(before("one", "My dog is called Pixel.").stdout, "");
    let after = fire(
        json!({"hook_event_name": "AfterAgent", "session_id": "one", "cwd": "/",
        "transcript_path": "", "timestamp": "2026-01-01T00:00:01Z",
        "prompt": "My dog is called Pixel.", "prompt_response": "A fine name.",
        "stop_hook_active": false}),
    );
    assert_eq!(after.stdout, "");
    assert_eq!(
        said(&app, "one").await,
        [
            (Role::User, "My dog is called Pixel.".to_owned()),
            (Role::Assistant, "A fine name.".to_owned())
        ]
    );
    let found = before("two", "What is my dog called?");
    let output: Value = serde_json::from_str(&found.stdout).unwrap();
    let output = &output["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "BeforeAgent");
    let context = output["additionalContext"].as_str().unwrap();
    assert!(context.contains("Pixel"), "{context}");
}

/// Who said what in a session.
async fn said(app: &str, key: &str) -> Vec<(Role, String)> {
    let client = plain().await;
    let history = client.call(GetHistoryRequest {
        thread: by_session(session(app, "ada", key)),
        ..history_request("")
    });
    let messages = history.await.messages;
    messages
        .iter()
        .map(|message| (message.role(), text_of(message)))
        .collect()
}
