//! Language models: their configuration, extraction from messages, and outages.

mod asked;
mod configured;
mod facts;
mod held;
mod kinds;
mod loops;
mod outages;
mod ranges;
mod small;
mod strategies;
mod summaries;
mod without;

use std::ops::Range;

use memory_contract::proto::{
    ExtractionStrategy, GetDistillStatusRequest, GetDistillStatusResponse, GetModelUsageRequest,
    GetModelUsageResponse, Memory, MemoryPolicy, MessageInput,
};
use recollect_tests::{
    Client, DataDir, Key, LanguageModel, Options, SOON, Server, app, eventually_some, turn,
};

/// Starts a server that asks a model, with lines of configuration that go before
/// the usual ones.
fn server(dir: &DataDir, model: &LanguageModel, lines: &[&str]) -> Server {
    let mut config = model.config();
    config.push("embedding.kind = \"none\"".to_owned());
    let key = |line: &str| line.split(" = ").next().map(str::to_owned);
    config.retain(|usual| lines.iter().all(|line| key(line) != key(usual)));
    config.extend(lines.iter().map(|&line| line.to_owned()));
    let lines: Vec<&str> = config.iter().map(String::as_str).collect();
    Server::start(dir, &Options::with(&lines))
}

/// A new server that uses a test model, and its client.
async fn start(lines: &[&str]) -> (DataDir, LanguageModel, Server, Client) {
    let (dir, model) = (DataDir::new(), LanguageModel::new());
    let server = server(&dir, &model, lines);
    let client = server.client(Key::Acme).await;
    (dir, model, server, client)
}

/// The same, with an app that extracts memories.
async fn extracting(
    strategy: ExtractionStrategy,
    lines: &[&str],
) -> (DataDir, LanguageModel, Server, Client, String) {
    let (dir, model, server, client) = start(lines).await;
    let app = app();
    extract(&client, &app, strategy).await;
    (dir, model, server, client, app)
}

/// Lets an app extract memories.
async fn extract(client: &Client, app: &str, strategy: ExtractionStrategy) {
    set(client, app, strategy, None).await;
}

async fn set(client: &Client, app: &str, strategy: ExtractionStrategy, instructions: Option<&str>) {
    let policy = MemoryPolicy {
        extraction: strategy.into(),
        extraction_instructions: instructions.map(str::to_owned),
        ..Default::default()
    };
    set_policy(client, app, policy).await;
}

async fn set_policy(client: &Client, app: &str, policy: MemoryPolicy) {
    client.set_policy(app, policy).await;
}

/// A thread of an app with a policy.
async fn thread(client: &Client, policy: MemoryPolicy) -> String {
    let app = app();
    set_policy(client, &app, policy).await;
    client.thread(&app).await
}

/// The working memory of a small model: 700 tokens are summarized to less than 400
/// and a summary.
fn small() -> MemoryPolicy {
    MemoryPolicy {
        context_window: Some(1_000),
        ..Default::default()
    }
}

/// Turns of about 75 tokens, each with words that no other one has.
fn mending(sails: Range<usize>) -> Vec<MessageInput> {
    let said = sails.flat_map(|number| {
        let question = "It is torn. ".repeat(8);
        let answer = "Use strong thread. ".repeat(5);
        turn(
            &format!("How do I mend sail number {number}? {question}"),
            &format!("Sew seam number {number}. {answer}"),
        )
    });
    said.collect()
}

/// Waits until something is known of a user that has these words.
async fn known(client: &Client, app: &str, user: &str, words: &str) -> Memory {
    eventually_some(words, SOON, async || {
        let all = client.all_memories(app, user).await;
        all.into_iter().find(|memory| memory.text.contains(words))
    })
    .await
}

async fn status(client: &Client) -> GetDistillStatusResponse {
    let request = GetDistillStatusRequest {};
    client.call(request).await
}

async fn usage(client: &Client) -> GetModelUsageResponse {
    let request = GetModelUsageRequest { days: Some(1) };
    client.call(request).await
}
