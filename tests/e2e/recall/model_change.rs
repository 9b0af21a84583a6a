//! The embedding model is changed while callers ask.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memory_contract::proto::{
    CompareIndexesRequest, GetServerInfoRequest, Role, SearchMethod, SearchRequest, SearchResponse,
};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, Qdrant, SOON, Server, apply, eventually,
    eventually_some, recollect, say, search_request, texts, trial_with_own_server,
};
use serde_json::Value;
use tokio::task::JoinHandle;
use tonic::{Code, Status};

use super::diary;
use super::qdrant::{index_ready, role};

const APP: &str = "app";
/// The names of the two collections without the alias and the hyphen before them.
const OLD_MODEL: &str = "all-minilm-l6-v2-int8-r10";
const NEW_MODEL: &str = "multilingual-e5-small-int8-r10";
/// Configures the new model beside the old one, and later alone.
const NEW_BESIDE_OLD: &str = "embedding_next.model = \"multilingual-e5-small\"";
const NEW_ALONE: &str = "embedding.model = \"multilingual-e5-small\"";

/// Questions about the diary with their answers.
const ASKED: [(&str, &str); 4] = [
    (
        "What pet do we have?",
        "We adopted a greyhound, he is called Biscuit.",
    ),
    (
        "Who is allergic to peanuts?",
        "My daughter Mirela is allergic to peanuts.",
    ),
    ("QX-88213-B", "The order number of the sofa is QX-88213-B."),
    ("coriander", "I cannot stand coriander."),
];
/// Longest time of filling the new index.
const LATER: Duration = Duration::from_secs(180);
/// The asker's pause between two calls.
const PAUSE: Duration = Duration::from_millis(20);

/// `recollect index` with some arguments.
fn index(env: (&str, &str), args: &[&str]) -> recollect_tests::Finished {
    let args: Vec<&str> = ["index"].iter().chain(args).copied().collect();
    recollect(&args, &[env])
}

/// The names of the two collections.
fn names(alias: &str) -> [String; 2] {
    [OLD_MODEL, NEW_MODEL].map(|name| format!("{alias}.{name}"))
}

/// The indexes with their states.
fn listed(env: (&str, &str)) -> Vec<(String, String)> {
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let lines = index(env, &["list", "--json"]).ok().json_lines();
    let state = |line| (text(line, "collection"), text(line, "state"));
    lines.iter().map(state).collect()
}

fn row(name: &str, state: &str) -> (String, String) {
    (name.to_owned(), state.to_owned())
}

/// The servers that callers may ask, the preferred one first.
type Servers = Arc<Mutex<Vec<Client>>>;

/// Asks the diary's questions again and again, as a client that tries the next server when
/// one refuses connections.
struct Asker {
    task: JoinHandle<Asked>,
    stop: tokio::sync::watch::Sender<bool>,
}

/// What the asker met.
#[derive(Debug, Default)]
struct Asked {
    answers: usize,
    errors: Vec<Status>,
    degraded: Vec<String>,
    wrong: Vec<String>,
}

impl Asker {
    fn start(servers: Servers, thread_id: String) -> Self {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let task = tokio::spawn(async move {
            let mut asked = Asked::default();
            let mut ticks = tokio::time::interval(PAUSE);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            for (query, expected) in ASKED.iter().cycle() {
                if *stopped.borrow() {
                    break;
                }
                ticks.tick().await;
                let mut request = search_request(&thread_id, query, "");
                request.freshness = None;
                match ask(&servers, request).await {
                    Ok(found) => asked.judge(query, expected, &found),
                    Err(status) => asked.errors.push(status),
                }
            }
            asked
        });
        Self { task, stop }
    }

    async fn end(self) -> Asked {
        self.stop.send_replace(true);
        self.task.await.unwrap()
    }
}

impl Asked {
    fn judge(&mut self, query: &str, expected: &str, found: &SearchResponse) {
        self.answers += 1;
        if !found.degradations.is_empty() {
            self.degraded.push(format!("{query}: {found:?}"));
        }
        let best = texts(&found.matches);
        if !best.iter().take(3).any(|text| text == expected) {
            self.wrong.push(format!("{query}: {best:?}"));
        }
    }
}

async fn ask(servers: &Servers, request: SearchRequest) -> Result<SearchResponse, Status> {
    let all = servers
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let mut last = Status::unavailable("no server");
    for client in all {
        match client.recalls().search(request.clone()).await {
            Ok(found) => return Ok(found.into_inner()),
            Err(status) if status.code() == Code::Unavailable => last = status,
            Err(status) => return Err(status),
        }
    }
    Err(last)
}

