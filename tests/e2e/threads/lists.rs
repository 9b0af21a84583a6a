//! Lists of threads, users, apps, and of the messages of a user or an app.

use std::collections::{BTreeMap, HashSet};

use memory_contract::proto::{
    ListAppsRequest, ListMessagesRequest, ListThreadsRequest, ListUsersRequest, Message,
    MessageFilter, MessageInput, ResolveThreadRequest, Role, Thread, User,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Key, PLAIN, app, apply, metadata, say, session, target_app, target_user, text_of, trial,
};
use serde_json::{Value, json};

use crate::{bulk, plain};

async fn threads(client: &Client, request: &ListThreadsRequest) -> Vec<Thread> {
    let mut request = request.clone();
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.threads);
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return all;
        }
    }
}

async fn messages(client: &Client, request: &ListMessagesRequest) -> Vec<Message> {
    let mut request = request.clone();
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.messages);
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return all;
        }
    }
}

async fn users(client: &Client, app: &str, page_size: i32) -> Vec<User> {
    let mut request = ListUsersRequest {
        app_id: app.to_owned(),
        page_size,
        ..Default::default()
    };
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        assert!(page.users.len() <= page_size as usize);
        all.extend(page.users);
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return all;
        }
    }
}

async fn apps(client: &Client, page_size: i32) -> Vec<String> {
    let mut request = ListAppsRequest {
        page_size,
        ..Default::default()
    };
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.apps.into_iter().map(|app| app.app_id));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return all;
        }
    }
}

async fn thread_with(client: &Client, app: &str, user: &str, key: &str, data: Value) -> Thread {
    let request = ResolveThreadRequest {
        session: Some(session(app, user, key)),
        metadata: metadata(data),
        ..Default::default()
    };
    client.call(request).await.thread.unwrap()
}

fn said_at(text: &str, seconds: i64) -> MessageInput {
    MessageInput {
        create_time: Some(Timestamp { seconds, nanos: 0 }),
        ..say(Role::User, text)
    }
}

#[apply(trial)]
async fn threads_are_listed_by_creation_and_by_last_change_in_both_orders() {
    let client = plain().await;
    let app = app();
    let mut ids = Vec::new();
    for number in 0..7 {
        let user = ["ada", "bob", ""][number % 3];
        let key = format!("session:{number}");
        ids.push(client.resolve(session(&app, user, &key)).await.thread_id);
    }
    // The last change is in another order than the creation.
    let changed = [3, 0, 6, 1, 5, 2, 4];
    for number in changed {
        client.append_text(&ids[number], "Hello.").await;
    }
    let by = |numbers: &[usize]| -> Vec<&str> {
        numbers.iter().map(|number| ids[*number].as_str()).collect()
    };
    for (order_by, upwards) in [
        ("", None),
        ("create_time desc", None),
        ("create_time", Some([0, 1, 2, 3, 4, 5, 6])),
        ("create_time asc", Some([0, 1, 2, 3, 4, 5, 6])),
        ("update_time", Some(changed)),
        ("  update_time   desc ", None),
    ] {
        let expected: Vec<usize> = match (upwards, order_by.contains("update")) {
            (Some(order), _) => order.to_vec(),
            (None, true) => changed.iter().rev().copied().collect(),
            (None, false) => (0..7).rev().collect(),
        };
        for page_size in [1, 2, 3, 7, 50] {
            let request = ListThreadsRequest {
                target: target_app(&app),
                order_by: order_by.to_owned(),
                page_size,
                ..Default::default()
            };
            let found = threads(&client, &request).await;
            let found: Vec<&str> = found
                .iter()
                .map(|thread| thread.thread_id.as_str())
                .collect();
            assert_eq!(found, by(&expected), "{order_by:?} {page_size}");
        }
        for (user, rest) in [("ada", 0), ("bob", 1), ("", 2)] {
            let request = ListThreadsRequest {
                target: target_user(&app, user),
                order_by: order_by.to_owned(),
                page_size: 2,
                ..Default::default()
            };
            let found = threads(&client, &request).await;
            let found: Vec<&str> = found
                .iter()
                .map(|thread| thread.thread_id.as_str())
                .collect();
            let own: Vec<usize> = expected.iter().copied().filter(|n| n % 3 == rest).collect();
            assert_eq!(found, by(&own), "{order_by:?} {user:?}");
        }
    }
}

