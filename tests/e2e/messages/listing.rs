//! Listing messages: filters, order, pages, as text.

use memory_contract::proto::{
    GetHistoryRequest, ListMessagesRequest, MessageFilter, MessageInput, MessagePath,
    ProviderFormat, Role,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Dynamic, Refused as _, app, apply, history_request, metadata, reply, say, session,
    target_app, target_session, target_thread, texts, trial,
};
use serde_json::json;
use tonic::Code;

use crate::{bulk, plain};

fn named(role: Role, name: &str, text: &str) -> MessageInput {
    MessageInput {
        name: name.to_owned(),
        ..say(role, text)
    }
}

/// A talk of two people and an assistant about a boat, in an own thread.
async fn boat(client: &Client) -> String {
    let thread_id = client.thread(&app()).await;
    let said = [
        (Role::System, "", "Talk like a captain."),
        (Role::User, "Ada", "Is the boat dry?"),
        (Role::Assistant, "Bot", "Dry as a bone."),
        (Role::User, "Bob", "And the sail?"),
        (Role::Assistant, "Bot", "White as snow."),
    ];
    let messages = said
        .iter()
        .zip(0..)
        .map(|((role, name, text), number)| MessageInput {
            create_time: Some(Timestamp {
                seconds: 1_000 + number * 100,
                nanos: 0,
            }),
            metadata: metadata(json!({
                "number": number,
                "even": number % 2 == 0,
                "topic": if number < 3 { "boat" } else { "sail" },
            })),
            ..named(*role, name, text)
        })
        .collect();
    client.append(&thread_id, messages).await;
    thread_id
}

async fn filtered(client: &Client, thread_id: &str, filter: MessageFilter) -> Vec<String> {
    let request = ListMessagesRequest {
        target: target_thread(thread_id),
        filter: Some(filter),
        page_size: 2,
        ..Default::default()
    };
    texts(&client.list(request).await)
}

