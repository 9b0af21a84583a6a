//! A cache of recent windows.
//!
//! `history` compares the thread's version with the known one and reads messages only
//! where it has changed. So processes need not notify each other, and deleted or expired
//! messages are never shown.

use std::sync::Arc;

use memory_contract::{TenantId, ThreadId, heap, message::Role};
use metrics::{counter, describe_counter};
use moka::future::Cache;

use super::path::{History, Path, Version, instructions};
use crate::config::{CacheConfig, CacheKind};

/// The newest messages on the path to a thread's head.
#[derive(Debug)]
pub(crate) struct Window {
    version: Version,
    /// The newest first.
    history: History,
}

impl Window {
    /// The version of the thread that it shows.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The answer of the database at this version, if the window is sufficient
    /// for it. The window is bounded by the bytes of one answer already.
    pub(crate) fn answer(&self, path: &Path) -> Option<History> {
        let count = self.reach(path)?;
        let all = &self.history.messages;
        let older = count < all.len() || self.history.older;
        let begun = self.history.instructions.iter();
        Some(History {
            messages: all[..count].to_vec(),
            instructions: match (older, self.history.older) {
                (true, true) => begun.cloned().collect(),
                (true, false) => instructions(all.iter().rev()).cloned().collect(),
                (false, _) => Vec::new(),
            },
            older,
            ..self.history
        })
    }

    /// How many messages of the window the answer has; `None` where it needs
    /// more.
    fn reach(&self, path: &Path) -> Option<usize> {
        if !path.leads_to(self.version.head) {
            return None;
        }
        let rows = usize::try_from(path.rows).unwrap_or_default();
        let mut tokens = 0_i64;
        let mut last_role = None;
        for (count, message) in self.history.messages.iter().enumerate() {
            if ends(path, rows, count, tokens, last_role) {
                return Some(count);
            }
            tokens += i64::from(message.tokens);
            last_role = Some(message.role);
        }
        let count = self.history.messages.len();
        let complete = !self.history.older || ends(path, rows, count, tokens, last_role);
        complete.then_some(count)
    }
}

/// Whether `history` returns no further message.
fn ends(path: &Path, rows: usize, count: usize, tokens: i64, last: Option<Role>) -> bool {
    count == rows || (tokens > path.max_tokens && last == Some(Role::User))
}

/// The windows of all tenants, bounded by bytes. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows(Option<Cache<(TenantId, ThreadId), Arc<Window>>>);

impl Windows {
    /// Makes an empty cache.
    pub(crate) fn new(config: &CacheConfig) -> Self {
        match config.kind {
            CacheKind::None => Self(None),
            CacheKind::Memory => Self(Some(
                Cache::builder()
                    .weigher(|(tenant, _): &(TenantId, ThreadId), window: &Arc<Window>| {
                        weight(tenant, window)
                    })
                    .max_capacity(config.max_bytes)
                    .time_to_idle(config.idle)
                    .build(),
            )),
        }
    }

    /// The window that answers a query, if it is still valid.
    pub(crate) async fn find(&self, tenant: &TenantId, path: &Path) -> Option<Arc<Window>> {
        let key = (tenant.clone(), path.thread);
        let window = self.0.as_ref()?.get(&key).await?;
        window.reach(path).is_some().then_some(window)
    }

    /// Caches messages that were read, if they are on the path to the thread's head.
    pub(crate) async fn keep(
        &self,
        tenant: &TenantId,
        path: &Path,
        version: Version,
        history: &History,
    ) {
        let Some(windows) = &self.0 else { return };
        if !path.leads_to(version.head) {
            return;
        }
        count_lookup("miss");
        let window = Window {
            version,
            history: history.clone(),
        };
        windows
            .insert((tenant.clone(), path.thread), Arc::new(window))
            .await;
    }

    /// Drops a window whose messages were erased. Its version is stale, so it would not be
    /// returned; dropping it frees the erased content.
    pub(crate) async fn forget(&self, tenant: &TenantId, thread: ThreadId) {
        if let Some(windows) = &self.0 {
            windows.invalidate(&(tenant.clone(), thread)).await;
        }
    }
}

/// Counts a lookup by its outcome.
pub(crate) fn count_lookup(outcome: &'static str) {
    counter!("recollect_window_cache_total", "outcome" => outcome).increment(1);
}

fn weight(tenant: &TenantId, window: &Window) -> u32 {
    let instructions = window.history.instructions.iter();
    let messages = window.history.messages.iter().chain(instructions);
    let messages: usize = messages.map(heap::of_message).sum();
    let bytes = heap::ENTRY + tenant.as_str().len() + size_of::<Window>() + messages;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

pub(crate) fn describe_metrics() {
    describe_counter!(
        "recollect_window_cache_total",
        "Lookups in the cache of recent windows, by outcome: hit or miss."
    );
}
