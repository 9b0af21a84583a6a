//! The embedding model is behind an endpoint of OpenAI's form.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    DegradationReason, GetModelUsageRequest, GetServerInfoRequest, ListDeadLettersRequest,
    ModelKind, SearchMethod, SearchRequest, SearchResponse,
};
use recollect_tests::{
    Client, DataDir, EMBEDDING_DIMENSIONS, Embedding, EmbeddingModel, Key, Options, SOON, Server,
    apply, eventually, eventually_some, parsed, recollect, search_request, texts, trial,
    trial_with_own_server,
};

use super::diary;
use super::qdrant::index_ready;

const STOLEN: &str = "My bicycle was stolen yesterday.";
const QUESTION: &str = "Which vehicle did thieves take?";
/// Longest time of filling an index.
const LATER: Duration = Duration::from_secs(180);

/// The options of a server that uses a model, with further lines of configuration.
fn options(model: &EmbeddingModel, lines: &[&str]) -> Options {
    let mut options = Options::with(lines);
    options.config.extend(model.config("embedding"));
    options
}

fn by(method: SearchMethod, thread_id: &str, query: &str, revision: &str) -> SearchRequest {
    SearchRequest {
        method: method.into(),
        ..search_request(thread_id, query, revision)
    }
}

/// Searches once, without a wait for the index.
async fn at_once(client: &Client, thread_id: &str, query: &str) -> SearchResponse {
    client.call(search_request(thread_id, query, "")).await
}

fn lacks_embedder(found: &SearchResponse) -> bool {
    let mut reasons = found.degradations.iter().map(|one| one.reason());
    reasons.any(|reason| reason == DegradationReason::EmbedderUnavailable)
}

async fn all_is_indexed(client: &Client) {
    eventually("everything is indexed", SOON, async || {
        client.index_status().await.pending_count == 0
    })
    .await;
    let request = ListDeadLettersRequest::default();
    assert_eq!(client.call(request).await.dead_letters, []);
}

/// Stores a message that has no word of the question in common, between others.
async fn store(client: &Client, thread_id: &str) -> String {
    let mut revision = String::new();
    for text in [
        "The rent went up again.",
        STOLEN,
        "Mont Blanc is a mountain.",
    ] {
        revision = client.append_text(thread_id, text).await.revision;
    }
    revision
}

#[apply(trial_with_own_server)]
async fn b20_messages_are_recalled_by_the_meaning_that_an_endpoint_gives_them() {
    let model = EmbeddingModel::new();
    let lines = [
        "embedding.api_key = \"sk-endpoint-key\"",
        "embedding.query_prefix = \"question: \"",
        "embedding.document_prefix = \"text: \"",
    ];
    let options = options(&model, &lines).env("RECOLLECT_TELEMETRY__LOG_LEVEL", "debug");
    let (dir, server, client) = Server::start_own(&options).await;
    let thread_id = client.thread("app").await;
    let revision = store(&client, &thread_id).await;
    for method in [SearchMethod::Dense, SearchMethod::Hybrid] {
        let found = client
            .search(by(method, &thread_id, QUESTION, &revision))
            .await;
        assert_eq!(found.degradations, [], "{method:?}");
        assert_eq!(texts(&found.matches)[0], STOLEN, "{method:?}");
    }
    all_is_indexed(&client).await;
    let info = client.call(GetServerInfoRequest {}).await;
    assert_eq!(
        info.embedding_model,
        format!("words-{EMBEDDING_DIMENSIONS}")
    );
    assert_eq!(info.embedding_dimensions as usize, EMBEDDING_DIMENSIONS);
    // The table of well-known models lacks it.
    assert_eq!(info.embedding_languages, "");

    let asked = model.asked();
    assert!(
        asked
            .iter()
            .all(|asked| asked.authorization == "Bearer sk-endpoint-key")
    );
    // A model that is not known to shorten its vectors is not asked to.
    assert!(asked.iter().all(|asked| asked.body["dimensions"].is_null()));
    let sent: Vec<&str> = asked
        .iter()
        .flat_map(|asked| asked.texts.iter().map(String::as_str))
        .collect();
    assert!(sent.contains(&format!("question: {QUESTION}").as_str()));
    let mut documents = sent.iter().filter(|text| text.contains(STOLEN));
    assert!(documents.all(|text| text.starts_with("text: ")), "{sent:?}");
    let metrics = recollect_tests::http_get(&server.ready().metrics_addr, "/metrics").await;
    assert!(metrics.1.contains("recollect_embed_tokens_total"));
    assert!(server.stop().await.success());
    for secret in ["sk-endpoint-key", STOLEN, QUESTION] {
        assert!(!dir.log().contains(secret), "{secret} is in the log");
    }
}