#[apply(trial)]
async fn threads_are_filtered_by_metadata() {
    let client = plain().await;
    let app = app();
    for number in 0..6 {
        let data = json!({"team": format!("t{}", number % 2), "rank": number, "open": number > 3});
        thread_with(&client, &app, "ada", &format!("session:{number}"), data).await;
    }
    for (conditions, expected) in [
        (json!({"team": "t1"}), vec![1, 3, 5]),
        (json!({"team": "t0", "open": true}), vec![4]),
        (json!({"rank": 2}), vec![2]),
        (json!({"rank": "2"}), vec![]),
        (json!({"other": 1}), vec![]),
        (json!({}), vec![0, 1, 2, 3, 4, 5]),
    ] {
        for order_by in ["create_time", "update_time"] {
            for page_size in [1, 2, 50] {
                let request = ListThreadsRequest {
                    target: target_user(&app, "ada"),
                    order_by: order_by.to_owned(),
                    metadata: metadata(conditions.clone()),
                    page_size,
                    ..Default::default()
                };
                let found = threads(&client, &request).await;
                let keys: Vec<&str> = found.iter().map(|one| one.session_key.as_str()).collect();
                let expected: Vec<String> =
                    expected.iter().map(|n| format!("session:{n}")).collect();
                assert_eq!(keys, expected, "{conditions} {order_by} {page_size}");
            }
        }
    }
}

#[apply(trial)]
async fn messages_of_a_user_and_of_an_app_are_listed_by_time() {
    let client = plain().await;
    let app = app();
    // Times in another order than the appends, and several messages at one time.
    let mut all = Vec::new();
    for number in 0..30_i64 {
        let user = ["ada", "bob", ""][usize::try_from(number % 3).unwrap()];
        let key = format!("session:{}", number % 6);
        let thread = client.resolve(session(&app, user, &key)).await.thread_id;
        let time = 1_000 + (number * 7) % 10;
        let said = said_at(&number.to_string(), time);
        let stored = client.append(&thread, vec![said]).await;
        all.push((time, stored.messages[0].message_id.clone(), user, thread));
    }
    all.sort();
    for (user, target) in [
        (None, target_app(&app)),
        (Some("ada"), target_user(&app, "ada")),
        (Some("bob"), target_user(&app, "bob")),
        (Some(""), target_user(&app, "")),
    ] {
        let mut expected: Vec<(&str, &str)> = all
            .iter()
            .filter(|(_, _, owner, _)| user.is_none_or(|user| user == *owner))
            .map(|(_, id, _, thread)| (id.as_str(), thread.as_str()))
            .collect();
        for order_by in ["create_time", "create_time desc"] {
            for page_size in [1, 4, 30, 31] {
                let request = ListMessagesRequest {
                    target: target.clone(),
                    order_by: order_by.to_owned(),
                    page_size,
                    ..Default::default()
                };
                let found = messages(&client, &request).await;
                let found: Vec<(&str, &str)> = found
                    .iter()
                    .map(|said| (said.message_id.as_str(), said.thread_id.as_str()))
                    .collect();
                assert_eq!(found, expected, "{user:?} {order_by} {page_size}");
            }
            expected.reverse();
        }
    }
    // Deleted messages and threads are gone from it.
    let (_, gone, _, thread) = &all[0];
    client
        .call(memory_contract::proto::DeleteMessageRequest {
            thread: recollect_tests::by_id(thread),
            message_id: gone.clone(),
        })
        .await;
    let request = ListMessagesRequest {
        target: target_app(&app),
        ..Default::default()
    };
    let page = client.call(request).await;
    assert_eq!(page.messages.len(), 29);
    assert!(page.messages.iter().all(|said| said.message_id != *gone));
    let by_default = ListMessagesRequest {
        target: target_app(&app),
        order_by: "create_time".to_owned(),
        ..Default::default()
    };
    assert_eq!(client.call(by_default).await.messages, page.messages);
}

