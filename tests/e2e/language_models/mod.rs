//! Language models: which ones are asked, what is taken out of messages, and what
//! happens when they do not answer.

mod configured;
mod facts;
mod outages;
mod strategies;
mod summaries;
mod without;

use std::ops::Range;

use memory_contract::proto::{
    ExtractionStrategy, GetDistillStatusRequest, GetDistillStatusResponse, GetModelUsageRequest,
    GetModelUsageResponse, Memory, MemoryPolicy, MessageInput, SetAppPolicyRequest,
};
use recollect_tests::{
    Client, DataDir, LanguageModel, Options, SOON, Server, app, eventually_some, turn,
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
    let request = SetAppPolicyRequest {
        app_id: app.to_owned(),
        policy: Some(policy),
    };
    client.policies().set_app_policy(request).await.unwrap();
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
    let status = client.admin().get_distill_status(request).await.unwrap();
    status.into_inner()
}

async fn usage(client: &Client) -> GetModelUsageResponse {
    let request = GetModelUsageRequest { days: 1 };
    let usage = client.admin().get_model_usage(request).await.unwrap();
    usage.into_inner()
}
