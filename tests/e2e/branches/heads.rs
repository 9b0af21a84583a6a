//! Switching between branches: SetHead, and what follows the head.

use memory_contract::proto::{
    Branch, ListBranchesRequest, MemoryPolicy, MessageInput, RecallReason, RecallRequest, Role,
    SetHeadRequest, Thread, message_input::Parent,
};
use recollect_tests::{
    Client, Failure, Key, PLAIN, Refused as _, app, apply, by_id, has_reason, history_request,
    recall_request, reply, say, target_thread, text_of, texts, trial, turn,
};
use tonic::Code;

use super::trees::one;
use crate::plain;

async fn try_head(
    client: &Client,
    thread_id: &str,
    head: &str,
    expected: Option<&str>,
) -> Result<tonic::Response<memory_contract::proto::SetHeadResponse>, tonic::Status> {
    let request = SetHeadRequest {
        thread: by_id(thread_id),
        head_message_id: head.to_owned(),
        expected_head: expected.map(str::to_owned),
    };
    client.threads().set_head(request).await
}

pub(crate) async fn set_head(client: &Client, thread_id: &str, head: &str) -> Thread {
    let answer = try_head(client, thread_id, head, None).await.unwrap();
    let thread = answer.into_inner().thread.unwrap();
    assert_eq!(thread.head_message_id, head);
    assert_eq!(thread, client.get_thread(thread_id).await);
    thread
}

async fn history(client: &Client, thread_id: &str) -> Vec<String> {
    let history = client.call(history_request(thread_id)).await;
    texts(&history.messages)
}

async fn branches(client: &Client, thread_id: &str) -> Vec<Branch> {
    let request = ListBranchesRequest {
        thread: by_id(thread_id),
        page_size: 500,
        page_token: String::new(),
    };
    client.call(request).await.branches
}

async fn active(client: &Client, thread_id: &str) -> Vec<i32> {
    let branches = branches(client, thread_id).await;
    let active = branches.iter().filter(|branch| branch.active);
    active.map(|branch| branch.branch).collect()
}

#[apply(trial)]
async fn d04_a_conversation_can_be_switched_back_to_an_older_branch() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let question = one(&client, &thread_id, say(Role::User, "Q")).await;
    let mut answers = vec![one(&client, &thread_id, say(Role::Assistant, "1")).await];
    for text in ["2", "3"] {
        answers.push(one(&client, &thread_id, reply(&question, Role::Assistant, text)).await);
    }
    let on = client.append_turn(&thread_id, "on", "and on").await;
    // An early message of the user is put in other words.
    let edited = one(
        &client,
        &thread_id,
        reply(&answers[2], Role::User, "edited"),
    )
    .await;
    let stored = client.all_messages(&thread_id).await;

    let listed = branches(&client, &thread_id).await;
    let heads: Vec<&str> = listed
        .iter()
        .map(|branch| branch.head_message_id.as_str())
        .collect();
    let last = on.messages[1].message_id.as_str();
    assert_eq!(heads, [answers[0].as_str(), &answers[1], last, &edited]);
    let conversations = [
        vec!["Q", "1"],
        vec!["Q", "2"],
        vec!["Q", "3", "on", "and on"],
        vec!["Q", "3", "edited"],
    ];
    for round in 0..2 {
        for (branch, expected) in listed.iter().zip(&conversations) {
            set_head(&client, &thread_id, &branch.head_message_id).await;
            assert_eq!(&history(&client, &thread_id).await, expected, "{round}");
            assert_eq!(active(&client, &thread_id).await, [branch.branch]);
        }
    }
    assert_eq!(client.all_messages(&thread_id).await, stored);
}

