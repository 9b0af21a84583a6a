//! Memories of nodes along the branches of the conversation.

use memory_contract::proto::{
    AddNodeTurnRequest, BuildContextRequest, ContextBlockKind, FileRef, GetNodeHistoryRequest,
    MemoryMode, MessageInput, NodeRef, Role, SetHeadRequest,
    add_node_turn_request::{Parent, Place},
    file_ref,
};
use recollect_tests::{
    Client, app, apply, block_texts, by_id, context_request, mode, node, node_texts, node_turn,
    reply, say, thread_of, tool_call, tool_result, trial,
};
use serde_json::json;
use uuid::Uuid;

use super::conversations::{pictured, registered};
use super::dialogue::{ask, planner};
use crate::plain;

/// Stores one message; its id.
async fn store(client: &Client, node: &NodeRef, message: MessageInput) -> String {
    let stored = client.append(thread_of(node), vec![message]).await;
    stored.messages[0].message_id.clone()
}

fn under(message: &str, request: AddNodeTurnRequest) -> AddNodeTurnRequest {
    AddNodeTurnRequest {
        place: Some(Place::MessageId(message.to_owned())),
        ..request
    }
}

/// Adds three turns to a message of the thread.
async fn three(client: &Client, node: &NodeRef, message: &str, name: &str) -> Vec<String> {
    let mut said = Vec::new();
    for round in 1..=3 {
        let texts = [format!("{name} q{round}"), format!("{name} a{round}")];
        client
            .call(under(message, node_turn(node, &texts[0], &texts[1])))
            .await;
        if round == 2 {
            client.flush_node(node).await;
        }
        said.extend(texts);
    }
    said
}

#[apply(trial)]
async fn d16_a_nodes_dialogue_follows_the_conversations_branches() {
    let client = plain().await;
    let node = planner(&client).await;
    let question = store(&client, &node, say(Role::User, "Plan it.")).await;
    let mut answers = Vec::new();
    for name in ["first", "second", "third"] {
        let said = three(&client, &node, &question, name).await;
        assert_eq!(client.node_dialogue(&node, &question).await, said);
        let answer = reply(&question, Role::Assistant, name);
        answers.push((store(&client, &node, answer).await, said));
    }
    for flushed in [false, true] {
        for (answer, said) in &answers {
            assert_eq!(client.node_dialogue(&node, answer).await, *said);
            let request = BuildContextRequest {
                policy: Some(mode(MemoryMode::Node)),
                node_id: node.node_id.clone(),
                head_message_id: answer.clone(),
                ..context_request(thread_of(&node), "And?")
            };
            let context = client.context(request).await;
            assert_eq!(block_texts(&context, ContextBlockKind::Node), *said);
            let back = SetHeadRequest {
                thread: by_id(thread_of(&node)),
                head_message_id: answer.clone(),
                expected_head: None,
            };
            client.call(back).await;
            assert_eq!(client.node_dialogue(&node, "").await, *said);
        }
        if !flushed {
            client.flush_node(&node).await;
        }
    }
    // A turn without ids goes on from the head, which is the third answer.
    client.add_node_turn(&node, "more", "of it").await;
    let next = store(&client, &node, say(Role::User, "And then?")).await;
    let mut expected = answers[2].1.clone();
    expected.extend(["more", "of it"].map(str::to_owned));
    assert_eq!(client.node_dialogue(&node, &next).await, expected);
    for (answer, said) in &answers[..2] {
        assert_eq!(client.node_dialogue(&node, answer).await, *said);
    }
}

#[apply(trial)]
async fn d16_turns_stay_behind_with_a_deleted_answer() {
    let client = plain().await;
    let node = planner(&client).await;
    let question = store(&client, &node, say(Role::User, "Plan it.")).await;
    three(&client, &node, &question, "first").await;
    let answer = store(&client, &node, say(Role::Assistant, "Done.")).await;
    client.delete_message(thread_of(&node), &answer).await;
    assert!(client.node_dialogue(&node, "").await.is_empty());
    let said = three(&client, &node, &question, "second").await;
    assert_eq!(client.node_dialogue(&node, "").await, said);
    let answer = store(&client, &node, say(Role::Assistant, "Done again.")).await;
    assert_eq!(client.node_dialogue(&node, &answer).await, said);
}

#[apply(trial)]
async fn d16_turns_that_come_after_their_answer_belong_to_it() {
    let client = plain().await;
    let node = planner(&client).await;
    let stored = client.append_turn(thread_of(&node), "Q", "A").await;
    let [question, first] = [0, 1].map(|index| stored.messages[index].message_id.clone());
    let said = three(&client, &node, &question, "first").await;
    let second = store(&client, &node, reply(&question, Role::Assistant, "B")).await;
    assert!(client.node_dialogue(&node, &second).await.is_empty());
    let again = three(&client, &node, &question, "second").await;
    assert_eq!(client.node_dialogue(&node, &second).await, again);
    assert_eq!(client.node_dialogue(&node, &first).await, said);
}

