//! Crashes: acknowledged messages are stored afterward, once, in order, and indexed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use memory_contract::proto::{
    AppendMessagesRequest, AppendMessagesResponse, IndexState, Message, Role, SearchMethod,
    SearchRequest, thread_ref::Thread,
};
use recollect_tests::{
    Client, DataDir, Key, Options, SOON, Server, apply, by_id, eventually, history_request, runs,
    say, search_request, text_of, texts, trial_with_own_server,
};
use uuid::Uuid;

/// How long a thousand messages may take to be indexed on a busy machine.
const INDEXED: Duration = Duration::from_secs(200);

/// A server with long timeouts for a busy machine: what becomes of a slow index or
/// model is tested elsewhere.
fn options() -> Options {
    Options::with(&[
        "index.search_timeout = \"20s\"",
        "embedding.query_timeout = \"20s\"",
    ])
}

/// A request, and the answer if there was one.
type Sent = (AppendMessagesRequest, Option<AppendMessagesResponse>);

const WRITERS: usize = 10;

/// Appends to one of a few threads until the server has ended.
async fn write(
    client: Client,
    writer: usize,
    thread_id: String,
    acks: Arc<AtomicUsize>,
) -> Vec<Sent> {
    let mut sent = Vec::new();
    for number in 0..100_000 {
        let messages = (0..=number % 3)
            .map(|part| {
                say(
                    Role::User,
                    &format!("w{writer}n{number}p{part}x says hello"),
                )
            })
            .collect();
        let request = AppendMessagesRequest {
            thread: by_id(&thread_id),
            messages,
            request_id: Uuid::new_v4().to_string(),
            ..Default::default()
        };
        match client.messages().append_messages(request.clone()).await {
            Ok(answer) => {
                acks.fetch_add(1, Ordering::SeqCst);
                sent.push((request, Some(answer.into_inner())));
            }
            Err(_) => {
                sent.push((request, None));
                return sent;
            }
        }
    }
    panic!("the server was never killed");
}

/// The id of the thread that a request appends to.
fn named(request: &AppendMessagesRequest) -> &str {
    let thread = request
        .thread
        .as_ref()
        .and_then(|named| named.thread.as_ref());
    match thread {
        Some(Thread::ThreadId(id)) => id,
        other => panic!("not by its id: {other:?}"),
    }
}

#[apply(trial_with_own_server)]
async fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let (dir, server, client) = Server::start_own(&options()).await;
    let mut threads = Vec::new();
    for _ in 0..4 {
        threads.push(client.thread("app").await);
    }
    let acks = Arc::new(AtomicUsize::new(0));
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        // Each has a separate connection.
        let client = server.client(Key::Acme).await;
        let thread_id = threads[writer % threads.len()].clone();
        writers.push(tokio::spawn(write(client, writer, thread_id, acks.clone())));
    }
    eventually("enough was acknowledged", SOON, async || {
        acks.load(Ordering::SeqCst) >= 300
    })
    .await;
    server.kill();
    let mut sent: Vec<Sent> = Vec::new();
    for writer in writers {
        sent.extend(writer.await.unwrap());
    }
    let lost = sent.iter().filter(|(_, answer)| answer.is_none()).count();
    assert!(lost > 0, "nothing was under way when the server was killed");

    let server = Server::start(&dir, &options());
    let client = server.client(Key::Acme).await;
    let mut stored: HashMap<String, Vec<Message>> = HashMap::new();
    for thread_id in &threads {
        stored.insert(thread_id.clone(), client.all_messages(thread_id).await);
    }
    for (request, answer) in &sent {
        let messages = &stored[named(request)];
        let answer = answer.iter().flat_map(|answer| &answer.messages);
        for (answered, said) in answer.zip(&request.messages) {
            let index = usize::try_from(answered.seq - 1).unwrap();
            assert_eq!(messages[index].seq, answered.seq);
            assert_eq!(messages[index].message_id, answered.message_id);
            assert_eq!(messages[index].parts, said.parts);
        }
    }
    // A retry of every request, answered or not, stores each message just once.
    for (request, answer) in &sent {
        let again = client.call(request.clone()).await;
        if let Some(answer) = answer {
            assert!(again.replayed);
            assert_eq!(again.messages, answer.messages);
        }
    }
    let mut sent_texts: HashMap<&str, Vec<String>> = HashMap::new();
    for (request, _) in &sent {
        let texts = request.messages.iter().map(|message| {
            text_of(&Message {
                parts: message.parts.clone(),
                ..Default::default()
            })
        });
        sent_texts.entry(named(request)).or_default().extend(texts);
    }
    for (thread_id, mut expected) in sent_texts {
        let messages = client.all_messages(thread_id).await;
        let seqs: Vec<i64> = messages.iter().map(|message| message.seq).collect();
        assert_eq!(
            seqs,
            (1..).take(messages.len()).collect::<Vec<i64>>(),
            "no gaps"
        );
        let mut texts = texts(&messages);
        texts.sort();
        expected.sort();
        assert_eq!(texts, expected, "each message once");
        all_in_the_index(&client, thread_id, &messages).await;
    }
}

/// Checks that a search for its unique word finds every message.
async fn all_in_the_index(client: &Client, thread_id: &str, messages: &[Message]) {
    let last = client.append_text(thread_id, "the end").await;
    for message in messages {
        let text = text_of(message);
        let word = text.split(' ').next().unwrap();
        let search = SearchRequest {
            method: SearchMethod::Lexical.into(),
            top_k: Some(3),
            ..search_request(thread_id, word, &last.revision)
        };
        let found = client.search(search).await;
        assert_eq!(found.degradations, [], "{word}");
        let found: Vec<&str> = found
            .matches
            .iter()
            .map(|hit| hit.message.as_ref().unwrap().message_id.as_str())
            .collect();
        assert_eq!(found.first(), Some(&message.message_id.as_str()), "{word}");
        assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len());
    }
}

