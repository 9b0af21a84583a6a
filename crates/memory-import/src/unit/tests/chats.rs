//! The exports of ChatGPT and Claude.

use memory_contract::proto::FileType;

use super::*;

const BREAD: &str = "67c2f5a1-3b9c-8001-a4d2-0e6f7b8c9d10";
const BOAT: &str = "67c30b77-94f0-8001-b7aa-1d2e3f405162";
const TRAIN: &str = "3f2b8c10-7d4e-4a6f-9b1c-2e5d8f7a6b03";

/// The id of a node in the export of ChatGPT.
fn node(number: usize) -> String {
    format!("aaa{number:05x}-7c1e-4b52-9d3a-5f0e8b6c2d{number:02x}")
}

/// The id of a message in the export of Claude.
fn uuid(number: usize) -> String {
    format!("0192{number:04x}-5b1d-7e33-8a41-c0ffee00{number:04x}")
}

#[test]
fn conversations_of_chatgpt_keep_their_branches_and_end_where_they_were_left() {
    let found = read(&export("chatgpt.json"));
    let id = node;
    assert_eq!(
        found.threads,
        [
            (BREAD.to_owned(), "Feeding a rye starter".to_owned()),
            (BOAT.to_owned(), "A name for the boat".to_owned()),
        ]
    );
    let call = id(10);
    let expected = [
        // An edit that was abandoned, and an answer that was made anew.
        "USER : How do I feed a starter? <- root".to_owned(),
        format!(
            "ASSISTANT : With equal parts of flour and water. <- {}",
            id(3)
        ),
        "USER : How often do I feed a rye starter? <- root".to_owned(),
        format!("ASSISTANT : Once a week is plenty. <- {}", id(5)),
        format!(
            "ASSISTANT : Twice a day at room temperature ([Bread Lab](https://bread.example.org/rye)). <- {}",
            id(5)
        ),
        format!(
            "USER : [starter.jpg] + It looks like this. How much flour for 120 g in three days? \
             + [flour prices.pdf] <- {}",
            id(7)
        ),
        format!("ASSISTANT : python(print(2 * 3 * 40))#{call} <- {}", id(8)),
        format!("TOOL : python#{call} = 240 <- {call}"),
        format!("ASSISTANT : 240 g of flour. <- {}", id(11)),
    ];
    assert_eq!(found.of(BREAD), expected);
    let left_out = BTreeMap::from([
        ("contents of files (their names are kept)", 2),
        ("conversations without messages", 1),
        (
            "hidden messages (system prompts, custom instructions, tools' notes)",
            1,
        ),
        ("thoughts of the model", 2),
    ]);
    assert_eq!(found.left_out, left_out);
    // One broken conversation does not keep the others out.
    assert_eq!(found.problems, ["[2]: `mapping` is missing"]);
    assert_eq!(found.refusal, None);

    let (_, last) = found
        .messages
        .iter()
        .rfind(|(key, _)| key == BREAD)
        .unwrap();
    assert_eq!(last.external_id, id(13));
    assert_eq!(last.metadata, "{\"model\":\"gpt-4o\"}");
    // It has no time of its own.
    assert_eq!(last.create_time.unwrap().seconds, 1_740_819_707);
    let Some(Content::File(image)) = &found.messages[5].1.parts[0].content else {
        panic!("{:?}", found.messages[5])
    };
    assert_eq!(
        (image.width, image.height, image.size_bytes),
        (1_536, 2_048, 184_231)
    );
    assert_eq!(read(&export("chatgpt.json")), found, "a second time");
}

#[test]
fn a_conversation_of_chatgpt_that_was_left_before_a_branch_has_its_head_there() {
    let found = read(&export("chatgpt.json"));
    let asked = node(30);
    let expected = [
        "USER : Find a name for my boat. <- root".to_owned(),
        format!("ASSISTANT : Kittiwake. <- {asked}"),
    ];
    assert_eq!(found.of(BOAT), expected);
    assert_eq!(found.heads, [asked], "the answer that was stopped is empty");
}

