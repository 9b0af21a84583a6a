//! Fills a service with the conversations of many tenants.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use memory_contract::proto::{
    AddMemoriesRequest, ImportMessagesRequest, MemoryInput, SessionRef, UserRef,
    import_messages_response::Outcome,
};
use tokio::task::JoinSet;
use tokio_stream::StreamExt as _;

use super::synthetic::{Language, Session, Sessions, Zipf};
use crate::{
    Failure,
    clients::{Clients, Key},
    progress,
    random::Random,
    service::Service,
};

/// The app of all tenants.
pub const APP: &str = "scale";
/// Imports at a time.
const STREAMS: usize = 4;
/// Attempts to go on after a lost connection that import nothing, at most, and the pause before each.
const RECONNECTIONS: usize = 5;
const RECONNECT: Duration = Duration::from_secs(1);
/// Memories of the most active user of each tenant with many messages, and how many
/// messages that is.
const MEMORIES: usize = 50;
const MANY_MESSAGES: usize = 1_000;

/// Tenants and the number of each one's messages.
pub struct Tenants {
    /// By number; the largest first.
    pub messages: Vec<usize>,
    /// The same at this size and each smaller one, ascending.
    sizes: Vec<Vec<usize>>,
}

/// How fast the service was filled.
pub struct Filled {
    /// Messages that were added, of all tenants.
    pub added: usize,
    /// Messages per second until all were durable, and until all were indexed.
    pub durable_per_s: f64,
    pub searchable_per_s: f64,
}

impl Tenants {
    /// So many tenants with so many messages together, which they reached by way of the smaller
    /// sizes. A tenant has at least one.
    pub fn new(tenants: usize, smaller: &[usize], messages: usize) -> Self {
        let zipf = Zipf::new(tenants);
        let shares = |size: usize| -> Vec<usize> {
            let shares = zipf.shares(size).into_iter();
            shares.map(|share| share.max(1)).collect()
        };
        let sizes = smaller.iter().copied().chain([messages]);
        Self {
            messages: shares(messages),
            sizes: sizes.map(shares).collect(),
        }
    }

    /// The sessions that a tenant has at this size and not at the one before.
    fn sessions(&self, tenant: usize) -> impl Iterator<Item = Session> + use<> {
        let sizes: Vec<usize> = self.sizes.iter().map(|shares| shares[tenant]).collect();
        let has = self.before(tenant);
        Sessions::new(tenant, sizes).skip_while(move |session| session.before < has)
    }

    /// The messages of a tenant at the size before; 0 if this is the first.
    fn before(&self, tenant: usize) -> usize {
        let [.., before, _] = self.sizes.as_slice() else {
            return 0;
        };
        before[tenant]
    }

    /// Messages of all tenants.
    pub fn sum(&self) -> usize {
        self.messages.iter().sum()
    }

    /// Messages of all tenants that the size before does not have.
    fn growth(&self) -> usize {
        let before = (0..self.messages.len()).map(|tenant| self.before(tenant));
        self.sum() - before.sum::<usize>()
    }

    /// The number of the tenant that has no conversations.
    pub fn other(&self) -> usize {
        self.messages.len()
    }

    /// The configuration with a key for each, and for the other one (TOML).
    pub fn config(&self) -> String {
        let keys = (0..=self.other()).map(|tenant| {
            let digest = ring::digest::digest(&ring::digest::SHA256, key(tenant).as_bytes());
            let hash: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("[[auth.keys]]\nname = 'key-{tenant}'\ntenant = 'tenant-{tenant}'\nsha256 = '{hash}'\nscopes = ['admin']\n")
        });
        keys.collect()
    }
}

/// A tenant's API key.
fn key(tenant: usize) -> String {
    format!("bench-tenant-{tenant}")
}

/// A tenant's header.
pub fn header(tenant: usize) -> Result<Key, Failure> {
    Key::new(Some(&key(tenant)))
}

/// A user's id.
pub fn user(number: usize) -> String {
    format!("user-{number}")
}

