//! Messages of LangChain, rows of n8n, and memories of OpenMemory.

use memory_contract::proto::SessionRef;

use super::*;

const DIALOG: [&str; 5] = [
    "SYSTEM : You answer in one sentence.",
    "USER Ada: How warm is it here? + []",
    "ASSISTANT : weather({\"city\":\"Bergen\"})#call_kN3v",
    "TOOL : weather#call_kN3v = 9 degrees, rain",
    "ASSISTANT : Nine degrees, and it rains.",
];

#[test]
fn both_shapes_of_langchain_are_the_same_messages() {
    let dict = read(&export("langchain_dict.json"));
    assert_eq!(dict.of("session:langchain_dict"), DIALOG);
    assert_eq!(dict.problems, [""; 0]);
    let dumpd = read(&export("langchain_dumpd.json"));
    assert_eq!(dumpd.of("session:langchain_dumpd"), DIALOG);
    let message = &dict.messages[2].1;
    assert_eq!(
        message.external_id,
        "run-2c1f7a30-1111-4222-8333-444455556666-0"
    );
    assert_eq!(message.metadata, "{\"model\":\"gpt-4o-2024-08-06\"}");
    let Some(Content::File(image)) = &dict.messages[1].1.parts[1].content else {
        panic!("{:?}", dict.messages[1])
    };
    let url = "https://img.example.org/fjord.png".to_owned();
    assert_eq!(
        image.location,
        Some(memory_contract::proto::file_ref::Location::Url(url))
    );
}

#[test]
fn lists_states_and_lines_of_langchain_are_read() {
    let human = |text: &str| json!({"type": "human", "content": text});
    let ai = |text: &str| json!({"type": "ai", "data": {"content": text}});
    let lists = json!([[human("a"), ai("b")], [human("c")]]);
    let state = json!({"messages": [human("a"), ai("b")], "thread_id": "t"});
    let lines = format!("{}\n{}\n", human("a"), ai("b"));
    for (content, expected) in [
        (
            lists.to_string(),
            vec![
                "session:f/1 USER : a",
                "session:f/1 ASSISTANT : b",
                "session:f/2 USER : c",
            ],
        ),
        (state.to_string(), vec!["t USER : a", "t ASSISTANT : b"]),
        (lines, vec!["session:f USER : a", "session:f ASSISTANT : b"]),
    ] {
        let (_dir, path) = file("f.json", &content);
        assert_eq!(read(&path).said(), expected, "{content}");
    }
}

#[test]
fn conversations_belong_to_the_user_and_session_that_they_name() {
    for message in [
        json!({"role": "user", "content": "Hi"}),
        json!({"type": "human", "content": "Hi"}),
    ] {
        let lines = [
            json!({"user_id": "ada", "session_id": "1", "messages": [message]}),
            json!({"user": "ben", "app": "shop", "thread_id": 1, "messages": [message]}),
            json!({"messages": [message]}),
        ];
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let (_dir, path) = file("chats.jsonl", lines);
        let source = Source {
            file: path,
            format: Format::Auto,
            again: false,
            defaults: Defaults {
                app: "default".to_owned(),
                user: None,
                session: None,
            },
        };
        let mut owners = Vec::new();
        let each = |Placed { value, .. }| {
            let batch = match value {
                Unit::Batch(batch) => batch,
                other => panic!("{other:?}"),
            };
            let session = crate::named_session(batch.value.thread.as_ref()).unwrap();
            let SessionRef {
                app_id,
                user_id,
                session_key,
                ..
            } = session;
            owners.push(format!("{app_id} {user_id} {session_key}"));
            true
        };
        source.read(each).unwrap();
        let expected = [
            "default ada 1",
            "shop ben 1",
            "default chats session:chats/3",
        ];
        assert_eq!(owners, expected);
    }
}

#[test]
fn the_conversations_of_json_lines_are_numbered_even_if_there_is_one() {
    for message in [
        json!({"role": "user", "content": "Hi"}),
        json!({"type": "human", "content": "Hi"}),
    ] {
        let line = json!({"messages": [message]}).to_string();
        for (name, content, expected) in [
            ("f.jsonl", line.clone(), vec!["session:f/1 USER : Hi"]),
            (
                "f.jsonl",
                format!("{line}\n{line}"),
                vec!["session:f/1 USER : Hi", "session:f/2 USER : Hi"],
            ),
            ("f.json", line.clone(), vec!["session:f USER : Hi"]),
        ] {
            let (_dir, path) = file(name, &content);
            assert_eq!(read(&path).said(), expected, "{name}: {content}");
        }
    }
}

#[test]
fn calls_of_langchain_without_ids_are_answered_in_order_and_bad_messages_named() {
    let messages = json!([
        {"type": "human", "data": {"content": "Weather?"}},
        {"type": "ai", "data": {"content": [
            {"type": "thinking", "thinking": "Two cities.", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "x", "name": "weather", "input": {}}], "tool_calls": [
            {"name": "weather", "args": {"city": "Oslo"}, "id": null},
            {"name": "weather", "args": {"city": "Rome"}, "id": null}]}},
        {"type": "tool", "data": {"content": "rain", "tool_call_id": ""}},
        {"type": "tool", "data": {"content": "sun", "tool_call_id": "", "status": "error"}},
        {"type": "tool", "data": {"content": "snow", "tool_call_id": ""}},
        {"type": "narrator", "data": {"content": "Later"}},
        {"type": "remove", "data": {"content": "", "id": "1"}},
        {"type": "human", "data": {"content": [
            {"type": "image", "base64": "aGk=", "mime_type": "image/webp"},
            {"type": "chart", "points": [1, 2]}]}},
    ]);
    let (_dir, path) = file("f.json", messages.to_string());
    let found = read(&path);
    let said = found.of("session:f");
    assert!(
        said[1].contains("Reasoning") && said[1].contains("Looking."),
        "{said:?}"
    );
    assert!(
        said[1]
            .ends_with("weather({\"city\":\"Oslo\"})#call_1 + weather({\"city\":\"Rome\"})#call_2"),
        "{said:?}"
    );
    assert_eq!(said[2], "TOOL : weather#call_1 = rain");
    assert_eq!(said[3], "TOOL : weather#call_2 = sun");
    assert!(
        said[4].contains("[]") && said[4].contains("chart"),
        "{said:?}"
    );
    assert_eq!(
        found.problems,
        [
            "[4]: a tool's message lacks its `tool_call_id`",
            "[5]: its type \"narrator\" is not known",
        ]
    );
    assert_eq!(
        found.left_out,
        BTreeMap::from([("instructions to remove messages", 1)])
    );
}

