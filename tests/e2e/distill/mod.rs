//! Workers derive summaries and observations in the background, every message is in
//! one state of the ledger, and contexts hold the derived text.

mod contexts;
mod crashes;
mod defaults;
mod faults;
pub mod ledger;
mod observations;
mod summaries;
mod watched;
mod world;

use std::collections::BTreeSet;

use memory_contract::proto::{LedgerKind, LedgerState, MemoryPolicy, MessageInput};
use recollect_tests::{BULK, Client, PLAIN, SOON, app, eventually, turn};
use tokio_postgres::NoTls;

use self::ledger::list;

/// A thread of an app with a policy.
async fn thread(client: &Client, policy: MemoryPolicy) -> String {
    let app = app();
    client.set_policy(&app, policy).await;
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

/// Turns of about 60 tokens, each with words that no other one has.
fn talk(word: &str, turns: std::ops::Range<usize>) -> Vec<MessageInput> {
    let said = turns.flat_map(|number| {
        turn(
            &format!(
                "My {word} number {number} lives in the village of {word}ford{number}. \
                 What should I remember when I visit it there in the summer?"
            ),
            &format!(
                "Take the train to {word}ford{number}, bring a warm coat, and do not forget \
                 that {word} number {number} likes green tea with honey."
            ),
        )
    });
    said.collect()
}

/// The number of messages of a thread's path in each state.
async fn states(client: &Client, thread_id: &str, kind: LedgerKind) -> Vec<(LedgerState, i64)> {
    let states = list(client, thread_id, kind, "").await.into_iter();
    states.map(|(state, _, count)| (state, count)).collect()
}

/// Waits until a thread has a number of summaries on its path.
async fn summarized(client: &Client, thread_id: &str, count: usize) {
    let what = format!("{count} summaries of {thread_id}");
    eventually(&what, SOON, async || {
        let ranges = list(client, thread_id, LedgerKind::Summary, "").await;
        let summaries = ranges.into_iter();
        let summaries = summaries.filter(|(state, ..)| *state == LedgerState::Summarized);
        // An erased message parts what one covers.
        let numbers: BTreeSet<i64> = summaries.map(|(_, number, _)| number).collect();
        numbers.len() == count
    })
    .await;
}

/// The superuser's connection to a server's database.
async fn database(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The database of the server that most tests share.
async fn plain_database() -> tokio_postgres::Client {
    database(PLAIN.ready().line["postgres"].as_str().unwrap()).await
}

/// The database of the server for tests that do not wait for the index.
async fn bulk_database() -> tokio_postgres::Client {
    database(BULK.ready().line["postgres"].as_str().unwrap()).await
}

/// The derived texts of a thread, in order of making.
async fn texts_of(
    database: &tokio_postgres::Client,
    thread_id: &str,
) -> Vec<(String, i32, String)> {
    let sql = format!(
        "SELECT text, tokens, made_by FROM recollect.distillates
         WHERE thread_id = '{thread_id}' ORDER BY kind, number"
    );
    let rows = database.query(&sql, &[]).await.unwrap();
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

/// Waits until a thread is no longer queued for distilling.
async fn looked_at(database: &tokio_postgres::Client, thread_id: &str) {
    let sql = format!("SELECT 1 FROM recollect.distill_jobs WHERE thread_id = '{thread_id}'");
    eventually("a worker has processed the thread", SOON, async || {
        database.query(&sql, &[]).await.unwrap().is_empty()
    })
    .await;
}