/// Imports the conversations that the tenants have at this size and not at the one before, a tenant
/// after the other on each of several connections, and waits until the index has them. What a
/// former run imported is not added again.
pub async fn fill(service: &Service, tenants: &Arc<Tenants>) -> Result<Filled, Failure> {
    let bar = progress::count("importing", tenants.growth() as u64);
    let begin = Instant::now();
    let waiting = service.waiting().await?;
    let next = Arc::new(AtomicUsize::new(0));
    let mut imports = JoinSet::new();
    for _ in 0..STREAMS {
        let (next, tenants, bar) = (Arc::clone(&next), Arc::clone(tenants), bar.clone());
        let channel = service.channel().await?;
        imports.spawn(async move {
            let mut added = 0;
            loop {
                let tenant = next.fetch_add(1, Ordering::Relaxed);
                let Some(&messages) = tenants.messages.get(tenant) else {
                    return Ok::<_, Failure>(added);
                };
                let mut clients = Clients::new(channel.clone(), &header(tenant)?);
                added += import(&mut clients, &tenants, tenant, &bar).await?;
                if messages >= MANY_MESSAGES && tenants.before(tenant) < MANY_MESSAGES {
                    remember(&mut clients, tenant).await?;
                }
            }
        });
    }
    let mut added = 0;
    while let Some(import) = imports.join_next().await {
        added += import??;
    }
    let durable = begin.elapsed();
    bar.finish_and_clear();
    service.drained().await?;
    let per_s = |messages: usize, time: Duration| messages as f64 / time.as_secs_f64().max(1e-9);
    Ok(Filled {
        added,
        durable_per_s: per_s(added, durable),
        searchable_per_s: per_s(added + waiting, begin.elapsed()),
    })
}

/// Imports a tenant's sessions, and returns how many messages were new. The service ends a call that
/// takes an hour, so the import goes on in another one after that, or after a lost connection: what
/// was imported is not added twice.
async fn import(
    clients: &mut Clients,
    tenants: &Tenants,
    tenant: usize,
    bar: &indicatif::ProgressBar,
) -> Result<usize, Failure> {
    let mut added = 0;
    let mut known = 0;
    let mut lost = 0;
    loop {
        let mut answered = 0;
        let note = |messages: usize, is_new: bool| {
            answered += messages;
            added += if is_new { messages } else { 0 };
            bar.inc(answered.saturating_sub(known).min(messages) as u64);
        };
        match import_once(clients, tenants.sessions(tenant), note).await {
            Ok(()) => return Ok(added),
            Err(error) if !is_lost(&error) => return Err(error),
            // One that imported more is no failure.
            Err(_) if answered > known => (known, lost) = (answered, 0),
            Err(error) if lost == RECONNECTIONS => return Err(error),
            Err(_) => lost += 1,
        }
        tokio::time::sleep(RECONNECT).await;
    }
}

/// Whether a call ended with its connection or its time.
fn is_lost(error: &Failure) -> bool {
    use tonic::Code::{Cancelled, DeadlineExceeded, Internal, Unavailable, Unknown};
    error.downcast_ref::<tonic::Status>().is_some_and(|status| {
        matches!(
            status.code(),
            Cancelled | DeadlineExceeded | Internal | Unavailable | Unknown
        )
    })
}

/// Imports sessions. Calls `note` for each with its number of messages, and whether they are new.
async fn import_once(
    clients: &mut Clients,
    sessions: impl Iterator<Item = Session> + Send + 'static,
    mut note: impl FnMut(usize, bool),
) -> Result<(), Failure> {
    let (sender, requests) = tokio::sync::mpsc::channel(16);
    // On a thread of its own, because it computes.
    let making = tokio::task::spawn_blocking(move || {
        let language = Language::new();
        for session in sessions {
            let request = ImportMessagesRequest {
                thread: Some(
                    SessionRef {
                        app_id: APP.to_owned(),
                        user_id: user(session.user),
                        session_key: format!("session:{}", session.number),
                        agent_session_key: String::new(),
                    }
                    .into(),
                ),
                request_id: session.request_id().to_string(),
                messages: session.messages(&language),
                ..Default::default()
            };
            if sender.blocking_send(request).is_err() {
                return;
            }
        }
    });
    let requests = tokio_stream::wrappers::ReceiverStream::new(requests);
    let answers = clients.messages.import_messages(requests).await?;
    let mut answers = answers.into_inner();
    while let Some(answer) = answers.next().await {
        match answer?.outcome {
            Some(Outcome::Imported(imported)) => {
                let messages = usize::try_from(imported.message_count).unwrap_or_default();
                note(messages, !imported.replayed);
            }
            Some(Outcome::Error(error)) => {
                return Err(format!("import refused: {} {}", error.field, error.message).into());
            }
            None => return Err("import answered without an outcome".into()),
        }
    }
    making.await?;
    Ok(())
}

/// Adds memories of the most active user.
async fn remember(clients: &mut Clients, tenant: usize) -> Result<(), Failure> {
    let language = Language::new();
    let mut random = Random::new(tenant as u64);
    let memories = (0..MEMORIES).map(|number| MemoryInput {
        text: format!("Note {number}: {}", language.question(&mut random)),
        ..Default::default()
    });
    let request = AddMemoriesRequest {
        user: Some(UserRef {
            app_id: APP.to_owned(),
            user_id: user(0),
        }),
        memories: memories.collect(),
    };
    clients.memories.add_memories(request).await?;
    Ok(())
}
