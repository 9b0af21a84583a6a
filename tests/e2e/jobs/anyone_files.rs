//! The import of a real conversation file.

use std::fs;

use memory_contract::proto::{GetFileContentRequest, file_ref, part};
use recollect_tests::{Key, PLAIN, app, apply, recollect_at, session, texts, trial};
use serde_json::json;

use crate::plain;

#[apply(trial)]
async fn j25_a_file_with_a_long_url_an_image_and_a_broken_record_is_imported_but_for_that() {
    let client = plain().await;
    let app = app();
    let long = format!(
        "https://files.example.org/photo.png?signature={}",
        "a".repeat(16_293)
    );
    assert_eq!(long.len(), 16_339);
    let pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let picture = |url: &str, text: &str| {
        json!({"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": text}]})
    };
    let lines = [
        picture(&long, "Who is this?").to_string(),
        json!({"role": "assistant", "content": "Ada."}).to_string(),
        json!({"role": "user", "content": "x".repeat(256 * 1024 + 1)}).to_string(),
        picture(pixel, "And this?").to_string(),
        "{\"role\": \"assistant\", \"content\":".to_owned(),
        json!({"role": "assistant", "content": "A pixel."}).to_string(),
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chat.jsonl");
    fs::write(&path, lines.join("\n")).unwrap();
    let file = path.display().to_string();
    let args = [
        "import",
        &file,
        "--app",
        &app,
        "--user",
        "ada",
        "--json",
        "--no-wait",
    ];
    let imported = recollect_at(&PLAIN.ready().addr, Key::Acme, &args);
    assert_eq!(imported.code, Some(1), "{imported:?}");
    let reported = imported.json();
    assert_eq!(
        (&reported["stored"], &reported["refused"]),
        (&json!(4), &json!(2)),
        "{reported}"
    );
    for (error, line, reason) in [
        (0, "line 3", "parts[0].text"),
        (1, "line 5", "not valid JSON"),
    ] {
        let error = &reported["errors"][error];
        assert_eq!(error["place"], line, "{reported}");
        assert!(
            error["error"].as_str().unwrap().contains(reason),
            "{reported}"
        );
    }

    let session = session(&app, "ada", "session:chat");
    let thread_id = client.resolve(session).await.thread_id;
    let stored = client.all_messages(&thread_id).await;
    assert_eq!(
        texts(&stored),
        ["Who is this?", "Ada.", "And this?", "A pixel."]
    );
    let url = |message: usize| match &stored[message].parts[0].content {
        Some(part::Content::File(file)) => match &file.location {
            Some(file_ref::Location::Url(url)) => url.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(url(0), long);
    let request = GetFileContentRequest { url: url(2) };
    let content = client.call(request).await.content;
    assert_eq!(content.len(), 70, "the image itself");
    // Again, and nothing is stored twice.
    let again = recollect_at(&PLAIN.ready().addr, Key::Acme, &args).json();
    assert_eq!(
        (&again["stored"], &again["refused"]),
        (&json!(0), &json!(2)),
        "{again}"
    );
}
