//! Two tenants with the same names read at the same time, often with each other's ids: no
//! answer has a word of another tenant, or of a user that was not asked about. Also with
//! either of the two layers of ownership switched off, in the test's database alone.

mod people;
mod postgres_proxy;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::IndexState;
use people::{Person, Reading};
use postgres_proxy::PostgresProxy;
use serde_json::json;
use tonic::Code;

use super::progress::Progress;
use super::report::Report;
use super::scene::Scene;
use recollect_tests::{Client, DataDir, Dynamic, Key, SOON, eventually, free_addr};

const TENANTS: [Key; 2] = [Key::Acme, Key::Globex];
const USERS: [&str; 2] = ["ada", "bob"];
/// Share of the reads that name something of the other tenant, in percent.
const FOREIGN_PERCENT: u8 = 30;
/// Foreign words that are shown.
const SHOWN: usize = 10;

/// The layers of ownership that protect the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    /// Both, as in production.
    Both,
    /// The conditions of queries and functions: the service's role bypasses row-level
    /// security.
    Conditions,
    /// Row-level security: the conditions on the tenant are removed from the functions, and
    /// from queries on their way to Postgres.
    RowSecurity,
}

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Reads {
    /// Determines the reads.
    pub seed: u64,
    /// Number of reads.
    pub count: u64,
    /// No further read after this time.
    pub time: Duration,
    /// Concurrent readers of each tenant.
    pub readers: usize,
    /// Which layers are on.
    pub layers: Layers,
}

struct Shared {
    options: Reads,
    people: Vec<Person>,
    readings: Vec<Reading>,
    next: AtomicU64,
    start: Instant,
    outcomes: Mutex<Outcomes>,
}

#[derive(Default)]
struct Outcomes {
    reads: usize,
    foreign_names: usize,
    own_words: usize,
    codes: BTreeMap<String, usize>,
    leaks: Vec<String>,
    defects: Vec<String>,
}

/// Reads at random.
///
/// # Panics
/// If the data cannot be stored.
pub async fn reads(dir: DataDir, options: &Reads, progress: &Progress) -> Report {
    let mut report = Report::new("reads", options.seed);
    progress.say("reads: storing data of two tenants");
    let scene = Scene::new(dir).await;
    let addr = free_addr();
    let server = scene.start(scene.server_with_index(&addr)).await;
    let mut people = Vec::new();
    for key in TENANTS {
        let client = server.client(key).await;
        for user in USERS {
            people.push(Person::make(&client, key, user).await);
        }
        eventually("the index has everything", SOON, async || {
            let status = client.index_status().await;
            status.state() == IndexState::Ready && status.pending_count == 0
        })
        .await;
    }
    assert!(server.terminate().await.success());

    // The processes that prepared nothing yet see the changed database.
    let mut proxy = None;
    match options.layers {
        Layers::Both => {}
        Layers::Conditions => scene.bypass_row_security().await,
        Layers::RowSecurity => {
            let functions = scene.remove_conditions().await;
            report.limited(
                "functions without conditions",
                functions,
                "> 0",
                functions > 0,
            );
            proxy = Some(PostgresProxy::start(&scene.url).await);
        }
    }
    let mut server_options = scene.server_with_index(&addr);
    if let Some(proxy) = &proxy {
        server_options = server_options.env("DATABASE_URL", &proxy.url);
    }
    let server = scene.start(server_options).await;

    let shared = Arc::new(Shared {
        options: *options,
        people,
        readings: Reading::all(),
        next: AtomicU64::new(0),
        start: Instant::now(),
        outcomes: Mutex::default(),
    });
    let mut readers = Vec::new();
    for (tenant, key) in TENANTS.into_iter().enumerate() {
        for _ in 0..options.readers {
            let (shared, client) = (Arc::clone(&shared), server.client(key).await);
            readers.push(tokio::spawn(
                async move { shared.run(&client, tenant).await },
            ));
        }
    }
    while !readers.iter().all(|reader| reader.is_finished()) {
        let reads = shared.next.load(Ordering::Relaxed).min(options.count);
        progress.say(format!("reads: {reads} of {}", options.count));
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for reader in readers {
        reader.await.unwrap();
    }

    let outcomes = shared.outcomes.lock().unwrap();
    report.figure("layers", format!("{:?}", options.layers));
    if let Some(proxy) = &proxy {
        let queries = proxy.rewritten();
        report.limited("queries without conditions", queries, "> 0", queries > 0);
    }
    report.figure("reads", outcomes.reads);
    report.figure("reads that named something foreign", outcomes.foreign_names);
    for (code, count) in &outcomes.codes {
        report.figure(format!("answers: {code}"), *count);
    }
    report.limited(
        "answers with own words",
        outcomes.own_words,
        "a third of the reads",
        outcomes.own_words * 3 >= outcomes.reads,
    );
    report.zero("answers with foreign words", outcomes.leaks.len());
    report.zero("answers INTERNAL or UNKNOWN", outcomes.defects.len());
    for one in outcomes.leaks.iter().chain(&outcomes.defects).take(SHOWN) {
        report.problem(one.clone());
    }
    report.zero("panics", scene.panics());
    report
}

impl Shared {
    async fn run(&self, client: &Client, tenant: usize) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.options.count || self.start.elapsed() > self.options.time {
                return;
            }
            self.read(client, tenant, number).await;
        }
    }

    async fn read(&self, client: &Client, tenant: usize, number: u64) {
        let mut rng = Rng::with_seed(self.options.seed.wrapping_add(number));
        let user = rng.usize(0..USERS.len());
        let foreign = rng.u8(0..100) < FOREIGN_PERCENT;
        let named = match foreign {
            true => 1 - tenant,
            false => tenant,
        };
        let reading = &self.readings[rng.usize(0..self.readings.len())];
        let named = &self.people[named * USERS.len() + user];
        let caller = &self.people[tenant * USERS.len() + user];
        let request = reading.request(named, &mut rng);
        let shown = format!("read {number}: {} of {request}", reading.method);
        let answer = Dynamic::call(client, reading.method, request).await;

        let mut outcomes = self.outcomes.lock().unwrap();
        outcomes.reads += 1;
        outcomes.foreign_names += usize::from(foreign);
        let (code, text) = match answer {
            Ok(answers) => (Code::Ok, json!(answers.into_inner()).to_string()),
            Err(status) => (status.code(), status.message().to_owned()),
        };
        if matches!(code, Code::Internal | Code::Unknown) {
            outcomes.defects.push(format!("{shown}: {code:?} {text}"));
        }
        *outcomes.codes.entry(format!("{code:?}")).or_default() += 1;
        outcomes.own_words += usize::from(text.contains(&caller.word));
        for other in &self.people {
            let same_tenant = other.tenant == caller.tenant;
            let allowed = same_tenant && (!reading.of_user || other.word == caller.word);
            if !allowed && text.contains(&other.word) {
                let leak = format!("{shown} has a word of {} {}", other.tenant, other.user);
                outcomes.leaks.push(leak);
            }
        }
    }
}
