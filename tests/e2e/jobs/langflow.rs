//! A user of chat flows in the manner of Langflow.

use memory_contract::proto::{
    AppendMessagesRequest, GetHistoryRequest, ListMessagesRequest, MemoryPolicy, Message,
    MessageFilter, MessageInput, ResolveThreadRequest, Role, SessionKeySource, SessionRef,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, Server, app, apply, by_session, recollect_at, say,
    session, target_app, target_thread, target_user, text_of, texts, trial, trial_with_own_server,
    turn,
};
use serde_json::Value;

use crate::plain;

/// Minutes after noon of a day in November.
fn at(minutes: i64) -> Option<Timestamp> {
    Some(Timestamp {
        seconds: 1_763_121_600 + 60 * minutes,
        nanos: 0,
    })
}

fn said(role: Role, name: &str, text: &str, minutes: i64) -> MessageInput {
    MessageInput {
        name: name.to_owned(),
        create_time: at(minutes),
        ..say(role, text)
    }
}

async fn append(client: &Client, session: SessionRef, messages: Vec<MessageInput>) -> String {
    let request = AppendMessagesRequest {
        thread: by_session(session),
        messages,
        ..Default::default()
    };
    client.call(request).await.thread_id
}

/// All messages that a request selects, page by page.
async fn listed(client: &Client, mut request: ListMessagesRequest) -> Vec<Message> {
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.messages);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

#[apply(trial)]
async fn j17_messages_of_a_flow_are_listed_over_all_its_sessions() {
    let client = plain().await;
    let (flow, other) = (app(), app());
    let (user, machine) = (Role::User, Role::Assistant);
    // Users chat at the same time, each in a session of their own, and in another flow.
    let ada = session(&flow, "ada", "user:ada");
    let bob = session(&flow, "bob", "user:bob");
    let said_by_ada = vec![
        said(user, "Ada", "Where is my parcel?", 0),
        said(machine, "Support", "It left Bergen.", 3),
    ];
    append(&client, ada.clone(), said_by_ada).await;
    let said_by_bob = vec![
        said(user, "Bob", "Is there a refund?", 1),
        said(machine, "Support", "Within 30 days.", 2),
    ];
    append(&client, bob, said_by_bob).await;
    let said_without_a_user = vec![
        said(user, "Guest", "Hello?", 4),
        said(machine, "Billing", "Hello!", 5),
    ];
    append(&client, session(&flow, "", "global"), said_without_a_user).await;
    append(&client, ada, vec![said(user, "Ada", "Thanks!", 6)]).await;
    let elsewhere = vec![said(user, "Ada", "In another flow.", 2)];
    append(&client, session(&other, "ada", "user:ada"), elsewhere).await;

    let of_flow = |filter: MessageFilter| ListMessagesRequest {
        target: target_app(&flow),
        filter: Some(filter),
        ..Default::default()
    };
    let all = listed(&client, of_flow(MessageFilter::default())).await;
    let in_order = [
        "Where is my parcel?",
        "Is there a refund?",
        "Within 30 days.",
        "It left Bergen.",
        "Hello?",
        "Hello!",
        "Thanks!",
    ];
    assert_eq!(texts(&all), in_order);
    let newest = ListMessagesRequest {
        order_by: "create_time desc".to_owned(),
        page_size: 2,
        ..of_flow(MessageFilter::default())
    };
    let newest = texts(&listed(&client, newest).await);
    assert!(newest.iter().eq(in_order.iter().rev()), "{newest:?}");

    // By sender, by name, by time, and by all of them.
    let by_sender = MessageFilter {
        roles: vec![machine.into()],
        ..Default::default()
    };
    let found = texts(&listed(&client, of_flow(by_sender.clone())).await);
    assert_eq!(found, ["Within 30 days.", "It left Bergen.", "Hello!"]);
    let by_name = MessageFilter {
        names: vec!["Ada".to_owned(), "Guest".to_owned()],
        ..Default::default()
    };
    let found = texts(&listed(&client, of_flow(by_name)).await);
    assert_eq!(found, ["Where is my parcel?", "Hello?", "Thanks!"]);
    let by_time = MessageFilter {
        start_time: at(2),
        end_time: at(5),
        ..Default::default()
    };
    let found = texts(&listed(&client, of_flow(by_time.clone())).await);
    assert_eq!(found, ["Within 30 days.", "It left Bergen.", "Hello?"]);
    let by_all = MessageFilter {
        names: vec!["Support".to_owned()],
        start_time: at(3),
        ..by_sender
    };
    let found = listed(&client, of_flow(by_all)).await;
    assert_eq!(texts(&found), ["It left Bergen."]);
    // The message says whose session it is of.
    let of_session = ListMessagesRequest {
        target: target_thread(&found[0].thread_id),
        ..Default::default()
    };
    let said = client.call(of_session).await.messages;
    let said: Vec<String> = said
        .iter()
        .map(|one| format!("{}: {}", one.name, text_of(one)))
        .collect();
    assert_eq!(
        said,
        [
            "Ada: Where is my parcel?",
            "Support: It left Bergen.",
            "Ada: Thanks!"
        ]
    );
    // Of one user, over all sessions of the flow.
    let of_one = ListMessagesRequest {
        target: target_user(&flow, "bob"),
        filter: Some(by_time),
        ..Default::default()
    };
    assert_eq!(texts(&listed(&client, of_one).await), ["Within 30 days."]);
}

