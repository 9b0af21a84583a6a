//! Language models: which ones are asked, what is taken out of messages, and what
//! happens when they do not answer.

mod configured;
mod facts;
mod outages;
mod strategies;

use libtest_mimic::Trial;
use memory_contract::proto::{
    ExtractionStrategy, GetDistilStatusRequest, GetDistilStatusResponse, GetModelUsageRequest,
    GetModelUsageResponse, Memory, MemoryPolicy, SetAppPolicyRequest,
};
use recollect_tests::{Client, DataDir, LanguageModel, Options, SOON, Server, eventually_some};

pub fn trials() -> Vec<Trial> {
    [
        outages::trials(),
        facts::trials(),
        strategies::trials(),
        configured::trials(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

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
    let request = SetAppPolicyRequest {
        app_id: app.to_owned(),
        policy: Some(MemoryPolicy {
            extraction: strategy.into(),
            extraction_instructions: instructions.map(str::to_owned),
            ..Default::default()
        }),
    };
    client.policies().set_app_policy(request).await.unwrap();
}

/// Waits until something is known of a user that has these words.
async fn known(client: &Client, app: &str, user: &str, words: &str) -> Memory {
    eventually_some(words, SOON, async || {
        let all = client.all_memories(app, user).await;
        all.into_iter().find(|memory| memory.text.contains(words))
    })
    .await
}

async fn status(client: &Client) -> GetDistilStatusResponse {
    let request = GetDistilStatusRequest {};
    let status = client.admin().get_distil_status(request).await.unwrap();
    status.into_inner()
}

async fn usage(client: &Client) -> GetModelUsageResponse {
    let request = GetModelUsageRequest { days: 1 };
    let usage = client.admin().get_model_usage(request).await.unwrap();
    usage.into_inner()
}
