//! Interfaces for operators and tools: reflection, health, readiness, metrics,
//! deadlines, sizes.

use std::collections::HashSet;
use std::time::Duration;

use memory_contract::proto::{
    AppendMessagesRequest, GetServerInfoRequest, IndexBackend, Role, SearchRequest,
};
use prost::Message as _;
use recollect_tests::{
    Client, Dynamic, Failure, SHARED, app, apply, by_id, http_get, raw_call, recall_request, say,
    search_request, trial,
};
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::{v1, v1alpha};

use crate::acme;

fn lists_all_services(names: &HashSet<&str>) {
    for service in Dynamic::services() {
        assert!(names.contains(service.as_str()), "{service}: {names:?}");
    }
}

#[apply(trial)]
async fn reflection_v1_lists_and_describes_all_services() {
    use v1::server_reflection_request::MessageRequest;
    use v1::server_reflection_response::MessageResponse;

    let client = acme().await;
    let mut reflection =
        v1::server_reflection_client::ServerReflectionClient::new(client.authorized());
    let ask = |request| v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(request),
    };
    let requests = vec![
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol(
            "recollect.v1.RecallService".into(),
        )),
    ];
    let answers = reflection
        .server_reflection_info(tokio_stream::iter(requests))
        .await
        .unwrap();
    let answers: Vec<_> = answers.into_inner().map(Result::unwrap).collect().await;
    let Some(MessageResponse::ListServicesResponse(list)) = &answers[0].message_response else {
        panic!("{answers:?}");
    };
    let names: HashSet<&str> = list.service.iter().map(|one| one.name.as_str()).collect();
    lists_all_services(&names);
    assert!(names.contains("grpc.health.v1.Health"), "{names:?}");
    let Some(MessageResponse::FileDescriptorResponse(files)) = &answers[1].message_response else {
        panic!("{answers:?}");
    };
    let file = prost_types::FileDescriptorProto::decode(files.file_descriptor_proto[0].as_slice());
    assert_eq!(file.unwrap().package(), "recollect.v1");
}

#[apply(trial)]
async fn reflection_v1alpha_lists_all_services() {
    use v1alpha::server_reflection_request::MessageRequest;
    use v1alpha::server_reflection_response::MessageResponse;

    let client = acme().await;
    let mut reflection =
        v1alpha::server_reflection_client::ServerReflectionClient::new(client.authorized());
    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = reflection
        .server_reflection_info(tokio_stream::once(request))
        .await
        .unwrap();
    let answer = answers.into_inner().next().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("{answer:?}");
    };
    let names: HashSet<&str> = list.service.iter().map(|one| one.name.as_str()).collect();
    lists_all_services(&names);
}

#[apply(trial)]
async fn health_answers_without_a_key() {
    let client = Client::with_authorization(&SHARED.ready().addr, None).await;
    let mut health = HealthClient::new(client.channel());
    let services = Dynamic::services().into_iter().chain([String::new()]);
    for service in services {
        let request = HealthCheckRequest {
            service: service.clone(),
        };
        let answer = health.check(request).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
    let request = HealthCheckRequest {
        service: "no.such.Service".to_owned(),
    };
    assert_eq!(
        health.check(request).await.unwrap_err().code(),
        Code::NotFound
    );
}

#[apply(trial)]
async fn readiness_is_served_over_http() {
    let addr = &SHARED.ready().metrics_addr;
    let (status, _) = http_get(addr, "/livez").await;
    assert_eq!(status, 200);
    let (status, body) = http_get(addr, "/readyz").await;
    assert_eq!(status, 200, "{body}");
    assert!(
        body.contains("ready") && !body.contains("degraded"),
        "{body}"
    );
    assert_eq!(http_get(addr, "/no-such-path").await.0, 404);
}

#[apply(trial)]
async fn metrics_have_the_promised_series() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_turn(&thread_id, "A boat?", "A boat.").await;
    client
        .recall(recall_request(&thread_id, "boat", &stored.revision))
        .await;
    let refused = client.search_refused("").await;
    assert_eq!(refused.code, Code::InvalidArgument);

    let (status, body) = http_get(&SHARED.ready().metrics_addr, "/metrics").await;
    assert_eq!(status, 200);
    let line = |parts: &[&str]| {
        let found = body
            .lines()
            .any(|line| !line.starts_with('#') && parts.iter().all(|part| line.contains(part)));
        assert!(found, "no series with {parts:?} in\n{body}");
    };
    // Latency by method and code.
    line(&["recollect_rpc_seconds_bucket", "AppendMessages", "OK"]);
    line(&["recollect_rpc_seconds_count", "Search", "INVALID_ARGUMENT"]);
    line(&[
        "rpc_server_call_duration_seconds_count",
        "rpc_system_name=\"grpc\"",
        "rpc_method=\"recollect.v1.RecallService/Search\"",
        "rpc_response_status_code=\"INVALID_ARGUMENT\"",
    ]);
    // The outbox, the embedder, the pool.
    line(&["recollect_outbox_depth"]);
    line(&["recollect_outbox_lag_seconds"]);
    line(&["recollect_distill_waiting"]);
    line(&["recollect_distill_lag_seconds"]);
    line(&["recollect_distill_failing"]);
    line(&["recollect_deletions_waiting"]);
    line(&["recollect_deletion_lag_seconds"]);
    line(&["recollect_deletions_failing"]);
    line(&["recollect_subscription_depth"]);
    line(&["recollect_subscription_lag_seconds"]);
    line(&["recollect_subscription_dropped_total"]);
    line(&["recollect_embed_batch_size"]);
    line(&["recollect_embed_seconds"]);
    line(&["recollect_pool_open"]);
    for line in body.lines().filter(|line| line.starts_with("# TYPE")) {
        let name = line.split(' ').nth(2).unwrap();
        let is_conventional = name == "rpc_server_call_duration_seconds";
        assert!(
            name.starts_with("recollect_") || is_conventional,
            "{name} is not ours"
        );
        let help = format!("# HELP {name} ");
        assert!(body.contains(&help), "{name} has no description");
    }
}