async fn model(client: &Client) -> String {
    client.call(GetServerInfoRequest {}).await.embedding_model
}

async fn found(client: &Client, thread_id: &str, query: &str, revision: &str) -> Vec<String> {
    let found = client
        .search(search_request(thread_id, query, revision))
        .await;
    assert_eq!(found.degradations, [], "{query}");
    texts(&found.matches)
}

/// Two servers and a worker, each with its directory.
struct Fleet {
    url: String,
    dirs: [DataDir; 3],
    running: Vec<Option<Server>>,
    servers: Servers,
    // Last: the servers end before it.
    qdrant: Qdrant,
}

impl Fleet {
    /// Starts or restarts one of the three with a line of configuration. Meanwhile the other
    /// server answers.
    async fn restart(&mut self, place: usize, line: Option<&str>) {
        if let Some(former) = self.running[place].take() {
            if place < 2 {
                let mut servers = self.servers.lock().unwrap();
                if servers.len() == 2 {
                    servers.remove(place);
                }
            }
            assert!(former.terminate().await.success());
        }
        let command = if place == 2 { "worker" } else { "serve" };
        let mut options = role(command, &self.url, &self.qdrant);
        options.config.extend(line.map(str::to_owned));
        let server = Server::start(&self.dirs[place], &options);
        if place < 2 {
            let client = server.client(Key::Acme).await;
            index_ready(&client).await;
            let mut servers = self.servers.lock().unwrap();
            let end = servers.len();
            servers.insert(place.min(end), client);
        }
        self.running[place] = Some(server);
    }

    /// A worker first: it opens the collections.
    async fn roll(&mut self, line: Option<&str>) {
        for place in [2, 0, 1] {
            self.restart(place, line).await;
        }
    }

    fn clients(&self) -> Vec<Client> {
        self.servers.lock().unwrap().clone()
    }
}

