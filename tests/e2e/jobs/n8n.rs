//! A user of a long-running agent in the manner of n8n.

use memory_contract::proto::{
    AgentEvent, AppendEventsRequest, AppendEventsResponse, GetHistoryRequest, ListEventsRequest,
    watch_thread_response::Event,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Key, PLAIN, Reported as _, app, apply, attempt, by_id, by_session, context_request,
    recall_request, recollect_at, session, texts, trial,
};
use serde_json::json;
use tonic::Code;
use uuid::Uuid;

use crate::plain;

fn at(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp { seconds, nanos: 0 })
}

fn event(kind: &str, data: &serde_json::Value) -> AgentEvent {
    AgentEvent {
        r#type: kind.to_owned(),
        json: data.to_string(),
        ..Default::default()
    }
}

async fn log(client: &Client, thread_id: &str, events: Vec<AgentEvent>) -> AppendEventsResponse {
    let request = AppendEventsRequest {
        thread: by_id(thread_id),
        events,
        request_id: String::new(),
    };
    client.call(request).await
}

fn all_of(thread_id: &str) -> ListEventsRequest {
    ListEventsRequest {
        thread: by_id(thread_id),
        ..Default::default()
    }
}

/// All events that a request selects, page by page.
async fn listed(client: &Client, mut request: ListEventsRequest) -> Vec<AgentEvent> {
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.events);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

fn numbers(events: &[AgentEvent]) -> Vec<i64> {
    events.iter().map(|event| event.number).collect()
}

