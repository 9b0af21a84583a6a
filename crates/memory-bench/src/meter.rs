//! What a service uses for the calls of a block.

use std::path::PathBuf;

use crate::{
    Failure,
    metrics::Metrics,
    processor::{Processes, ProcessorTime},
    stages::StageTimes,
    statements,
};

/// Reads what a service has used so far.
#[derive(Default)]
pub struct Meter {
    processes: Processes,
    server: Option<Server>,
}

/// Where a server says how long something took.
pub struct Server {
    /// The address of its metrics.
    pub metrics: String,
    /// Its log.
    pub log: PathBuf,
}

/// A moment before the calls of a block.
pub struct Begin {
    processor: ProcessorTime,
    stages: StageTimes,
    log_length: u64,
}

/// What was used for a block.
#[derive(Clone, Default)]
pub struct Used {
    pub processor: ProcessorTime,
    pub stages: StageTimes,
}

impl Meter {
    /// Of these processes, with this server among them.
    pub fn new(processes: Processes, server: Option<Server>) -> Self {
        Self { processes, server }
    }

    /// Begins a block.
    pub async fn begin(&self) -> Result<Begin, Failure> {
        let server = self.server.as_ref();
        let log_length = server.map_or(0, |server| statements::length(&server.log));
        let stages = self.stages().await?;
        // Last, as reading the metrics takes time of the server.
        let processor = self.processes.processor_time();
        Ok(Begin {
            processor,
            stages,
            log_length,
        })
    }

    /// Ends the block.
    pub async fn end(&self, begin: Begin) -> Result<Used, Failure> {
        let processor = self.processes.processor_time().since(begin.processor);
        let mut stages = self.stages().await?.since(&begin.stages);
        if let Some(server) = &self.server {
            stages.statements = statements::after(&server.log, begin.log_length)?;
        }
        Ok(Used { processor, stages })
    }

    async fn stages(&self) -> Result<StageTimes, Failure> {
        Ok(match &self.server {
            Some(server) => StageTimes::of(&Metrics::read(&server.metrics).await?),
            None => StageTimes::default(),
        })
    }
}
