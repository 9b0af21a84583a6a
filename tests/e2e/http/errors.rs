//! Errors over HTTP have the codes, reasons and details of those over gRPC.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use memory_contract::proto::GetServerInfoRequest;
use prost::Message as _;
use recollect_tests::{
    Client, Dynamic, Failure, Http, HttpAnswer, Key, Options, PLAIN, SOON, Server, app, apply,
    eventually, eventually_some, trial, trial_with_own_server,
};
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::pb::Status as Details;

use super::http;
use crate::plain;

/// The status of HTTP and the name in the Connect protocol of a code.
fn named(code: Code) -> (u16, &'static str) {
    match code {
        Code::InvalidArgument => (400, "invalid_argument"),
        Code::FailedPrecondition => (400, "failed_precondition"),
        Code::Unauthenticated => (401, "unauthenticated"),
        Code::PermissionDenied => (403, "permission_denied"),
        Code::NotFound => (404, "not_found"),
        Code::AlreadyExists => (409, "already_exists"),
        Code::Aborted => (409, "aborted"),
        Code::ResourceExhausted => (429, "resource_exhausted"),
        Code::Unimplemented => (501, "unimplemented"),
        Code::Unavailable => (503, "unavailable"),
        Code::DeadlineExceeded => (504, "deadline_exceeded"),
        other => panic!("no test provokes {other:?}"),
    }
}

/// The error of an answer, as a gRPC client would have it.
#[track_caller]
pub fn failure(answer: &HttpAnswer) -> Failure {
    let error = answer.json();
    let codes = (0..=16).map(Code::from);
    let mut codes = codes.filter(|code| {
        !matches!(
            code,
            Code::Ok
                | Code::Cancelled
                | Code::Unknown
                | Code::Internal
                | Code::DataLoss
                | Code::OutOfRange
        )
    });
    let code = codes
        .find(|code| named(*code).1 == error["code"])
        .unwrap_or_else(|| panic!("{error}"));
    assert_eq!(answer.status, named(code).0, "{error}");
    let details = error["details"].as_array().cloned().unwrap_or_default();
    let details = details.iter().map(|detail| {
        assert!(detail["debug"].is_object(), "{detail}");
        prost_types::Any {
            type_url: format!("type.googleapis.com/{}", detail["type"].as_str().unwrap()),
            value: STANDARD_NO_PAD
                .decode(detail["value"].as_str().unwrap())
                .unwrap(),
        }
    });
    let details = Details {
        code: code.into(),
        message: error["message"].as_str().unwrap_or_default().to_owned(),
        details: details.collect(),
    };
    Status::with_details(
        code,
        details.message.clone(),
        details.encode_to_vec().into(),
    )
    .into()
}

