//! Memories of nodes: reading a dialogue.

use memory_contract::proto::{
    AddNodeTurnRequest, FileRef, FileType, FlushNodeMemoryRequest, GetNodeHistoryRequest,
    ListNodeMemoriesRequest, NodeMessageInput, NodeRef, Role, add_node_turn_request::Parent,
    file_ref,
};
use recollect_tests::{
    Client, PLAIN, app, apply, node, node_texts, node_turn, reply, say, says, thread_of, trial,
};
use tonic::Code;
use uuid::Uuid;

use crate::plain;

pub async fn planner(client: &Client) -> NodeRef {
    let thread_id = client.thread(&app()).await;
    node(&thread_id, "planner")
}

pub fn ask(node: &NodeRef, current: &str) -> GetNodeHistoryRequest {
    GetNodeHistoryRequest {
        node: Some(node.clone()),
        current_message_id: current.to_owned(),
        ..Default::default()
    }
}

pub fn with_ids(
    mut request: AddNodeTurnRequest,
    user: &str,
    assistant: &str,
) -> AddNodeTurnRequest {
    let name = |side: &mut Option<NodeMessageInput>, id: &str| {
        side.as_mut().unwrap().message_id = id.to_owned();
    };
    name(&mut request.user, user);
    name(&mut request.assistant, assistant);
    request
}

pub fn after(parent: &str, request: AddNodeTurnRequest) -> AddNodeTurnRequest {
    AddNodeTurnRequest {
        parent: Some(Parent::ParentMessageId(parent.to_owned())),
        ..request
    }
}

#[apply(trial)]
async fn d02_a_nodes_memory_needs_a_conversation() {
    let client = plain().await;
    let nowhere = NodeRef {
        thread: None,
        node_id: "planner".to_owned(),
    };
    let field = "node.thread";
    let add = client.refused(node_turn(&nowhere, "Q", "A")).await;
    add.names_field(field);
    let flush = FlushNodeMemoryRequest {
        node: Some(nowhere.clone()),
    };
    let flush = client.refused(flush).await;
    flush.names_field(field);
    let history = client.refused(ask(&nowhere, "")).await;
    history.names_field(field);
    let list = client.refused(ListNodeMemoriesRequest::default()).await;
    list.names_field("thread");

    let malformed = client
        .refused(node_turn(&node("x", "planner"), "Q", "A"))
        .await;
    malformed.names_field("node.thread.thread_id");
}

