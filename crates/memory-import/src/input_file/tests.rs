//! Tests of how files are opened and their formats detected.

use super::*;

/// The records of a text: `session|text` or `! place: error`.
fn records(text: &str, format: Format) -> Result<Vec<String>, String> {
    records_of(text.as_bytes(), format)
}

/// The records of a stream, likewise.
fn records_of(input: impl BufRead, format: Format) -> Result<Vec<String>, String> {
    use memory_contract::proto::{part::Content, record::Kind};
    let defaults = Defaults {
        app: "default".to_owned(),
        user: None,
        session: None,
    };
    let source = InputFile {
        stem: "f".to_owned(),
        folder: "f".to_owned(),
        has_lines: false,
        format,
        defaults: &defaults,
        again: false,
    };
    let mut records = Vec::new();
    source.read(input, &mut |read| {
        records.push(match read.value {
            Ok(ImportRecord::Message {
                session, message, ..
            }) => match &message.parts[0].content {
                Some(Content::Text(text)) => format!("{}|{text}", session.session_key),
                other => format!("{other:?}"),
            },
            Ok(ImportRecord::Thread(thread)) => format!("thread {}", thread.title),
            Ok(ImportRecord::Exported(kind)) => match *kind {
                Kind::Thread(thread) => format!("exported {}", thread.title),
                other => format!("{other:?}"),
            },
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("! {}: {error}", read.place),
        });
        true
    })?;
    Ok(records)
}

#[test]
fn formats_are_detected_from_the_content() {
    let check = |text: &str, expected: &[&str]| {
        assert_eq!(records(text, Format::Auto).unwrap(), expected, "{text}");
    };
    check(
        "{\"role\":\"user\",\"text\":\"a\"}\n\n{\"role\":\"user\",\"text\":\"b\"}",
        &["session:f|a", "session:f|b"],
    );
    check(
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
        &["session:f|a"],
    );
    check(
        "{\n\"messages\":[\n{\"role\":\"user\",\"content\":\"a\"}]}",
        &["session:f|a"],
    );
    check(
        "[\n{\"role\":\"user\",\"content\":\"a\"}]",
        &["session:f|a"],
    );
    check(
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}",
        &["session:f/1|a", "session:f/2|b"],
    );
    check(
        "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]}]}",
        &["session:f|a"],
    );
    check(
        "{\n\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}",
        &["session:f|s", "session:f|a"],
    );
    check(
        "{\"input\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"input\":[{\"role\":\"user\"}]}",
        &["session:f/1|a", "! line 2: input[0].content is required"],
    );
    check(
        "{\"thread\":{\"title\":\"T\",\"appId\":\"x\",\"sessionKey\":\"k\"}}",
        &["exported T"],
    );
}

#[test]
fn a_bad_line_is_named_and_does_not_stop_the_others() {
    let text = "{\"role\":\"user\",\"text\":\"a\"}\n{oops\n{\"role\":\"nobody\",\"text\":\"x\"}\n{\"role\":\"user\",\"text\":\"b\"}\n";
    let records = records(text, Format::Auto).unwrap();
    assert_eq!(records.len(), 4);
    assert!(
        records[1].starts_with("! line 2: it is not valid JSON"),
        "{records:?}"
    );
    assert!(records[2].starts_with("! line 3: `role`"), "{records:?}");
    assert_eq!(records[3], "session:f|b");
}