#[apply(trial)]
async fn d04_an_append_continues_from_the_chosen_head() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let question = one(&client, &thread_id, say(Role::User, "Q")).await;
    let first = one(&client, &thread_id, say(Role::Assistant, "1")).await;
    let second = one(&client, &thread_id, reply(&question, Role::Assistant, "2")).await;

    set_head(&client, &thread_id, &first).await;
    let on = client.append_turn(&thread_id, "on", "good").await;
    assert_eq!(on.messages.iter().map(|m| m.branch).max(), Some(1));
    assert_eq!(on.messages[0].seq, 4, "seqs have no gaps");
    assert_eq!(history(&client, &thread_id).await, ["Q", "1", "on", "good"]);
    assert_eq!(
        client.get_thread(&thread_id).await.head_message_id,
        on.messages[1].message_id
    );

    set_head(&client, &thread_id, &second).await;
    let other = client.append_turn(&thread_id, "other", "fine").await;
    assert_eq!(other.messages[1].branch, 2);
    assert_eq!(
        history(&client, &thread_id).await,
        ["Q", "2", "other", "fine"]
    );
    assert_eq!(branches(&client, &thread_id).await.len(), 2);
}

#[apply(trial)]
async fn a_head_can_be_chosen_in_the_middle_of_a_branch() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client
        .append(&thread_id, [turn("1", "2"), turn("3", "4")].concat())
        .await;
    let id = |index: usize| stored.messages[index].message_id.as_str();
    set_head(&client, &thread_id, id(1)).await;
    assert_eq!(history(&client, &thread_id).await, ["1", "2"]);
    assert_eq!(active(&client, &thread_id).await, [1]);
    // Existing children of the message stay.
    let new = client.append_text(&thread_id, "3 reworded").await;
    assert_eq!((new.messages[0].branch, new.messages[0].seq), (2, 5));
    assert_eq!(history(&client, &thread_id).await, ["1", "2", "3 reworded"]);
    set_head(&client, &thread_id, id(3)).await;
    assert_eq!(history(&client, &thread_id).await, ["1", "2", "3", "4"]);
    client.append_text(&thread_id, "5").await;
    assert_eq!(
        history(&client, &thread_id).await,
        ["1", "2", "3", "4", "5"]
    );
    assert_eq!(active(&client, &thread_id).await, [1]);
}

#[apply(trial)]
async fn a_second_beginning_can_be_left_and_entered_again() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let old = client.append_turn(&thread_id, "Old", "Answer").await;
    let root = MessageInput {
        parent: Some(Parent::Root(())),
        ..say(Role::User, "New")
    };
    let new = one(&client, &thread_id, root).await;
    set_head(&client, &thread_id, &old.messages[1].message_id).await;
    assert_eq!(history(&client, &thread_id).await, ["Old", "Answer"]);
    set_head(&client, &thread_id, &new).await;
    client
        .append(&thread_id, vec![say(Role::Assistant, "Other")])
        .await;
    assert_eq!(history(&client, &thread_id).await, ["New", "Other"]);
    assert_eq!(branches(&client, &thread_id).await.len(), 2);
}

#[apply(trial)]
async fn choosing_the_same_head_again_changes_nothing() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_turn(&thread_id, "Q", "A").await;
    let before = client.get_thread(&thread_id).await;
    let head = &stored.messages[1].message_id;
    assert_eq!(set_head(&client, &thread_id, head).await, before);
    let question = &stored.messages[0].message_id;
    let moved = set_head(&client, &thread_id, question).await;
    assert!(moved.update_time.unwrap().nanos != before.update_time.unwrap().nanos);
    assert_eq!(set_head(&client, &thread_id, question).await, moved);
    assert_eq!((moved.last_seq, moved.message_count), (2, 2));
}

#[apply(trial)]
async fn a_head_is_only_moved_from_the_expected_one() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_turn(&thread_id, "Q", "A").await;
    let id = |index: usize| stored.messages[index].message_id.as_str();
    for wrong in ["", id(0), "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11"] {
        let refused = try_head(&client, &thread_id, id(0), Some(wrong)).await;
        let refused = refused.refused().is(Code::Aborted, "HEAD_MOVED");
        assert_eq!(refused.metadata["head"], id(1));
        assert_eq!(client.get_thread(&thread_id).await.head_message_id, id(1));
    }
    let moved = try_head(&client, &thread_id, id(0), Some(id(1))).await;
    assert_eq!(
        moved.unwrap().into_inner().thread.unwrap().head_message_id,
        id(0)
    );
    let malformed = try_head(&client, &thread_id, id(0), Some(&"x".repeat(129))).await;
    malformed.refused().names_field("expected_head");
}

