//! What passes unchanged.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use recollect_tests::{
    PLAIN, Provider, ProviderAnswer, ProviderApi, SOON, app, apply, eventually, trial,
};
use serde_json::json;

use super::{Proxy, history, memory, session_of};
use crate::plain;

#[apply(trial)]
async fn errors_of_the_provider_pass_and_store_nothing() {
    let provider = Provider::new(|asked| {
        let status = asked.headers["x-status"].to_str().unwrap().parse().unwrap();
        let mut answer =
            ProviderAnswer::json(status, &json!({"error": {"message": "é", "code": status}}));
        answer.headers.push(("retry-after", "7".to_owned()));
        answer.headers.push(("x-request-id", "req_1".to_owned()));
        answer
    });
    let app = app();
    let proxy = Proxy::start(
        &provider,
        &PLAIN.ready().addr,
        &["--app", &app, "--user", "ada"],
    );
    for status in ["400", "401", "429", "500", "529"] {
        for api in ProviderApi::ALL {
            let body = api.request(&["Hello"], None);
            let answer = proxy.ask(api, &[("x-status", status)], &body).await;
            assert_eq!(answer.status.as_str(), status);
            assert_eq!(answer.json()["error"]["message"], "é");
            assert_eq!(answer.headers["retry-after"], "7");
            assert_eq!(answer.headers["x-request-id"], "req_1");
            assert_eq!(memory(&answer), ("none", 0));
            let stored = history(&plain().await, &app, "ada", &session_of(&answer)).await;
            assert_eq!(stored, [""; 0]);
        }
    }
    for counter in ["turns_stored", "turns_waiting", "turns_lost"] {
        assert_eq!(proxy.count(counter).await, 0, "{counter}");
    }
}

#[apply(trial)]
async fn other_paths_pass_as_they_are() {
    let provider = Provider::new(|asked| {
        let mut answer =
            ProviderAnswer::json(200, &json!({"path": asked.path, "method": asked.method}));
        answer.headers.push(("x-own", "kept".to_owned()));
        answer
    });
    let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &["--user", "ada"]);
    let odd = Bytes::from_static(b"\xff\x00 not JSON");
    for (method, path) in [
        ("GET", "/v1/models?limit=2"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/messages/count_tokens"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/files"),
    ] {
        let headers = [("x-any", "1"), ("accept-encoding", "gzip")];
        let answer = proxy.http.send(method, path, &headers, odd.clone()).await;
        assert_eq!(answer.json(), json!({"path": path, "method": method}));
        assert_eq!(answer.headers["x-own"], "kept");
        assert!(!answer.headers.contains_key("x-recollect-memory"), "{path}");
        let asked = provider.last();
        assert_eq!(asked.body, odd);
        assert_eq!(
            (&asked.headers["x-any"], &asked.headers["accept-encoding"]),
            (&"1".parse().unwrap(), &"gzip".parse().unwrap())
        );
    }
    let elsewhere = proxy.http.send("GET", "/admin", &[], "").await;
    assert_eq!(elsewhere.status, 404);
    assert!(
        elsewhere.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("/v1/")
    );
}

#[apply(trial)]
async fn pages_of_other_sites_are_refused() {
    let provider = Provider::new(|_| ProviderAnswer::json(200, &json!({"ok": true})));
    let args = ["--user", "ada", "--host", "memory.example"];
    let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &args);
    for (origin, expected) in [
        ("http://localhost:3000", 200),
        ("https://memory.example", 200),
        ("https://example.com", 403),
        ("null", 403),
    ] {
        for path in ["/v1/models", "/recollect/status"] {
            let answer = proxy
                .http
                .send("GET", path, &[("origin", origin)], "")
                .await;
            assert_eq!(answer.status, expected, "{origin} {path}");
        }
    }
    let refused = proxy
        .http
        .send("GET", "/v1/models", &[("origin", "null")], "")
        .await;
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains("--host"), "{message}");
}

#[apply(trial)]
async fn requests_that_cannot_get_memory_pass_as_they_are() {
    let provider = Provider::new(|_| ProviderAnswer::json(200, &json!({"ok": true})));
    let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &["--user", "ada"]);
    let post = async |body: Bytes, headers: &[(&str, &str)], reason: &str| {
        let path = ProviderApi::Chat.path();
        let answer = proxy.http.send("POST", path, headers, body.clone()).await;
        assert_eq!(answer.json(), json!({"ok": true}));
        assert_eq!(memory(&answer), ("off", 0));
        assert_eq!(answer.headers["x-recollect-reason"], reason);
        assert!(provider.last().body == body, "{reason}");
    };
    post("{".into(), &[], "unknown messages").await;
    post(
        r#"{"messages": [{"role": "wizard"}]}"#.into(),
        &[],
        "unknown messages",
    )
    .await;
    post(
        Bytes::from_static(b"\x28\xb5\x2f\xfd"),
        &[("content-encoding", "zstd")],
        "compressed request",
    )
    .await;
    let large = Bytes::from(vec![b' '; 33 * 1024 * 1024]);
    post(large, &[], "request too large").await;
}

#[apply(trial)]
async fn a_provider_that_is_not_there_is_named() {
    let provider = Provider::new(|_| ProviderAnswer::json(200, &json!({})));
    let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &["--user", "ada"]);
    drop(provider);
    let chat = ProviderApi::Chat;
    let answer = proxy.ask(chat, &[], &chat.request(&["Hello"], None)).await;
    assert_eq!(answer.status, 502);
    let error = answer.json();
    assert_eq!(error["error"]["code"], "recollect_proxy");
    assert!(
        error["error"]["message"]
            .as_str()
            .unwrap()
            .contains("127.0.0.1"),
        "{error}"
    );
}

#[apply(trial)]
async fn a_client_that_goes_away_leaves_the_turn_to_the_next_request() {
    let chat = ProviderApi::Chat;
    let provider = Provider::new(move |asked| {
        let stream = chat.stream("a", "One two three.");
        let mut answer = ProviderAnswer::events(&stream, &[200]);
        if !asked.headers.contains_key("x-whole") {
            answer.pieces.truncate(1);
            answer.hangs = true;
        }
        answer
    });
    let app = app();
    let client = plain().await;
    let proxy = Proxy::start(
        &provider,
        &PLAIN.ready().addr,
        &["--app", &app, "--user", "ada"],
    );
    let session = ("x-recollect-session", "s");
    let first = chat.request(&["Count."], None).to_string();
    let answer = proxy
        .http
        .open("POST", chat.path(), &[session], first)
        .await;
    let mut body = answer.into_body();
    assert!(body.frame().await.unwrap().is_ok());
    drop(body);
    eventually("the turn is given up", SOON, async || {
        proxy.count("turns_unfinished").await == 1
    })
    .await;
    assert_eq!(history(&client, &app, "ada", "s").await, [""; 0]);
    let next = chat.request(&["Count.", "One", "Go on."], None);
    proxy.ask(chat, &[session, ("x-whole", "1")], &next).await;
    proxy.stored(1).await;
    assert_eq!(
        history(&client, &app, "ada", "s").await,
        [
            "user: Count.",
            "assistant: One",
            "user: Go on.",
            "assistant: One two three."
        ]
    );
}
