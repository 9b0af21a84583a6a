//! What the server accepts over HTTP.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use memory_contract::proto::{GetThreadRequest, GetThreadResponse};
use prost::Message as _;
use recollect_tests::{Http, PLAIN, app, apply, by_id, session, trial};
use serde_json::{Value, json};

use super::http;
use crate::plain;

fn gzipped(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn append(app: &str, text: &str) -> Value {
    json!({
        "thread": {"session": {"app_id": app, "user_id": "ada", "session_key": "thread:1"}},
        "messages": [{"role": "ROLE_USER", "parts": [{"text": text}]}],
    })
}

#[apply(trial)]
async fn a_turn_is_appended_and_read_with_json() {
    let (http, app) = (http(), app());
    let stored = http
        .call("MessageService/AppendMessages", &append(&app, "Hello"))
        .await
        .ok();
    let message = &stored["messages"][0];
    assert_eq!(message["seq"], "1", "64 bits are a string: {stored}");
    let id = message["messageId"].as_str().unwrap();
    // Both spellings.
    let camel = json!({"appId": app, "userId": "ada", "sessionKey": "thread:1"});
    let camel = json!({"thread": {"session": camel}});
    let history = http.call("MessageService/GetHistory", &camel).await.ok();
    assert_eq!(history["messages"][0]["messageId"], id);
    assert_eq!(history["messages"][0]["parts"][0]["text"], "Hello");
    let time = history["messages"][0]["createTime"].as_str().unwrap();
    assert!(time.ends_with('Z'), "{time}");
}

#[apply(trial)]
async fn reading_methods_take_get_and_others_do_not() {
    let (http, client) = (http(), plain().await);
    let thread_id = client.thread(&app()).await;
    let path = "/recollect.v1.ThreadService/GetThread";
    let by_json = format!(
        "{path}?connect=v1&encoding=json&message=%7B%22thread%22%3A%7B%22thread_id%22%3A%22{thread_id}%22%7D%7D"
    );
    let answer = http.send("GET", &by_json, &[], "").await.ok();
    assert_eq!(answer["thread"]["threadId"], thread_id);

    let request = GetThreadRequest {
        thread: by_id(&thread_id),
    };
    let encoded = URL_SAFE_NO_PAD.encode(request.encode_to_vec());
    let by_proto = format!("{path}?encoding=proto&base64=1&message={encoded}");
    let answer = http.send("GET", &by_proto, &[], "").await;
    assert_eq!(answer.headers["content-type"], "application/proto");
    let answer = GetThreadResponse::decode(answer.body).unwrap();
    assert_eq!(answer.thread.unwrap().thread_id, thread_id);

    let missing = http.send("GET", path, &[], "").await;
    assert_eq!(missing.status, 400, "{missing:?}");
    assert!(
        missing.json()["message"]
            .as_str()
            .unwrap()
            .contains("message")
    );
    let deleting = format!(
        "/recollect.v1.ThreadService/DeleteThread?encoding=json&message=%7B%22thread%22%3A%7B%22thread_id%22%3A%22{thread_id}%22%7D%7D"
    );
    let refused = http.send("GET", &deleting, &[], "").await;
    assert_eq!(refused.status, 405, "{refused:?}");
    assert_eq!(refused.headers["allow"], "POST");
    client.call(request).await;
}

#[apply(trial)]
async fn protobuf_is_accepted_as_json_is() {
    let (http, client) = (http(), plain().await);
    let thread = client.resolve(session(&app(), "ada", "thread:1")).await;
    let request = GetThreadRequest {
        thread: by_id(&thread.thread_id),
    };
    let headers = [
        ("content-type", "application/proto"),
        ("connect-protocol-version", "1"),
    ];
    let path = "/recollect.v1.ThreadService/GetThread";
    let answer = http
        .send("POST", path, &headers, request.encode_to_vec())
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.headers["content-type"], "application/proto");
    let answer = GetThreadResponse::decode(answer.body).unwrap();
    assert_eq!(answer.thread.unwrap(), thread);
    // Its errors are JSON too.
    let answer = http.send("POST", path, &headers, "").await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["code"], "invalid_argument");
}