#[test]
fn rows_of_n8n_are_read_as_lines_list_and_table() {
    let lines = read(&export("n8n.jsonl"));
    assert_eq!(
        lines.of("whatsapp-4790000001"),
        [
            "USER : Where is order 1138?",
            "ASSISTANT : It left on Monday, \"express\"."
        ]
    );
    assert_eq!(
        lines.of("web-7f"),
        [
            "USER : Do you ship to Malmö?",
            "ASSISTANT : weather({\"city\":\"Bergen\"})#call_kN3v",
            "TOOL : weather#call_kN3v = 9 degrees, rain",
        ]
    );
    let ids: Vec<&str> = lines
        .messages
        .iter()
        .map(|(_, one)| one.external_id.as_str())
        .collect();
    assert_eq!(ids, ["41", "42", "43", "44", "45"]);
    assert_eq!((&lines.problems, &lines.refusal), (&vec![], &None));
    assert_eq!(read(&export("n8n.csv")).messages, lines.messages);
    let text = fs::read_to_string(export("n8n.jsonl")).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (_dir, path) = file("rows.json", json!(rows).to_string());
    assert_eq!(read(&path).messages, lines.messages);
}

#[test]
fn tables_of_n8n_may_have_other_separators_and_capitals() {
    let message = "\"{\"\"type\"\":\"\"human\"\",\"\"content\"\":\"\"Hi, you\"\"}\"";
    for table in [
        format!("Session_Id,Message\ns,{message}\n"),
        format!("id;session_id;message\n1;s;{message}\n"),
        format!("\"SESSION_ID\"\t\"MESSAGE\"\ns\t{message}\n"),
    ] {
        let (_dir, path) = file("rows.csv", &table);
        let found = read(&path);
        assert_eq!(found.said(), ["s USER : Hi, you"], "{table}: {found:?}");
        assert_eq!(found.problems, [""; 0]);
    }
}

#[test]
fn broken_rows_of_n8n_are_named() {
    let good = "{\"\"type\"\":\"\"human\"\",\"\"content\"\":\"\"Hi\"\"}";
    let table = format!("id,session_id,message\n1,s,\"{good}\"\n2,s,oops\n3,,\"{good}\"\n4,s\n");
    let table = [table.as_bytes(), b"5,s,caf\xe9\n"].concat();
    let (_dir, path) = file("rows.csv", table);
    let found = read(&path);
    assert_eq!(found.said(), ["s USER : Hi"]);
    let problems = [
        "line 3: `message` is not valid JSON",
        "line 4: `session_id`",
        "line 5: it does not have the columns of the first line",
        "line 6: it is not UTF-8",
    ];
    assert_eq!(found.problems.len(), 4, "{found:?}");
    for (problem, expected) in found.problems.iter().zip(problems) {
        assert!(problem.starts_with(expected), "{problem}");
    }
}

#[test]
fn memories_of_openmemory_keep_their_owner_times_and_states() {
    let found = read(&export("openmemory.json"));
    let texts: Vec<&str> = found
        .memories
        .iter()
        .map(|memory| memory.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "Works at the harbor office",
            "Was vegetarian",
            "Drinks oat milk"
        ]
    );
    let [work, diet, _] = &found.memories[..] else {
        panic!()
    };
    assert_eq!(
        (work.app_id.as_str(), work.user_id.as_str()),
        ("default", "ada")
    );
    assert_eq!(work.topics, ["work"]);
    let metadata: Value = serde_json::from_str(&work.metadata).unwrap();
    let expected = json!({"source_app": "openmemory", "mcp_client": "cursor", "app": "cursor"});
    assert_eq!(metadata, expected);
    assert_eq!(work.create_time.unwrap().seconds, 1_748_772_000);
    assert_eq!(work.valid_from.unwrap().seconds, 1_748_943_000);
    assert_eq!(
        (work.valid_until, diet.valid_until.unwrap().seconds),
        (None, 1_751_371_200)
    );
    let left_out = BTreeMap::from([("changes of memories' states", 1), ("deleted memories", 1)]);
    assert_eq!(found.left_out, left_out);

    // The other file of the backup has the same memories, one a line.
    let lines = [
        json!({"id": work.external_id, "content": work.text, "metadata": {}, "created_at": null,
            "updated_at": null, "state": "active", "app": "cursor", "categories": ["work"]}),
        json!({"id": "x", "content": null, "metadata": {}, "created_at": null, "updated_at": null,
            "state": "active", "app": null, "categories": []}),
    ];
    let mut compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for line in lines {
        writeln!(compressed, "{line}").unwrap();
    }
    let (_dir, path) = file("memories.jsonl.gz", compressed.finish().unwrap());
    let found = read(&path);
    assert_eq!(found.memories[0].memory_id, work.memory_id);
    assert_eq!(found.memories[0].topics, ["work"]);
    assert_eq!(found.problems, ["line 2: `content` is missing"]);
}
