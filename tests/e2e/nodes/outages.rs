//! Memories of nodes while object storage is unavailable: every turn that was
//! acknowledged is in the object afterwards, once and in order.

use std::fs;
use std::time::{Duration, Instant};

use memory_contract::proto::{
    BuildContextRequest, GetNodeMemoryStatusRequest, GetNodeMemoryStatusResponse, MemoryMode,
    NodeMemory, NodeRef,
};
use recollect_tests::{
    Client, DataDir, Key, Options, Refused as _, S3, S3Fault, SOON, Server, apply, context_request,
    eventually, mode, node_turn, thread_of, trial_with_own_server,
};
use serde_json::Value;
use tonic::{Code, Request};

use super::objects::{ask, flush, planner};

/// The longest time of an answer if each step of object storage may take a second.
const IN_TIME: Duration = Duration::from_secs(25);

/// A server whose worker flushes at once.
fn quick(more: &[String]) -> Options {
    let mut options = Options::with(&[
        "embedding.kind = \"none\"",
        "objects.timeout = \"1s\"",
        "worker.nodes.flush_after = \"50ms\"",
        "worker.nodes.interval = \"50ms\"",
    ]);
    options.config.extend(more.iter().cloned());
    options
}

fn of_node(node: &NodeRef) -> BuildContextRequest {
    BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        node_id: node.node_id.clone(),
        ..context_request(thread_of(node), "And now?")
    }
}

async fn status(client: &Client) -> GetNodeMemoryStatusResponse {
    let request = GetNodeMemoryStatusRequest {};
    client.call(request).await
}

async fn memory(client: &Client, node: &NodeRef) -> NodeMemory {
    client.node_memories(thread_of(node)).await.remove(0)
}

/// A call that needs the object: it says that it is not there, and when to come
/// back, within a time.
macro_rules! refused_within {
    ($limit:expr, $client:ident.$service:ident().$method:ident($request:expr)) => {{
        let start = Instant::now();
        let failure = $client.$service().$method($request).await.refused();
        let failure = failure.is(Code::Unavailable, "OBJECT_STORE_UNAVAILABLE");
        assert!(failure.retry.is_some(), "{failure:?}");
        assert!(!failure.message.contains("127.0.0.1"), "{failure:?}");
        assert!(start.elapsed() < $limit, "{:?}", start.elapsed());
    }};
}

/// Adds turns while the store is unavailable, and checks what is reported.
async fn outage(client: &Client, node: &NodeRef) {
    for number in 1..=3 {
        let turn = node_turn(node, &format!("q{number}"), &format!("a{number}"));
        client.call(turn).await;
    }
    refused_within!(IN_TIME, client.nodes().flush_node_memory(flush(node)));
    refused_within!(IN_TIME, client.nodes().get_node_history(ask(node)));
    refused_within!(IN_TIME, client.contexts().build_context(of_node(node)));
    client.add_node_turn(node, "q4", "a4").await;
    // The worker has tried too, and says why it could not.
    eventually("the failure is reported", SOON, async || {
        let memory = memory(client, node).await;
        let status = status(client).await;
        assert_eq!(memory.waiting_turn_count, 4);
        assert_eq!(memory.message_count, 10);
        memory.last_error.contains("object storage")
            && status.waiting_turn_count == 4
            && status.failing_node_count == 1
            && status
                .lag
                .is_some_and(|lag| lag.seconds > 0 || lag.nanos > 0)
            && status.last_error == memory.last_error
    })
    .await;
    let reported = memory(client, node).await.last_error;
    assert!(
        !reported.contains("127.0.0.1") && !reported.contains('/'),
        "{reported}"
    );
}

const SAID: [&str; 10] = ["q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4"];

