use memory_contract::{
    file::{FileLocation, FileRef, FileType},
    message::Role,
};
use proptest::prelude::*;
use serde_json::json;
use time::OffsetDateTime;

use super::*;

fn message(id: &str, role: Role) -> StoredMessage {
    NodeMessage {
        id: id.to_owned(),
        parent: None,
        role,
        content: format!("says {id}"),
        files: Vec::new(),
        tokens: 3,
        thread_message: None,
        created: OffsetDateTime::UNIX_EPOCH,
    }
    .into()
}

fn turn(number: usize, parent: Option<usize>) -> WaitingTurn {
    WaitingTurn {
        id: number as i64,
        parent: parent.map(|number| format!("a{number}")),
        thread_message: None,
        messages: vec![
            message(&format!("u{number}"), Role::User),
            message(&format!("a{number}"), Role::Assistant),
        ],
    }
}

fn ids(memory: &NodeObject) -> Vec<String> {
    memory.index().ids.iter().map(|&id| id.to_owned()).collect()
}

#[test]
fn the_json_is_that_of_the_contract() {
    let file = FileRef {
        kind: FileType::Image,
        location: FileLocation::UploadFileId("file-uuid-123".to_owned()),
        name: String::new(),
        mime_type: String::new(),
        size_bytes: 0,
        caption: String::new(),
        extent: Default::default(),
    };
    let mut memory = NodeObject::default();
    memory.fold([WaitingTurn {
        id: 1,
        parent: None,
        thread_message: Some("q1".to_owned()),
        messages: vec![
            NodeMessage {
                id: "msg-001".to_owned(),
                parent: None,
                role: Role::User,
                content: "Analyze this image".to_owned(),
                files: vec![file],
                tokens: 15,
                thread_message: None,
                created: time::macros::datetime!(2026-01-07 10:00 UTC),
            }
            .into(),
            NodeMessage {
                id: "msg-002".to_owned(),
                parent: None,
                role: Role::Assistant,
                content: "This is a landscape".to_owned(),
                files: Vec::new(),
                tokens: 50,
                thread_message: None,
                created: time::macros::datetime!(2026-01-07 10:00:01 UTC),
            }
            .into(),
        ],
    }]);
    let written: serde_json::Value = serde_json::from_slice(&memory.write()).unwrap();
    let expected = json!({
        "version": 1,
        "messages": [
            {
                "message_id": "msg-001", "parent_message_id": null, "thread_message_id": "q1", "role": "user",
                "content": "Analyze this image",
                "files": [{
                    "type": "image", "transfer_method": "local_file",
                    "upload_file_id": "file-uuid-123", "belongs_to": "user"
                }],
                "token_count": 15, "created_at": "2026-01-07T10:00:00Z"
            },
            {
                "message_id": "msg-002", "parent_message_id": "msg-001", "thread_message_id": "q1", "role": "assistant",
                "content": "This is a landscape", "files": [],
                "token_count": 50, "created_at": "2026-01-07T10:00:01Z"
            }
        ]
    });
    assert_eq!(written, expected);
    let read = NodeObject::read(expected.to_string().as_bytes()).unwrap();
    assert_eq!(read.write(), memory.write());
}

#[test]
fn unknown_keys_are_ignored() {
    let object = json!({
        "version": 1, "by": "somebody else",
        "messages": [{
            "message_id": "m", "parent_message_id": null, "role": "user", "content": "hi",
            "files": [], "token_count": 1, "created_at": "2026-01-07T10:00:00+02:00", "more": [1]
        }]
    });
    let memory = NodeObject::read(object.to_string().as_bytes()).unwrap();
    assert_eq!(ids(&memory), ["m"]);
}