#[apply(trial)]
async fn j18_a_flow_chats_without_a_session_id() {
    let client = plain().await;
    let (flow, unmarked) = (app(), app());
    let marked = MemoryPolicy {
        flow_session_default: Some(true),
        ..Default::default()
    };
    client.set_policy(&flow, marked).await;
    let unnamed = |flow: &str, user: &str| session(flow, user, "");
    let chat = append(
        &client,
        unnamed(&flow, ""),
        turn("Hi, I am Ada.", "Hi Ada!"),
    )
    .await;
    // All users of the flow chat there, as its builder does in the playground.
    let same = append(
        &client,
        unnamed(&flow, "bob"),
        turn("And I am Bob.", "Hi Bob!"),
    )
    .await;
    assert_eq!(same, chat);
    let history = GetHistoryRequest {
        thread: by_session(unnamed(&flow, "")),
        ..Default::default()
    };
    let said = ["Hi, I am Ada.", "Hi Ada!", "And I am Bob.", "Hi Bob!"];
    assert_eq!(texts(&client.call(history).await.messages), said);
    // The session's key is the flow's id, also for one who names it.
    let resolve = async |session: SessionRef| {
        let request = ResolveThreadRequest {
            session: Some(session),
            ..Default::default()
        };
        client.call(request).await
    };
    let found = resolve(unnamed(&flow, "")).await;
    assert_eq!(found.session_key_source(), SessionKeySource::FlowDefault);
    let thread = found.thread.unwrap();
    assert_eq!(
        (thread.session_key.as_str(), thread.user_id.as_str()),
        (flow.as_str(), "")
    );
    let named = resolve(session(&flow, "", &flow)).await;
    assert_eq!(named.session_key_source(), SessionKeySource::Session);
    assert_eq!(named.thread.unwrap().thread_id, chat);
    // A session id of one's own keeps a chat apart.
    let own = append(
        &client,
        session(&flow, "", "user:eve"),
        turn("I am Eve.", "Hi Eve!"),
    )
    .await;
    assert_ne!(own, chat);
    // An app that says nothing gets an error that names the ways out.
    let nothing_said = AppendMessagesRequest {
        thread: by_session(unnamed(&unmarked, "ada")),
        messages: turn("Hi.", "Hi!"),
        ..Default::default()
    };
    let refused = client.refused(nothing_said).await;
    let refused = refused.names_field("thread.session.session_key");
    assert!(
        refused.message.contains("flow_session_default"),
        "{refused:?}"
    );
}

#[apply(trial_with_own_server)]
async fn j19_a_trial_on_files_moves_to_an_external_postgres() {
    // The trial: nothing is configured, and all data is in one directory.
    let (_dir, trial, client) = Server::start_own(&Options::default()).await;
    let flow = app();
    let marked = MemoryPolicy {
        flow_session_default: Some(true),
        ..Default::default()
    };
    client.set_policy(&flow, marked).await;
    append(
        &client,
        session(&flow, "", ""),
        turn("Hi, I am Ada.", "Hi Ada!"),
    )
    .await;
    for user in ["ada", "bob"] {
        let key = format!("user:{user}");
        for day in 0..40 {
            let messages = turn(&format!("Day {day}, how are you?"), "Very well, and you?");
            append(&client, session(&flow, user, &key), messages).await;
        }
    }
    let out = tempfile::tempdir().unwrap();
    let path = |name: &str| out.path().join(name).display().to_string();
    let (before, after) = (path("before.jsonl"), path("after.jsonl"));
    recollect_at(
        &trial.ready().addr,
        Key::Acme,
        &["export", "--output", &before],
    )
    .ok();

    // The move: a server on a database of one's own, and one command.
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &Options::serve(&url, &[]).index(&dir, "index"));
    let imported = recollect_at(
        &server.ready().addr,
        Key::Acme,
        &["import", &before, "--json"],
    );
    let imported = imported.ok().json();
    assert_eq!(
        (
            &imported["stored"],
            &imported["refused"],
            &imported["checked"]
        ),
        (&Value::from(162), &Value::from(0), &Value::from(true)),
        "{imported}"
    );
    recollect_at(
        &server.ready().addr,
        Key::Acme,
        &["export", "--output", &after],
    )
    .ok();
    let summary_of = |path: &str| -> Value {
        let text = std::fs::read_to_string(path).unwrap();
        let last = text.lines().last().unwrap();
        serde_json::from_str::<Value>(last).unwrap()["summary"].clone()
    };
    let (sent, found) = (summary_of(&before), summary_of(&after));
    assert_eq!(sent["checksum"].as_str().map(str::len), Some(64), "{sent}");
    assert_eq!(sent, found);

    // The flow goes on there as if nothing had happened.
    let moved = server.client(Key::Acme).await;
    append(&moved, session(&flow, "", ""), turn("Who am I?", "Ada.")).await;
    let history = GetHistoryRequest {
        thread: by_session(session(&flow, "", "")),
        ..Default::default()
    };
    let said = ["Hi, I am Ada.", "Hi Ada!", "Who am I?", "Ada."];
    assert_eq!(texts(&moved.call(history).await.messages), said);
}