#[apply(trial)]
async fn messages_of_an_app_are_filtered() {
    let client = plain().await;
    let app = app();
    for (number, user) in ["ada", "bob", "ada"].into_iter().enumerate() {
        let key = format!("session:{number}");
        let thread = client.resolve(session(&app, user, &key)).await.thread_id;
        let asked = MessageInput {
            metadata: metadata(json!({"rank": number})),
            name: user.to_owned(),
            ..said_at(&format!("Question {number}"), 100 * number as i64)
        };
        let answered = MessageInput {
            role: Role::Assistant.into(),
            ..said_at(&format!("Answer {number}"), 100 * number as i64 + 1)
        };
        client.append(&thread, vec![asked, answered]).await;
    }
    let time = |seconds| Some(Timestamp { seconds, nanos: 0 });
    for (filter, expected) in [
        (
            MessageFilter {
                roles: vec![Role::Assistant.into()],
                ..Default::default()
            },
            vec!["Answer 0", "Answer 1", "Answer 2"],
        ),
        (
            MessageFilter {
                names: vec!["ada".to_owned()],
                ..Default::default()
            },
            vec!["Question 0", "Question 2"],
        ),
        (
            MessageFilter {
                metadata: metadata(json!({"rank": 1})),
                ..Default::default()
            },
            vec!["Question 1"],
        ),
        (
            MessageFilter {
                start_time: time(1),
                end_time: time(200),
                ..Default::default()
            },
            vec!["Answer 0", "Question 1", "Answer 1"],
        ),
    ] {
        for page_size in [1, 50] {
            let request = ListMessagesRequest {
                target: target_app(&app),
                filter: Some(filter.clone()),
                page_size,
                ..Default::default()
            };
            let found = messages(&client, &request).await;
            let found: Vec<String> = found.iter().map(text_of).collect();
            assert_eq!(found, expected, "{filter:?} {page_size}");
        }
    }
}

#[apply(trial)]
async fn pages_over_thousands_have_no_repetition_and_no_gap_while_others_write() {
    let client = bulk().await;
    let app = app();
    let count = 3_000;
    let mut before = HashSet::new();
    for number in 0..30 {
        let user = format!("user{}", number % 5);
        let key = format!("session:{number}");
        let thread = client.resolve(session(&app, &user, &key)).await.thread_id;
        let said = (0..count / 30).map(|n| say(Role::User, &format!("{number}.{n}")));
        let stored = client.append(&thread, said.collect()).await;
        before.extend(stored.messages.into_iter().map(|said| said.message_id));
    }
    assert_eq!(before.len(), count);
    let writing = async {
        for number in 0..100 {
            let key = format!("session:{}", number % 40);
            let user = format!("user{}", number % 5);
            let thread = client.resolve(session(&app, &user, &key)).await.thread_id;
            let said = [
                said_at("Long ago.", 1_000 + number),
                say(Role::User, "Now."),
            ];
            client.append(&thread, said.to_vec()).await;
        }
    };
    let reading = async |order_by: &str| {
        let request = ListMessagesRequest {
            target: target_app(&app),
            order_by: order_by.to_owned(),
            page_size: 100,
            ..Default::default()
        };
        messages(&client, &request).await
    };
    let listing = async {
        let request = ListThreadsRequest {
            target: target_app(&app),
            page_size: 3,
            ..Default::default()
        };
        threads(&client, &request).await
    };
    let (upwards, downwards, listed, ()) =
        futures::join!(reading(""), reading("create_time desc"), listing, writing);
    for found in [upwards, downwards] {
        let ids: HashSet<&str> = found.iter().map(|said| said.message_id.as_str()).collect();
        assert_eq!(ids.len(), found.len(), "a message is listed twice");
        let missing = before.iter().filter(|id| !ids.contains(id.as_str()));
        assert_eq!(missing.count(), 0);
    }
    let keys: HashSet<&str> = listed.iter().map(|one| one.session_key.as_str()).collect();
    assert_eq!(keys.len(), listed.len(), "a thread is listed twice");
    assert!((0..30).all(|number| keys.contains(format!("session:{number}").as_str())));
}