#[apply(trial)]
async fn only_a_readable_message_of_the_thread_can_be_its_head() {
    let client = plain().await;
    let app = app();
    let (thread_id, other) = (client.thread(&app).await, client.thread(&app).await);
    let stored = client.append_turn(&thread_id, "Q", "A").await;
    let elsewhere = one(&client, &other, say(Role::User, "Elsewhere")).await;
    let deleted = &stored.messages[0].message_id;
    client.delete_message(&thread_id, deleted).await;

    let unknown = uuid::Uuid::new_v4().to_string();
    let refused = async |head: &str| -> Failure {
        let refused = try_head(&client, &thread_id, head, None).await.refused();
        refused.is(Code::NotFound, "MESSAGE_NOT_FOUND")
    };
    let expected = refused(&unknown).await;
    assert_eq!(refused(&elsewhere).await, expected);
    assert_eq!(refused(deleted).await, expected);
    assert_eq!(history(&client, &thread_id).await, ["A"]);

    // For another tenant not even the thread exists.
    let globex = PLAIN.client(Key::Globex).await;
    let head = &stored.messages[1].message_id;
    let others = try_head(&globex, &thread_id, head, None).await.refused();
    let others = others.is(Code::NotFound, "THREAD_NOT_FOUND");
    let none = try_head(&client, &unknown, head, None).await.refused();
    assert_eq!(others, none, "the two errors are the same");
    let missing = try_head(&client, &thread_id, "", None).await.refused();
    missing.names_field("head_message_id");
}

#[apply(trial)]
async fn deleting_a_chosen_head_falls_back_along_its_path() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let question = one(&client, &thread_id, say(Role::User, "Q")).await;
    let first = one(&client, &thread_id, say(Role::Assistant, "1")).await;
    one(&client, &thread_id, reply(&question, Role::Assistant, "2")).await;
    set_head(&client, &thread_id, &first).await;
    client.delete_message(&thread_id, &first).await;
    let thread = client.get_thread(&thread_id).await;
    assert_eq!(thread.head_message_id, question);
    assert_eq!(history(&client, &thread_id).await, ["Q"]);
}

/// A thread as it should be.
#[derive(Default)]
struct Model {
    /// The id, the parent and the branch of each message.
    messages: Vec<(String, Option<usize>, i32)>,
    head: Option<usize>,
    branches: i32,
}

impl Model {
    fn put(&mut self, id: String, parent: Option<usize>) {
        let taken = |parent| self.messages.iter().any(|(_, of, _)| *of == Some(parent));
        let branch = match parent {
            Some(parent) if !taken(parent) => self.messages[parent].2,
            Some(_) | None => {
                self.branches += 1;
                self.branches
            }
        };
        self.head = Some(self.messages.len());
        self.messages.push((id, parent, branch));
    }

    fn path(&self) -> Vec<String> {
        let mut path = Vec::new();
        let mut next = self.head;
        while let Some(index) = next {
            path.push(format!("m{index}"));
            next = self.messages[index].1;
        }
        path.reverse();
        path
    }
}

