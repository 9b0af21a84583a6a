//! Long-term memories are stored, found, superseded and forgotten for one user.

mod adding;
mod cli;
mod contexts;
mod forgetting;
mod kinds;
mod processes;
mod profile;
mod searching;
mod times;
mod wrong;

use memory_contract::proto::{
    DeleteMemoryRequest, Memory, MemoryInput, SupersedeMemoryRequest, SupersedeMemoryResponse,
    UpdateMemoryRequest, UpdateMemoryResponse,
};
use recollect_tests::{Client, seconds};
use tokio_postgres::NoTls;

async fn update(client: &Client, memory: Memory, fields: &[&str]) -> UpdateMemoryResponse {
    let request = UpdateMemoryRequest {
        memory: Some(memory),
        update_mask: Some(prost_types::FieldMask {
            paths: fields.iter().map(|field| (*field).to_owned()).collect(),
        }),
        precondition: None,
    };
    client.call(request).await
}

async fn supersede(client: &Client, id: &str, replacement: MemoryInput) -> SupersedeMemoryResponse {
    let request = SupersedeMemoryRequest {
        memory_id: id.to_owned(),
        replacement: Some(replacement),
    };
    client.call(request).await
}

/// Whether there was something to erase, and the revision.
async fn delete(client: &Client, id: &str) -> (bool, String) {
    let request = DeleteMemoryRequest {
        memory_id: id.to_owned(),
    };
    let response = client.call(request).await;
    (response.deleted, response.revision)
}

/// The superuser's connection to a server's database.
async fn database(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Lets a memory have been stored, and last returned, so many days ago.
async fn backdate(database: &tokio_postgres::Client, id: &str, stored: i32, used: Option<i32>) {
    let used = match used {
        Some(days) => format!("(clock_timestamp() AT TIME ZONE 'UTC')::date - {days}"),
        None => "NULL".to_owned(),
    };
    let sql = format!(
        "UPDATE recollect.memories
         SET created_at = clock_timestamp() - make_interval(days => {stored}), last_used_on = {used}
         WHERE memory_id = '{id}'"
    );
    assert_eq!(database.execute(&sql, &[]).await.unwrap(), 1);
}

fn days(days: i64) -> Option<prost_types::Duration> {
    Some(seconds(days * 86_400))
}