/// Waits until no turn waits, and checks that the object has every turn once and in order.
async fn made_up(client: &Client, node: &NodeRef, object: impl Fn() -> Option<Vec<u8>>) {
    eventually("every turn is flushed", SOON, async || {
        memory(client, node).await.waiting_turn_count == 0
    })
    .await;
    let object: Value = serde_json::from_slice(&object().unwrap()).unwrap();
    let said: Vec<&str> = object["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, SAID);
    assert_eq!(client.node_dialogue(node, "").await, SAID);
    let memory = memory(client, node).await;
    assert_eq!((memory.message_count, memory.last_error.as_str()), (10, ""));
    let status = status(client).await;
    assert_eq!(
        (status.waiting_turn_count, status.failing_node_count),
        (0, 0)
    );
    assert_eq!(status.last_error, "");
}

/// An outage of a store that speaks S3, and what the worker makes of it.
async fn through(begin: impl FnOnce(&mut S3), end: impl FnOnce(&mut S3)) {
    let mut s3 = S3::new();
    let (_dir, _server, client) = Server::start_own(&quick(&s3.config())).await;
    let node = planner(&client, "app").await;
    client.add_node_turn(&node, "q0", "a0").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    begin(&mut s3);
    outage(&client, &node).await;
    end(&mut s3);
    made_up(&client, &node, || s3.object(&key)).await;
}

#[apply(trial_with_own_server)]
async fn d14_no_turn_is_lost_while_the_store_refuses() {
    through(
        |s3| s3.set_fault(S3Fault::Forbidden),
        |s3| s3.set_fault(S3Fault::None),
    )
    .await;
}

#[apply(trial_with_own_server)]
async fn d14_no_turn_is_lost_while_the_store_fails() {
    through(
        |s3| s3.set_fault(S3Fault::Failing),
        |s3| s3.set_fault(S3Fault::None),
    )
    .await;
}

#[apply(trial_with_own_server)]
async fn d14_no_turn_is_lost_while_the_store_hangs() {
    // The write that hung is executed late.
    through(
        |s3| s3.set_fault(S3Fault::Hanging),
        |s3| s3.set_fault(S3Fault::None),
    )
    .await;
}

#[apply(trial_with_own_server)]
async fn d14_no_turn_is_lost_while_the_store_refuses_connections() {
    through(S3::stop, S3::restart).await;
}

#[apply(trial_with_own_server)]
async fn d14_no_turn_is_lost_while_the_directory_is_missing() {
    let (dir, _server, client) = Server::start_own(&quick(&[])).await;
    let node = planner(&client, "app").await;
    client.add_node_turn(&node, "q0", "a0").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    // Root may write anywhere, so a file takes the place of the directory.
    let (objects, away) = (dir.data().join("objects"), dir.path().join("away"));
    fs::rename(&objects, &away).unwrap();
    fs::write(&objects, "").unwrap();
    outage(&client, &node).await;
    fs::remove_file(&objects).unwrap();
    fs::rename(&away, &objects).unwrap();
    made_up(&client, &node, || fs::read(objects.join(&key)).ok()).await;
}

#[apply(trial_with_own_server)]
async fn d14_a_flush_by_hand_makes_up_for_an_outage() {
    let s3 = S3::new();
    let dir = DataDir::new();
    let mut options = quick(&s3.config());
    // No worker takes part.
    options.config.retain(|line| !line.contains("worker.nodes"));
    options
        .config
        .push("worker.nodes.flush_after = \"1h\"".to_owned());
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let node = planner(&client, "app").await;
    client.add_node_turn(&node, "q0", "a0").await;
    client.flush_node(&node).await;
    let key = client.object_key(&node).await;
    s3.set_fault(S3Fault::Hanging);
    outage(&client, &node).await;
    s3.set_fault(S3Fault::None);
    assert_eq!(client.flush_node(&node).await.flushed_turn_count, 4);
    made_up(&client, &node, || s3.object(&key)).await;
}

#[apply(trial_with_own_server)]
async fn a_worker_waits_longer_after_each_failure() {
    let s3 = S3::new();
    let (_dir, _server, client) = Server::start_own(&quick(&s3.config())).await;
    let node = planner(&client, "app").await;
    // One that is refused is not asked again by the client itself: a request is
    // a try.
    s3.set_fault(S3Fault::Forbidden);
    let tries = async |count: usize| {
        eventually("the worker has tried", SOON, async || {
            s3.requests() >= count
        })
        .await;
        Instant::now()
    };
    client.add_node_turn(&node, "q0", "a0").await;
    let first = tries(1).await;
    let third = tries(3).await;
    let fourth = tries(4).await;
    assert!(
        third - first >= Duration::from_millis(2_500),
        "{:?}",
        third - first
    );
    assert!(
        fourth - third >= Duration::from_millis(3_500),
        "{:?}",
        fourth - third
    );
}

#[apply(trial_with_own_server)]
async fn object_storage_that_hangs_leaves_connections_to_other_calls() {
    let s3 = S3::new();
    let mut more = s3.config();
    more.extend(["database.pool_size = 2", "database.max_overflow = 2"].map(str::to_owned));
    let (_dir, _server, client) = Server::start_own(&quick(&more)).await;
    let mut nodes = Vec::new();
    for number in 0..12 {
        let node = planner(&client, &format!("app{number}")).await;
        client.add_node_turn(&node, "q0", "a0").await;
        nodes.push(node);
    }
    s3.set_fault(S3Fault::Hanging);
    let seen = s3.requests();
    let flushes: Vec<_> = nodes
        .into_iter()
        .map(|node| {
            let client = client.clone();
            tokio::spawn(async move { client.nodes().flush_node_memory(flush(&node)).await })
        })
        .collect();
    eventually("a flush waits for the store", SOON, async || {
        s3.requests() > seen
    })
    .await;
    // Object storage has a second for a step, and a flush takes several.
    let thread_id = client.thread("other").await;
    let mut took = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        client.append_turn(&thread_id, "question", "answer").await;
        took.push(start.elapsed());
    }
    // A busy machine delays some appends; waiting for the store would delay all.
    took.sort_unstable();
    assert!(took[10] < Duration::from_millis(900), "{took:?}");
    s3.set_fault(S3Fault::None);
    for flush in flushes {
        drop(flush.await.unwrap());
    }
}

fn hurried<T>(request: T) -> Request<T> {
    let mut request = Request::new(request);
    let timeout = "3S".parse().unwrap();
    request.metadata_mut().insert("grpc-timeout", timeout);
    request
}

#[apply(trial_with_own_server)]
async fn a_callers_deadline_holds_while_the_store_hangs() {
    let s3 = S3::new();
    let dir = DataDir::new();
    let mut options = quick(&s3.config());
    options
        .config
        .retain(|line| !line.contains("objects.timeout"));
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let node = planner(&client, "app").await;
    client.add_node_turn(&node, "q0", "a0").await;
    client.flush_node(&node).await;
    client.add_node_turn(&node, "q1", "a1").await;
    s3.set_fault(S3Fault::Hanging);
    // Object storage has ten seconds for a step, and the caller has three.
    let limit = Duration::from_secs(4);
    refused_within!(
        limit,
        client.nodes().flush_node_memory(hurried(flush(&node)))
    );
    refused_within!(limit, client.nodes().get_node_history(hurried(ask(&node))));
    refused_within!(
        limit,
        client.contexts().build_context(hurried(of_node(&node)))
    );
    s3.set_fault(S3Fault::None);
    client.flush_node(&node).await;
    assert_eq!(
        client.node_dialogue(&node, "").await,
        ["q0", "a0", "q1", "a1"]
    );
}