#[apply(trial)]
async fn random_trees_with_chosen_heads_read_as_in_the_model() {
    let client = plain().await;
    for seed in 1..=4_u64 {
        let thread_id = client.thread(&app()).await;
        let mut model = Model::default();
        let mut state = seed;
        // Knuth's MMIX generator; the high bits are the good ones.
        let mut draw = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        for _ in 0..60 {
            let count = model.messages.len();
            let text = format!("m{count}");
            let (message, parent) = match draw(10) {
                // The next one after the head.
                0..=4 => (say(Role::User, &text), model.head),
                5..=6 if count > 0 => {
                    let parent = draw(count);
                    let id = model.messages[parent].0.clone();
                    (reply(&id, Role::User, &text), Some(parent))
                }
                7 => {
                    let root = MessageInput {
                        parent: Some(Parent::Root(())),
                        ..say(Role::User, &text)
                    };
                    (root, None)
                }
                _ if count > 0 => {
                    let head = draw(count);
                    model.head = Some(head);
                    set_head(&client, &thread_id, &model.messages[head].0).await;
                    assert_eq!(history(&client, &thread_id).await, model.path());
                    continue;
                }
                _ => continue,
            };
            let stored = client.append(&thread_id, vec![message]).await;
            let place = &stored.messages[0];
            model.put(place.message_id.clone(), parent);
            assert_eq!(place.branch, model.messages[count].2, "seed {seed}: {text}");
            assert_eq!(usize::try_from(place.seq).unwrap(), count + 1);
            assert_eq!(history(&client, &thread_id).await, model.path());
        }
        let listed = branches(&client, &thread_id).await;
        assert_eq!(i32::try_from(listed.len()).unwrap(), model.branches);
        let head = model.head.unwrap();
        for branch in listed {
            let own: Vec<usize> = (0..model.messages.len())
                .filter(|index| model.messages[*index].2 == branch.branch)
                .collect();
            assert_eq!(usize::try_from(branch.message_count).unwrap(), own.len());
            let last = *own.last().unwrap();
            assert_eq!(branch.head_message_id, model.messages[last].0);
            assert_eq!(branch.active, branch.branch == model.messages[head].2);
        }
    }
}

#[apply(trial)]
async fn recall_follows_the_chosen_head() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let question = one(&client, &thread_id, say(Role::User, "An animal, please.")).await;
    let zebra = one(&client, &thread_id, say(Role::Assistant, "The zebra.")).await;
    client
        .append_turn(&thread_id, "Why that one?", "It has stripes.")
        .await;
    one(
        &client,
        &thread_id,
        reply(&question, Role::Assistant, "The giraffe."),
    )
    .await;
    let last = client
        .append_turn(&thread_id, "And why this?", "It has a neck.")
        .await;

    let matches = async |query: &str, all_branches: bool| {
        let request = RecallRequest {
            policy: Some(MemoryPolicy {
                recent_window: Some(0), // The answers below a match have its words too.
                top_k: Some(1),
                neighbors_before: Some(20),
                neighbors_after: Some(20),
                ..Default::default()
            }),
            all_branches,
            ..recall_request(&thread_id, query, &last.revision)
        };
        let recalled = client.recall(request).await;
        let matched: Vec<String> = recalled
            .messages
            .iter()
            .filter(|message| has_reason(message, RecallReason::Match))
            .map(|message| text_of(message.message.as_ref().unwrap()))
            .collect();
        (matched, texts(&recalled.messages))
    };
    let window = async || {
        let request = RecallRequest {
            target: target_thread(&thread_id),
            ..Default::default()
        };
        texts(&client.recall(request).await.messages)
    };
    let first = [
        "An animal, please.",
        "The zebra.",
        "Why that one?",
        "It has stripes.",
    ];
    let second = [
        "An animal, please.",
        "The giraffe.",
        "And why this?",
        "It has a neck.",
    ];
    let none: [&str; 0] = [];
    assert_eq!(window().await, second);
    assert_eq!(matches("zebra", false).await.0, none);
    let found = matches("giraffe", false).await;
    assert_eq!(found.0, ["The giraffe."]);
    assert_eq!(found.1, second);
    assert_eq!(matches("zebra", true).await.0, ["The zebra."]);

    let stripes = branches(&client, &thread_id).await[0]
        .head_message_id
        .clone();
    set_head(&client, &thread_id, &stripes).await;
    assert_eq!(window().await, first);
    assert_eq!(matches("giraffe", false).await.0, none);
    assert_eq!(matches("giraffe", true).await.0, ["The giraffe."]);
    let found = matches("zebra", false).await;
    assert_eq!(found.0, ["The zebra."]);
    assert_eq!(found.1, first);

    // Below a head in the middle nothing is active.
    set_head(&client, &thread_id, &zebra).await;
    assert_eq!(window().await, first[..2]);
    assert_eq!(matches("stripes", false).await.0, none);
    assert_eq!(matches("zebra", false).await.1, first[..2]);
    assert_eq!(matches("stripes", true).await.0, ["It has stripes."]);
}
