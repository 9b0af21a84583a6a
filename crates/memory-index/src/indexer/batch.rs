//! Claims a batch of changes, indexes it, and acknowledges it or puts it back.

use std::convert::Infallible;

use memory_runtime::error_chain;
use memory_store::{Failure, Job, LeaseId};
use tokio::time::Instant;

use super::batch_size::Limits;
use super::error::IndexerError;
use super::lease::keep_extending;
use super::state::Indexer;
use crate::background::Slot;

/// The changes that a lane claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// All changes.
    Any,
    /// Changes of neither an import nor a rebuild, so that they always find a free lane.
    Live,
}

/// One turn of a lane.
#[derive(Default)]
pub(super) struct Round {
    /// The number of claimed changes.
    pub(super) changes: usize,
    /// The batch is full.
    pub(super) is_full: bool,
    /// The changes are of imports and rebuilds.
    pub(super) is_bulk: bool,
}

pub(crate) fn describe_metrics() {
    metrics::describe_counter!(
        "recollect_indexed_total",
        "Changes written into the index and acknowledged."
    );
    metrics::describe_counter!(
        "recollect_dead_letters_total",
        "Changes that could not be indexed and were given up."
    );
    metrics::describe_histogram!(
        "recollect_index_batch_seconds",
        metrics::Unit::Seconds,
        "Duration of indexing one batch of changes: loading, embedding, writing, rechecking."
    );
}

impl Indexer {
    /// Indexes one batch in its slot.
    pub(super) async fn round(
        &self,
        lane: Lane,
        limits: Limits,
        _slot: Option<Slot>,
    ) -> Result<Round, IndexerError> {
        let at_most = |limit| u32::try_from(limit).unwrap_or(u32::MAX);
        let (live, bulk) = (at_most(limits.live), at_most(limits.bulk));
        let lease = self.config.lease;
        let claim = match lane {
            Lane::Any => self.outbox.claim_any(live, bulk, lease).await?,
            Lane::Live => self.outbox.claim_live(live, lease).await?,
        };
        if claim.jobs.is_empty() {
            if lane == Lane::Any {
                self.end_rebuilding(None).await?;
            }
            return Ok(Round::default());
        }
        let started = Instant::now();
        let oldest = claim.jobs.first().filter(|job| job.bulk).cloned();
        let (changes, is_bulk) = (claim.jobs.len(), oldest.is_some());
        let limit = if is_bulk { limits.bulk } else { limits.live };
        let round = Round {
            changes,
            is_full: changes >= limit,
            is_bulk,
        };
        if round.is_full {
            // More changes may wait.
            self.wake.notify_one();
        }
        let jobs = self.give_up_worn(claim.lease, claim.jobs).await?;
        if !jobs.is_empty() {
            tokio::select! {
                worked = self.work(claim.lease, &jobs) => worked?,
                never = self.extend(claim.lease, &jobs) => match never {},
            }
        }
        metrics::histogram!("recollect_index_batch_seconds")
            .record(started.elapsed().as_secs_f64());
        // Last, because an error here must not keep the claim. Changes that are not part of
        // a rebuild say nothing about its end.
        if oldest.is_some() {
            self.end_rebuilding(oldest.as_ref()).await?;
        }
        Ok(round)
    }

    /// Keeps the lease of jobs that take longer.
    async fn extend(&self, lease: LeaseId, jobs: &[Job]) -> Infallible {
        let ids: Vec<i64> = jobs.iter().map(|job| job.id).collect();
        let length = self.config.lease;
        keep_extending(length, || self.outbox.extend(lease, &ids, length)).await
    }

    /// Gives up the jobs whose attempts were exceeded without a recorded failure, as
    /// happens if a job kills its worker, and returns the others.
    async fn give_up_worn(&self, lease: LeaseId, jobs: Vec<Job>) -> Result<Vec<Job>, IndexerError> {
        let max = self.max_attempts();
        let (worn, jobs): (Vec<Job>, Vec<Job>) =
            jobs.into_iter().partition(|job| job.attempts > max);
        for job in &worn {
            let ended = job.attempts - 1;
            let error = format!("given up: its worker ended {ended} times before it was done");
            self.give_back(lease, job, error).await?;
        }
        Ok(jobs)
    }

    /// Indexes jobs together; if that is refused, each half of them, so that only the refused
    /// ones fail in the end.
    pub(super) async fn work(&self, lease: LeaseId, jobs: &[Job]) -> Result<(), IndexerError> {
        let ids = |jobs: &[Job]| jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        let mut parts = vec![jobs];
        while let Some(part) = parts.pop() {
            match self.apply(part).await {
                Ok(()) => self.acknowledge(lease, &ids(part)).await?,
                Err(error) if error.is_outage() => {
                    parts.push(part);
                    let rest: Vec<i64> = parts.into_iter().flat_map(ids).collect();
                    self.outbox.release(lease, &rest).await?;
                    return Err(error);
                }
                Err(error) => match part {
                    [job] => self.put_back(lease, job, &error).await?,
                    _ => {
                        let (first, second) = part.split_at(part.len() / 2);
                        parts.extend([second, first]);
                    }
                },
            }
        }
        Ok(())
    }

    async fn acknowledge(&self, lease: LeaseId, jobs: &[i64]) -> Result<(), IndexerError> {
        self.outbox.ack(lease, jobs).await?;
        self.recovered();
        metrics::counter!("recollect_indexed_total").increment(jobs.len() as u64);
        self.status
            .send_modify(|status| status.acknowledged += jobs.len() as u64);
        Ok(())
    }

    async fn put_back(
        &self,
        lease: LeaseId,
        job: &Job,
        error: &IndexerError,
    ) -> Result<(), IndexerError> {
        let message = error_chain(error);
        self.log(error, &message);
        self.give_back(lease, job, message).await
    }

    /// Returns a job for a later attempt, or gives it up after the last one.
    async fn give_back(
        &self,
        lease: LeaseId,
        job: &Job,
        error: String,
    ) -> Result<(), IndexerError> {
        let failure = Failure {
            id: job.id,
            error,
            delay: self.backoff(u32::try_from(job.attempts).unwrap_or(1)),
        };
        let attempts = self.max_attempts();
        let given_up = self.outbox.retry(lease, &[failure], attempts).await?;
        if given_up > 0 {
            tracing::error!(
                job = job.id,
                attempts = job.attempts,
                "a change was given up"
            );
            metrics::counter!("recollect_dead_letters_total").increment(given_up);
        }
        // Wakes queries that wait for this change.
        self.status.send_modify(|_| {});
        Ok(())
    }
}
