//! Fills a service with the conversations of many tenants.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use memory_contract::proto::{
    AddMemoriesRequest, ImportMessagesRequest, MemoryInput, SessionRef, UserRef,
    import_messages_response::Outcome,
};
use tokio::task::JoinSet;
use tokio_stream::StreamExt as _;

use super::synthetic::{Language, Sessions, Zipf};
use crate::{
    Failure, progress,
    random::Random,
    service::{Clients, Key, Service},
};

/// The app of all tenants.
pub const APP: &str = "scale";
/// Imports at a time.
const STREAMS: usize = 4;
/// Memories of the most active user of each tenant with many messages, and how many
/// messages that is.
const MEMORIES: usize = 50;
const MANY_MESSAGES: usize = 1_000;

/// Tenants and the number of each one's messages.
pub struct Tenants {
    /// By number; the largest first.
    pub messages: Vec<usize>,
}

/// How fast the service was filled.
pub struct Filled {
    /// Messages of all tenants.
    pub messages: usize,
    /// Messages per second until all were durable, and until all were indexed.
    pub durable_per_s: f64,
    pub searchable_per_s: f64,
}

impl Tenants {
    /// So many tenants with so many messages together. A tenant has at least one.
    pub fn new(tenants: usize, messages: usize) -> Self {
        let shares = Zipf::new(tenants).shares(messages);
        Self {
            messages: shares.into_iter().map(|share| share.max(1)).collect(),
        }
    }

    /// The configuration with a key for each (TOML).
    pub fn config(&self) -> String {
        let keys = (0..self.messages.len()).map(|tenant| {
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

/// Imports all conversations, a tenant after the other on each of several connections, and
/// waits until the index has them.
pub async fn fill(service: &Service, tenants: &Tenants) -> Result<Filled, Failure> {
    let messages = tenants.messages.iter().sum();
    let bar = progress::count("importing", messages as u64);
    let begin = Instant::now();
    let next = Arc::new(AtomicUsize::new(0));
    let shares: Arc<[usize]> = tenants.messages.as_slice().into();
    let mut imports = JoinSet::new();
    for _ in 0..STREAMS {
        let (next, shares, bar) = (Arc::clone(&next), Arc::clone(&shares), bar.clone());
        let channel = service.channel().await?;
        imports.spawn(async move {
            loop {
                let tenant = next.fetch_add(1, Ordering::Relaxed);
                let Some(&messages) = shares.get(tenant) else {
                    return Ok::<_, Failure>(());
                };
                let mut clients = Clients::new(channel.clone(), &header(tenant)?);
                import(&mut clients, tenant, messages, &bar).await?;
                if messages >= MANY_MESSAGES {
                    remember(&mut clients, tenant).await?;
                }
            }
        });
    }
    while let Some(import) = imports.join_next().await {
        import??;
    }
    let durable = begin.elapsed();
    bar.finish_and_clear();
    service.drained().await?;
    let per_s = |time: std::time::Duration| messages as f64 / time.as_secs_f64().max(1e-9);
    Ok(Filled {
        messages,
        durable_per_s: per_s(durable),
        searchable_per_s: per_s(begin.elapsed()),
    })
}

async fn import(
    clients: &mut Clients,
    tenant: usize,
    messages: usize,
    bar: &indicatif::ProgressBar,
) -> Result<(), Failure> {
    let (sender, requests) = tokio::sync::mpsc::channel(16);
    // On a thread of its own, because it computes.
    let making = tokio::task::spawn_blocking(move || {
        let language = Language::new();
        for (number, session) in Sessions::new(&language, tenant, messages).enumerate() {
            let request = ImportMessagesRequest {
                session: Some(SessionRef {
                    app_id: APP.to_owned(),
                    user_id: user(session.user),
                    session_key: format!("session:{number}"),
                    agent_session_key: String::new(),
                }),
                messages: session.messages,
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
                bar.inc(u64::try_from(imported.message_count).unwrap_or_default());
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
