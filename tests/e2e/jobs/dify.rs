//! A user of a workflow builder in the manner of Dify.

use memory_contract::proto::{
    AddNodeTurnRequest, BuildContextRequest, ContextBlockKind as Kind, GetNodeHistoryRequest,
    MemoryMode, MessageInput, NodeRef, Role, SetHeadRequest,
    add_node_turn_request::{Parent, Place},
    message_input,
};
use recollect_tests::{
    Client, app, apply, block_texts, by_id, by_session, context_request, mode, node_texts,
    node_turn, say, session, trial,
};

use crate::plain;

/// A chat whose workflow has one node with a memory. Messages have the builder's own ids.
struct Chat {
    client: Client,
    thread_id: String,
    node: NodeRef,
}

impl Chat {
    async fn new() -> Self {
        let client = plain().await;
        let session = session(&app(), "ada", "thread:lisbon");
        let thread_id = client.resolve(session.clone()).await.thread_id;
        let node = NodeRef {
            thread: by_session(session),
            node_id: "researcher".to_owned(),
        };
        Self {
            client,
            thread_id,
            node,
        }
    }

    /// Stores a message of the conversation after the newest one.
    async fn store(&self, id: &str, role: Role, text: &str) {
        let message = MessageInput {
            external_id: id.to_owned(),
            ..say(role, text)
        };
        self.client.append(&self.thread_id, vec![message]).await;
    }

    /// Stores a message of the conversation that follows another one.
    async fn store_after(&self, parent: &str, id: &str, role: Role, text: &str) {
        let message = MessageInput {
            external_id: id.to_owned(),
            parent: Some(message_input::Parent::ParentMessageId(parent.to_owned())),
            ..say(role, text)
        };
        self.client.append(&self.thread_id, vec![message]).await;
    }

    /// The node's history at a message of the conversation.
    async fn history(&self, message: &str) -> Vec<String> {
        let request = GetNodeHistoryRequest {
            node: Some(self.node.clone()),
            current_message_id: message.to_owned(),
            ..Default::default()
        };
        node_texts(&self.client.call(request).await.messages)
    }

    /// Runs the node for a message, after `parent` if that is not empty: reads the history,
    /// calls the model, and adds the turn. Returns the history that was read.
    async fn run(&self, message: &str, parent: &str, asked: &str, said: &str) -> Vec<String> {
        let history = self.history(message).await;
        self.add(message, parent, asked, said).await;
        history
    }

    /// Adds a turn that the node ran for a message, and flushes.
    async fn add(&self, message: &str, parent: &str, asked: &str, said: &str) {
        let turn = AddNodeTurnRequest {
            place: Some(Place::MessageId(message.to_owned())),
            parent: (!parent.is_empty()).then(|| Parent::ParentMessageId(parent.to_owned())),
            ..node_turn(&self.node, asked, said)
        };
        self.client.call(turn).await;
        self.client.flush_node(&self.node).await;
    }

    /// Three iterations of a loop under one message, each of which sees those before it.
    async fn loop_under(&self, message: &str, parent: &str, before: &[&str], rounds: &[&str; 3]) {
        let mut seen: Vec<String> = before.iter().map(|&text| text.to_owned()).collect();
        for round in rounds {
            let said = format!("{round}: found");
            assert_eq!(self.run(message, parent, round, &said).await, seen);
            seen.extend([(*round).to_owned(), said]);
        }
        assert_eq!(self.history(message).await, seen);
    }
}

#[apply(trial)]
async fn j03_a_node_in_a_loop_runs_three_times_under_one_message() {
    let chat = Chat::new().await;
    let (q1, a1, q2) = (
        "01JDB7Q5W3ZK8C1X9VQ2N4T6A0",
        "01JDB7Q5W3ZK8C1X9VQ2N4T6A1",
        "01JDB7Q5W3ZK8C1X9VQ2N4T6A2",
    );
    chat.store(q1, Role::User, "Find me a hotel in Lisbon.")
        .await;
    let rounds = ["search Alfama", "search Baixa", "search Belém"];
    chat.loop_under(q1, "", &[], &rounds).await;
    chat.store(a1, Role::Assistant, "Hotel Rossio, in Baixa.")
        .await;
    chat.store(q2, Role::User, "Is breakfast included?").await;

    let all = [
        "search Alfama",
        "search Alfama: found",
        "search Baixa",
        "search Baixa: found",
        "search Belém",
        "search Belém: found",
    ];
    for message in [q2, a1, q1, ""] {
        assert_eq!(chat.history(message).await, all, "{message}");
    }
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        node_id: "researcher".to_owned(),
        max_tokens: None,
        ..context_request(&chat.thread_id, "Is breakfast included?")
    };
    let context = chat.client.context(request).await;
    assert_eq!(block_texts(&context, Kind::Node), all);

    // The next message's run continues, and the dialogue is one chain.
    assert_eq!(chat.run(q2, a1, "call the hotel", "yes").await, all);
    let request = GetNodeHistoryRequest {
        node: Some(chat.node.clone()),
        ..Default::default()
    };
    let messages = chat.client.call(request).await.messages;
    assert_eq!(messages.len(), 8);
    for pair in messages.windows(2) {
        assert_eq!(pair[1].parent_message_id, pair[0].message_id);
    }
}

