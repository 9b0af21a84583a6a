//! Looking at threads that have something to distil.

use std::time::Duration;

use memory_store::{Outbox, StoreError};
use tonic::async_trait;

use super::Job;
use crate::distil::Distilling;

/// Looks at threads whose time has come.
pub(crate) struct DistilThreads {
    with: Distilling,
    outbox: Outbox,
}

impl DistilThreads {
    pub(crate) fn new(with: Distilling, outbox: Outbox) -> Self {
        Self { with, outbox }
    }
}

#[async_trait]
impl Job for DistilThreads {
    fn name(&self) -> &'static str {
        "distil"
    }

    fn interval(&self) -> Duration {
        self.with.config.poll_interval
    }

    async fn run(&self) -> Result<bool, StoreError> {
        let config = &self.with.config;
        let claim = self.outbox.claim_distil(config.lanes, config.lease).await?;
        for job in &claim.jobs {
            self.outbox.release_distil(claim.lease, job).await?;
        }
        Ok(false)
    }
}
