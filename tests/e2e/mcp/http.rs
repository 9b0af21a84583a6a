//! Streamable HTTP at `/mcp`.

use memory_contract::convert::action_name;
use memory_contract::proto::{
    CreateApiKeyRequest, KeyScope, ListTransactionsRequest, TransactionResult,
};
use recollect_tests::{
    Http, Key, Mcp, Options, PLAIN, SOON, Server, app, apply, eventually, eventually_some,
    initialize, mcp_post, trial, trial_with_own_server,
};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::each;
use crate::plain;

fn http() -> Http {
    Http::new(&PLAIN.ready().addr, Key::Acme)
}

fn message(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[apply(trial)]
async fn b14_a_wrong_key_is_refused_before_the_request_is_read() {
    let addr = &PLAIN.ready().addr;
    for authorization in [
        None,
        Some("Bearer wrong".to_owned()),
        Some("Basic eA==".to_owned()),
    ] {
        let http = Http::with_authorization(addr, authorization);
        for message in [
            message("initialize", initialize()),
            message("tools/list", json!({})),
            message(
                "tools/call",
                json!({"name": "recall", "arguments": {"query": "a"}}),
            ),
            json!("this is no request"),
        ] {
            let answer = mcp_post(&http, &[("x-recollect-user", "ada")], &message).await;
            assert_eq!(answer.status, 401, "{answer:?}");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            assert_eq!(answer.json()["code"], "unauthenticated");
        }
    }
}

/// A client with a new key of this name and these scopes.
async fn with_key(app: &str, name: &str, scopes: &[KeyScope]) -> Mcp {
    let request = CreateApiKeyRequest {
        name: name.to_owned(),
        scopes: scopes.iter().map(|scope| (*scope).into()).collect(),
        ..Default::default()
    };
    let made = plain().await.call(request).await;
    let bearer = format!("Bearer {}", made.secret);
    let http = Http::with_authorization(&PLAIN.ready().addr, Some(bearer));
    Mcp::http_as(http, Some(app), Some("ada"))
}

#[apply(trial)]
async fn b14_a_key_does_what_its_scopes_allow() {
    let app = app();
    let (reader_name, writer_name) = (format!("reader-{app}"), format!("writer-{app}"));
    let reader = with_key(&app, &reader_name, &[KeyScope::Read]).await;
    let writer = with_key(&app, &writer_name, &[KeyScope::Read, KeyScope::Write]).await;
    let fact = json!({"text": "Likes tea."});
    let problem = reader.tool_error("remember", fact.clone()).await;
    assert!(problem.contains("Ask the user for an API key"), "{problem}");
    let stored = writer.tool("remember", fact).await;
    let forget = json!({"memory_id": stored["memory_id"]});
    let problem = writer.tool_error("forget_memory", forget).await;
    assert!(problem.contains("Ask the user for an API key"), "{problem}");
    let known = reader.tool("list_memories", json!({})).await;
    assert_eq!(each(&known["memories"], "text"), ["Likes tea."]);

    // The audit log has the changes and the refusals, by the names of the keys.
    let admin = plain().await;
    for (actor, expected) in [
        (reader_name, vec![("add_memories", false)]),
        (
            writer_name,
            vec![("add_memories", true), ("delete_memory", false)],
        ),
    ] {
        eventually("the calls are in the audit log", SOON, async || {
            let request = ListTransactionsRequest {
                actor: actor.clone(),
                ..Default::default()
            };
            let found = admin.call(request).await.transactions;
            let mut found: Vec<(String, bool)> = found
                .iter()
                .map(|done| {
                    let committed = done.result() == TransactionResult::Committed;
                    (action_name(done.action()), committed)
                })
                .collect();
            found.sort();
            let names = found.iter().map(|(name, done)| (name.as_str(), *done));
            names.eq(expected.iter().copied())
        })
        .await;
    }
}

#[apply(trial_with_own_server)]
async fn calls_of_tools_have_the_limits_of_all_calls() {
    let (_dir, server, _client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.key_calls_per_second = 1",
    ]))
    .await;
    let app = app();
    let mcp = Mcp::http(&server.ready().addr, Key::AcmeToo, Some(&app), Some("ada"));
    let refused = eventually_some("a call is refused", SOON, async || {
        let answer = mcp.call("list_memories", json!({})).await;
        answer.is_error.then_some(answer.text)
    })
    .await;
    assert!(refused.contains("Try again in "), "{refused}");
}