#[apply(trial)]
async fn j04_a_regenerated_answer_leaves_the_abandoned_iterations_behind() {
    let chat = Chat::new().await;
    chat.store("q0", Role::User, "Hello").await;
    chat.store("a0", Role::Assistant, "Hello, Ada.").await;
    chat.run("a0", "", "greet", "greeted").await;
    chat.store("q1", Role::User, "Plan a day in Lisbon.").await;
    let before = ["greet", "greeted"];
    let first = ["tram", "castle", "museum"];
    chat.loop_under("q1", "a0", &before, &first).await;
    chat.store("a1", Role::Assistant, "Tram 28, then the castle.")
        .await;
    chat.store("q2", Role::User, "And dinner?").await;
    let abandoned = chat.history("q2").await;
    assert_eq!(abandoned.len(), 8);

    // The user asks for another answer. The builder goes back to the question, runs the
    // loop again, and stores the new answer.
    let back = SetHeadRequest {
        thread: by_id(&chat.thread_id),
        head_message_id: "q1".to_owned(),
        expected_head: None,
    };
    chat.client.call(back).await;
    let second = ["beach", "surfing", "sunset"];
    chat.loop_under("q1", "a0", &before, &second).await;
    chat.store_after("q1", "a1b", Role::Assistant, "A day at the beach.")
        .await;
    let regenerated = [
        "greet",
        "greeted",
        "beach",
        "beach: found",
        "surfing",
        "surfing: found",
        "sunset",
        "sunset: found",
    ];
    for message in ["a1b", "q1", ""] {
        assert_eq!(chat.history(message).await, regenerated, "{message}");
    }

    // A turn without any id follows the branch, not the turn added last.
    chat.client
        .add_node_turn(&chat.node, "dinner", "fish")
        .await;
    chat.store("q2b", Role::User, "Where is dinner?").await;
    let now = chat.history("q2b").await;
    assert_eq!(now[..8], regenerated);
    assert_eq!(now[8..], ["dinner", "fish"]);
    assert_eq!(chat.history("").await, now);
    // The abandoned branch is unchanged for those who go back to it.
    assert_eq!(chat.history("q2").await, abandoned);

    // An edited question is a sibling of the first one, and has none of its turns.
    chat.store_after("a0", "q1b", Role::User, "Plan a day in Porto.")
        .await;
    assert_eq!(chat.history("q1b").await, before);
    assert_eq!(chat.history("").await, before);
}

#[apply(trial)]
async fn j05_turns_need_only_the_conversations_own_ids() {
    let chat = Chat::new().await;
    // Two exchanges without the node: its memory has none of their messages.
    for (question, answer) in [("m1", "m2"), ("m3", "m4")] {
        chat.store(question, Role::User, "Hello").await;
        chat.store(answer, Role::Assistant, "Hello").await;
    }
    chat.store("m5", Role::User, "Look it up.").await;
    assert!(chat.run("m5", "m4", "look", "looked").await.is_empty());
    chat.store("m6", Role::Assistant, "Done.").await;
    // One more exchange without it, and then one where the parent is far from its last turn.
    chat.store("m7", Role::User, "Thanks").await;
    chat.store("m8", Role::Assistant, "Welcome").await;
    chat.store("m9", Role::User, "Look again.").await;
    let seen = chat.run("m9", "m8", "look again", "found").await;
    assert_eq!(seen, ["look", "looked"]);
    chat.store("m10", Role::Assistant, "Found.").await;
    let all = ["look", "looked", "look again", "found"];
    assert_eq!(chat.history("m10").await, all);
    assert_eq!(chat.history("m8").await, all[..2]);

    // The builder may store both messages of an exchange after the run: until then its id of
    // the question stands for the turns.
    chat.add("m11", "m10", "count", "one").await;
    assert_eq!(chat.run("m11", "m10", "count", "two").await.len(), 6);
    assert_eq!(chat.history("").await, all, "m11 is not stored yet");
    let message = |id: &str, role, text: &str| MessageInput {
        external_id: id.to_owned(),
        ..say(role, text)
    };
    let exchange = vec![
        message("m11", Role::User, "Count."),
        message("m12", Role::Assistant, "Two."),
    ];
    chat.client.append(&chat.thread_id, exchange).await;
    let counted = chat.history("m12").await;
    assert_eq!(counted[..4], all);
    assert_eq!(counted[4..], ["count", "one", "count", "two"]);
    assert_eq!(chat.history("").await, counted);
}
