//! Times as arguments of tools, and those that a question names.

use memory_contract::proto::{MessageInput, Role, SupersedeMemoryRequest};
use recollect_tests::{Client, app, apply, memory, say, trial};
use serde_json::{Value, json};

use super::{ada, each};
use crate::plain;

const BONN: &str = "Ada's town is Bonn.";
const GRAZ: &str = "Ada's town is Graz.";
/// What was said on 10, 15 and 20 March, each in a conversation of its own.
const LUNCHES: [(u32, &str); 3] = [
    (10, "For lunch I had soup."),
    (15, "For lunch I had noodles."),
    (20, "For lunch I had ramen."),
];

/// A day of March 2024, as tools take it.
fn march(day: u32) -> String {
    format!("2024-03-{day:02}T00:00:00Z")
}

/// Stores what Ada says at the beginning of a day, in a conversation of its own. The message's id.
async fn said_on(client: &Client, app: &str, day: u32, text: &str) -> String {
    let thread_id = client.thread_of(app, "ada").await;
    let message = MessageInput {
        create_time: Some(march(day).parse().unwrap()),
        ..say(Role::User, text)
    };
    let stored = client.append(&thread_id, vec![message]).await;
    stored.messages[0].message_id.clone()
}

/// Lets Ada live in Bonn from 10 March on and in Graz from 20 March on. When Bonn became known.
async fn with_towns(client: &Client, app: &str) -> String {
    let mut towns = Vec::new();
    for (day, town) in [(10, BONN), (20, GRAZ)] {
        let mut said = memory(town);
        said.source_message_ids = vec![said_on(client, app, day, "We have settled in.").await];
        towns.push(said);
    }
    let graz = towns.pop();
    let added = client.remember(app, "ada", towns).await;
    let bonn = added.memories[0].memory.clone().unwrap();
    let moved = SupersedeMemoryRequest {
        memory_id: bonn.memory_id,
        replacement: graz,
    };
    client.call(moved).await;
    bonn.create_time.unwrap().to_string()
}

/// The towns that an answer of a tool knows.
fn towns<'a>(tool: &str, answer: &'a Value) -> Vec<&'a str> {
    match tool {
        "profile" => each(&answer["facts"], "text"),
        "context" => {
            let mut blocks = answer["blocks"].as_array().unwrap().iter();
            let known = blocks.find(|block| block["kind"] == "memories");
            let text = known.map_or("", |block| block["messages"][0]["text"].as_str().unwrap());
            let towns = [BONN, GRAZ].into_iter();
            towns.filter(|town| text.contains(town)).collect()
        }
        _ => each(&answer["memories"], "text"),
    }
}