#[apply(trial_with_own_server)]
async fn b08_the_model_is_changed_and_changed_back_while_a_caller_notices_nothing() {
    let (_cluster, url) = Cluster::migrated().await;
    let mut fleet = Fleet {
        qdrant: Qdrant::new(),
        url: url.clone(),
        dirs: [DataDir::new(), DataDir::new(), DataDir::new()],
        running: vec![None, None, None],
        servers: Servers::default(),
    };
    let [old, new] = names(fleet.qdrant.alias());
    let [old, new] = [old.as_str(), new.as_str()];
    let env = ("DATABASE_URL", url.as_str());
    let worker = Server::start(&fleet.dirs[2], &role("worker", &url, &fleet.qdrant));
    fleet.running[2] = Some(worker);
    for place in [0, 1] {
        fleet.restart(place, None).await;
    }
    let client = fleet.clients()[0].clone();
    let thread_id = client.thread(APP).await;
    let secret = client
        .append_turn(&thread_id, "The treasure is under the oak.", "I keep it.")
        .await;
    let stored = diary::store(&client, &thread_id).await;
    let other = client.thread(APP).await;
    for part in 0..6 {
        let fillers = (0..50).map(|n| {
            say(
                Role::User,
                &format!("Invoice {part}{n} of the warehouse is paid."),
            )
        });
        client.append(&other, fillers.collect()).await;
    }
    found(&client, &thread_id, "greyhound", &stored.revision).await;
    eventually("everything is indexed", LATER, async || {
        client.index_status().await.pending_count == 0
    })
    .await;
    assert_eq!(listed(env), [row(old, "serves")]);

    let asker = Asker::start(Arc::clone(&fleet.servers), thread_id.clone());
    fleet.roll(Some(NEW_BESIDE_OLD)).await;
    // Written while the new index is filled.
    let client = fleet.clients()[0].clone();
    client
        .delete_message(&thread_id, &secret.messages[0].message_id)
        .await;
    client
        .append_text(&thread_id, "The code of the boathouse is 7714.")
        .await;
    eventually("the new index is complete", LATER, async || {
        listed(env) == [row(old, "serves"), row(new, "complete")]
    })
    .await;
    let counts = async || {
        let qdrant = &fleet.qdrant;
        [qdrant.point_count(old).await, qdrant.point_count(new).await]
    };
    eventually("both indexes have the same points", SOON, async || {
        let [of_old, of_new] = counts().await;
        of_old == of_new
    })
    .await;
    // A server notices a moment later that the index is complete.
    let compared = eventually_some("the server compares complete indexes", SOON, async || {
        let request = CompareIndexesRequest {
            app_id: APP.to_owned(),
            queries: ASKED.map(|(query, _)| query.to_owned()).to_vec(),
            top_k: Some(5),
            ..Default::default()
        };
        let compared = client.call(request).await;
        let is_complete = compared.next.as_ref().is_some_and(|next| next.complete);
        is_complete.then_some(compared)
    })
    .await;
    let (serving, next) = (compared.serving.unwrap(), compared.next.unwrap());
    assert_eq!((&*serving.collection, &*next.collection), (old, new));
    assert_eq!(compared.queries.len(), ASKED.len());
    assert!(compared.mean_overlap > 0.5, "{}", compared.mean_overlap);

    let unknown = index(env, &["switch", "recollect-other-r10"]);
    assert_eq!(unknown.code, Some(4), "{unknown:?}");
    index(env, &["switch", new]).ok();
    for client in fleet.clients() {
        eventually("every server uses the new model", SOON, async || {
            model(&client).await.starts_with("multilingual-e5-small")
        })
        .await;
    }
    let said = client
        .append_text(&thread_id, "The ferry leaves at 6:40 from pier nine.")
        .await;
    let best = found(
        &client,
        &thread_id,
        "When does the ferry leave?",
        &said.revision,
    )
    .await;
    assert_eq!(best[0], "The ferry leaves at 6:40 from pier nine.");
    let best = found(&client, &thread_id, "boathouse 7714", &said.revision).await;
    assert_eq!(best[0], "The code of the boathouse is 7714.");

    // Back: the old index has what was written meanwhile.
    index(env, &["switch", old]).ok();
    let best = found(&client, &thread_id, "ferry pier nine", &said.revision).await;
    assert_eq!(best[0], "The ferry leaves at 6:40 from pier nine.");
    eventually("the old model is used again", SOON, async || {
        model(&client).await.starts_with("all-minilm-l6-v2")
    })
    .await;
    let best = found(&client, &thread_id, "ferry pier nine", &said.revision).await;
    assert_eq!(best[0], "The ferry leaves at 6:40 from pier nine.");
    let [of_old, of_new] = counts().await;
    assert_eq!(of_old, of_new);

    index(env, &["switch", new]).ok();
    let serving = index(env, &["retire", new]);
    assert_eq!(serving.code, Some(1), "{serving:?}");
    fleet.roll(Some(NEW_ALONE)).await;
    let client = fleet.clients()[0].clone();
    index(env, &["retire", old]).ok();
    eventually("the old index is removed", SOON, async || {
        listed(env) == [row(new, "serves")]
    })
    .await;
    let best = found(&client, &thread_id, "ferry pier nine", &said.revision).await;
    assert_eq!(best[0], "The ferry leaves at 6:40 from pier nine.");
    assert_eq!(fleet.qdrant.collections().await, [new]);

    let asked = asker.end().await;
    assert!(asked.answers > 100, "{asked:?}");
    assert!(asked.errors.is_empty(), "{asked:?}");
    assert!(asked.degraded.is_empty(), "{:?}", asked.degraded);
    assert!(asked.wrong.is_empty(), "{:?}", asked.wrong);
}

