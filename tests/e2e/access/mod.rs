//! Who may do what, and who did: API keys, secrets, transactions.

mod cli;
mod keys;
mod refusals;
mod scopes;
mod secrets;
mod storage;
mod transactions;

use memory_contract::proto::{
    CreateApiKeyRequest, CreateApiKeyResponse, KeyScope, ListTransactionsRequest, Transaction,
};
use recollect_tests::{Client, Cluster, DataDir, Options, recollect};

/// All transactions that a request selects, page by page.
pub async fn transactions(
    client: &Client,
    mut request: ListTransactionsRequest,
) -> Vec<Transaction> {
    let mut all = Vec::new();
    loop {
        let page = client.admin().list_transactions(request.clone()).await;
        let page = page.unwrap().into_inner();
        all.extend(page.transactions);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

/// What was done to a thread, the newest first: actor, action, subject, count.
pub async fn done_to(client: &Client, thread_id: &str) -> Vec<(String, String, String, i64)> {
    let request = ListTransactionsRequest {
        thread_id: thread_id.to_owned(),
        ..Default::default()
    };
    let all = transactions(client, request).await;
    all.into_iter()
        .map(|done| {
            assert_eq!(done.thread_id, thread_id);
            assert!(done.create_time.is_some());
            assert_eq!(done.result, "ok");
            (done.actor, done.action, done.subject, done.item_count)
        })
        .collect()
}

/// Makes a key; without scopes it has the default ones.
async fn create_key(client: &Client, name: &str, scopes: &[KeyScope]) -> CreateApiKeyResponse {
    let request = CreateApiKeyRequest {
        name: name.to_owned(),
        scopes: scopes.iter().map(|&scope| scope.into()).collect(),
        expire_time: None,
    };
    let response = client.keys().create_api_key(request).await;
    response.unwrap().into_inner()
}

/// A caller with a key that the database keeps.
async fn caller(addr: &str, secret: &str) -> Client {
    Client::with_authorization(addr, Some(&format!("Bearer {secret}"))).await
}

/// A database of somebody's own with the schema, and its URL.
async fn migrated() -> (Cluster, String) {
    let cluster = Cluster::start().await;
    let url = cluster.url();
    recollect(&["migrate"], &[("DATABASE_URL", &url)]).ok();
    (cluster, url)
}

/// A server on it, without a model.
fn serve(dir: &DataDir, url: &str, lines: &[&str]) -> Options {
    let mut options = Options {
        command: "serve",
        env: vec![("DATABASE_URL".to_owned(), url.to_owned())],
        ..Options::with(lines)
    };
    options.config.push("embedding.kind = \"none\"".to_owned());
    options.config.push(format!(
        "index.path = \"{}\"",
        dir.path().join("index").display()
    ));
    options
}