/// The tools that read memories, each with the arguments that it needs.
fn readers() -> [(&'static str, Value); 4] {
    [
        ("recall", json!({"query": "town"})),
        ("list_memories", json!({})),
        ("profile", json!({})),
        ("context", json!({"session": "chat", "query": "town"})),
    ]
}

#[apply(trial)]
async fn f05_tools_read_memories_as_they_were_true_and_as_they_were_known() {
    let client = plain().await;
    let app = app();
    let mcp = ada(&app);
    let bonn_known = with_towns(&client, &app).await;
    let said = json!({"session": "chat", "messages": [{"role": "user", "text": "Hello!"}]});
    mcp.tool("append_messages", said).await;
    let (before, between, after) = (march(5), march(15), march(25));
    for (as_of, known_at, expected) in [
        ("", "", vec![GRAZ]),
        (before.as_str(), "", vec![]),
        (between.as_str(), "", vec![BONN]),
        (after.as_str(), "", vec![GRAZ]),
        ("", bonn_known.as_str(), vec![BONN]),
        (after.as_str(), bonn_known.as_str(), vec![BONN]),
        ("", after.as_str(), vec![]),
    ] {
        for (tool, mut arguments) in readers() {
            arguments["as_of"] = json!(as_of);
            arguments["known_at"] = json!(known_at);
            let answer = mcp.tool(tool, arguments.clone()).await;
            assert_eq!(towns(tool, &answer), expected, "{tool} {arguments}");
        }
    }
    for (tool, arguments) in readers() {
        for name in ["as_of", "known_at"] {
            let mut wrong = arguments.clone();
            wrong[name] = json!("March");
            let problem = mcp.tool_error(tool, wrong).await;
            assert!(problem.contains(&format!("`{name}`")), "{tool}: {problem}");
        }
    }
}

#[apply(trial)]
async fn f02_the_times_of_tools_bound_what_they_find() {
    let client = plain().await;
    let app = app();
    let mcp = ada(&app);
    for (day, lunch) in LUNCHES {
        said_on(&client, &app, day, lunch).await;
    }
    let between = json!({"query": "lunch", "start_time": march(12), "end_time": march(18)});
    let found = mcp.tool("recall", between.clone()).await;
    assert_eq!(each(&found["messages"], "text"), [LUNCHES[1].1]);
    let mut arguments = between;
    arguments["session"] = json!("chat");
    let context = mcp.call("context", arguments.clone()).await;
    for (day, lunch) in LUNCHES {
        assert_eq!(context.text.contains(lunch), day == 15, "{context:?}");
    }
    for name in ["start_time", "end_time"] {
        let mut wrong = arguments.clone();
        wrong[name] = json!("Tuesday");
        let problem = mcp.tool_error("context", wrong).await;
        assert!(problem.contains(&format!("`{name}`")), "{problem}");
    }
}

#[apply(trial)]
async fn f01_answers_of_tools_have_the_times_that_a_question_names() {
    let client = plain().await;
    let app = app();
    let mcp = ada(&app);
    said_on(&client, &app, 15, LUNCHES[1].1).await;
    for (tool, session) in [("recall", ""), ("context", "chat")] {
        let ask = async |query: &str| {
            let zone = "Europe/Berlin";
            let arguments = json!({"session": session, "query": query, "time_zone": zone});
            mcp.call(tool, arguments).await
        };
        let answer = ask("What did I say about lunch in March 2024?").await;
        let named = &answer.data["named_times"];
        assert_eq!(
            named.as_array().map(Vec::len),
            Some(1),
            "{tool}: {answer:?}"
        );
        let words = each(named, "text")[0];
        assert!(words.contains("March 2024"), "{tool}: {answer:?}");
        assert_eq!(each(named, "start_time"), ["2024-02-29T23:00:00Z"]);
        assert_eq!(each(named, "end_time"), ["2024-03-31T22:00:00Z"]);
        let line = answer
            .text
            .lines()
            .find_map(|line| line.strip_prefix("Time: "));
        let shown: Value = serde_json::from_str(line.unwrap()).unwrap();
        assert_eq!(shown, named[0], "{tool}: {answer:?}");

        let answer = ask("What did I say about lunch?").await;
        assert_eq!(answer.data.get("named_times"), None, "{tool}: {answer:?}");
        assert!(!answer.text.contains("Time: "), "{tool}: {answer:?}");
    }
}

#[apply(trial)]
async fn f03_recall_without_a_query_lists_what_was_said_and_stored_at_a_time() {
    let client = plain().await;
    let app = app();
    let mcp = ada(&app);
    let [soup, noodles, ramen] = LUNCHES.map(|(_, lunch)| lunch);
    for (day, lunch) in LUNCHES {
        said_on(&client, &app, day, lunch).await;
    }
    let known = client.remember_one(&app, "ada", "Ada likes noodles.").await;
    let stored = known.create_time.unwrap().to_string();
    let none: [&str; 0] = [];
    for (arguments, messages, memories) in [
        (
            json!({"start_time": march(12), "end_time": march(18)}),
            vec![noodles],
            vec![],
        ),
        (
            json!({"query": "", "end_time": march(18)}),
            vec![soup, noodles],
            vec![],
        ),
        // The newest of that time.
        (
            json!({"end_time": march(25), "top_k": 2}),
            vec![noodles, ramen],
            vec![],
        ),
        (
            json!({"start_time": stored}),
            vec![],
            vec![known.text.as_str()],
        ),
    ] {
        let found = mcp.tool("recall", arguments.clone()).await;
        assert_eq!(each(&found["messages"], "text"), messages, "{arguments}");
        assert_eq!(each(&found["memories"], "text"), memories, "{arguments}");
        for message in found["messages"].as_array().unwrap() {
            assert_eq!(message.get("score"), None, "{arguments}: {found}");
        }
    }

    let of_soup = mcp.tool("recall", json!({"end_time": march(12)})).await;
    let session = each(&of_soup["messages"], "session")[0];
    let there = json!({"session": session, "start_time": march(1)});
    let found = mcp.tool("recall", there).await;
    assert_eq!(each(&found["messages"], "text"), [soup]);
    let there = json!({"session": session, "start_time": march(12)});
    let found = mcp.tool("recall", there).await;
    assert_eq!(each(&found["messages"], "text"), none);
}
