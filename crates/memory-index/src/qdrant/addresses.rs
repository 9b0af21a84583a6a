//! The nodes of a Qdrant cluster, and the one that is asked first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use qdrant_client::Qdrant;
use secrecy::ExposeSecret;

use crate::config::IndexConfig;
use crate::error::IndexError;

/// A client for each address, of which one is in use.
pub(super) struct Addresses {
    clients: Vec<Arc<Qdrant>>,
    /// The place of the one in use.
    current: AtomicUsize,
}

impl Addresses {
    pub(super) fn new(config: &IndexConfig) -> Result<Self, IndexError> {
        let wrong = |problem: String| IndexError::Config {
            key: "index.url",
            problem,
        };
        let mut clients = Vec::new();
        for address in config.addresses() {
            let mut settings = Qdrant::from_url(address)
                .timeout(config.write_timeout)
                .connect_timeout(config.connect_timeout)
                .keep_alive_while_idle()
                .skip_compatibility_check();
            if let Some(key) = &config.api_key {
                settings.set_api_key(key.expose_secret());
            }
            let client = settings.build().map_err(|error| wrong(error.to_string()))?;
            clients.push(Arc::new(client));
        }
        if clients.is_empty() {
            return Err(wrong("the Qdrant backend needs an address".to_owned()));
        }
        Ok(Self {
            clients,
            current: AtomicUsize::new(0),
        })
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.clients.len()).unwrap_or(u32::MAX)
    }

    /// Each client once, beginning with the one in use, and its place.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = (usize, &Arc<Qdrant>)> {
        let (first, count) = (self.current.load(Ordering::Relaxed), self.clients.len());
        (first..first + count).map(move |place| (place % count, &self.clients[place % count]))
    }

    /// Asks the node after this one first from now on, unless another request chose one already.
    pub(super) fn turn_from(&self, place: usize) {
        let next = (place + 1) % self.clients.len();
        let _ = self
            .current
            .compare_exchange(place, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}