#[apply(trial)]
async fn users_are_listed_with_the_size_of_their_data() {
    let client = plain().await;
    let app = app();
    assert_eq!(users(&client, &app, 5).await, []);
    // Five users with threads, one of them unnamed, and one with memories alone.
    for number in 0..5_usize {
        let user = ["", "ada", "Bob", "zoë", "user with spaces"][number];
        for key in 0..=number {
            let key = format!("session:{key}");
            let thread = client.resolve(session(&app, user, &key)).await.thread_id;
            for _ in 0..number {
                client.append_text(&thread, "Hello.").await;
            }
        }
    }
    client.remember_one(&app, "ada", "Likes tea.").await;
    let old = client.remember_one(&app, "mia", "Lives in Oslo.").await;
    let request = memory_contract::proto::SupersedeMemoryRequest {
        memory_id: old.memory_id,
        replacement: Some(recollect_tests::memory("Lives in Bergen.")),
    };
    client.call(request).await;
    let expected = BTreeMap::from([
        ("", (1, 0, 0)),
        ("ada", (2, 2, 1)),
        ("Bob", (3, 6, 0)),
        ("zoë", (4, 12, 0)),
        ("user with spaces", (5, 20, 0)),
        ("mia", (0, 0, 1)),
    ]);
    let all = users(&client, &app, 50).await;
    assert_eq!(all[0].user_id, "");
    let counts: BTreeMap<&str, (i64, i64, i64)> = all
        .iter()
        .map(|user| {
            let counts = (user.thread_count, user.message_count, user.memory_count);
            (user.user_id.as_str(), counts)
        })
        .collect();
    assert_eq!(counts, expected);
    for user in &all {
        assert_eq!(
            user.last_activity_time.is_some(),
            user.thread_count > 0,
            "{user:?}"
        );
    }
    for page_size in [1, 2, 3, 6] {
        assert_eq!(users(&client, &app, page_size).await, all, "{page_size}");
    }
}

#[apply(trial)]
async fn users_and_apps_of_another_tenant_are_not_listed() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let app = app();
    let thread = acme.thread_of(&app, "ada").await;
    acme.append_text(&thread, "Hello.").await;
    let other = recollect_tests::app();
    acme.remember_one(&other, "ada", "Likes tea.").await;
    for (name, count) in [(&app, 1), (&other, 1)] {
        assert_eq!(users(&acme, name, 50).await.len(), count);
        assert_eq!(users(&globex, name, 50).await, []);
    }
    let found = apps(&acme, 7).await;
    assert!(found.contains(&app) && found.contains(&other));
    let distinct: HashSet<&String> = found.iter().collect();
    assert_eq!(distinct.len(), found.len(), "an app is listed twice");
    let foreign = apps(&globex, 500).await;
    assert!(!foreign.contains(&app) && !foreign.contains(&other));
    for target in [target_app(&app), target_user(&app, "ada")] {
        let request = ListMessagesRequest {
            target,
            ..Default::default()
        };
        assert_eq!(messages(&acme, &request).await.len(), 1);
        assert_eq!(messages(&globex, &request).await, []);
    }
    // A page token continues only the list that gave it, of the same tenant.
    let request = ListAppsRequest {
        page_size: 1,
        ..Default::default()
    };
    let page_token = acme.call(request).await.next_page_token;
    let request = ListAppsRequest {
        page_token,
        ..Default::default()
    };
    globex.refused(request).await.names_field("page_token");
}
