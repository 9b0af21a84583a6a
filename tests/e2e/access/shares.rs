//! No caller takes what others need: keys are checked before anything is counted, and
//! tenants and keys have limits of their own.

use std::time::Duration;

use futures::future::join_all;
use memory_contract::proto::admin_service_client::AdminServiceClient;
use memory_contract::proto::{GetServerInfoRequest, ImportMessagesRequest, ImportMessagesResponse};
use recollect_tests::{
    Client, Cluster, DataDir, Failure, Key, Options, Refused as _, Server, apply, by_session,
    eventually, session, trial_with_own_server, turn,
};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::{Code, Request, Status, Streaming};

use super::serve;

/// Calls with unknown keys that may wait at a time.
const WAITING: usize = 1_024;
const SOON: Duration = Duration::from_secs(20);

/// An import that sends nothing.
async fn idle_import(client: &Client) -> Result<Streaming<ImportMessagesResponse>, Status> {
    let nothing = tokio_stream::pending::<ImportMessagesRequest>();
    let answers = client.messages().import_messages(nothing).await?;
    Ok(answers.into_inner())
}

fn exceeded(status: Status, subject: &str) -> Failure {
    let failure = Failure::from(status).is(Code::ResourceExhausted, "QUOTA_EXCEEDED");
    assert!(failure.retry.is_some_and(|delay| !delay.is_zero()));
    let [(of, limit)] = failure.quotas.as_slice() else {
        panic!("{failure:?}");
    };
    assert_eq!(of, subject);
    assert!(limit.starts_with("at most "), "{limit}");
    failure
}

#[apply(trial_with_own_server)]
async fn idle_imports_of_one_key_leave_room_for_others_and_end() {
    let (_dir, server, acme) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.max_streams = 8",
        "server.key_share = 0.5",
        "server.stream_idle_timeout = \"30s\"",
    ]))
    .await;
    let acme_too = server.client(Key::AcmeToo).await;
    let globex = server.client(Key::Globex).await;
    let mut idle = Vec::new();
    for _ in 0..4 {
        idle.push(idle_import(&acme).await.unwrap());
    }
    let refused = idle_import(&acme).await.unwrap_err();
    let failure = exceeded(refused, &format!("api_key:{}", Key::Acme.name()));
    assert!(
        failure.message.contains("4 imports and exports"),
        "{failure:?}"
    );
    for _ in 0..2 {
        idle.push(idle_import(&acme_too).await.unwrap());
    }
    exceeded(idle_import(&acme_too).await.unwrap_err(), "tenant:acme");

    let request = ImportMessagesRequest {
        thread: by_session(session("app", "ada", "s")),
        messages: turn("Q", "A"),
        ..Default::default()
    };
    let requests = tokio_stream::iter([request]);
    let mut answers = globex.messages().import_messages(requests).await.unwrap();
    assert!(answers.get_mut().message().await.unwrap().is_some());
    // Short calls are counted apart.
    acme.append_turn(&acme.thread("app").await, "Q", "A").await;

    for mut answers in idle {
        let ended = timeout(SOON * 4, answers.message()).await.unwrap();
        let failure = Failure::from(ended.unwrap_err());
        failure.is(Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
    }
    eventually("there is room again", SOON, async || {
        idle_import(&acme).await.is_ok()
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn unknown_keys_hold_no_place_of_valid_ones() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &["server.max_calls = 2"]));
    let acme = server.client(Key::Acme).await;
    let thread_id = acme.thread("app").await;
    // Nobody's key can be looked up.
    let database = cluster.superuser().await;
    database
        .batch_execute("BEGIN; LOCK TABLE recollect.api_keys IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let mut connections = Vec::new();
    for _ in 0..5 {
        connections.push(Client::with_authorization(&server.ready().addr, None).await);
    }
    let mut calls = JoinSet::new();
    for number in 0..WAITING + 16 {
        let connection = &connections[number % connections.len()];
        let mut admin = AdminServiceClient::new(connection.channel());
        let mut request = Request::new(GetServerInfoRequest {});
        let key = format!("Bearer rck_{number:0>43}");
        let headers = request.metadata_mut();
        headers.insert("authorization", key.parse().unwrap());
        calls.spawn(async move { admin.get_server_info(request).await.refused() });
    }
    // Those beyond the bound are refused at once.
    for _ in 0..16 {
        let refused = timeout(SOON, calls.join_next()).await.unwrap();
        let refused = refused.unwrap().unwrap();
        let refused = refused.is(Code::ResourceExhausted, "OVERLOADED");
        assert!(refused.retry.is_some());
    }
    // A valid key is served, while all others wait.
    acme.append_turn(&thread_id, "Q", "A").await;
    assert_eq!(acme.all_messages(&thread_id).await.len(), 2);
    assert_eq!(calls.len(), WAITING);

    database.batch_execute("ROLLBACK").await.unwrap();
    while let Some(refused) = timeout(SOON, calls.join_next()).await.unwrap() {
        let refused = refused.unwrap();
        refused.is(Code::Unauthenticated, "UNAUTHENTICATED");
    }
}

#[apply(trial_with_own_server)]
async fn calls_beyond_a_rate_are_refused_and_those_of_others_are_not() {
    let (_dir, server, acme) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.key_calls_per_second = 20",
        "server.tenant_calls_per_second = 30",
    ]))
    .await;
    let acme_too = server.client(Key::AcmeToo).await;
    let globex = server.client(Key::Globex).await;
    let call = async |client: &Client| {
        let mut admin = client.admin();
        admin
            .get_server_info(GetServerInfoRequest {})
            .await
            .map(drop)
    };
    let key = format!("api_key:{}", Key::Acme.name());
    let answers = join_all((0..200).map(|_| call(&acme))).await;
    let refused: Vec<Status> = answers.into_iter().filter_map(Result::err).collect();
    assert!(
        !refused.is_empty() && refused.len() <= 180,
        "{}",
        refused.len()
    );
    for status in refused {
        let failure = exceeded(status, &key);
        assert!(failure.retry < Some(Duration::from_secs(1)), "{failure:?}");
    }
    // Both keys of the tenant together are over its limit.
    let both = (0..200).flat_map(|_| [call(&acme), call(&acme_too)]);
    let answers = join_all(both).await;
    assert!(answers.iter().any(Result::is_ok));
    let refused = answers.into_iter().filter_map(Result::err);
    let mut subjects = refused.map(|status| Failure::from(status).quotas[0].0.clone());
    assert!(subjects.any(|subject| subject == "tenant:acme"));
    call(&globex).await.unwrap();
    // And then there is room again.
    eventually("the time has passed", SOON, async || {
        call(&acme).await.is_ok()
    })
    .await;
}
