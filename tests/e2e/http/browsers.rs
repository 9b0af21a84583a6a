//! Which web pages may call, and gRPC-web.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memory_contract::proto::{GetThreadRequest, GetThreadResponse};
use prost::Message as _;
use recollect_tests::{
    Http, Key, Options, Server, app, apply, by_id, envelopes, framed, trial, trial_with_own_server,
};

use super::http;
use crate::plain;

const PATH: &str = "/recollect.v1.ThreadService/ListApps";
/// The flag of the trailers in gRPC-web.
const TRAILERS: u8 = 0x80;

fn preflight(origin: &str) -> [(&str, &str); 3] {
    [
        ("origin", origin),
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization,content-type",
        ),
    ]
}

#[apply(trial_with_own_server)]
async fn only_pages_of_configured_origins_may_call() {
    let (_dir, server, _client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.cors_origins = [\"https://app.example.com\", \"http://localhost:3000\"]",
    ]))
    .await;
    let http = Http::new(&server.ready().addr, Key::Acme);
    let allowed = "access-control-allow-origin";
    for origin in ["https://app.example.com", "http://localhost:3000"] {
        let answer = http.send("OPTIONS", PATH, &preflight(origin), "").await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers[allowed], origin);
        let headers = answer.headers["access-control-allow-headers"]
            .to_str()
            .unwrap();
        for name in [
            "authorization",
            "content-type",
            "connect-protocol-version",
            "x-grpc-web",
        ] {
            assert!(headers.contains(name), "{headers}");
        }
        let answer = http
            .call_with("ThreadService/ListApps", &[("origin", origin)], "{}")
            .await;
        assert_eq!(answer.headers[allowed], origin);
        let shown = answer.headers["access-control-expose-headers"]
            .to_str()
            .unwrap();
        assert!(shown.contains("grpc-status-details-bin"), "{shown}");
        answer.ok();
    }
    for origin in ["https://evil.example.com", "http://app.example.com", "null"] {
        let answer = http.send("OPTIONS", PATH, &preflight(origin), "").await;
        assert!(
            !answer.headers.contains_key(allowed),
            "{origin}: {answer:?}"
        );
    }
}

#[apply(trial)]
async fn without_origins_no_page_of_another_site_may_call() {
    let http = http();
    let origin = "https://app.example.com";
    let answer = http.send("OPTIONS", PATH, &preflight(origin), "").await;
    assert_eq!(answer.status, 405);
    let answer = http
        .call_with("ThreadService/ListApps", &[("origin", origin)], "{}")
        .await;
    for (name, _) in &answer.headers {
        assert!(!name.as_str().starts_with("access-control"), "{answer:?}");
    }
}

#[apply(trial_with_own_server)]
async fn without_keys_only_local_names_are_served_over_http() {
    let (_dir, server, client) = Server::start_own(&Options {
        keys: Vec::new(),
        ..Options::with(&["embedding.kind = \"none\""])
    })
    .await;
    client.thread(&app()).await;
    let http = Http::with_authorization(&server.ready().addr, None);
    for host in ["localhost:50051", "127.0.0.1:50051", "[::1]:50051"] {
        let answer = http
            .call_with("ThreadService/ListApps", &[("host", host)], "{}")
            .await;
        answer.ok();
    }
    for host in ["evil.example.com:50051", "localhost.evil.example.com", ""] {
        for media in ["application/json", "application/grpc-web"] {
            let headers = [("host", host), ("content-type", media)];
            let answer = http.send("POST", PATH, &headers, "{}").await;
            assert_eq!(answer.status, 403, "{host}: {answer:?}");
        }
    }
}

#[apply(trial)]
async fn a_call_in_grpc_web_is_answered_with_its_trailers() {
    let (http, client) = (http(), plain().await);
    let thread_id = client.thread(&app()).await;
    let request = GetThreadRequest {
        thread: by_id(&thread_id),
    };
    let body = framed(0, &request.encode_to_vec());
    let path = "/recollect.v1.ThreadService/GetThread";
    for text in [false, true] {
        let (media, body) = match text {
            false => ("application/grpc-web+proto", body.clone()),
            true => (
                "application/grpc-web-text",
                STANDARD.encode(&body).into_bytes(),
            ),
        };
        let headers = [
            ("content-type", media),
            ("accept", media),
            ("x-grpc-web", "1"),
        ];
        let answer = http.send("POST", path, &headers, body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let body = match text {
            false => answer.body.to_vec(),
            // Each piece is padded on its own.
            true => answer
                .body
                .chunks(4)
                .flat_map(|four| STANDARD.decode(four).unwrap())
                .collect(),
        };
        let found = envelopes(&body);
        assert_eq!(found.len(), 2, "{found:?}");
        let thread = GetThreadResponse::decode(&*found[0].data)
            .unwrap()
            .thread
            .unwrap();
        assert_eq!(thread.thread_id, thread_id);
        assert_eq!(found[1].flags, TRAILERS);
        let trailers = std::str::from_utf8(&found[1].data).unwrap();
        assert!(trailers.contains("grpc-status:0"), "{trailers}");
    }
    // An error is in the headers.
    let headers = [("content-type", "application/grpc-web+proto")];
    let answer = http.send("POST", path, &headers, framed(0, &[])).await;
    assert_eq!(answer.headers["grpc-status"], "3", "{answer:?}");
    assert!(answer.headers.contains_key("grpc-status-details-bin"));
    let get = http.send("GET", path, &headers, "").await;
    assert_eq!(get.status, 405);
}