#[test]
fn unreadable_values_are_reported_without_their_content() {
    let one = |id: &str| {
        json!({
            "message_id": id, "parent_message_id": null, "role": "user", "content": "hush",
            "files": [], "token_count": 1, "created_at": "2026-01-07T10:00:00Z"
        })
    };
    let with_file = json!({
        "message_id": "m", "parent_message_id": null, "role": "user", "content": "hush",
        "files": [{"type": "image", "transfer_method": "tool_file", "belongs_to": "user", "url": "hush"}],
        "token_count": 1, "created_at": "2026-01-07T10:00:00Z"
    });
    for (object, why) in [
        ("hush".to_owned(), "is not the JSON"),
        (String::new(), "is not the JSON"),
        (json!({"messages": []}).to_string(), "is not the JSON"),
        (json!({"version": 1}).to_string(), "is not the JSON"),
        (
            json!({"version": 1, "messages": ["hush"]}).to_string(),
            "is not the JSON",
        ),
        (
            json!({"version": 2, "messages": []}).to_string(),
            "has the version 2",
        ),
        (
            json!({"version": 1, "messages": [one("m"), one("m")]}).to_string(),
            "has a message_id twice",
        ),
        (
            json!({"version": 1, "messages": [with_file]}).to_string(),
            "has a file without",
        ),
    ] {
        let problem = NodeObject::read(object.as_bytes()).unwrap_err();
        assert!(problem.starts_with(why), "{problem}");
        assert!(!problem.contains("hush"), "{problem}");
    }
}

#[test]
fn a_path_ends_where_parents_go_in_a_circle() {
    let messages = [("a", "b"), ("b", "a"), ("c", "gone")].map(|(id, parent)| {
        json!({
            "message_id": id, "parent_message_id": parent, "role": "user", "content": "",
            "files": [], "token_count": 1, "created_at": "2026-01-07T10:00:00Z"
        })
    });
    let object = json!({"version": 1, "messages": messages}).to_string();
    let path = |current| {
        let path = NodeObject::read(object.as_bytes())
            .unwrap()
            .into_path(current);
        path.map(|path| path.into_iter().map(|m| m.id).collect::<Vec<_>>())
    };
    assert_eq!(path(Some("a")).unwrap(), ["b", "a"]);
    assert_eq!(path(None).unwrap(), ["c"]);
    assert_eq!(path(Some("gone")), None);
}

proptest! {
    /// Each turn is in the memory once and in order, for flushes interrupted after any
    /// number of turns and repeated any number of times.
    #[test]
    fn any_folding_keeps_each_turn_once_and_in_order(
        count in 1_usize..20,
        cuts in prop::collection::vec((0_usize..20, 0_usize..20), 0..10),
        draws in prop::collection::vec(any::<prop::sample::Index>(), 20),
    ) {
        let turns: Vec<WaitingTurn> = (0..count)
            .map(|number| {
                let parent = draws[number].index(number + 1);
                turn(number, (parent < number).then_some(parent))
            })
            .collect();
        let mut memory = NodeObject::default();
        // Turns come in order, so a flush sees a run that begins at or before
        // the first that is missing.
        let mut reached = 0;
        for (back, ahead) in cuts {
            let from = reached - back.min(reached);
            let to = (reached + ahead).min(count);
            memory.fold(turns[from..to].iter().cloned());
            reached = reached.max(to);
            // The object is written and read in between.
            memory = NodeObject::read(&memory.write()).unwrap();
        }
        memory.fold(turns.iter().cloned());
        prop_assert!(!memory.fold(turns.iter().cloned()));
        let expected: Vec<String> = (0..count)
            .flat_map(|number| [format!("u{number}"), format!("a{number}")])
            .collect();
        prop_assert_eq!(ids(&memory), expected);

        // The path to each answer is the path to its parent and the turn.
        let mut ways: Vec<Vec<String>> = Vec::new();
        for (number, turn) in turns.iter().enumerate() {
            let parent = turn.parent.as_deref().and_then(|id| id[1..].parse::<usize>().ok());
            let mut way = parent.map(|parent| ways[parent].clone()).unwrap_or_default();
            way.extend([format!("u{number}"), format!("a{number}")]);
            let read = NodeObject::read(&memory.write()).unwrap();
            let found: Vec<String> = read
                .into_path(Some(&format!("a{number}")))
                .unwrap()
                .into_iter()
                .map(|message| message.id)
                .collect();
            prop_assert_eq!(&found, &way);
            ways.push(way);
        }
    }
}
