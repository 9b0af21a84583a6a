//! A pooler between server and Postgres.

use memory_contract::proto::{
    AddMemoriesRequest, ContextBlockKind, ExtractionStrategy, GetThreadRequest, MemoryPolicy,
    PutWorkingMemoryRequest,
};
use recollect_tests::{
    Cluster, DataDir, Key, Options, SOON, Server, apply, block_texts, by_id, context_request,
    drop_options, eventually, http_get, listed, memory, of_user, search_request, texts,
    trial_with_own_server,
};
use tonic::Code;

/// The URL of a cluster by way of a pooler.
fn pooled(cluster: &Cluster) -> String {
    let pooler = drop_options(cluster.addr());
    cluster.url().replace(
        &format!(":{}/", cluster.addr().port()),
        &format!(":{}/", pooler.port()),
    )
}

#[apply(trial_with_own_server)]
async fn l02_a_pooler_that_drops_the_role_is_refused_by_name() {
    let (cluster, _) = Cluster::migrated().await;
    let dir = DataDir::new();
    let options = Options::serve(&pooled(&cluster), &[]).index(&dir, "index");
    let Err(problem) = Server::try_start(&dir, &options) else {
        panic!("a server started with connections of the owner");
    };
    let log = dir.log();
    assert!(log.contains("database.pooler"), "{problem}\n{log}");
}

#[apply(trial_with_own_server)]
async fn l02_a_server_works_behind_a_pooler_of_transactions() {
    let (cluster, direct) = Cluster::migrated().await;
    let url = pooled(&cluster);
    let dir = DataDir::new();
    let options = |url: &str, pooler: &'static str| {
        Options::serve(url, &[pooler, "worker.distill.quiet = \"50ms\""]).index(&dir, "index")
    };
    let server = Server::start(&dir, &options(&url, "database.pooler = true"));
    let client = server.client(Key::Acme).await;
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Discrete.into(),
        ..Default::default()
    };
    client.set_policy("app", policy).await;
    let thread_id = client.thread_of("app", "ada").await;
    let stored = client
        .append_turn(
            &thread_id,
            "I live in Lisbon. My boat is called Pixel.",
            "A fine name.",
        )
        .await;
    let added = AddMemoriesRequest {
        user: of_user("app", "ada"),
        memories: vec![memory("Ada sails in May.")],
    };
    client.call(added).await;
    let put = PutWorkingMemoryRequest {
        thread: by_id(&thread_id),
        memories: vec![listed("Ada likes the wind.")],
        ..Default::default()
    };
    client.call(put).await;
    let found = client
        .search(search_request(
            &thread_id,
            "name of the boat",
            &stored.revision,
        ))
        .await;
    assert!(
        texts(&found.matches).contains(&"I live in Lisbon. My boat is called Pixel.".to_owned())
    );
    let context = client
        .context(context_request(&thread_id, "When do I sail?"))
        .await;
    let turns = block_texts(&context, ContextBlockKind::Recent);
    assert_eq!(turns.len(), 2, "{context:?}");

    // Workers work behind it, too.
    eventually("a fact is extracted", SOON, async || {
        client.all_memories("app", "ada").await.len() == 3
    })
    .await;

    // Another tenant's ids name nothing, though the connections are those of the owner.
    let globex = server.client(Key::Globex).await;
    let request = GetThreadRequest {
        thread: by_id(&thread_id),
    };
    let failure = globex.refused(request).await;
    failure.is(Code::NotFound, "THREAD_NOT_FOUND");
    let (status, body) = http_get(&server.ready().metrics_addr, "/readyz").await;
    assert_eq!(status, 200, "{body}");
    let messages = client.all_messages(&thread_id).await;
    assert!(server.terminate().await.success(), "{}", dir.log());

    // Without it, all is there.
    let server = Server::start(&dir, &options(&direct, "database.pooler = false"));
    let client = server.client(Key::Acme).await;
    assert_eq!(client.all_messages(&thread_id).await, messages);
    assert_eq!(client.all_memories("app", "ada").await.len(), 3);
}