#[apply(trial)]
async fn l11_messages_are_filtered_by_sender_and_sender_name() {
    let client = plain().await;
    let thread_id = boat(&client).await;
    let list = async |roles: &[Role], names: &[&str]| {
        let filter = MessageFilter {
            roles: roles.iter().map(|&role| role.into()).collect(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            ..Default::default()
        };
        filtered(&client, &thread_id, filter).await
    };
    assert_eq!(
        list(&[Role::User], &[]).await,
        ["Is the boat dry?", "And the sail?"]
    );
    assert_eq!(
        list(&[Role::System, Role::Tool], &[]).await,
        ["Talk like a captain."]
    );
    assert_eq!(list(&[], &["Bob"]).await, ["And the sail?"]);
    assert_eq!(
        list(&[], &["bob"]).await,
        Vec::<String>::new(),
        "written exactly so"
    );
    assert_eq!(
        list(&[Role::Assistant], &["Ada"]).await,
        Vec::<String>::new()
    );
    assert_eq!(
        list(&[Role::User], &["Ada", "Bot"]).await,
        ["Is the boat dry?"]
    );
    assert_eq!(list(&[], &[]).await.len(), 5);
}

#[apply(trial)]
async fn l11_messages_of_a_session_are_listed_in_both_orders_and_pages() {
    let client = plain().await;
    let app = app();
    let thread = client.resolve(session(&app, "ada", "session:1")).await;
    let said: Vec<MessageInput> = (1..=57).map(|n| say(Role::User, &n.to_string())).collect();
    client.append(&thread.thread_id, said).await;
    let upwards: Vec<String> = (1..=57).map(|n| n.to_string()).collect();
    let downwards: Vec<String> = upwards.iter().rev().cloned().collect();
    for (order_by, expected) in [("", &upwards), ("seq", &upwards), ("seq desc", &downwards)] {
        for page_size in [0, 1, 10, 57, 58, 100_000] {
            let request = ListMessagesRequest {
                target: target_session(session(&app, "ada", "session:1")),
                order_by: order_by.to_owned(),
                page_size,
                ..Default::default()
            };
            assert_eq!(&texts(&client.list(request).await), expected);
        }
    }
    let first = client
        .call(ListMessagesRequest {
            target: target_thread(thread.thread_id),
            ..Default::default()
        })
        .await;
    assert_eq!(first.messages.len(), 50, "the default");
}

/// The messages of a thread as plain text.
async fn as_text(client: &Client, thread_id: &str) -> String {
    let request = GetHistoryRequest {
        formats: vec![ProviderFormat::Text.into()],
        ..history_request(thread_id)
    };
    let history = client.call(request).await;
    let text = &history.rendered[0].body;
    // A model continues there.
    let text = text.strip_suffix("\n\nAssistant:").unwrap_or(text);
    text.to_owned()
}

#[apply(trial)]
async fn l11_messages_are_read_as_text() {
    let client = plain().await;
    let thread_id = boat(&client).await;
    let expected = [
        "System: Talk like a captain.",
        "Human (Ada): Is the boat dry?",
        "Assistant (Bot): Dry as a bone.",
        "Human (Bob): And the sail?",
        "Assistant (Bot): White as snow.",
    ];
    assert_eq!(as_text(&client, &thread_id).await, expected.join("\n\n"));
    // A message is only ever text.
    let thread_id = client.thread(&app()).await;
    let braces = "{{ 7 * 7 }} {% raw %}";
    client
        .append(&thread_id, vec![named(Role::User, "{{ 1 + 1 }}", braces)])
        .await;
    let text = as_text(&client, &thread_id).await;
    assert_eq!(text, format!("Human ({{{{ 1 + 1 }}}}): {braces}"));
}

#[apply(trial)]
async fn messages_are_filtered_by_time_and_metadata() {
    let client = plain().await;
    let thread_id = boat(&client).await;
    let time = |seconds| Some(Timestamp { seconds, nanos: 0 });
    let between = async |start: Option<Timestamp>, end: Option<Timestamp>| {
        let filter = MessageFilter {
            start_time: start,
            end_time: end,
            ..Default::default()
        };
        filtered(&client, &thread_id, filter).await.len()
    };
    assert_eq!(between(time(1_100), None).await, 4, "the start is within");
    assert_eq!(between(None, time(1_100)).await, 1, "the end is not");
    assert_eq!(between(time(1_100), time(1_300)).await, 2);
    assert_eq!(between(time(1_101), time(1_200)).await, 0);

    let with = async |fields: serde_json::Value| {
        let filter = MessageFilter {
            metadata: metadata(fields),
            ..Default::default()
        };
        filtered(&client, &thread_id, filter).await.len()
    };
    assert_eq!(with(json!({"topic": "boat"})).await, 3);
    assert_eq!(with(json!({"number": 3})).await, 1);
    assert_eq!(with(json!({"even": true})).await, 3);
    assert_eq!(with(json!({"even": true, "topic": "sail"})).await, 1);
    assert_eq!(
        with(json!({"number": "3"})).await,
        0,
        "a string is not a number"
    );
    assert_eq!(with(json!({"absent": "x"})).await, 0);
    assert_eq!(with(json!({})).await, 5);
}

#[apply(trial)]
async fn messages_are_listed_on_all_branches() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_turn(&thread_id, "Q", "first").await;
    let question = &stored.messages[0].message_id;
    client
        .append(&thread_id, vec![reply(question, Role::Assistant, "second")])
        .await;
    let all = client.all_messages(&thread_id).await;
    assert_eq!(texts(&all), ["Q", "first", "second"]);
    let branches: Vec<i32> = all.iter().map(|message| message.branch).collect();
    assert_eq!(branches, [1, 1, 2]);
}

