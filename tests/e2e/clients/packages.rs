//! The example of each client package in `clients/`: a chat in the terminal, run in a project
//! that has the package installed.

use std::process::Stdio;

use recollect_tests::{
    Answering, Key, LanguageModel, PLAIN, Skipped, app, apply, history_request, long_trial,
    project_dir, session, texts,
};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::plain;

#[apply(long_trial)]
async fn the_typescript_chat_remembers() -> Result<(), Skipped> {
    remembers("typescript").await
}

#[apply(long_trial)]
async fn the_go_chat_remembers() -> Result<(), Skipped> {
    remembers("go").await
}

#[apply(long_trial)]
async fn the_java_chat_remembers() -> Result<(), Skipped> {
    remembers("java").await
}

/// Chats without a model, and then with one.
async fn remembers(language: &str) -> Result<(), Skipped> {
    let client = plain().await;
    let app = app();
    let chat = |language: &str| {
        let mut command = Command::new(project_dir().join("tests/clients/run"));
        command
            .args([&format!("{language}-package"), "--chat", &app, "ada"])
            .arg("thread:1")
            .env("RECOLLECT_ADDR", &PLAIN.ready().addr)
            .env("RECOLLECT_API_KEY", Key::Acme.secret())
            .env_remove("OPENAI_BASE_URL")
            .env_remove("OPENAI_API_KEY");
        command
    };
    let shown = run(
        &mut chat(language),
        "My dog is called Pixel.\n\nWhat is my dog called?\n",
    )
    .await?;
    let (_, second) = shown
        .split_once("user: My dog is called Pixel.")
        .unwrap_or_else(|| panic!("{language}: {shown}"));
    for text in ["My dog is called Pixel.", "What is my dog called?"] {
        assert!(second.contains(text), "{language}: no {text} in {shown}");
    }

    let model = LanguageModel::new();
    model.answers(Answering::Words("Your dog is called Pixel.".to_owned()));
    let mut with_model = chat(language);
    with_model
        .env("OPENAI_BASE_URL", model.endpoint("/v1"))
        .env("OPENAI_API_KEY", "secret")
        .env("OPENAI_MODEL", "small");
    let answer = run(&mut with_model, "Are you sure?\n").await?;
    assert_eq!(answer.trim(), "Your dog is called Pixel.", "{language}");
    let asked = model.asked();
    assert_eq!(asked.len(), 1, "{language}: {asked:?}");
    assert_eq!(
        (asked[0].model.as_str(), asked[0].key.as_str()),
        ("small", "secret")
    );
    for text in ["My dog is called Pixel.", "Are you sure?"] {
        assert!(asked[0].user.contains(text), "{language}: {:?}", asked[0]);
    }

    let thread_id = client
        .resolve(session(&app, "ada", "thread:1"))
        .await
        .thread_id;
    let history = client.call(history_request(&thread_id)).await;
    let expected = [
        "My dog is called Pixel.",
        "What is my dog called?",
        "Are you sure?",
        "Your dog is called Pixel.",
    ];
    assert_eq!(texts(&history.messages), expected, "{language}");
    Ok(())
}

/// Runs a command to its end with these lines, and returns what it printed.
async fn run(command: &mut Command, lines: &str) -> Result<String, Skipped> {
    let mut running = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = running.stdin.take().unwrap();
    let sending = async move {
        // A program that is skipped does not read its input.
        let _ = input.write_all(lines.as_bytes()).await;
        drop(input);
    };
    let ((), output) = tokio::join!(sending, running.wait_with_output());
    let output = output.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return Err(Skipped(errors.trim().to_owned()));
    }
    assert!(output.status.success(), "{printed}\n{errors}");
    Ok(printed)
}