async fn points(client: &Client, expected: i64) {
    let what = format!("{expected} messages are in the index");
    eventually(&what, INDEXED, async || {
        let status = client.index_status().await;
        status.state() == IndexState::Ready
            && status.pending_count == 0
            && status.point_count == expected
    })
    .await;
}

/// Fills a thread; its id.
async fn fill(client: &Client, count: i64) -> String {
    let thread_id = client.thread("app").await;
    let mut number = 0;
    while number < count {
        let until = (number + 100).min(count);
        let said = (number..until).map(|n| say(Role::User, &format!("item{n}x is on the list")));
        client.append(&thread_id, said.collect()).await;
        number = until;
    }
    thread_id
}

#[apply(trial_with_own_server)]
async fn a_server_killed_while_indexing_finishes_after_a_restart() {
    let (dir, server, client) = Server::start_own(&options()).await;
    let thread_id = fill(&client, 1_000).await;
    eventually("indexing is under way", SOON, async || {
        client.index_status().await.point_count > 0
    })
    .await;
    let status = client.index_status().await;
    assert!(
        status.pending_count > 0,
        "indexing was over already: {status:?}"
    );
    server.kill();

    let server = Server::start(&dir, &options());
    let client = server.client(Key::Acme).await;
    points(&client, 1_000).await;
    let messages = client.all_messages(&thread_id).await;
    assert_eq!(messages.len(), 1_000);
    let sample: Vec<Message> = messages.into_iter().step_by(9).collect();
    all_in_the_index(&client, &thread_id, &sample).await;
}

const GARBAGE: &str = "this is no index";

fn overwrite(path: &Path) -> usize {
    if path.is_file() {
        fs::write(path, GARBAGE).unwrap();
        return 1;
    }
    let entries = fs::read_dir(path).unwrap();
    entries.map(|entry| overwrite(&entry.unwrap().path())).sum()
}

fn garbage_below(path: &Path) -> usize {
    if path.is_file() {
        return usize::from(fs::read(path).is_ok_and(|bytes| bytes == GARBAGE.as_bytes()));
    }
    fs::read_dir(path)
        .map(|entries| {
            entries
                .map(|entry| garbage_below(&entry.unwrap().path()))
                .sum()
        })
        .unwrap_or(0)
}

#[apply(trial_with_own_server)]
async fn a_broken_index_is_put_aside_and_rebuilt() {
    let (dir, server, client) = Server::start_own(&options()).await;
    let thread_id = fill(&client, 150).await;
    points(&client, 150).await;
    assert!(server.stop().await.success());

    let index = dir
        .find("index")
        .expect("the index is in the data directory");
    let broken = overwrite(&index);
    assert!(broken > 0);
    let server = Server::start(&dir, &options());
    let client = server.client(Key::Acme).await;
    points(&client, 150).await;
    let messages = client.all_messages(&thread_id).await;
    all_in_the_index(&client, &thread_id, &messages[..20]).await;
    let kept = garbage_below(&dir.data());
    assert!(kept > 0, "what was there is put aside, not thrown away");
    let log = dir.log();
    assert!(
        log.contains("the index directory cannot be loaded"),
        "{log}"
    );
}

#[apply(trial_with_own_server)]
async fn a_lost_index_is_rebuilt() {
    let (dir, server, client) = Server::start_own(&options()).await;
    let globex = server.client(Key::Globex).await;
    let thread_id = fill(&client, 60).await;
    let other = fill(&globex, 40).await;
    points(&client, 60).await;
    points(&globex, 40).await;
    assert!(server.stop().await.success());

    fs::remove_dir_all(dir.find("index").unwrap()).unwrap();
    let server = Server::start(&dir, &options());
    for (key, thread_id, count) in [(Key::Acme, thread_id, 60), (Key::Globex, other, 40)] {
        let client = server.client(key).await;
        points(&client, count).await;
        let messages = client.all_messages(&thread_id).await;
        all_in_the_index(&client, &thread_id, &messages[..10]).await;
    }
}

#[apply(trial_with_own_server)]
async fn nothing_acknowledged_is_lost_when_postgres_is_killed() {
    let (dir, server, client) = Server::start_own(&options()).await;
    let thread_id = client.thread("app").await;
    let acks = Arc::new(AtomicUsize::new(0));
    let writer = tokio::spawn(write(client.clone(), 0, thread_id.clone(), acks.clone()));
    eventually("enough was acknowledged", SOON, async || {
        acks.load(Ordering::SeqCst) >= 50
    })
    .await;
    dir.kill_postgres();
    let sent = writer.await.unwrap();
    drop(server);

    let server = Server::start(&dir, &options());
    let client = server.client(Key::Acme).await;
    for (request, answer) in &sent {
        let again = client.call(request.clone()).await;
        assert!(answer.is_none() || again.replayed);
    }
    let messages = client.all_messages(&thread_id).await;
    let count: usize = sent.iter().map(|(request, _)| request.messages.len()).sum();
    assert_eq!(messages.len(), count);
    let different: HashSet<String> = texts(&messages).into_iter().collect();
    assert_eq!(different.len(), count);
    client.append_turn(&thread_id, "Still there?", "Yes.").await;
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(text_of(history.messages.last().unwrap()), "Yes.");
}

#[apply(trial_with_own_server)]
async fn no_postgres_outlives_a_killed_server() {
    let dir = DataDir::new();
    let server = Server::start(&dir, &options());
    let postgres = dir.postgres_pid().unwrap();
    assert!(runs(postgres));
    server.kill();
    eventually("Postgres ends", SOON, async || !runs(postgres)).await;
}