#[apply(trial_with_own_server)]
async fn b20_what_an_endpoint_charges_counts_for_the_tenant_and_not_against_the_budget() {
    let model = EmbeddingModel::new();
    let lines = ["distill.daily_token_budget = 10"];
    let options = options(&model, &lines);
    let (dir, server, client) = Server::start_own(&options).await;
    let thread_id = client.thread("app").await;
    let revision = store(&client, &thread_id).await;
    let found = client
        .search(by(SearchMethod::Dense, &thread_id, QUESTION, &revision))
        .await;
    assert_eq!(texts(&found.matches)[0], STOLEN);
    all_is_indexed(&client).await;
    // What was not recorded yet is recorded at the end.
    assert!(server.stop().await.success());
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let used = client.call(GetModelUsageRequest::default()).await;
    let [one] = &used.usage[..] else {
        panic!("{used:?}");
    };
    assert_eq!(one.kind(), ModelKind::Embedding);
    assert_eq!(one.model, format!("words-{EMBEDDING_DIMENSIONS}"));
    // Three messages and a question at 7 tokens each; searching and indexing may embed a message
    // at the same time.
    assert!((4 * 7..=7 * 7).contains(&one.input_tokens), "{one:?}");
    assert!((2..=7).contains(&one.call_count), "{one:?}");
    assert_eq!((one.output_tokens, one.failed_count), (0, 0));
    assert_eq!((used.tokens_today, used.daily_token_budget), (0, 10));
    let globex = server.client(Key::Globex).await;
    let used = globex.call(GetModelUsageRequest::default()).await;
    assert_eq!(used.usage, []);
}

#[apply(trial_with_own_server)]
async fn b20_while_the_endpoint_is_away_recall_answers_by_word_and_nothing_is_lost() {
    let model = EmbeddingModel::new();
    // Each change would become a dead letter at its second failure.
    let lines = [
        "worker.indexer.max_attempts = 2",
        "worker.indexer.retry_base = \"10ms\"",
        "embedding.query_timeout = \"500ms\"",
        "embedding.calls.timeout = \"1s\"",
    ];
    let (_dir, _server, client) = Server::start_own(&options(&model, &lines)).await;
    let thread_id = client.thread("app").await;
    client
        .append_text(&thread_id, "The order number of the sofa is QX-88213-B.")
        .await;
    all_is_indexed(&client).await;
    for (away, color) in [
        (Embedding::Status(500), "red"),
        (Embedding::Status(401), "green"),
        (Embedding::Limited(1), "blue"),
        (Embedding::Never, "yellow"),
        (Embedding::Fewer, "purple"),
        (Embedding::Shorter, "orange"),
        (Embedding::OneIndex, "silver"),
        (Embedding::Zeros, "golden"),
    ] {
        model.answers(away.clone());
        let before = model.asked().len();
        let text = format!("My {color} bicycle was stolen.");
        client.append_text(&thread_id, &text).await;
        // More failures than a change has attempts.
        eventually("the worker has tried several times", SOON, async || {
            client.index_status().await.last_error.contains("words")
                && model.asked().len() > before + 2
        })
        .await;
        let start = Instant::now();
        let found = at_once(&client, &thread_id, "sofa order number").await;
        assert!(lacks_embedder(&found), "{away:?}: {found:?}");
        assert!(
            texts(&found.matches)[0].contains("QX-88213-B"),
            "{away:?}: {found:?}"
        );
        assert!(start.elapsed() < Duration::from_secs(10), "{away:?}");
        assert_eq!(client.index_status().await.pending_count, 1, "{away:?}");

        model.answers(Embedding::LastFirst);
        all_is_indexed(&client).await;
        let query = format!("thieves vehicle {color}");
        let found = eventually_some("queries are embedded again", SOON, async || {
            let request = by(SearchMethod::Dense, &thread_id, &query, "");
            let found = client.search(request).await;
            (!lacks_embedder(&found)).then_some(found)
        })
        .await;
        assert_eq!(texts(&found.matches)[0], text, "{away:?}");
    }
}