#[apply(trial)]
async fn d12_a_turn_has_files_on_both_sides() {
    let client = plain().await;
    let node = planner(&client).await;
    let file = |location| FileRef {
        r#type: FileType::Image.into(),
        location: Some(location),
        ..Default::default()
    };
    let asked = file(file_ref::Location::Url("https://example.com/a.png".into()));
    let made = file(file_ref::Location::Url("https://example.com/b.png".into()));
    let request = AddNodeTurnRequest {
        node: Some(node.clone()),
        user: Some(NodeMessageInput {
            files: vec![asked.clone()],
            ..says("Make it blue.")
        }),
        assistant: Some(NodeMessageInput {
            files: vec![made.clone()],
            ..says("Here it is.")
        }),
        ..Default::default()
    };
    let added = client.call(request).await;
    for flushed in [false, true] {
        if flushed {
            assert_eq!(client.flush_node(&node).await.flushed_turn_count, 1);
            assert_eq!(client.flush_node(&node).await.flushed_turn_count, 0);
        }
        let history = client.call(ask(&node, "")).await;
        let [user, assistant] = history.messages.as_slice() else {
            panic!("{history:?}");
        };
        assert_eq!(user.message_id, added.user_message_id);
        assert_eq!(assistant.message_id, added.assistant_message_id);
        assert_eq!(user.parent_message_id, "");
        assert_eq!(assistant.parent_message_id, user.message_id);
        assert_eq!(
            (user.role(), assistant.role()),
            (Role::User, Role::Assistant)
        );
        for (message, file) in [(user, &asked), (assistant, &made)] {
            assert_eq!(message.files.len(), 1);
            assert_eq!(message.files[0].location, file.location);
            assert_eq!(message.files[0].r#type, file.r#type);
            assert!(!message.files[0].dangling);
            assert!(message.token_count > 3 && message.create_time.is_some());
        }
        let tokens: i32 = history.messages.iter().map(|m| m.token_count).sum();
        assert_eq!(history.total_tokens, tokens);
    }
}

#[apply(trial)]
async fn d13_a_nodes_history_has_a_budget_of_2000_tokens() {
    let client = plain().await;
    let node = planner(&client).await;
    let answer = "word ".repeat(180);
    for number in 0..20 {
        let turn = node_turn(&node, &format!("Question {number}"), &answer);
        client.call(turn).await;
    }
    let history = client.call(ask(&node, "")).await;
    assert!(history.truncated && !history.content_truncated);
    assert!(history.total_tokens <= 2_000, "{}", history.total_tokens);
    assert!(history.total_tokens > 1_700, "{}", history.total_tokens);
    assert_eq!(history.messages[0].role(), Role::User);
    assert_eq!(history.messages.len() % 2, 0);
    assert_eq!(history.tokenizer, "o200k_base");
    let newest = &history.messages[history.messages.len() - 2];
    assert_eq!(newest.content, "Question 19");

    let short = GetNodeHistoryRequest {
        max_messages: Some(3),
        ..ask(&node, "")
    };
    assert_eq!(client.call(short).await.messages.len(), 2);
}

#[apply(trial)]
async fn d13_the_budget_counts_in_the_models_own_tokens() {
    let client = plain().await;
    let node = planner(&client).await;
    client
        .add_node_turn(&node, "Grüße aus Köln, schön!", "はじめまして。")
        .await;
    let old = GetNodeHistoryRequest {
        model: "text-davinci-003".to_owned(),
        ..ask(&node, "")
    };
    let (new, old) = (client.call(ask(&node, "")).await, client.call(old).await);
    assert_eq!(old.tokenizer, "p50k_base");
    assert!(old.total_tokens > new.total_tokens, "{old:?} {new:?}");
}

#[apply(trial)]
async fn d15_a_cleared_memory_is_empty_at_once() {
    let client = plain().await;
    let node = planner(&client).await;
    assert_eq!(client.delete_node(&node).await, 0);
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    let object = PLAIN.data().join("objects").join(key);
    assert!(object.is_file(), "{}", object.display());
    client.add_node_turn(&node, "3", "4").await;
    assert_eq!(client.delete_node(&node).await, 4);
    assert!(client.node_dialogue(&node, "").await.is_empty());
    assert!(client.node_memories(thread_of(&node)).await.is_empty());
    assert!(!object.exists(), "the object goes with it");
    assert_eq!(client.delete_node(&node).await, 0);

    // It starts again, and nothing old comes back.
    client.add_node_turn(&node, "5", "6").await;
    assert_eq!(client.node_dialogue(&node, "").await, ["5", "6"]);
    assert_eq!(client.flush_node(&node).await.flushed_turn_count, 1);
    assert_eq!(client.node_dialogue(&node, "").await, ["5", "6"]);
}

#[apply(trial)]
async fn d16_a_nodes_history_follows_the_regenerated_branch() {
    let client = plain().await;
    let node = planner(&client).await;
    let first = client.add_node_turn(&node, "1", "2").await;
    let second = client.add_node_turn(&node, "3", "4").await;
    client.flush_node(&node).await;
    // Another second turn, and one that continues it.
    let again = node_turn(&node, "3 again", "4 again");
    let again = client.call(after(&first.assistant_message_id, again)).await;
    client.add_node_turn(&node, "5", "6").await;
    for _ in 0..2 {
        let last = client.node_dialogue(&node, "").await;
        assert_eq!(last, ["1", "2", "3 again", "4 again", "5", "6"]);
        for (current, path) in [
            (
                &second.assistant_message_id,
                ["1", "2", "3", "4"].as_slice(),
            ),
            (
                &again.assistant_message_id,
                &["1", "2", "3 again", "4 again"],
            ),
            (&second.user_message_id, &["1", "2", "3"]),
            (&first.assistant_message_id, &["1", "2"]),
        ] {
            assert_eq!(client.node_dialogue(&node, current).await, path);
        }
        client.flush_node(&node).await;
    }
    // A second beginning.
    let root = AddNodeTurnRequest {
        parent: Some(Parent::Root(())),
        ..node_turn(&node, "A", "B")
    };
    client.call(root).await;
    assert_eq!(client.node_dialogue(&node, "").await, ["A", "B"]);
}

#[apply(trial)]
async fn d17_a_budget_cuts_the_thread_that_was_extracted() {
    let client = plain().await;
    let node = planner(&client).await;
    let first = client.add_node_turn(&node, "1", "2").await;
    let mut last = first.assistant_message_id.clone();
    for number in 0..5 {
        let turn = after(&last, node_turn(&node, &format!("u{number}"), "ok"));
        last = client.call(turn).await.assistant_message_id;
        // Off the path: its messages must not use the budget.
        let off_path = node_turn(&node, &"noise ".repeat(500), "noise");
        client
            .call(after(&first.assistant_message_id, off_path))
            .await;
    }
    let all = client.call(ask(&node, &last)).await;
    assert!(!all.truncated);
    let expected = [
        "1", "2", "u0", "ok", "u1", "ok", "u2", "ok", "u3", "ok", "u4", "ok",
    ];
    assert_eq!(node_texts(&all.messages), expected);
    // Whole turns, the newest of the path.
    let newest: i32 = all.messages[8..].iter().map(|m| m.token_count).sum();
    for (max_tokens, kept) in [(newest, 4), (newest + 1, 4), (newest - 1, 2)] {
        let request = GetNodeHistoryRequest {
            max_tokens: Some(max_tokens),
            ..ask(&node, &last)
        };
        let history = client.call(request).await;
        assert!(history.truncated && history.total_tokens <= max_tokens);
        assert_eq!(node_texts(&history.messages), expected[12 - kept..]);
    }
}

#[apply(trial)]
async fn d20_nodes_have_separate_memories() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let (planner, critic) = (node(&thread_id, "planner"), node(&thread_id, "critic"));
    let elsewhere = node(&client.thread(&app()).await, "planner");
    for (node, word) in [
        (&planner, "plan"),
        (&critic, "critique"),
        (&elsewhere, "other"),
    ] {
        // An id may be used in each.
        client
            .call(with_ids(node_turn(node, word, word), "u1", "a1"))
            .await;
    }
    for flushed in [false, true] {
        for (node, word) in [
            (&planner, "plan"),
            (&critic, "critique"),
            (&elsewhere, "other"),
        ] {
            if flushed {
                client.flush_node(node).await;
            }
            assert_eq!(client.node_dialogue(node, "a1").await, [word, word]);
        }
    }
    client.delete_node(&critic).await;
    assert_eq!(client.node_dialogue(&planner, "").await, ["plan", "plan"]);
}