#[apply(trial_with_own_server)]
async fn b08_the_embedded_index_fills_the_next_one_after_every_kill_and_switches() {
    let dir = DataDir::new();
    let options = Options::default();
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread(APP).await;
    let stored = diary::store(&client, &thread_id).await;
    let fillers = (0..200).map(|n| say(Role::User, &format!("Invoice {n} is paid.")));
    client.append(&thread_id, fillers.collect()).await;
    found(&client, &thread_id, "greyhound", &stored.revision).await;
    assert!(server.terminate().await.success());

    let [old, new] = names("recollect");
    let [old, new] = [old.as_str(), new.as_str()];
    let data = dir.data().display().to_string();
    let env = ("RECOLLECT_DATA_DIR", data.as_str());
    let options = options.line(NEW_BESIDE_OLD.to_owned());
    for _ in 0..3 {
        let server = Server::start(&dir, &options);
        assert_eq!(listed(env)[0], row(old, "serves"));
        server.kill();
    }
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;
    for (query, expected) in ASKED {
        let found = found(&client, &thread_id, query, &stored.revision).await;
        assert!(found[..3].contains(&expected.to_owned()), "{found:?}");
    }
    eventually("the new index is complete", LATER, async || {
        listed(env) == [row(old, "serves"), row(new, "complete")]
    })
    .await;
    index(env, &["switch", new]).ok();
    eventually("the new model is used", SOON, async || {
        model(&client).await.starts_with("multilingual-e5-small")
    })
    .await;
    assert_eq!(client.index_status().await.point_count, 244);
    let revision = client
        .append_text(&thread_id, "The code of the boathouse is 7714.")
        .await
        .revision;
    for method in [SearchMethod::Hybrid, SearchMethod::Dense] {
        for (query, expected) in ASKED[..2].iter().copied().chain([(
            "What is the code of the boathouse?",
            "The code of the boathouse is 7714.",
        )]) {
            let mut request = search_request(&thread_id, query, &revision);
            request.method = method.into();
            let found = client.search(request).await;
            assert_eq!(found.degradations, [], "{query}");
            let best = texts(&found.matches);
            assert!(best[..3].contains(&expected.to_owned()), "{best:?}");
        }
    }

    // More queries than there is time for are left out.
    let mut request = tonic::Request::new(CompareIndexesRequest {
        app_id: APP.to_owned(),
        queries: (0..100).map(|n| format!("Which invoice is {n}?")).collect(),
        ..Default::default()
    });
    request.set_timeout(Duration::from_secs(2));
    let compared = client.admin().compare_indexes(request).await.unwrap();
    let compared = compared.into_inner();
    assert_eq!(compared.query_count, 100);
    assert!(compared.queries.len() <= 100);
    let asked = compared.queries.iter().enumerate();
    for (n, query) in asked {
        assert_eq!(query.query, format!("Which invoice is {n}?"));
    }

    // The old model is not needed any more.
    assert!(server.terminate().await.success());
    let without = options
        .clone()
        .line("embedding.model_dir = \"/nonexistent\"".to_owned());
    let server = Server::start(&dir, &without);
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;
    let (query, expected) = ASKED[0];
    let mut request = search_request(&thread_id, query, &revision);
    request.method = SearchMethod::Dense.into();
    let found = client.search(request).await;
    assert_eq!(found.degradations, [], "{query}");
    let best = texts(&found.matches);
    assert!(best[..3].contains(&expected.to_owned()), "{best:?}");
    assert!(server.terminate().await.success());
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;

    index(env, &["retire", old]).ok();
    eventually("the old index is removed", SOON, async || {
        listed(env) == [row(new, "serves")] && dir.find(old).is_none()
    })
    .await;
    assert!(server.terminate().await.success());
}

#[apply(trial_with_own_server)]
async fn b08_a_worker_goes_on_once_its_index_serves_again() {
    let (_cluster, url) = Cluster::migrated().await;
    let qdrant = Qdrant::new();
    let env = ("DATABASE_URL", url.as_str());
    let dirs = [DataDir::new(), DataDir::new(), DataDir::new()];
    let _worker = Server::start(&dirs[0], &role("worker", &url, &qdrant));
    let server = Server::start(&dirs[1], &role("serve", &url, &qdrant));
    let client = server.client(Key::Acme).await;
    index_ready(&client).await;
    let thread_id = client.thread(APP).await;
    let stored = diary::store(&client, &thread_id).await;
    found(&client, &thread_id, "greyhound", &stored.revision).await;

    // By mistake, another model's index serves; then a worker takes that back, and ends.
    let [old, new] = names(qdrant.alias());
    for (line, serving) in [(Some(NEW_ALONE), &new), (None, &old)] {
        let mut options = role("worker", &url, &qdrant);
        options.config.extend(line.map(str::to_owned));
        let other = Server::start(&dirs[2], &options);
        eventually("its index serves", SOON, async || {
            listed(env)[0] == row(serving, "serves")
        })
        .await;
        assert!(other.terminate().await.success());
    }
    let added = client
        .append_text(&thread_id, "The code of the boathouse is 7714.")
        .await;
    eventually("the first worker fills its index", LATER, async || {
        client.index_status().await.pending_count == 0
    })
    .await;
    index_ready(&client).await;
    let query = "What is the code of the boathouse?";
    let found = found(&client, &thread_id, query, &added.revision).await;
    assert_eq!(found[0], "The code of the boathouse is 7714.");
}