#[apply(trial_with_own_server)]
async fn b20_a_server_starts_without_its_endpoint_if_the_dimensions_are_known() {
    let model = EmbeddingModel::new();
    model.answers(Embedding::Status(503));
    let (dir, server, client) = Server::start_own(&options(&model, &[])).await;
    let thread_id = client.thread("app").await;
    store(&client, &thread_id).await;
    let found = at_once(&client, &thread_id, "bicycle").await;
    assert!(lacks_embedder(&found), "{found:?}");
    assert_eq!(texts(&found.matches)[0], STOLEN);
    model.answers(Embedding::Well);
    all_is_indexed(&client).await;
    assert!(server.stop().await.success());

    // The later line counts, but TOML takes a key once alone.
    let unknown = |mut options: Options| {
        options
            .config
            .retain(|line| !line.starts_with("embedding.dimensions"));
        options.line("embedding.calls.max_attempts = 1".to_owned())
    };
    model.answers(Embedding::Status(503));
    let problem = Server::try_start(&dir, &unknown(options(&model, &[])))
        .err()
        .unwrap();
    assert!(problem.contains("embedding.dimensions"), "{problem}");
    assert!(problem.contains("set it to the length"), "{problem}");
    // Dimensions that are not known are asked for.
    model.answers(Embedding::Well);
    let server = Server::start(&dir, &unknown(options(&model, &[])));
    let client = server.client(Key::Acme).await;
    let info = client.call(GetServerInfoRequest {}).await;
    assert_eq!(
        info.embedding_model,
        format!("words-{EMBEDDING_DIMENSIONS}")
    );
    assert!(server.stop().await.success());
    // Wrong ones are refused before anything is stored under them.
    let mut wrong = unknown(options(&model, &[]));
    wrong.config.push("embedding.dimensions = 100".to_owned());
    let problem = Server::try_start(&dir, &wrong).err().unwrap();
    assert!(
        problem.contains(&format!("set it to {EMBEDDING_DIMENSIONS}")),
        "{problem}"
    );
}

#[apply(trial_with_own_server)]
async fn b20_a_local_model_is_changed_to_one_behind_an_endpoint() {
    let dir = DataDir::new();
    let server = Server::start(&dir, &Options::default());
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    diary::store(&client, &thread_id).await;
    let revision = store(&client, &thread_id).await;
    client
        .search(search_request(&thread_id, "greyhound", &revision))
        .await;
    assert!(server.terminate().await.success());

    let model = EmbeddingModel::new();
    let mut beside = Options::default();
    beside.config.extend(model.config("embedding_next"));
    let data = dir.data().display().to_string();
    let index = |args: &[&str]| {
        let args: Vec<&str> = ["index"].iter().chain(args).copied().collect();
        recollect(&args, &[("RECOLLECT_DATA_DIR", data.as_str())])
            .ok()
            .stdout
    };
    let server = Server::start(&dir, &beside);
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;
    let new = format!("recollect.words-{EMBEDDING_DIMENSIONS}-r10");
    eventually("the new index is complete", LATER, async || {
        let listed = index(&["list", "--json"]);
        let line = listed.lines().find(|line| line.contains(&new));
        line.is_some_and(|line| parsed(line)["state"] == "complete")
    })
    .await;
    index(&["switch", &new]);
    eventually("the new model is used", SOON, async || {
        let info = client.call(GetServerInfoRequest {}).await;
        info.embedding_model == format!("words-{EMBEDDING_DIMENSIONS}")
    })
    .await;
    let found = client
        .search(by(SearchMethod::Dense, &thread_id, QUESTION, &revision))
        .await;
    assert_eq!(found.degradations, []);
    assert_eq!(texts(&found.matches)[0], STOLEN);
    assert!(server.terminate().await.success());

    // Later alone.
    let server = Server::start(&dir, &options(&model, &[]));
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;
    let found = client
        .search(by(SearchMethod::Dense, &thread_id, QUESTION, &revision))
        .await;
    assert_eq!(texts(&found.matches)[0], STOLEN);
}

#[apply(trial)]
async fn the_doctor_asks_the_endpoint_and_says_what_is_wrong() {
    let model = EmbeddingModel::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("recollect.toml");
    std::fs::write(&file, model.config("embedding").join("\n")).unwrap();
    let args = ["doctor", "--json", "--config", file.to_str().unwrap()];
    let check = || {
        let found = recollect(&args, &[]).json_lines();
        let line = found.into_iter().find(|line| line["check"] == "model");
        let line = line.unwrap();
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        (text("verdict"), text("found"), text("fix"))
    };
    let (verdict, found, _) = check();
    let dimensions = format!("{EMBEDDING_DIMENSIONS} dimensions");
    assert_eq!(verdict, "ok");
    assert!(
        found.contains("answers in") && found.ends_with(&dimensions),
        "{found}"
    );
    model.answers(Embedding::Status(401));
    let (verdict, found, fix) = check();
    assert_eq!(verdict, "warn");
    assert!(found.contains("rejected the API key"), "{found}");
    assert!(fix.contains("embedding.api_key"), "{fix}");
}
