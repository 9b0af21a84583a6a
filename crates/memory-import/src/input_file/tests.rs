//! Tests of how files are opened and their formats detected.

use super::*;

/// The records of a text: `session|text` or `! place: error`.
fn records(text: &str, format: Format) -> Result<Vec<String>, String> {
    use memory_contract::proto::{part::Content, record::Kind};
    let defaults = Defaults {
        app: "default".to_owned(),
        user: None,
        session: None,
    };
    let source = InputFile {
        stem: "f".to_owned(),
        format,
        defaults: &defaults,
        again: false,
    };
    let mut records = Vec::new();
    source.read(text.as_bytes(), &mut |read| {
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
fn files_that_are_nothing_of_the_kind_are_refused() {
    for text in ["", "  \n ", "hello", "{\n\"a\": 1\n}"] {
        assert!(records(text, Format::Auto).is_err(), "{text:?}");
    }
}