#[apply(trial)]
async fn a_page_token_belongs_to_its_query() {
    let client = plain().await;
    let thread_id = boat(&client).await;
    let other = boat(&client).await;
    let first = ListMessagesRequest {
        target: target_thread(&thread_id),
        page_size: 2,
        ..Default::default()
    };
    let page = client.messages().list_messages(first.clone()).await;
    let token = page.unwrap().into_inner().next_page_token;
    assert!(!token.is_empty());
    let next = ListMessagesRequest {
        page_token: token.clone(),
        ..first
    };
    // The page size alone may change.
    let resized = ListMessagesRequest {
        page_size: 500,
        ..next.clone()
    };
    let rest = client.call(resized).await;
    assert_eq!(rest.messages.len(), 3);

    let roles = MessageFilter {
        roles: vec![Role::User.into()],
        ..Default::default()
    };
    for wrong in [
        ListMessagesRequest {
            target: target_thread(other),
            ..next.clone()
        },
        ListMessagesRequest {
            filter: Some(roles),
            ..next.clone()
        },
        ListMessagesRequest {
            order_by: "seq desc".to_owned(),
            ..next.clone()
        },
        ListMessagesRequest {
            page_token: "nonsense".into(),
            ..next.clone()
        },
        ListMessagesRequest {
            page_token: token[1..].into(),
            ..next.clone()
        },
        ListMessagesRequest {
            page_token: "%%%\u{1F980}".into(),
            ..next
        },
    ] {
        client.refused(wrong).await.names_field("page_token");
    }
}

#[apply(trial)]
async fn a_page_token_belongs_to_its_method() {
    let client = plain().await;
    let (one, other) = (app(), app());
    let mut threads = Vec::new();
    for _ in 0..3 {
        let thread_id = client.thread(&one).await;
        let stored = client.append_turn(&thread_id, "Q", "A").await;
        let question = &stored.messages[0].message_id;
        client
            .append(
                &thread_id,
                vec![reply(question, Role::Assistant, "A again")],
            )
            .await;
        threads.push(thread_id);
    }
    let lists = [
        (
            "ThreadService/ListThreads",
            json!({"target": {"app": {"app_id": one}}}),
        ),
        (
            "ThreadService/ListBranches",
            json!({"thread": {"thread_id": threads[0]}}),
        ),
        (
            "MessageService/ListMessages",
            json!({"target": {"thread": {"thread_id": threads[0]}}}),
        ),
    ];
    let mut tokens = Vec::new();
    for (method, request) in &lists {
        let mut request = request.clone();
        request["page_size"] = json!(1);
        let page = Dynamic::call(&client, method, request)
            .await
            .unwrap()
            .into_inner();
        tokens.push(page[0]["next_page_token"].clone());
    }
    let elsewhere = [
        (
            "ThreadService/ListThreads",
            json!({"target": {"app": {"app_id": other}}}),
        ),
        (
            "ThreadService/ListThreads",
            json!({"target": {"user": {"app_id": one, "user_id": "ada"}}}),
        ),
        (
            "ThreadService/ListBranches",
            json!({"thread": {"thread_id": threads[1]}}),
        ),
        (
            "MessageService/ListMessages",
            json!({"target": {"thread": {"thread_id": threads[1]}}}),
        ),
        ("AdminService/ListDeadLetters", json!({})),
    ];
    for (index, token) in tokens.iter().enumerate() {
        for (place, (method, request)) in lists.iter().chain(&elsewhere).enumerate() {
            let mut request = request.clone();
            request["page_token"] = token.clone();
            let answer = Dynamic::call(&client, method, request).await;
            if place == index {
                answer.unwrap();
            } else {
                answer.refused().names_field("page_token");
            }
        }
    }
}

#[apply(trial)]
async fn a_page_ends_before_it_is_too_large_to_send() {
    let client = bulk().await;
    let thread_id = client.thread(&app()).await;
    let text = "a large message ".repeat(16_000);
    for _ in 0..4 {
        let said = (0..6).map(|_| say(Role::User, &text)).collect();
        client.append(&thread_id, said).await;
    }
    let request = ListMessagesRequest {
        target: target_thread(&thread_id),
        page_size: 500,
        ..Default::default()
    };
    let first = client.call(request.clone()).await;
    assert!(
        (2..=16).contains(&first.messages.len()),
        "{}",
        first.messages.len()
    );
    let all = client.list(request).await;
    let seqs: Vec<i64> = all.iter().map(|message| message.seq).collect();
    assert_eq!(seqs, (1..=24).collect::<Vec<i64>>());
}

