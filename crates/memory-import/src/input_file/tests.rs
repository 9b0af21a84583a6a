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
    let place = format!("! line {}: the file cannot be read further", records.len());
    assert!(last.starts_with(&place), "{last}");
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
fn files_that_are_nothing_of_the_kind_are_refused() {
    for text in ["", "  \n ", "hello", "{\n\"a\": 1\n}"] {
        assert!(records(text, Format::Auto).is_err(), "{text:?}");
    }
}
