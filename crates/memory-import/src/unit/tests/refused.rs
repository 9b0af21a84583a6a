//! Files that are refused, in words that say what they are.

use super::*;

/// The words of the refusal of a file.
fn refusal(content: &str) -> String {
    let (_dir, path) = file("f.json", content);
    let found = read(&path);
    assert_eq!(
        (found.messages, found.problems),
        (vec![], vec![]),
        "{content}"
    );
    found.refusal.unwrap_or_else(|| panic!("{content}"))
}

#[test]
fn unknown_content_is_refused_in_words_that_say_what_it_is() {
    for (content, what) in [
        (
            r#"[{"type": "foo", "x": 1}, {"type": "foo", "x": 2}]"#,
            "a JSON list of 2 objects with the keys type, x.",
        ),
        (
            r#"[{"type": "page", "title": "My diary", "content": [7]}]"#,
            "a JSON list of 1 object with the keys content, title, type.",
        ),
        (
            r#"[["a", "b"], ["c"]]"#,
            "a JSON list of 2 entries, the first one a list.",
        ),
        (r#"{"color": "blue"}"#, "a JSON object with the key color."),
        (
            r#"[{"type": "phone_call", "caller": "Ada", "text": "I like tea"},
                {"type": "video_call", "caller": "Bob"}]"#,
            "a JSON list of 2 objects with the keys caller, text, type.",
        ),
        (
            r#"[{"parts": [{"sku": 1}], "name": "engine"}]"#,
            "a JSON list of 1 object with the keys name, parts.",
        ),
        (
            r#"{"input": [{"type": "mcp_diary", "text": "I like tea"}]}"#,
            "a JSON object with the key input.",
        ),
        (
            r#"{"type": "user", "message": {"role": "user", "content": "fix"}}"#,
            "a JSON object with the keys message, type.",
        ),
        (
            "{\n\"color\": \"blue\"}",
            "a JSON object with the key color.",
        ),
        (
            "Dear diary,\nI like tea.",
            "a text, neither JSON nor a table",
        ),
        ("name,price\ntea,2\n", "a text, neither JSON nor a table"),
    ] {
        let words = refusal(content);
        assert!(
            words.starts_with("its format is not known: it is "),
            "{words}"
        );
        assert!(words.contains(what), "{words}");
        assert!(words.ends_with("choose one with --from"), "{words}");
        assert!(
            words.contains("chatgpt, claude, slack, langchain, n8n"),
            "{words}"
        );
    }
}

#[test]
fn what_holds_nothing_is_refused() {
    for (content, words) in [
        ("", "the file is empty"),
        (" \n\u{feff}\n", "the file is empty"),
        (
            "[]",
            "there is nothing to import: it is a JSON list without entries",
        ),
        (
            r#"[{"uuid": "1", "name": "", "chat_messages": []}]"#,
            "there is nothing to import: it is a JSON list of 1 object with the keys \
             chat_messages, name, uuid",
        ),
        (
            r#"{"user": {"user_id": "ada"}, "memories": [], "memory_categories": []}"#,
            "there is nothing to import: it is JSON Lines that begin with a JSON object with the \
             keys memories, memory_categories, user",
        ),
        (
            "id,session_id,message\n",
            "there is nothing to import: it is a table",
        ),
    ] {
        let refusal = refusal(content);
        assert!(refusal.starts_with(words), "{refusal}");
    }
}

#[test]
fn folders_and_archives_without_an_export_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), "tea").unwrap();
    let refusal = read(dir.path()).refusal.unwrap();
    assert!(
        refusal.contains("with 1 file, and without conversations.json"),
        "{refusal}"
    );
    let named = read_as(dir.path(), Format::System(System::Zep))
        .refusal
        .unwrap();
    assert!(named.ends_with("name a file in it"), "{named}");
    let (_dir, path) = file("broken.zip", b"PK\x03\x04 not an archive");
    let refusal = read(&path).refusal.unwrap();
    assert!(
        refusal.starts_with("the zip archive cannot be read"),
        "{refusal}"
    );
}

#[test]
fn an_archive_with_one_file_of_empty_conversations_is_named_in_the_singular() {
    let dir = tempfile::tempdir().unwrap();
    let empty = r#"[{"uuid": "1", "name": "", "chat_messages": []}]"#;
    fs::write(dir.path().join("conversations.json"), empty).unwrap();
    assert_eq!(
        read(dir.path()).refusal.unwrap(),
        "there is nothing to import: it is a folder with 1 file of conversations"
    );
}

#[test]
fn a_folder_with_several_exports_is_refused_and_each_of_them_read() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, from: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(export(from), path).unwrap();
    };
    put("home/conversations.json", "claude.json");
    put("team/users.json", "slack/users.json");
    put(
        "team/general/2025-03-02.json",
        "slack/general/2025-03-02.json",
    );
    put("work/conversations.json", "chatgpt.json");
    assert_eq!(
        read(dir.path()).refusal.unwrap(),
        "it holds several exports: home, team, work; name one of them"
    );
    for (name, threads) in [("home", 2), ("team", 2), ("work", 2)] {
        let found = read(&dir.path().join(name));
        assert_eq!(
            (found.threads.len(), found.refusal),
            (threads, None),
            "{name}"
        );
    }
    // The format tells them apart.
    let slack = read_as(dir.path(), Format::System(System::Slack));
    assert_eq!((slack.threads.len(), slack.refusal), (2, None));

    put(
        "other/general/2025-03-01.json",
        "slack/general/2025-03-01.json",
    );
    let slack = read_as(dir.path(), Format::System(System::Slack));
    assert_eq!(
        slack.refusal.unwrap(),
        "it holds several exports: other, team; name one of them"
    );
}

#[test]
fn a_broken_file_of_an_export_does_not_keep_the_others_out() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("conversations-000.json"), "[{\"mapping\": ").unwrap();
    fs::copy(
        export("chatgpt.json"),
        dir.path().join("conversations-001.json"),
    )
    .unwrap();
    let found = read(dir.path());
    assert_eq!(found.messages, read(&export("chatgpt.json")).messages);
    let [broken, _] = &found.problems[..] else {
        panic!("{:?}", found.problems)
    };
    let begin = "conversations-000.json: it is not valid JSON";
    assert!(broken.starts_with(begin), "{broken}");
    assert_eq!(found.refusal, None);
}

#[test]
fn a_list_that_breaks_off_is_imported_as_far_as_it_goes() {
    let text = fs::read_to_string(export("claude.json")).unwrap();
    let end = text.find("\"name\": \"Empty\"").unwrap();
    let (_dir, path) = file("f.json", &text[..end]);
    let found = read(&path);
    assert_eq!(found.threads.len(), 2);
    assert!(found.refusal.unwrap().starts_with("it is not valid JSON"));
}

#[test]
fn exports_of_other_products_are_not_stored_as_new() {
    let source = Source {
        file: export("claude.json"),
        format: Format::Auto,
        again: true,
        defaults: Defaults {
            app: "default".to_owned(),
            user: None,
            session: None,
        },
    };
    let refusal = source.read(|unit| panic!("{unit:?}")).unwrap_err();
    assert!(refusal.starts_with("--again"), "{refusal}");
}