/// The request of the messages that lead to a head (empty: the thread's), by seq.
fn path_to(thread_id: &str, head: &str, order_by: &str) -> ListMessagesRequest {
    ListMessagesRequest {
        target: target_thread(thread_id),
        path: Some(MessagePath {
            head_message_id: head.to_owned(),
        }),
        order_by: order_by.to_owned(),
        page_size: 2,
        ..Default::default()
    }
}

#[apply(trial)]
async fn a_path_lists_what_a_history_has_also_across_an_erased_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    for (question, answer) in [("u1", "a1"), ("u2", "a2")] {
        client.append_turn(&thread_id, question, answer).await;
    }
    let all = client.all_messages(&thread_id).await;
    let again = reply(&all[2].message_id, Role::Assistant, "a2b");
    client
        .append(&thread_id, vec![again, say(Role::User, "u3")])
        .await;
    let listed =
        async |head: &str, order| texts(&client.list(path_to(&thread_id, head, order)).await);
    assert_eq!(listed("", "").await, ["u1", "a1", "u2", "a2b", "u3"]);
    assert_eq!(
        listed(&all[3].message_id, "seq desc").await,
        ["a2", "u2", "a1", "u1"]
    );
    client.delete_message(&thread_id, &all[2].message_id).await;
    let path = ["u1", "a1", "a2b", "u3"];
    assert_eq!(listed("", "seq").await, path);
    assert_eq!(listed("", "seq desc").await, ["u3", "a2b", "a1", "u1"]);
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(texts(&history.messages), path);
    let of_users = ListMessagesRequest {
        filter: Some(MessageFilter {
            roles: vec![Role::User.into()],
            ..Default::default()
        }),
        ..path_to(&thread_id, "", "seq desc")
    };
    assert_eq!(texts(&client.list(of_users).await), ["u3", "u1"]);
}

#[apply(trial)]
async fn all_pages_of_a_path_are_of_the_path_that_the_first_page_found() {
    let client = plain().await;
    for order in ["seq", "seq desc"] {
        let thread_id = client.thread(&app()).await;
        for number in 0..4 {
            client
                .append_turn(&thread_id, &format!("u{number}"), &format!("a{number}"))
                .await;
        }
        let all = client.all_messages(&thread_id).await;
        let mut request = path_to(&thread_id, "", order);
        let mut read = Vec::new();
        let mut erased = all.len();
        loop {
            let page = client.call(request.clone()).await;
            read.extend(texts(&page.messages));
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
            // The newest messages go, and another one comes.
            erased -= 1;
            client
                .delete_message(&thread_id, &all[erased].message_id)
                .await;
            client
                .append(&thread_id, vec![say(Role::User, "later")])
                .await;
        }
        let mut given = texts(&all);
        if order == "seq desc" {
            given.reverse();
            assert_eq!(read, given, "what was erased was read before");
        } else {
            assert_eq!(read, given[..given.len() - 2], "what was erased is missing");
        }
    }
}

#[apply(trial)]
async fn a_path_is_of_a_thread_and_leads_to_one_of_its_messages() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    client.append_turn(&thread_id, "u1", "a1").await;
    let other = client.thread(&app).await;
    client.append_turn(&other, "u2", "a2").await;
    let foreign = client.all_messages(&other).await[0].message_id.clone();
    let refused = client.refused(path_to(&thread_id, &foreign, "")).await;
    refused.is(Code::NotFound, "MESSAGE_NOT_FOUND");
    let of_app = ListMessagesRequest {
        target: target_app(&app),
        ..path_to(&thread_id, "", "")
    };
    let refused = client.refused(of_app).await;
    refused.names_field("path");
    let empty = client.thread(&app).await;
    assert!(client.list(path_to(&empty, "", "")).await.is_empty());
}