#[test]
fn a_compressed_file_that_breaks_off_is_imported_as_far_as_it_goes() {
    use std::io::Write as _;

    let lines: String = (0..2_000)
        .map(|number| format!("{{\"role\":\"user\",\"text\":\"message {number}\"}}\n"))
        .collect();
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    compressed.write_all(lines.as_bytes()).unwrap();
    let compressed = compressed.finish().unwrap();
    let half = &compressed[..compressed.len() / 2];
    let input = std::io::BufReader::new(flate2::bufread::MultiGzDecoder::new(half));
    let records = records_of(input, Format::Auto).unwrap();
    let (last, before) = records.split_last().unwrap();
    assert!(before.len() > 100, "{}", before.len());
    let is_message = |one: &String| one.starts_with("session:f|message ");
    assert!(before.iter().all(is_message), "{before:?}");
    let cut_off = "the compressed file is cut off here";
    assert_eq!(*last, format!("! line {}: {cut_off}", records.len()));

    // Within the first document.
    for document in [
        format!("{{\"role\": \"user\", \"text\": {lines:?}}}"),
        format!("[{{\"uuid\": \"c\", \"text\": {lines:?}}}]"),
    ] {
        let level = flate2::Compression::fast();
        let mut compressed = flate2::write::GzEncoder::new(Vec::new(), level);
        compressed.write_all(document.as_bytes()).unwrap();
        let compressed = compressed.finish().unwrap();
        let half = &compressed[..compressed.len() / 2];
        let input = std::io::BufReader::new(flate2::bufread::MultiGzDecoder::new(half));
        assert_eq!(records_of(input, Format::Auto).unwrap_err(), cut_off);
    }
}

#[test]
fn lists_that_follow_a_list_are_read_too_and_anything_else_is_named() {
    let list = |name: &str| {
        format!(
            "[{{\"uuid\": \"{name}\", \"name\": \"{name}\", \"chat_messages\": \
             [{{\"uuid\": \"m\", \"sender\": \"human\", \"text\": \"Hi {name}\"}}]}}]"
        )
    };
    let [a, b] = ["a", "b"].map(list);
    let both = ["thread a", "a|Hi a", "thread b", "b|Hi b"];
    for text in [
        format!("{a}\n{b}\n"),
        format!("{a}{b}"),
        format!("[]\n{a}\n\n{b}"),
    ] {
        assert_eq!(records(&text, Format::Auto).unwrap(), both, "{text}");
    }
    let followed = records(&format!("{a}\n{{\"x\": 1}}"), Format::Auto).unwrap();
    let expected = ["thread a", "a|Hi a", "! : something follows the list"];
    assert_eq!(followed, expected);
}

#[test]
fn a_line_that_is_not_utf8_is_named_and_does_not_stop_the_others() {
    let line = |text: &str| format!("{{\"role\":\"user\",\"text\":\"{text}\"}}\n").into_bytes();
    let broken = b"{\"role\":\"user\",\"text\":\"caf\xe9\"}\n".to_vec();
    let read = |lines: &[&[u8]], format| records_of(&lines.concat()[..], format);
    let (a, b) = (line("a"), line("b"));
    for format in [Format::Auto, Format::Jsonl] {
        let found = read(&[&broken, &a, &broken, b"\n", &b], format).unwrap();
        let expected = [
            "! line 1: it is not UTF-8",
            "session:f|a",
            "! line 3: it is not UTF-8",
            "session:f|b",
        ];
        assert_eq!(found, expected);
    }
    let alone = read(&[&broken], Format::Auto).unwrap();
    assert_eq!(alone, ["! line 1: it is not UTF-8"]);
    // The conversations of the others keep their numbers.
    let conversation = b"{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n";
    let found = read(&[&broken, conversation], Format::Auto).unwrap();
    assert_eq!(found, ["! line 1: it is not UTF-8", "session:f/2|a"]);

    // A document of several lines is read as a whole.
    let document = b"{\n\"messages\": [\n{\"role\": \"caf\xe9\"}]}";
    let refusal = read(&[document], Format::Auto).unwrap_err();
    assert_eq!(refusal, "line 3 is not UTF-8");
    let document = b"{\"text\": \"caf\xe9\",\n\"role\": \"user\"}";
    let refusal = read(&[document], Format::Auto).unwrap_err();
    assert_eq!(refusal, "line 1 is not UTF-8");
}

