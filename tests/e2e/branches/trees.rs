//! Branches: regenerated answers, edited messages, second beginnings.

use memory_contract::proto::{
    Branch, GetHistoryRequest, GetMessageRequest, ListBranchesRequest, MessageInput, Role,
    message_input::Parent,
};
use recollect_tests::{Client, app, apply, by_id, history_request, reply, say, texts, trial, turn};
use tonic::Code;

use crate::plain;

pub async fn one(client: &Client, thread_id: &str, message: MessageInput) -> String {
    let stored = client.append(thread_id, vec![message]).await;
    stored.messages[0].message_id.clone()
}

async fn history(client: &Client, thread_id: &str, head: &str) -> Vec<String> {
    let history = client
        .call(GetHistoryRequest {
            head_message_id: head.to_owned(),
            ..history_request(thread_id)
        })
        .await;
    assert!(!history.truncated);
    texts(&history.messages)
}

async fn branches(client: &Client, thread_id: &str, page_size: i32) -> Vec<Branch> {
    let mut request = ListBranchesRequest {
        thread: by_id(thread_id),
        page_size,
        page_token: String::new(),
    };
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.branches);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

#[apply(trial)]
async fn d04_history_follows_the_regenerated_branch() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let a = one(&client, &thread_id, say(Role::User, "A")).await;
    let a1 = one(&client, &thread_id, say(Role::Assistant, "A'")).await;
    let a2 = one(&client, &thread_id, reply(&a, Role::Assistant, "A''")).await;
    one(&client, &thread_id, say(Role::User, "C")).await;
    let c1 = one(&client, &thread_id, say(Role::Assistant, "C'")).await;

    // The default head is the message appended last.
    assert_eq!(
        history(&client, &thread_id, "").await,
        ["A", "A''", "C", "C'"]
    );
    assert_eq!(
        history(&client, &thread_id, &c1).await,
        ["A", "A''", "C", "C'"]
    );
    assert_eq!(history(&client, &thread_id, &a2).await, ["A", "A''"]);
    assert_eq!(history(&client, &thread_id, &a1).await, ["A", "A'"]);
    assert_eq!(history(&client, &thread_id, &a).await, ["A"]);

    // Going on from the first answer is possible at any time.
    one(&client, &thread_id, reply(&a1, Role::User, "B")).await;
    assert_eq!(history(&client, &thread_id, "").await, ["A", "A'", "B"]);
    assert_eq!(
        history(&client, &thread_id, &c1).await,
        ["A", "A''", "C", "C'"]
    );
}

#[apply(trial)]
async fn regenerating_twice_makes_two_branches() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let question = one(&client, &thread_id, say(Role::User, "Q")).await;
    let mut answers = vec![one(&client, &thread_id, say(Role::Assistant, "1")).await];
    for text in ["2", "3"] {
        answers.push(one(&client, &thread_id, reply(&question, Role::Assistant, text)).await);
    }
    for (answer, text) in answers.iter().zip(["1", "2", "3"]) {
        assert_eq!(history(&client, &thread_id, answer).await, ["Q", text]);
    }

    let branches = branches(&client, &thread_id, 0).await;
    let seen: Vec<(i32, &str, &str, i64, i32, bool)> = branches
        .iter()
        .map(|branch| {
            (
                branch.branch,
                branch.head_message_id.as_str(),
                branch.fork_message_id.as_str(),
                branch.message_count,
                branch.depth,
                branch.active,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1, answers[0].as_str(), "", 2, 2, false),
            (2, answers[1].as_str(), question.as_str(), 1, 2, false),
            (3, answers[2].as_str(), question.as_str(), 1, 2, true),
        ]
    );
    assert!(branches.iter().all(|branch| branch.create_time.is_some()));
}