trait SearchRefused {
    async fn search_refused(&self, query: &str) -> Failure;
}

impl SearchRefused for Client {
    async fn search_refused(&self, query: &str) -> Failure {
        let request = SearchRequest {
            query: query.to_owned(),
            ..Default::default()
        };
        self.refused(request).await
    }
}

#[apply(trial)]
async fn metrics_and_logs_hold_nothing_that_was_said() {
    let client = acme().await;
    let (said, asked) = ("flibbertigibbet-said", "flibbertigibbet-asked");
    let thread_id = client.thread(&app()).await;
    let stored = client.append_text(&thread_id, said).await;
    client
        .search(search_request(&thread_id, asked, &stored.revision))
        .await;
    let bad = AppendMessagesRequest {
        thread: by_id(thread_id),
        messages: vec![say(Role::User, &format!("{said}\0"))],
        ..Default::default()
    };
    client.refused(bad).await;
    let (_, metrics) = http_get(&SHARED.ready().metrics_addr, "/metrics").await;
    let log = SHARED.log();
    assert!(!log.is_empty(), "the server logs something");
    for text in [&metrics, &log] {
        assert!(!text.contains("flibbertigibbet"), "what was said leaks");
        assert!(
            !text.contains(&recollect_tests::Key::Acme.secret()),
            "a key leaks"
        );
    }
}

#[apply(trial)]
async fn a_deadline_that_passes_is_deadline_exceeded() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let request = recall_request(&thread_id, "x", "").encode_to_vec();
    let bearer = format!("Bearer {}", recollect_tests::Key::Acme.secret());
    let call = async |timeout: &str| {
        let headers = [
            ("authorization", bearer.as_str()),
            ("grpc-timeout", timeout),
        ];
        let addr = &SHARED.ready().addr;
        raw_call(
            addr,
            "/recollect.v1.RecallService/Recall",
            &headers,
            &request,
        )
        .await
    };
    let failure = call("1n").await;
    failure.is(Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
    assert_eq!(call("30S").await.code, Code::Ok);
    // An invalid timeout is either refused or harmless.
    let odd = call("soon").await;
    assert!(
        matches!(odd.code, Code::Ok | Code::InvalidArgument),
        "{odd:?}"
    );
}

#[apply(trial)]
async fn a_request_that_is_too_large_is_refused() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![say(Role::User, &"x".repeat(5 * 1024 * 1024))],
        ..Default::default()
    };
    let answer = client.messages().append_messages(request).await;
    let code = answer.unwrap_err().code();
    assert!(
        matches!(
            code,
            Code::OutOfRange | Code::ResourceExhausted | Code::InvalidArgument
        ),
        "{code:?}"
    );
    assert!(client.all_messages(&thread_id).await.is_empty());

    // 5 MiB of zeros are small when compressed, and must not be let in either.
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![say(Role::User, &"0".repeat(5 * 1024 * 1024))],
        ..Default::default()
    };
    let mut compressed = client
        .messages()
        .send_compressed(tonic::codec::CompressionEncoding::Gzip);
    assert!(compressed.append_messages(request).await.is_err());
    assert!(client.all_messages(&thread_id).await.is_empty());
}

#[apply(trial)]
async fn the_server_describes_itself() {
    for key in recollect_tests::Key::ALL {
        let client = SHARED.client(key).await;
        let info = client.call(GetServerInfoRequest {}).await;
        assert_eq!(info.version, env!("CARGO_PKG_VERSION"));
        assert_eq!(info.tenant, key.tenant());
        assert_eq!(info.index_backend(), IndexBackend::QdrantEdge);
        assert!(
            info.embedding_model.starts_with("multilingual-e5-small"),
            "{info:?}"
        );
        assert_eq!(info.embedding_dimensions, 384);
        assert_eq!(info.embedding_languages, "about 100 languages");
        assert_eq!(info.extraction_languages, "English");
        assert!(
            info.postgres_version
                .starts_with(|first: char| first.is_ascii_digit())
        );
        assert!(info.start_time.is_some());
    }
}

#[apply(trial)]
async fn compressed_requests_are_understood() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let gzip = tonic::codec::CompressionEncoding::Gzip;
    let mut messages = client
        .messages()
        .send_compressed(gzip)
        .accept_compressed(gzip);
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![say(Role::User, &"compressible ".repeat(1_000))],
        ..Default::default()
    };
    messages.append_messages(request).await.unwrap();
    let history = messages
        .get_history(recollect_tests::history_request(&thread_id))
        .await;
    assert_eq!(history.unwrap().into_inner().messages.len(), 1);
}

#[apply(trial)]
async fn many_calls_at_once_are_answered() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Q", "A").await;
    let calls = (0..400).map(|_| {
        let mut messages = client.messages();
        let request = recollect_tests::history_request(&thread_id);
        async move { messages.get_history(request).await }
    });
    let start = std::time::Instant::now();
    for answer in futures::future::join_all(calls).await {
        match answer {
            Ok(history) => assert_eq!(history.into_inner().messages.len(), 2),
            Err(status) => {
                let failure = Failure::from(status).is(Code::ResourceExhausted, "OVERLOADED");
                assert!(failure.retry.is_some(), "says when to come back");
            }
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_eq!(client.all_messages(&thread_id).await.len(), 2);
}