#[apply(trial)]
async fn d20_a_node_in_a_loop_keeps_its_turns_while_an_agent_calls_tools() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let (agent, critic) = (node(&thread_id, "agent"), node(&thread_id, "critic"));
    let question = store(&client, &agent, say(Role::User, "Which tram?")).await;
    let mut expected = Vec::new();
    for round in 1..=3 {
        for node in [&agent, &critic] {
            let texts = [
                format!("{} asks {round}", node.node_id),
                format!("{} says {round}", node.node_id),
            ];
            let turn = under(&question, node_turn(node, &texts[0], &texts[1]));
            client.call(turn).await;
        }
        expected.extend([format!("agent asks {round}"), format!("agent says {round}")]);
        let call_id = format!("call-{round}");
        let call = tool_call(&call_id, "search", json!({"round": round}));
        let call = store(&client, &agent, call).await;
        assert_eq!(client.node_dialogue(&agent, &call).await, expected);
        let result = store(&client, &agent, tool_result(&call_id, "28")).await;
        for at in [&result, &question, ""] {
            assert_eq!(client.node_dialogue(&agent, at).await, expected, "{round}");
        }
    }
    store(&client, &agent, say(Role::Assistant, "Tram 28.")).await;
    let next = store(&client, &agent, say(Role::User, "And back?")).await;
    assert_eq!(client.node_dialogue(&agent, &next).await, expected);
    let of_critic: Vec<String> = expected
        .iter()
        .map(|text| text.replace("agent", "critic"))
        .collect();
    assert_eq!(client.node_dialogue(&critic, &next).await, of_critic);
    // A new answer to the question begins anew, in each node.
    let other = reply(&question, Role::Assistant, "Tram 15.");
    let other = store(&client, &agent, other).await;
    assert!(client.node_dialogue(&agent, &other).await.is_empty());
    assert!(client.node_dialogue(&critic, "").await.is_empty());
}

#[apply(trial)]
async fn d17_the_branch_is_selected_then_files_are_looked_up_then_the_budget_cuts() {
    let client = plain().await;
    let node = planner(&client).await;
    let question = store(&client, &node, say(Role::User, "What is on these?")).await;
    let (picture, known) = registered(&client).await;
    let lost = FileRef {
        location: Some(file_ref::Location::ToolFileId(format!(
            "tool-{}",
            Uuid::new_v4()
        ))),
        ..known.clone()
    };
    // Off the path: its pictures must not use the budget.
    for _ in 0..5 {
        let turn = pictured(&node, &[known.clone(), known.clone()], &[]);
        client.call(under(&question, turn)).await;
    }
    store(&client, &node, say(Role::Assistant, "Herons.")).await;
    let mut last = String::new();
    for round in 0..3 {
        let files = [known.clone(), lost.clone()];
        let turn = pictured(&node, &files, std::slice::from_ref(&known));
        last = client
            .call(under(&question, turn))
            .await
            .assistant_message_id;
        if round == 0 {
            client.flush_node(&node).await;
        }
    }
    let answer = reply(&question, Role::Assistant, "Storks.");
    let answer = store(&client, &node, answer).await;
    let whole = GetNodeHistoryRequest {
        max_tokens: Some(1_000_000),
        ..ask(&node, &answer)
    };
    let all = client.call(whole).await;
    assert!(!all.truncated);
    assert_eq!(all.messages.len(), 6);
    assert_eq!(all.messages[5].message_id, last);
    let two: i32 = all.messages[2..].iter().map(|it| it.token_count).sum();
    for max_tokens in [two, two + 1] {
        let request = GetNodeHistoryRequest {
            max_tokens: Some(max_tokens),
            ..ask(&node, &answer)
        };
        let history = client.call(request).await;
        assert!(history.truncated && history.total_tokens <= max_tokens);
        assert_eq!(history.messages, all.messages[2..]);
        assert_eq!(
            node_texts(&history.messages),
            ["What is this?", "A heron."].repeat(2)
        );
        for turn in history.messages.chunks(2) {
            let [found, missing] = turn[0].files.as_slice() else {
                panic!("{turn:?}");
            };
            assert_eq!(found.file.as_ref(), Some(&picture));
            assert!(!found.dangling);
            assert!(missing.dangling && missing.file.is_none());
            assert_eq!(turn[1].files[0].file.as_ref(), Some(&picture));
        }
    }
}

#[apply(trial)]
async fn the_message_of_a_turn_is_returned_and_stored() {
    let client = plain().await;
    let node = planner(&client).await;
    let early = AddNodeTurnRequest {
        place: Some(Place::ThreadStart(())),
        ..node_turn(&node, "example", "shown")
    };
    client.call(early).await;
    let question = store(&client, &node, say(Role::User, "Q")).await;
    client.add_node_turn(&node, "head", "ok").await;
    let later = under("later", node_turn(&node, "named", "ok"));
    client.call(later).await;
    let expected = ["", question.as_str(), "later"].map(|id| [id.to_owned(), id.to_owned()]);
    for flushed in [false, true] {
        if flushed {
            client.flush_node(&node).await;
        }
        let history = client.call(ask(&node, "later")).await;
        let found: Vec<String> = history
            .messages
            .iter()
            .map(|message| message.thread_message_id.clone())
            .collect();
        assert_eq!(found, expected.concat());
    }
    // Each branch has what came before its first message.
    let other = MessageInput {
        parent: Some(memory_contract::proto::message_input::Parent::Root(())),
        ..say(Role::User, "Another beginning")
    };
    let other = store(&client, &node, other).await;
    let dialogue = client.node_dialogue(&node, &other).await;
    assert_eq!(dialogue, ["example", "shown"]);
}

#[apply(trial)]
async fn a_place_in_the_conversation_is_checked() {
    let client = plain().await;
    let node = planner(&client).await;
    let unnamed = under("", node_turn(&node, "1", "2"));
    client.refused(unnamed).await.names_field("message_id");
    let long = under(&"x".repeat(129), node_turn(&node, "1", "2"));
    client.refused(long).await.names_field("message_id");
    // A name that no call has used is no parent.
    let lost = AddNodeTurnRequest {
        parent: Some(Parent::ParentMessageId("nobody".to_owned())),
        ..under("later", node_turn(&node, "1", "2"))
    };
    client.refused(lost).await.names_field("parent_message_id");
    assert!(client.node_memories(thread_of(&node)).await.is_empty());
}