#[apply(trial)]
async fn d20_a_node_in_a_loop_builds_on_its_earlier_iterations() {
    let client = plain().await;
    let node = planner(&client).await;
    let mut expected = Vec::new();
    for iteration in 0..12 {
        assert_eq!(client.node_dialogue(&node, "").await, expected);
        let (question, answer) = (format!("q{iteration}"), format!("a{iteration}"));
        client.add_node_turn(&node, &question, &answer).await;
        if iteration % 3 > 0 {
            client.flush_node(&node).await;
        }
        expected.extend([question, answer]);
    }
    assert_eq!(client.node_dialogue(&node, "").await, expected);
}

#[apply(trial)]
async fn a_message_of_the_thread_selects_the_nearest_one_of_the_node() {
    let client = plain().await;
    let node = planner(&client).await;
    let thread_id = thread_of(&node).to_owned();
    let one = async |message| {
        let stored = client.append(&thread_id, vec![message]).await;
        stored.messages[0].message_id.clone()
    };
    let before = one(say(Role::User, "Hello")).await;
    let hello = one(say(Role::Assistant, "Hi")).await;
    let question = one(say(Role::User, "Plan a trip")).await;
    let turn = with_ids(node_turn(&node, "Plan a trip", "A plan"), &question, "made");
    client.call(turn).await;
    let answer = one(say(Role::Assistant, "Here is a plan")).await;
    let next = one(say(Role::User, "And a hotel?")).await;
    for flushed in [false, true] {
        if flushed {
            client.flush_node(&node).await;
        }
        // The question stands for the whole turn that belongs to it.
        for later in [&question, &answer, &next] {
            let dialogue = client.node_dialogue(&node, later).await;
            assert_eq!(dialogue, ["Plan a trip", "A plan"]);
        }
        for earlier in [&before, &hello] {
            assert!(client.node_dialogue(&node, earlier).await.is_empty());
        }
    }
    // On another branch, it was never said.
    let aside = one(reply(&hello, Role::User, "Forget it")).await;
    assert!(client.node_dialogue(&node, &aside).await.is_empty());
    let second = with_ids(node_turn(&node, "Forget it", "Done"), &aside, "made too");
    let second = AddNodeTurnRequest {
        parent: Some(Parent::Root(())),
        ..second
    };
    client.call(second).await;
    let after_aside = one(say(Role::Assistant, "Fine")).await;
    let dialogue = client.node_dialogue(&node, &after_aside).await;
    assert_eq!(dialogue, ["Forget it", "Done"]);
    let dialogue = client.node_dialogue(&node, &next).await;
    assert_eq!(dialogue, ["Plan a trip", "A plan"]);
}

#[apply(trial)]
async fn an_unknown_message_is_not_found() {
    let client = plain().await;
    let node = planner(&client).await;
    let other = client.thread(&app()).await;
    let others = client.append_turn(&other, "Q", "A").await;
    client.add_node_turn(&node, "1", "2").await;
    let never = Uuid::new_v4().to_string();
    for unknown in ["no-such", &never, &others.messages[0].message_id] {
        let history = client.refused(ask(&node, unknown)).await;
        history.is(Code::NotFound, "MESSAGE_NOT_FOUND");
    }
}

#[apply(trial)]
async fn a_cleared_thread_has_no_memories() {
    let client = plain().await;
    let node = planner(&client).await;
    client.add_node_turn(&node, "1", "2").await;
    client.flush_node(&node).await;
    client.add_node_turn(&node, "3", "4").await;
    client.clear_thread(thread_of(&node)).await;
    assert!(client.node_dialogue(&node, "").await.is_empty());
    // The same ids again, after the old object or over it.
    client.add_node_turn(&node, "5", "6").await;
    client.flush_node(&node).await;
    assert_eq!(client.node_dialogue(&node, "").await, ["5", "6"]);
}