#[apply(trial)]
async fn bodies_are_compressed_on_request() {
    let (http, app) = (http(), app());
    let long = "red cherries ".repeat(1_000);
    let body = gzipped(append(&app, &long).to_string().as_bytes());
    let gzip = [("content-encoding", "gzip"), ("accept-encoding", "gzip")];
    let stored = http
        .call_with("MessageService/AppendMessages", &gzip, body)
        .await;
    // It is short.
    assert!(
        !stored.headers.contains_key("content-encoding"),
        "{stored:?}"
    );
    stored.ok();
    let history = json!({
        "thread": {"session": {"app_id": app, "user_id": "ada", "session_key": "thread:1"}},
        "max_tokens": 100_000,
    });
    let history = history.to_string();
    let answer = http
        .call_with(
            "MessageService/GetHistory",
            &[("accept-encoding", "gzip")],
            history.clone(),
        )
        .await;
    assert_eq!(answer.headers["content-encoding"], "gzip");
    let mut plain = String::new();
    GzDecoder::new(&*answer.body)
        .read_to_string(&mut plain)
        .unwrap();
    assert!(answer.body.len() < plain.len() / 10);
    let expected = http
        .call_with("MessageService/GetHistory", &[], history)
        .await
        .ok();
    let plain: Value = serde_json::from_str(&plain).unwrap();
    assert_eq!(plain["messages"], expected["messages"]);

    // Answers of keys and secrets are not compressed.
    let name = format!("long-{app}");
    for place in 0..30 {
        let secret = json!({"name": format!("{name}-{place}"), "value": "v"});
        http.call("SecretService/SetSecret", &secret).await.ok();
    }
    let secrets = http
        .call_with(
            "SecretService/ListSecrets",
            &[("accept-encoding", "gzip")],
            "{}",
        )
        .await;
    assert!(secrets.body.len() > 1_024, "{secrets:?}");
    assert!(
        !secrets.headers.contains_key("content-encoding"),
        "{secrets:?}"
    );

    let broken = http
        .call_with(
            "ThreadService/ListApps",
            &[("content-encoding", "gzip")],
            "{}",
        )
        .await;
    assert_eq!(broken.status, 400, "{broken:?}");
    let unknown = http
        .call_with(
            "ThreadService/ListApps",
            &[("content-encoding", "br")],
            "{}",
        )
        .await;
    assert_eq!(unknown.status, 501, "{unknown:?}");
}

#[apply(trial)]
async fn bodies_that_are_too_large_are_refused() {
    let (http, app) = (http(), app());
    let check = |answer: recollect_tests::HttpAnswer| {
        assert_eq!(answer.status, 400, "{answer:?}");
        let error = answer.json();
        assert_eq!(error["code"], "invalid_argument");
        assert!(
            error["message"].as_str().unwrap().contains("MiB"),
            "{error}"
        );
        assert_eq!(error["details"][0]["debug"]["reason"], "INVALID_FIELD");
    };
    // More than 4 MiB of protobuf, and more than 8 MiB of JSON.
    for mib in [5, 9, 20] {
        let text = "x".repeat(mib << 20);
        let request = append(&app, &text).to_string();
        check(
            http.call_with("MessageService/AppendMessages", &[], request.clone())
                .await,
        );
        let zeros = gzipped(request.as_bytes());
        let gzip = [("content-encoding", "gzip")];
        check(
            http.call_with("MessageService/AppendMessages", &gzip, zeros)
                .await,
        );
    }
    let session = json!({"app_id": app, "user_id": "ada", "session_key": "thread:1"});
    let named = json!({"thread": {"session": session}});
    let stored = http.call("ThreadService/GetThread", &named).await;
    assert_eq!(stored.status, 404, "{stored:?}");
}

#[apply(trial)]
async fn other_content_types_and_paths_are_refused_clearly() {
    let http = http();
    let get_thread = "/recollect.v1.ThreadService/GetThread";
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/connect+json",
    ] {
        let answer = http
            .send("POST", get_thread, &[("content-type", media)], "{}")
            .await;
        assert_eq!(answer.status, 415, "{media}");
        let accepted = answer.headers["accept-post"].to_str().unwrap();
        assert!(accepted.starts_with("application/json"), "{accepted}");
    }
    let answer = http.send("POST", get_thread, &[], "{}").await;
    assert_eq!(answer.status, 415);
    let grpc = http
        .send(
            "POST",
            get_thread,
            &[("content-type", "application/grpc")],
            "",
        )
        .await;
    assert_eq!(grpc.status, 505);
    let answer = http.send("GET", "/nowhere", &[], "").await;
    assert_eq!(answer.status, 404);
    let answer = http.send("DELETE", get_thread, &[], "").await;
    assert_eq!(answer.status, 405);
    let unknown = http.call("ThreadService/NoSuchMethod", &json!({})).await;
    assert_eq!(unknown.status, 501);
    assert_eq!(unknown.json()["code"], "unimplemented");
    let message = unknown.json()["message"].to_string();
    assert!(message.contains("/openapi.json"), "{message}");

    let export = http.call("TransferService/ExportRecords", &json!({})).await;
    assert_eq!(export.status, 415);
    let error = export.json();
    assert_eq!(error["code"], "unimplemented");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("application/connect+json"), "{message}");
}

#[apply(trial)]
async fn the_root_says_what_it_is_without_a_key() {
    let http = Http::with_authorization(&PLAIN.ready().addr, None);
    let root = http.send("GET", "/", &[], "").await.ok();
    assert_eq!(root["service"], "recollect");
    assert_eq!(root["openapi"], "/openapi.json");
    let document = http.send("GET", "/openapi.json", &[], "").await;
    assert_eq!(document.headers["content-type"], "application/json");
    assert_eq!(document.ok()["openapi"], "3.1.0");
    let compressed = http
        .send("GET", "/openapi.json", &[("accept-encoding", "gzip")], "")
        .await;
    assert_eq!(compressed.headers["content-encoding"], "gzip");
    assert!(compressed.body.len() < document.body.len() / 4);
    // The key of a call is still needed.
    let refused = http.call("ThreadService/ListApps", &json!({})).await;
    assert_eq!(refused.status, 401);
}
