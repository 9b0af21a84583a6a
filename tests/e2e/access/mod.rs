//! API keys and scopes decide who may do what, and each change is on record.

mod bounds;
mod cli;
mod connections;
mod jwt;
mod keys;
mod lifetimes;
mod refusals;
mod scopes;
mod secrets;
mod shares;
mod storage;
mod storage_quotas;
mod tls;
mod transactions;

use memory_contract::convert::action_name;
use memory_contract::proto::{
    CreateApiKeyRequest, CreateApiKeyResponse, KeyScope, ListTransactionsRequest, Transaction,
    TransactionResult,
};
use recollect_tests::{Client, DataDir, Options, by_id};

/// All transactions that a request selects, page by page.
pub async fn transactions(
    client: &Client,
    mut request: ListTransactionsRequest,
) -> Vec<Transaction> {
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.transactions);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

/// The audit log of a thread, the newest first: actor, action, subject, count.
pub async fn done_to(client: &Client, thread_id: &str) -> Vec<(String, String, String, i64)> {
    let request = ListTransactionsRequest {
        thread: by_id(thread_id),
        ..Default::default()
    };
    let all = transactions(client, request).await;
    all.into_iter()
        .map(|done| {
            assert_eq!(done.thread_id, thread_id);
            assert!(done.create_time.is_some());
            assert_eq!(done.result(), TransactionResult::Committed);
            let action = action_name(done.action());
            (done.actor, action, done.subject, done.item_count)
        })
        .collect()
}

/// Makes a key; without scopes it has the default ones.
async fn create_key(client: &Client, name: &str, scopes: &[KeyScope]) -> CreateApiKeyResponse {
    let request = CreateApiKeyRequest {
        name: name.to_owned(),
        scopes: scopes.iter().map(|&scope| scope.into()).collect(),
        ..Default::default()
    };
    client.call(request).await
}

/// A caller with a key that the database keeps.
async fn caller(addr: &str, secret: &str) -> Client {
    Client::with_authorization(addr, Some(&format!("Bearer {secret}"))).await
}

/// A server on it, without a model.
fn serve(dir: &DataDir, url: &str, lines: &[&str]) -> Options {
    let lines = [&["embedding.kind = \"none\""], lines].concat();
    Options::serve(url, &lines).index(dir, "index")
}