#[apply(trial)]
async fn editing_an_early_message_leaves_the_old_conversation() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = client
        .append(
            &thread_id,
            [turn("1", "2"), turn("3", "4"), turn("5", "6")].concat(),
        )
        .await;
    let id = |index: usize| first.messages[index].message_id.as_str();
    one(&client, &thread_id, reply(id(1), Role::User, "3 reworded")).await;
    let new = one(&client, &thread_id, say(Role::Assistant, "4 reworded")).await;
    assert_eq!(
        history(&client, &thread_id, "").await,
        ["1", "2", "3 reworded", "4 reworded"]
    );
    assert_eq!(
        history(&client, &thread_id, id(5)).await,
        ["1", "2", "3", "4", "5", "6"]
    );

    // A branch of a branch.
    let edited = client.all_messages(&thread_id).await[6].message_id.clone();
    one(
        &client,
        &thread_id,
        reply(&edited, Role::Assistant, "4 again"),
    )
    .await;
    assert_eq!(
        history(&client, &thread_id, "").await,
        ["1", "2", "3 reworded", "4 again"]
    );
    assert_eq!(
        history(&client, &thread_id, &new).await,
        ["1", "2", "3 reworded", "4 reworded"]
    );
}

#[apply(trial)]
async fn a_thread_can_have_a_second_first_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = client.append_turn(&thread_id, "Old", "Answer").await;
    let root = MessageInput {
        parent: Some(Parent::Root(())),
        ..say(Role::User, "New")
    };
    let new = client
        .append(&thread_id, vec![root, say(Role::Assistant, "Other answer")])
        .await;
    assert_eq!(
        history(&client, &thread_id, "").await,
        ["New", "Other answer"]
    );
    assert_eq!(
        history(&client, &thread_id, &first.messages[1].message_id).await,
        ["Old", "Answer"]
    );
    assert_eq!(new.messages[0].branch, 2);
    let stored = client.all_messages(&thread_id).await;
    assert_eq!(stored[2].parent_message_id, "");
    assert_eq!((stored[2].seq, stored[2].depth), (3, 1));
    let branches = branches(&client, &thread_id, 0).await;
    assert_eq!(branches[1].fork_message_id, "");
    assert_eq!((branches[1].message_count, branches[1].depth), (2, 2));
}

#[apply(trial)]
async fn messages_of_a_batch_can_branch_from_one_another() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let id = uuid::Uuid::new_v4().to_string();
    let question = MessageInput {
        message_id: id.clone(),
        ..say(Role::User, "Q")
    };
    let stored = client
        .append(
            &thread_id,
            vec![
                question,
                say(Role::Assistant, "1"),
                reply(&id, Role::Assistant, "2"),
                say(Role::User, "on"),
            ],
        )
        .await;
    let branches: Vec<i32> = stored
        .messages
        .iter()
        .map(|message| message.branch)
        .collect();
    assert_eq!(branches, [1, 1, 2, 2]);
    assert_eq!(history(&client, &thread_id, "").await, ["Q", "2", "on"]);
}

#[apply(trial)]
async fn history_can_be_read_from_any_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut expected: Vec<(String, Vec<String>)> = Vec::new();
    // Every message follows one drawn from all that are there; the path of each
    // is known by construction.
    let mut draw: usize = 7;
    for number in 0..40 {
        draw = (draw * 5 + 3) % 64;
        let text = format!("m{number}");
        let (message, mut path) = match expected.get(draw % (number + 1)) {
            Some((parent, path)) => (reply(parent, Role::User, &text), path.clone()),
            None => (
                MessageInput {
                    parent: Some(Parent::Root(())),
                    ..say(Role::User, &text)
                },
                Vec::new(),
            ),
        };
        path.push(text);
        expected.push((one(&client, &thread_id, message).await, path));
    }
    for (head, path) in &expected {
        assert_eq!(&history(&client, &thread_id, head).await, path);
    }
    let heads = branches(&client, &thread_id, 0).await;
    for branch in &heads {
        let (_, path) = expected
            .iter()
            .find(|(id, _)| id == &branch.head_message_id)
            .unwrap();
        assert_eq!(usize::try_from(branch.depth).unwrap(), path.len());
    }
    assert_eq!(heads.iter().filter(|branch| branch.active).count(), 1);
    let count: i64 = heads.iter().map(|branch| branch.message_count).sum();
    assert_eq!(count, 40);
}