#[test]
fn broken_nodes_of_chatgpt_are_named_and_those_after_them_kept() {
    let text = |role: &str, text: &str| json!({"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}});
    let node = |parent: &str, message: Value| json!({"parent": parent, "message": message});
    let conversation = json!({"id": "c", "title": null, "mapping": {
        "a": node("", text("user", "One")),
        "b": node("a", json!({"author": {"role": "assistant"}, "content": null})),
        "c": node("b", text("user", "Two")),
        "d": node("c", text("narrator", "Three")),
        "x": node("y", text("user", "Round")),
        "y": node("x", text("user", "and round")),
    }});
    let (_dir, path) = file("one.json", conversation.to_string());
    let found = read_as(&path, Format::System(System::Chatgpt));
    assert_eq!(found.of("c"), ["USER : One <- root", "USER : Two <- a"]);
    assert_eq!(
        found.problems,
        [
            "mapping.b: `content` is missing",
            "mapping.d: `role` is \"narrator\"; it has to be user, assistant, system or tool",
            ": 2 of its nodes follow each other in a circle",
        ]
    );
}

#[test]
fn conversations_of_claude_keep_tools_retries_and_attached_texts() {
    let found = read(&export("claude.json"));
    let id = uuid;
    let expected = [
        "USER : Is there a night train to Narvik? <- root".to_owned(),
        format!("ASSISTANT : No. <- {}", id(1)),
        format!(
            "ASSISTANT : I will look it up. + web_search({{\"query\":\"night train Stockholm \
             Narvik\"}})#toolu_01Narvik <- {}",
            id(1)
        ),
        format!(
            "TOOL : web_search#toolu_01Narvik = Night trains of the north\\nhttps://rail.example.org\
             /narvik\\nLeaves Stockholm at 18:08. <- {}",
            id(3)
        ),
        format!(
            "ASSISTANT : Yes, it leaves Stockholm at 18:08. <- {}#2",
            id(3)
        ),
        format!(
            "USER : Does my ticket cover a bed? + [ticket.txt]/Stockholm C to Narvik, seat 41, no \
             bed. + [ticket.png] <- {}#3",
            id(3)
        ),
        format!("ASSISTANT : No, it is a seat. <- {}", id(4)),
    ];
    assert_eq!(found.of(TRAIN), expected);
    let Some(Content::File(ticket)) = &found.messages[5].1.parts[2].content else {
        panic!("{:?}", found.messages[5])
    };
    assert_eq!(ticket.r#type(), FileType::Image, "by its name");
    assert!(found.heads.is_empty(), "the last message is the head");
    assert_eq!(found.threads[0].1, "Night train to Narvik");
    // An export without parents.
    let expected = [
        "USER : What is the capital of Norway? <- root".to_owned(),
        format!("ASSISTANT : Oslo. <- {}", id(20)),
    ];
    assert_eq!(found.of(&found.threads[1].0), expected);
    let left_out = BTreeMap::from([
        ("contents of files (their names are kept)", 1),
        ("conversations without messages", 1),
        ("thoughts of the model", 1),
    ]);
    assert_eq!(found.left_out, left_out);
    assert_eq!((found.problems, found.refusal), (vec![], None));
}

#[test]
fn attachments_of_claude_with_the_same_name_are_all_kept() {
    let attachment = |text: &str| json!({"file_name": "notes.txt", "extracted_content": text});
    let named = json!({"file_name": "notes.txt"});
    let conversation = json!([{"uuid": "c", "name": "", "chat_messages": [{
        "uuid": "m", "sender": "human", "text": "See these.",
        "attachments": [attachment("tea"), attachment("coffee"), named],
        "files": [named, named, named, named],
    }]}]);
    let (_dir, path) = file("c.json", conversation.to_string());
    let found = read(&path);
    let expected = "USER : See these. + [notes.txt]/tea + [notes.txt]/coffee + [notes.txt] + \
                    [notes.txt] <- root";
    assert_eq!(found.of("c"), [expected]);
    let left_out = BTreeMap::from([("contents of files (their names are kept)", 2)]);
    assert_eq!(found.left_out, left_out);
}

#[test]
fn an_export_in_several_files_is_read_from_its_folder_or_archive() {
    let text = fs::read_to_string(export("chatgpt.json")).unwrap();
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = all.split_at(1);
    let files = [
        ("conversations-000.json", json!(first).to_string()),
        ("conversations-001.json", json!(second).to_string()),
        (
            "user.json",
            json!({"id": "user-1", "email": "ada@example.org"}).to_string(),
        ),
    ];
    for (name, content) in &files {
        fs::write(dir.path().join(name), content).unwrap();
    }
    let whole = read(&export("chatgpt.json"));
    let folder = read(dir.path());
    assert_eq!(folder.messages, whole.messages);
    assert_eq!(
        folder.problems,
        ["conversations-001.json, [1]: `mapping` is missing"]
    );

    let path = dir.path().join("export.zip");
    let mut archive = zip::ZipWriter::new(fs::File::create(&path).unwrap());
    for (name, content) in &files {
        let options = zip::write::SimpleFileOptions::default();
        archive
            .start_file(format!("chatgpt/{name}"), options)
            .unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap();
    assert_eq!(read(&path).messages, whole.messages);
}
