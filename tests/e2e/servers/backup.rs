//! A backup is taken while callers write, and restored into a new cluster.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memory_contract::proto::IndexState;
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, SOON, Server, apply, eventually, node, search_request,
    text_of, texts, trial_with_own_server,
};

use crate::transfer::{export_of, summary};

const WRITERS: usize = 6;

fn serve(dir: &DataDir, url: &str) -> Options {
    Options::serve(url, &["embedding.kind = \"none\""])
        .index(dir, "index")
        .objects(dir)
}

/// Appends until `stop`; counts what was acknowledged.
async fn write(client: Client, thread_id: String, stop: Arc<AtomicBool>, count: Arc<AtomicUsize>) {
    let mut number = 0;
    while !stop.load(Ordering::SeqCst) {
        let (question, answer) = (format!("question {number}"), format!("answer {number}"));
        client.append_turn(&thread_id, &question, &answer).await;
        number += 1;
        count.store(2 * number, Ordering::SeqCst);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }
}

#[apply(trial_with_own_server)]
async fn a_backup_under_load_restores_all_that_was_acknowledged_before_it() {
    let (cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url));
    let client = server.client(Key::Acme).await;

    let quiet = client.thread("quiet").await;
    for number in 0..60 {
        let question = format!("Where is parcel P{number}X?");
        client.append_turn(&quiet, &question, "On its way.").await;
    }
    let step = node(&quiet, "planner");
    client.add_node_turn(&step, "flushed", "to an object").await;
    client.flush_node(&step).await;
    client.add_node_turn(&step, "waiting", "in Postgres").await;
    let checksum = summary(&client, export_of("quiet")).await.checksum;

    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let thread_id = client.thread("busy").await;
        let count = Arc::new(AtomicUsize::new(0));
        // Each has a connection of its own.
        let writer = server.client(Key::Acme).await;
        let writing = write(writer, thread_id.clone(), stop.clone(), count.clone());
        writers.push((thread_id, count, tokio::spawn(writing)));
    }
    let acknowledged = || -> Vec<usize> {
        let counts = writers.iter().map(|(_, count, _)| count);
        counts.map(|count| count.load(Ordering::SeqCst)).collect()
    };
    eventually("every writer is under way", SOON, async || {
        acknowledged().into_iter().all(|count| count >= 10)
    })
    .await;

    let before = acknowledged();
    let backup = tempfile::tempdir().unwrap();
    cluster.back_up(backup.path()).await;
    copy(&dir.path().join("objects"), &backup.path().join("objects"));
    let after = acknowledged();
    assert!(
        before
            .iter()
            .zip(&after)
            .all(|(before, after)| before < after),
        "nobody wrote during the backup: {before:?}, {after:?}"
    );
    stop.store(true, Ordering::SeqCst);
    let mut threads = Vec::new();
    for (thread_id, _, writing) in writers {
        writing.await.unwrap();
        let written = client.all_messages(&thread_id).await;
        threads.push((thread_id, written));
    }
    assert!(server.terminate().await.success(), "{}", dir.log());
    drop((cluster, dir));

    let restored = Cluster::start().await;
    restored.restore(backup.path()).await;
    let dir = DataDir::new();
    copy(&backup.path().join("objects"), &dir.path().join("objects"));
    let server = Server::start(&dir, &serve(&dir, &restored.url()));
    let client = server.client(Key::Acme).await;

    assert_eq!(
        summary(&client, export_of("quiet")).await.checksum,
        checksum
    );
    let mut count = client.all_messages(&quiet).await.len();
    for ((thread_id, written), least) in threads.iter().zip(before) {
        let found = client.all_messages(thread_id).await;
        assert!(found.len() >= least, "{} of {least}", found.len());
        assert_eq!(found, written[..found.len()], "not what was written");
        count += found.len();
    }
    let dialogue = client.node_dialogue(&step, "").await;
    let expected = ["flushed", "to an object", "waiting", "in Postgres"];
    assert_eq!(dialogue, expected);

    // The index is rebuilt from the database, and new messages follow the old ones.
    eventually("the index is rebuilt", SOON, async || {
        let status = client.index_status().await;
        let points = usize::try_from(status.point_count).unwrap();
        status.state() == IndexState::Ready && status.pending_count == 0 && points == count
    })
    .await;
    let last = client.append_text(&quiet, "Thank you.").await;
    let found = client
        .search(search_request(&quiet, "parcel P17X", &last.revision))
        .await;
    let found = texts(&found.matches);
    assert!(
        found.contains(&"Where is parcel P17X?".to_owned()),
        "{found:?}"
    );
    let messages = client.all_messages(&quiet).await;
    assert_eq!(text_of(messages.last().unwrap()), "Thank you.");
    assert_eq!(messages.len(), 121);
}
