//! Cached recent windows are fast and never stale.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use memory_contract::proto::{DeleteMessageRequest, MemoryMode, MemoryPolicy, RecallRequest, Role};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, SOON, Server, apply, by_id, eventually,
    history_request, http_get, recall_request, recollect, reply, say, texts, trial,
    trial_with_own_server,
};
use tonic::Code;

fn serve(url: &str, lines: &[&str]) -> Options {
    Options::serve(url, &[&["embedding.kind = \"none\""], lines].concat()).without_worker()
}

async fn window(client: &Client, thread_id: &str) -> Vec<String> {
    let request = RecallRequest {
        policy: Some(MemoryPolicy {
            mode: MemoryMode::Window.into(),
            window_size: Some(6),
            ..Default::default()
        }),
        ..recall_request(thread_id, "", "")
    };
    texts(&client.recall(request).await.messages)
}

async fn history(client: &Client, thread_id: &str) -> Vec<String> {
    texts(&client.call(history_request(thread_id)).await.messages)
}

/// The number of a metric; 0 where it is not there.
async fn counted(server: &Server, outcome: &str) -> f64 {
    let (_, metrics) = http_get(&server.ready().metrics_addr, "/metrics").await;
    let name = format!("recollect_window_cache_total{{outcome=\"{outcome}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    line.map_or(0.0, |number| number.parse().unwrap())
}

#[apply(trial_with_own_server)]
async fn l05_a_window_is_right_at_once_in_every_server_process() {
    let (_cluster, url) = Cluster::migrated().await;
    let dirs = [DataDir::new(), DataDir::new()];
    let writer = Server::start(&dirs[0], &serve(&url, &[]));
    let reader = Server::start(&dirs[1], &serve(&url, &[]));
    let write = writer.client(Key::Acme).await;
    let thread_id = write.thread("app").await;

    // The other process reads without a pause: what it shows is never older
    // than what was written before it was asked.
    let (done, written) = (AtomicBool::new(false), AtomicI64::new(0));
    let reads = async {
        let client = reader.client(Key::Acme).await;
        let mut reads = 0;
        while !done.load(Ordering::Acquire) {
            let least = written.load(Ordering::Acquire);
            let seen = history(&client, &thread_id).await;
            let newest: i64 = seen.last().map_or(0, |text| text.parse().unwrap());
            assert!(
                newest >= least,
                "{newest} was read after {least} was written"
            );
            let numbers: Vec<i64> = seen.iter().map(|text| text.parse().unwrap()).collect();
            assert!(numbers.is_sorted(), "{numbers:?}");
            reads += 1;
        }
        reads
    };
    let writes = async {
        for number in 1..=60_i64 {
            let said = vec![say(Role::User, &number.to_string())];
            write.append(&thread_id, said).await;
            written.store(number, Ordering::Release);
            if number % 5 == 0 {
                tokio::task::yield_now().await;
            }
        }
        done.store(true, Ordering::Release);
    };
    let (reads, ()) = tokio::join!(reads, writes);
    assert!(reads > 5, "{reads} reads");

    // Each kind of change, seen from both sides at once.
    let read = reader.client(Key::Acme).await;
    let thread_id = write.thread("app").await;
    let both = async |expected: &[&str]| {
        for client in [&write, &read] {
            for _ in 0..2 {
                assert_eq!(window(client, &thread_id).await, expected);
                assert_eq!(history(client, &thread_id).await, expected);
            }
        }
    };
    both(&[]).await;
    let stored = write.append_turn(&thread_id, "Q", "A").await;
    both(&["Q", "A"]).await;
    let question = &stored.messages[0].message_id;
    let again = vec![reply(question, Role::Assistant, "B")];
    let again = read.append(&thread_id, again).await;
    both(&["Q", "B"]).await;
    let erase = |message_id: &str| DeleteMessageRequest {
        thread: by_id(&thread_id),
        message_id: message_id.to_owned(),
    };
    let erased = erase(&again.messages[0].message_id);
    write.call(erased).await;
    both(&["Q"]).await;
    read.append(&thread_id, vec![say(Role::Assistant, "C")])
        .await;
    both(&["Q", "C"]).await;
    let erased = erase(question);
    read.call(erased).await;
    both(&["C"]).await;
    write.clear_thread(&thread_id).await;
    both(&[]).await;
    read.append_turn(&thread_id, "D", "E").await;
    both(&["D", "E"]).await;
    let hits = counted(&reader, "hit").await;
    assert!(
        hits >= 8.0 && counted(&reader, "miss").await >= 8.0,
        "{hits}"
    );

    write.delete_thread(&thread_id).await;
    for client in [&write, &read] {
        let request = history_request(&thread_id);
        let missing = client.refused(request).await;
        missing.is(Code::NotFound, "THREAD_NOT_FOUND");
    }
    // No tenant sees another tenant's window.
    let thread_id = write.thread("app").await;
    write.append_turn(&thread_id, "F", "G").await;
    assert_eq!(history(&read, &thread_id).await, ["F", "G"]);
    let globex = reader.client(Key::Globex).await;
    let request = history_request(&thread_id);
    let others = globex.refused(request).await;
    others.is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial)]
async fn l05_an_unsupported_cache_is_refused() {
    let name = "RECOLLECT_CACHE__KIND";
    let env = [
        ("DATABASE_URL", "postgres://u:p@127.0.0.1:1/d"),
        (name, "redis"),
    ];
    let refused = recollect(&["serve"], &env);
    assert!(refused.code.is_some_and(|code| code != 0), "{refused:?}");
    for part in ["cache.kind", "redis", "memory", "none", name] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let rows = recollect(&["config", "--json"], &[]).ok().json_lines();
    let kind = rows.iter().find(|row| row["key"] == "cache.kind");
    assert_eq!(kind.unwrap()["value"], "memory", "the default");
}

#[apply(trial_with_own_server)]
async fn l05_the_cache_can_be_switched_off() {
    for (kind, hits) in [("memory", 4.0), ("none", 0.0)] {
        let dir = DataDir::new();
        let line = format!("cache.kind = \"{kind}\"");
        let options = Options::with(&["embedding.kind = \"none\"", &line]);
        let server = Server::start(&dir, &options);
        let client = server.client(Key::Acme).await;
        let thread_id = client.thread("app").await;
        client.append_turn(&thread_id, "Q", "A").await;
        for _ in 0..5 {
            assert_eq!(history(&client, &thread_id).await, ["Q", "A"]);
        }
        eventually("the reads are counted", SOON, async || {
            counted(&server, "hit").await == hits
        })
        .await;
    }
}