#[apply(trial_with_own_server)]
async fn slow_requests_of_one_key_leave_room_for_others() {
    let (_dir, server, _client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.max_calls = 4",
        "server.tenant_share = 0.5",
        "server.key_share = 0.5",
    ]))
    .await;
    let addr = &server.ready().addr;
    let mut slow = Vec::new();
    let list = message("tools/list", json!({}));
    let own = Http::new(addr, Key::Acme);
    eventually("its share is used up", SOON, async || {
        // A slow request may be refused itself, because of this one.
        slow.push(send_slowly(addr).await);
        let answer = mcp_post(&own, &[], &list).await;
        answer.status == 429 && answer.headers.contains_key("retry-after")
    })
    .await;
    mcp_post(&Http::new(addr, Key::Globex), &[], &list)
        .await
        .ok();
    drop(slow);
    eventually("there is room again", SOON, async || {
        mcp_post(&own, &[], &list).await.status == 200
    })
    .await;
}

/// Sends the headers of a request, and no more.
async fn send_slowly(addr: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let key = Key::Acme.secret();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {addr}\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: 100\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[apply(trial)]
async fn it_is_stateless() {
    let http = http();
    let opened = mcp_post(&http, &[], &message("initialize", initialize())).await;
    assert_eq!(opened.ok()["result"]["protocolVersion"], "2025-06-18");
    assert!(!opened.headers.contains_key("mcp-session-id"), "{opened:?}");
    // The server ignores an invented session id.
    let headers = [("mcp-session-id", "stolen")];
    let listed = mcp_post(&http, &headers, &message("tools/list", json!({}))).await;
    assert_eq!(listed.ok()["result"]["tools"].as_array().unwrap().len(), 11);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = mcp_post(&http, &[], &ready).await;
    assert_eq!(accepted.status, 202, "{accepted:?}");
    for method in ["GET", "DELETE"] {
        let headers = [("accept", "text/event-stream")];
        let answer = http.send(method, "/mcp", &headers, "").await;
        assert_eq!(answer.status, 405, "{answer:?}");
        assert_eq!(answer.headers["allow"], "POST");
    }
}

#[apply(trial)]
async fn wrong_requests_are_refused() {
    let http = http();
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let large = "x".repeat(1024 * 1024 + 1);
    let answer = http.send("POST", "/mcp", &headers, large).await;
    assert_eq!(answer.status, 413, "{answer:?}");
    for body in ["", "{", "[]", "{\"jsonrpc\": \"2.0\"}"] {
        let answer = http.send("POST", "/mcp", &headers, body).await;
        assert!((400..=422).contains(&answer.status.as_u16()), "{answer:?}");
    }
    let text = [("content-type", "text/plain"), headers[1]];
    let answer = http.send("POST", "/mcp", &text, "{}").await;
    assert_eq!(answer.status, 415, "{answer:?}");
    let user = [("x-recollect-user", "")];
    let call = json!({"name": "recall", "arguments": {"query": "a"}});
    let answer = mcp_post(&http, &user, &message("tools/call", call)).await;
    assert_eq!(answer.ok()["result"]["isError"], true);
}

#[apply(trial)]
async fn a_page_of_another_site_may_not_call() {
    let http = http();
    for origin in ["https://evil.example.com", "null", "http://localhost:3000"] {
        let headers = [("origin", origin)];
        let listed = mcp_post(&http, &headers, &message("tools/list", json!({}))).await;
        assert_eq!(listed.status, 403, "{origin}: {listed:?}");
    }
}

#[apply(trial_with_own_server)]
async fn pages_of_configured_origins_may_call() {
    let (_dir, server, _client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.cors_origins = [\"https://app.example.com\"]",
    ]))
    .await;
    let http = Http::new(&server.ready().addr, Key::Acme);
    let origin = "https://app.example.com";
    let preflight = [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization,content-type,mcp-protocol-version,x-recollect-user",
        ),
    ];
    let answer = http.send("OPTIONS", "/mcp", &preflight, "").await;
    assert_eq!(answer.headers["access-control-allow-origin"], origin);
    let allowed = answer.headers["access-control-allow-headers"]
        .to_str()
        .unwrap();
    for name in ["mcp-protocol-version", "x-recollect-user"] {
        assert!(allowed.contains(name), "{answer:?}");
    }
    let headers = [("origin", origin)];
    let listed = mcp_post(&http, &headers, &message("tools/list", json!({}))).await;
    assert_eq!(listed.headers["access-control-allow-origin"], origin);
    listed.ok();
}

#[apply(trial_with_own_server)]
async fn a_server_without_keys_serves_local_names_and_pages_alone() {
    let (_dir, server, _client) = Server::start_own(&Options {
        keys: Vec::new(),
        ..Options::with(&["embedding.kind = \"none\""])
    })
    .await;
    let http = Http::with_authorization(&server.ready().addr, None);
    let list = message("tools/list", json!({}));
    mcp_post(&http, &[], &list).await.ok();
    mcp_post(&http, &[("origin", "http://localhost:6274")], &list)
        .await
        .ok();
    for headers in [
        [("host", "evil.example.com")],
        [("origin", "http://evil.example.com")],
    ] {
        let answer = mcp_post(&http, &headers, &list).await;
        assert_eq!(answer.status, 403, "{answer:?}");
    }
}
