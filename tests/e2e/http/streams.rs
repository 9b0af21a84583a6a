//! Streams over HTTP/1.1: messages in envelopes.

use bytes::BytesMut;
use http_body_util::BodyExt as _;
use recollect_tests::{Envelope, app, apply, envelopes, framed, session, trial};
use serde_json::json;

use super::http;
use crate::plain;

#[apply(trial)]
async fn a_watch_delivers_events_while_it_is_open() {
    let (http, client) = (http(), plain().await);
    let thread_id = client.thread(&app()).await;
    let request = json!({"thread": {"thread_id": thread_id}, "include_content": true}).to_string();
    let headers = [("content-type", "application/connect+json")];
    let path = "/recollect.v1.ThreadService/WatchThread";
    let answer = http
        .open("POST", path, &headers, framed(0, request.as_bytes()))
        .await;
    assert_eq!(answer.status(), 200);
    let mut body = answer.into_body();
    let mut received = BytesMut::new();
    // The first event says where the watch starts; it comes before any change.
    let mut next = async || loop {
        if received.len() >= 5 {
            let length = u32::from_be_bytes(received[1..5].try_into().unwrap()) as usize;
            if received.len() >= 5 + length {
                let whole = received.split_to(5 + length);
                return envelopes(&whole).remove(0);
            }
        }
        let frame = body.frame().await.expect("the watch goes on").unwrap();
        received.extend_from_slice(&frame.into_data().unwrap());
    };
    let first: Envelope = next().await;
    assert_eq!(first.flags, 0, "{first:?}");
    client.append_turn(&thread_id, "Hello?", "Hello!").await;
    loop {
        let event = next().await;
        assert_eq!(event.flags, 0, "{event:?}");
        if event.json().to_string().contains("Hello!") {
            break;
        }
    }
}

#[apply(trial)]
async fn an_export_and_an_import_stream_json() {
    let (http, client) = (http(), plain().await);
    let named = session(&app(), "ada", "thread:1");
    let thread_id = client.resolve(named).await.thread_id;
    for number in 0..20 {
        client
            .append_turn(&thread_id, &format!("Q{number}"), &format!("A{number}"))
            .await;
    }
    let exported = http
        .stream(
            "TransferService/ExportRecords",
            &[json!({"target": {"thread": {"thread_id": thread_id}}})],
        )
        .await;
    let (end, messages) = exported.split_last().unwrap();
    assert_eq!(end.flags, 2);
    assert!(end.json().get("error").is_none(), "{:?}", end.json());
    let text: String = messages
        .iter()
        .map(|message| message.json().to_string())
        .collect();
    for number in 0..20 {
        assert!(text.contains(&format!("\"A{number}\"")), "{number}: {text}");
    }

    let app = app();
    let request = |key: &str| {
        json!({
            "thread": {"session": {"app_id": app, "user_id": "ada", "session_key": key}},
            "messages": [{"role": "ROLE_USER", "parts": [{"text": key}]}],
        })
    };
    let answers = http
        .stream(
            "MessageService/ImportMessages",
            &[request("a"), json!({}), request("b")],
        )
        .await;
    assert_eq!(answers.len(), 4, "{answers:?}");
    assert!(answers[0].json()["imported"].is_object());
    assert_eq!(answers[1].json()["error"]["field"], "thread");
    assert_eq!(answers[2].json()["position"], "2");
    assert!(answers[3].json().get("error").is_none());

    // What is no message ends the stream.
    let body = [
        framed(0, request("c").to_string().as_bytes()),
        framed(0, b"{"),
        framed(0, request("d").to_string().as_bytes()),
    ]
    .concat();
    let headers = [("content-type", "application/connect+json")];
    let path = "/recollect.v1.MessageService/ImportMessages";
    for (body, word) in [
        (body, "line 1"),
        (framed(0, b"{}")[..6].to_vec(), "within a message"),
        (framed(8, b"{}"), "flags"),
        (framed(1, b"{}"), "connect-content-encoding"),
    ] {
        let answer = http.send("POST", path, &headers, body).await;
        let envelopes = envelopes(&answer.body);
        let end = envelopes.last().unwrap();
        assert_eq!(end.flags, 2);
        let error = end.json()["error"].clone();
        assert_eq!(error["code"], "invalid_argument", "{error}");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}

#[apply(trial)]
async fn long_messages_of_a_stream_are_compressed_on_request() {
    let (http, client) = (http(), plain().await);
    let thread_id = client.thread(&app()).await;
    client
        .append_turn(&thread_id, &"red cherries ".repeat(500), "Yes.")
        .await;
    let headers = [
        ("content-type", "application/connect+json"),
        ("connect-accept-encoding", "gzip"),
    ];
    let request = json!({"target": {"thread": {"thread_id": thread_id}}}).to_string();
    let path = "/recollect.v1.TransferService/ExportRecords";
    let answer = http
        .send("POST", path, &headers, framed(0, request.as_bytes()))
        .await;
    assert_eq!(answer.headers["connect-content-encoding"], "gzip");
    let found = envelopes(&answer.body);
    let compressed = found.iter().find(|envelope| envelope.flags == 1).unwrap();
    let mut plain = String::new();
    std::io::Read::read_to_string(
        &mut flate2::read::GzDecoder::new(&*compressed.data),
        &mut plain,
    )
    .unwrap();
    assert!(plain.contains("red cherries"));
}