#[test]
fn utf16_and_binary_files_are_named() {
    let text = "{\"role\": \"user\", \"text\": \"a\"}";
    let utf16 = |begin: &[u8]| {
        let bytes = text.encode_utf16().flat_map(u16::to_le_bytes);
        [begin, &bytes.collect::<Vec<u8>>()].concat()
    };
    for (content, words) in [
        (utf16(b"\xff\xfe"), "it is text in UTF-16: save it as UTF-8"),
        (
            utf16(b""),
            "it is a binary file, or text in UTF-16: it has NUL bytes",
        ),
        (
            b"SQLite format 3\0\x10\0".to_vec(),
            "it is a binary file, or text in UTF-16: it has NUL bytes",
        ),
    ] {
        for format in [Format::Auto, Format::Jsonl] {
            assert_eq!(records_of(&content[..], format).unwrap_err(), words);
        }
    }
}

#[test]
fn lists_of_conversations_are_read_one_by_one() {
    let check = |text: &str, format, expected: &[&str]| {
        assert_eq!(records(text, format).unwrap(), expected, "{text}");
    };
    let openai = r#"[{"session_id": "s", "messages": [{"role": "user", "content": "a"}]}, 7,
        {"messages": [{"role": "user", "content": "b"}, {"role": "user"}]}]"#;
    let expected = [
        "s|a",
        "! [1]: it must be an object",
        "session:f/3|b",
        "! [2], messages[1]: `content` is missing",
    ];
    for format in [Format::Auto, Format::Provider(Provider::OpenaiChat)] {
        check(openai, format, &expected);
    }
    let langchain = r#"[{"user_id": "bob", "messages": [{"type": "human", "content": "a"}]},
        {"thread_id": "t", "messages": [{"type": "human", "content": "b"}, {"x": 1}]}]"#;
    for format in [Format::Auto, Format::System(System::Langchain)] {
        let expected = [
            "session:f/1|a",
            "t|b",
            "! [1], messages[1]: it is no message of LangChain: `type` is missing",
        ];
        check(langchain, format, &expected);
    }
    check(
        r#"[[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]]"#,
        Format::Auto,
        &["session:f/1|a", "session:f/2|b"],
    );
    check(
        r#"[{"contents": [{"parts": [{"text": "a"}]}]}, {"contents": [{"parts": [{"text": "b"}]}]}]"#,
        Format::Auto,
        &["session:f/1|a", "session:f/2|b"],
    );
}

#[test]
fn conversations_of_opaque_parts_alone_are_refused_unless_their_format_is_given() {
    let text = r#"{"input": [{"type": "web_search_call", "id": "a", "status": "completed"},
        {"type": "mcp_call", "id": "b", "name": "n", "arguments": "", "server_label": "s"}]}"#;
    let refused = records(text, Format::Auto).unwrap();
    assert_eq!(
        refused,
        [
            "! : it has no text, call of a tool or file: it is a JSON object with the key input, \
             with nothing but parts of the kinds mcp_call, web_search_call. With --from they are \
             stored as they are"
        ]
    );
    let format = Format::Provider(Provider::OpenaiResponses);
    let stored = records(text, format).unwrap();
    assert!(
        stored[0].contains("mcp_call") || stored[0].contains("web_search"),
        "{stored:?}"
    );
}

#[test]
fn what_only_resembles_an_export_of_recollect_is_refused() {
    for text in [
        r#"{"type": "user", "message": {"role": "user", "content": "fix"}, "uuid": "x"}"#,
        r#"{"message": {"message_id": 5, "from": {}, "chat": {}, "date": 1, "text": "Hi"}}"#,
    ] {
        let refusal = records(text, Format::Auto).unwrap_err();
        assert!(refusal.contains("a JSON object with the key"), "{refusal}");
    }
}

#[test]
fn files_that_are_nothing_of_the_kind_are_refused() {
    for text in ["", "  \n ", "hello", "{\n\"a\": 1\n}"] {
        assert!(records(text, Format::Auto).is_err(), "{text:?}");
    }
}