#[apply(trial)]
async fn listing_branches_covers_each_once() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let question = one(&client, &thread_id, say(Role::User, "Q")).await;
    for number in 0..11 {
        let answer = format!("answer {number}");
        one(
            &client,
            &thread_id,
            reply(&question, Role::Assistant, &answer),
        )
        .await;
    }
    let whole: Vec<i32> = (1..=11).collect();
    for page_size in [0, 1, 4, 11, 500, 10_000] {
        let listed = branches(&client, &thread_id, page_size).await;
        let numbers: Vec<i32> = listed.iter().map(|branch| branch.branch).collect();
        assert_eq!(numbers, whole, "page_size {page_size}");
    }
}

#[apply(trial)]
async fn a_head_of_another_thread_is_not_found() {
    let client = plain().await;
    let app = app();
    let (thread_id, other) = (client.thread(&app).await, client.thread(&app).await);
    client.append_turn(&thread_id, "Here", "Here too").await;
    let elsewhere = one(&client, &other, say(Role::User, "Elsewhere")).await;
    let read = async |head: &str| {
        let request = GetHistoryRequest {
            head_message_id: head.to_owned(),
            ..history_request(&thread_id)
        };
        client.refused(request).await
    };
    let others = read(&elsewhere)
        .await
        .is(Code::NotFound, "MESSAGE_NOT_FOUND");
    let unknown = read(&uuid::Uuid::new_v4().to_string()).await;
    assert_eq!(others, unknown, "the two errors are the same");
}

#[apply(trial)]
async fn a_parent_of_another_thread_is_refused() {
    let client = plain().await;
    let app = app();
    let (thread_id, other) = (client.thread(&app).await, client.thread(&app).await);
    let elsewhere = one(&client, &other, say(Role::User, "Elsewhere")).await;
    let append = async |parent: &str| {
        let request = memory_contract::proto::AppendMessagesRequest {
            thread: by_id(&thread_id),
            messages: vec![reply(parent, Role::Assistant, "To whom?")],
            ..Default::default()
        };
        let refused = client.refused(request).await;
        refused.names_field("messages[0].parent_message_id")
    };
    let others = append(&elsewhere).await;
    let unknown = append(&uuid::Uuid::new_v4().to_string()).await;
    assert_eq!(others, unknown, "the two errors are the same");
    assert!(client.all_messages(&thread_id).await.is_empty());
}

async fn delete(client: &Client, thread_id: &str, message_id: &str) {
    client.delete_message(thread_id, message_id).await;
}

#[apply(trial)]
async fn a_parent_that_was_deleted_is_refused() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_turn(&thread_id, "Q", "A").await;
    let answer = &stored.messages[1].message_id;
    delete(&client, &thread_id, answer).await;
    let request = memory_contract::proto::AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![reply(answer, Role::User, "And?")],
        ..Default::default()
    };
    let refused = client.refused(request).await;
    refused.names_field("messages[0].parent_message_id");
}

#[apply(trial)]
async fn history_continues_below_a_deleted_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client
        .append(&thread_id, [turn("1", "2"), turn("3", "4")].concat())
        .await;
    let id = |index: usize| stored.messages[index].message_id.as_str();
    delete(&client, &thread_id, id(1)).await;
    assert_eq!(history(&client, &thread_id, "").await, ["1", "3", "4"]);

    // Without its head the conversation is read from the nearest message left.
    delete(&client, &thread_id, id(3)).await;
    assert_eq!(history(&client, &thread_id, "").await, ["1", "3"]);
    let thread = client.get_thread(&thread_id).await;
    assert_eq!((thread.message_count, thread.last_seq), (2, 4));
    assert_eq!(thread.head_message_id, id(2));

    let next = client
        .append(&thread_id, vec![say(Role::Assistant, "5")])
        .await;
    assert_eq!(next.messages[0].seq, 5, "a seq is never given out twice");
    assert_eq!(history(&client, &thread_id, "").await, ["1", "3", "5"]);

    let missing = GetMessageRequest {
        thread: by_id(&thread_id),
        message_id: id(3).to_owned(),
    };
    let missing = client.refused(missing).await;
    missing.is(Code::NotFound, "MESSAGE_NOT_FOUND");
    let seqs: Vec<i64> = client
        .all_messages(&thread_id)
        .await
        .iter()
        .map(|message| message.seq)
        .collect();
    assert_eq!(seqs, [1, 3, 5]);
}