#[apply(trial)]
async fn j16_an_agent_logs_its_own_events_beside_the_conversation() {
    let client = plain().await;
    let app = app();
    let chat = session(&app, "ada", "thread:workflow-123");
    let thread_id = client.resolve(chat.clone()).await.thread_id;
    let mut watch = client.watch_contents(&thread_id, "").await;

    let asked = client
        .append_turn(&thread_id, "Build me a digest of my mail.", "I start.")
        .await;
    let answer = asked.messages[1].message_id.clone();
    // Data comes back as it was sent: numbers of any size, the order of keys, spaces.
    let exact = "{\"exec\": 12345678901234567890,  \"b\": 1.0, \"a\": null}";
    let built = AgentEvent {
        r#type: "workflow_built".to_owned(),
        json: exact.to_owned(),
        ..Default::default()
    };
    let logged = log(&client, &thread_id, vec![built]).await;
    assert_eq!(
        (logged.first_number, logged.event_count, logged.replayed),
        (1, 1, false)
    );
    let failed = AgentEvent {
        create_time: at(1_750_000_000),
        ..event("execution_failed", &json!({"node": "HTTP", "code": 401}))
    };
    let request = AppendEventsRequest {
        thread: by_session(chat.clone()),
        events: vec![failed.clone(), event("credential_added", &json!({}))],
        request_id: Uuid::now_v7().to_string(),
    };
    let logged = client.call(request.clone()).await;
    assert_eq!(
        (logged.first_number, logged.event_count, logged.replayed),
        (2, 2, false)
    );
    // A retry stores nothing, and other content under the same request id is refused.
    let again = client.call(request.clone()).await;
    assert_eq!(
        (again.first_number, again.event_count, again.replayed),
        (2, 2, true)
    );
    let other = AppendEventsRequest {
        events: vec![event("credential_added", &json!({}))],
        ..request
    };
    client
        .refused(other)
        .await
        .is(Code::AlreadyExists, "REQUEST_ID_REUSED");
    client
        .append_turn(&thread_id, "And now?", "It runs every morning.")
        .await;
    let bulk = (0..120)
        .map(|step| event("step", &json!({"step": step})))
        .collect();
    let logged = log(&client, &thread_id, bulk).await;
    assert_eq!((logged.first_number, logged.event_count), (4, 120));

    // Listed: in pages, by type, by time, in both orders.
    let all = listed(&client, all_of(&thread_id)).await;
    assert_eq!(numbers(&all), (1..=123).collect::<Vec<_>>());
    assert_eq!(all[0].json, exact);
    assert_eq!(all[0].message_id.as_deref(), Some(answer.as_str()));
    assert!(
        all[0]
            .create_time
            .is_some_and(|time| time.seconds > 1_750_000_000)
    );
    assert_eq!(all[1].create_time, failed.create_time);
    for page_size in [1, 7, 500] {
        let newest = ListEventsRequest {
            order_by: "number desc".to_owned(),
            page_size,
            ..all_of(&thread_id)
        };
        let newest = listed(&client, newest).await;
        assert_eq!(numbers(&newest), (1..=123).rev().collect::<Vec<_>>());
    }
    let of_types = ListEventsRequest {
        types: vec!["workflow_built".to_owned(), "credential_added".to_owned()],
        page_size: 1,
        ..all_of(&thread_id)
    };
    assert_eq!(numbers(&listed(&client, of_types).await), [1, 3]);
    let early = ListEventsRequest {
        end_time: at(1_750_000_001),
        ..all_of(&thread_id)
    };
    assert_eq!(numbers(&listed(&client, early).await), [2]);
    let late = ListEventsRequest {
        start_time: at(1_750_000_001),
        ..all_of(&thread_id)
    };
    assert_eq!(listed(&client, late).await.len(), 122);

    // No history, search or context has them, and no token count either.
    let plain_history = GetHistoryRequest {
        thread: by_id(&thread_id),
        ..Default::default()
    };
    let history = client.call(plain_history.clone()).await;
    let said = [
        "Build me a digest of my mail.",
        "I start.",
        "And now?",
        "It runs every morning.",
    ];
    assert_eq!(texts(&history.messages), said);
    assert_eq!(history.events, []);
    let context = client
        .call(context_request(&thread_id, "What failed?"))
        .await;
    assert!(!format!("{context:?}").contains("credential_added"));
    let recalled = client
        .call(recall_request(&thread_id, "credential_added 401 HTTP", ""))
        .await;
    assert!(!format!("{recalled:?}").contains("execution_failed"));
    // Who asks for them gets those of the messages that the history has.
    let with_events = GetHistoryRequest {
        include_events: true,
        ..plain_history
    };
    let whole = client.call(with_events.clone()).await;
    assert_eq!(
        (whole.messages, whole.total_tokens),
        (history.messages, history.total_tokens)
    );
    assert_eq!(whole.events, all);
    let newest = GetHistoryRequest {
        max_messages: Some(2),
        ..with_events
    };
    let newest = client.call(newest).await;
    assert_eq!(texts(&newest.messages), said[2..]);
    assert_eq!(numbers(&newest.events), (4..=123).collect::<Vec<_>>());

    // A watch with content told all of it as it happened.
    let mut seen = Vec::new();
    while seen.len() < all.len() {
        if let Some(Event::EventsAppended(appended)) = watch.next().await.event {
            assert_eq!(appended.first_number, appended.events[0].number);
            assert_eq!(appended.event_count, appended.events.len() as i64);
            seen.extend(appended.events);
        }
    }
    assert_eq!(seen, all);
    client
        .log_attempt(&thread_id, attempt("build", "Ran it", "401"), "")
        .await;
    let told = watch.next().await;
    assert_eq!(told.action(), "append_attempt");
    let Some(Event::AttemptLogged(logged)) = told.event else {
        panic!("{told:?}")
    };
    assert_eq!(
        logged.attempt.map(|attempt| attempt.error),
        Some("401".to_owned())
    );

    // Export and import keep them, exactly, and repeating the import adds none.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.jsonl").display().to_string();
    let addr = &PLAIN.ready().addr;
    recollect_at(
        addr,
        Key::Acme,
        &["export", "--app", &app, "--output", &file],
    )
    .ok();
    for _ in 0..2 {
        let args = ["import", &file, "--json", "--no-wait"];
        let imported = recollect_at(addr, Key::Globex, &args).ok().json();
        assert_eq!(
            (&imported["events"], &imported["checked"]),
            (&json!(123), &json!(true)),
            "{imported}"
        );
    }
    let globex = PLAIN.client(Key::Globex).await;
    let copy = globex.resolve(chat.clone()).await.thread_id;
    assert_eq!(listed(&globex, all_of(&copy)).await, all);
    // Each tenant has its own.
    globex
        .refused(all_of(&thread_id))
        .await
        .is(Code::NotFound, "THREAD_NOT_FOUND");

    // Erased with the thread's content.
    client.clear_thread(&thread_id).await;
    assert_eq!(listed(&client, all_of(&thread_id)).await, []);
    let logged = log(&client, &thread_id, vec![event("started", &json!({}))]).await;
    assert_eq!(logged.first_number, 1);
    let alone = listed(&client, all_of(&thread_id)).await;
    assert_eq!(alone[0].message_id.as_deref(), Some(""));
}