#[apply(trial)]
async fn b11_errors_have_the_details_of_grpc() {
    let (http, client) = (http(), plain().await);
    let thread_id = client.thread(&app()).await;
    let unknown = "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11";
    let session = json!({"app_id": app(), "user_id": "ada", "session_key": "s"});
    http.call("ThreadService/CreateThread", &json!({"session": session}))
        .await
        .ok();
    for (method, request) in [
        (
            "ThreadService/GetThread",
            json!({"thread": {"thread_id": unknown}}),
        ),
        ("ThreadService/GetThread", json!({})),
        ("ThreadService/CreateThread", json!({"session": session})),
        (
            "MessageService/AppendMessages",
            json!({"thread": {"thread_id": thread_id}, "messages": [
                {"role": "ROLE_USER", "parts": [{"text": "x"}], "metadata": r#"{"a": NaN}"#}, {}]}),
        ),
        (
            "MessageService/AppendMessages",
            json!({"thread": {"thread_id": thread_id}, "expected_head": unknown,
                "messages": [{"role": "ROLE_USER", "parts": [{"text": "x"}]}]}),
        ),
        (
            "RecallService/Recall",
            json!({"target": {"thread": {"thread_id": thread_id}}, "query": "x",
                "policy": {"top_k": 101}}),
        ),
        ("AdminService/DeleteTenant", json!({"tenant": "another"})),
        (
            "AdminService/CompareIndexes",
            json!({"app_id": "a", "user_id": "u", "queries": ["q"]}),
        ),
    ] {
        let expected = Dynamic::call(&client, method, request.clone())
            .await
            .unwrap_err();
        let expected = Failure::from(expected);
        let found = failure(&http.call(method, &request).await);
        assert_eq!(found, expected, "{method} {request}");
    }
    // Of a stream the last envelope has it.
    let request = json!({"target": {"thread": {"thread_id": unknown}}});
    let end = http
        .stream("TransferService/ExportRecords", &[request])
        .await;
    assert_eq!(end.len(), 1, "{end:?}");
    assert_eq!(end[0].flags, 2);
    let error = end[0].json()["error"].clone();
    assert_eq!(error["code"], "not_found");
    assert_eq!(error["details"][0]["debug"]["reason"], "THREAD_NOT_FOUND");
}

#[apply(trial)]
async fn json_that_is_no_request_is_refused_with_its_place() {
    let http = http();
    let check = async |json: &str, field: Option<&str>, words: &[&str]| {
        let answer = http
            .call_with("MessageService/AppendMessages", &[], json.to_owned())
            .await;
        let failure = failure(&answer).is(Code::InvalidArgument, "INVALID_FIELD");
        let fields: Vec<&str> = field.into_iter().collect();
        assert_eq!(failure.field_names(), fields, "{failure:?}");
        for word in words {
            assert!(failure.message.contains(word), "{failure:?}");
        }
    };
    check("", None, &["at least {}"]).await;
    check("{\n  \"request_id\": \"x\",\n}", None, &["line 3 column 1"]).await;
    check("[1, 2]", None, &["line 1"]).await;
    check(r#"{"tread_id": "x"}"#, None, &["tread_id", "line 1 column"]).await;
    check(
        "{\"messages\": [\n{\"role\": \"ROLE_CAT\"}]}",
        Some("messages[0].role"),
        &["ROLE_CAT", "line 2 column"],
    )
    .await;
    check(
        r#"{"messages": [{"parts": [{"text": 1}]}]}"#,
        Some("messages[0].parts[0].text"),
        &["line 1 column"],
    )
    .await;
    // Metadata is a text, which has the JSON in it.
    for object in [r#"{"a": 1}}]}"#.to_owned(), "[".repeat(1_000)] {
        check(
            &format!(r#"{{"messages": [{{"metadata": {object}"#),
            Some("messages[0].metadata"),
            &["line 1 column"],
        )
        .await;
    }
}

#[apply(trial)]
async fn a_call_without_a_valid_key_is_refused_before_its_body_is_read() {
    let addr = &PLAIN.ready().addr;
    for header in [None, Some(""), Some("Bearer"), Some("Bearer wrong")] {
        let http = Http::with_authorization(addr, header.map(str::to_owned));
        for method in Dynamic::methods() {
            let streams = method.is_client_streaming() || method.is_server_streaming();
            let name = Dynamic::name(&method);
            if streams {
                let end = http.stream(&name, &[json!({})]).await;
                assert_eq!(end[0].json()["error"]["code"], "unauthenticated", "{name}");
                continue;
            }
            // What is no JSON would be another error.
            let answer = http.call_with(&name, &[], "{").await;
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            failure(&answer).is(Code::Unauthenticated, "UNAUTHENTICATED");
        }
    }
    let reports = Http::new(addr, Key::AcmeToo);
    let answer = reports.call("KeyService/ListApiKeys", &json!({})).await;
    failure(&answer).is(Code::PermissionDenied, "PERMISSION_DENIED");
}

#[apply(trial)]
async fn a_deadline_is_that_of_grpc() {
    let (http, client) = (http(), plain().await);
    let thread_id = client.thread(&app()).await;
    let request = json!({"thread": {"thread_id": thread_id}}).to_string();
    let call = async |name: &str, value: &str| {
        let headers = [(name, value)];
        http.call_with("ThreadService/GetThread", &headers, request.clone())
            .await
    };
    for (name, value) in [("connect-timeout-ms", "0"), ("grpc-timeout", "1n")] {
        // A timer takes a millisecond, in which a call may be answered.
        let late = eventually_some("a call is late", SOON, async || {
            let answer = call(name, value).await;
            (answer.status != 200).then_some(answer)
        });
        failure(&late.await).is(Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
    }
    call("connect-timeout-ms", "30000").await.ok();
    call("grpc-timeout", "30S").await.ok();
    for wrong in ["soon", "-1", "12345678901"] {
        let failure = failure(&call("connect-timeout-ms", wrong).await);
        let failure = failure.is(Code::InvalidArgument, "INVALID_FIELD");
        assert!(
            failure.message.contains("connect-timeout-ms"),
            "{failure:?}"
        );
    }
    let failure = failure(&call("connect-protocol-version", "2").await);
    failure.is(Code::InvalidArgument, "INVALID_FIELD");
}

#[apply(trial_with_own_server)]
async fn b11_rates_count_calls_over_http_and_grpc_together() {
    let (_dir, server, client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.key_calls_per_second = 5",
    ]))
    .await;
    let http = Http::new(&server.ready().addr, Key::Acme);
    let info = |client: &Client| {
        let client = client.clone();
        async move {
            client
                .admin()
                .get_server_info(GetServerInfoRequest {})
                .await
        }
    };
    let limited = async || {
        // Half of the calls by each.
        let mut refused = Vec::new();
        for _ in 0..10 {
            let answer = http.call("AdminService/GetServerInfo", &json!({})).await;
            if answer.status != 200 {
                refused.push(answer);
            }
            let _ = info(&client).await;
        }
        refused
    };
    eventually("a call is refused", Duration::from_secs(20), async || {
        let Some(answer) = limited().await.pop() else {
            return false;
        };
        let seconds: u64 = answer.headers["retry-after"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!(seconds >= 1);
        let failure = failure(&answer).is(Code::ResourceExhausted, "QUOTA_EXCEEDED");
        assert!(failure.retry.is_some_and(|delay| !delay.is_zero()));
        assert_eq!(failure.quotas.len(), 1, "{failure:?}");
        true
    })
    .await;
    // Calls of other keys are not refused.
    let other = Http::new(&server.ready().addr, Key::Globex);
    other
        .call("AdminService/GetServerInfo", &json!({}))
        .await
        .ok();
}

#[apply(trial)]
async fn changes_that_are_refused_over_http_are_recorded() {
    let admin = http();
    let name = format!("key-{}", app());
    let made = json!({"name": name, "scopes": ["KEY_SCOPE_WRITE"]});
    let made = admin.call("KeyService/CreateApiKey", &made).await.ok();
    let bearer = format!("Bearer {}", made["secret"].as_str().unwrap());
    let writer = Http::with_authorization(&PLAIN.ready().addr, Some(bearer));
    let request = json!({"messages": [{"role": "ROLE_CAT"}]});
    let answer = writer.call("MessageService/AppendMessages", &request).await;
    failure(&answer).is(Code::InvalidArgument, "INVALID_FIELD");
    let listed = json!({"actor": name, "page_size": 10});
    eventually(
        "the refusal is listed",
        Duration::from_secs(20),
        async || {
            let listed = admin
                .call("AdminService/ListTransactions", &listed)
                .await
                .ok();
            let transactions = listed["transactions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            transactions.iter().any(|one: &Value| {
                one["action"] == "TRANSACTION_ACTION_APPEND_MESSAGES"
                    && one["errorReason"] == "ERROR_REASON_INVALID_FIELD"
            })
        },
    )
    .await;
}
