//! Refused changes on their way into the audit log. Callers do not wait for them: they
//! are counted here, and written once a second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memory_contract::TenantId;
use memory_runtime::error_chain;
use memory_store::{Caller, Refusals, Store};
use metrics::{counter, describe_counter};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::sync::CancellationToken;

/// How many different refusals may wait. Equal ones count as one, so a flood of
/// them takes no place.
const MOST: usize = 1_024;
/// How often they are written.
const PERIOD: Duration = Duration::from_secs(1);
/// How long writing all of them may take; the server's end waits for it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Counts refusals. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusalLog(Arc<Mutex<Waiting>>);

/// The identity of a refusal: equal ones are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Refusal {
    /// The caller's tenant.
    pub(crate) tenant: TenantId,
    /// The name of the API key.
    pub(crate) actor: String,
    /// What was refused, such as `append_messages`.
    pub(crate) action: Arc<str>,
    /// Why, such as `head_moved`.
    pub(crate) result: String,
}

#[derive(Debug, Default)]
struct Waiting {
    tallies: HashMap<Refusal, Tally>,
    /// How many found no place.
    dropped: u64,
}

/// How often something was refused, and when first.
#[derive(Clone, Copy, Debug)]
struct Tally {
    count: u64,
    first: Instant,
}

impl RefusalLog {
    /// Queues a refusal to be written.
    pub(crate) fn note(&self, refusal: Refusal) {
        let one = Tally {
            count: 1,
            first: Instant::now(),
        };
        self.waiting().add(refusal, one);
    }

    /// Writes what waits, again and again until the server stops, and then for the
    /// last time.
    pub(crate) async fn write_to(self, store: Store, stop: CancellationToken) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => self.write(&store).await,
            }
        }
        self.write(&store).await;
        let Waiting { tallies, dropped } = std::mem::take(&mut *self.waiting());
        let left: u64 = tallies.values().map(|tally| tally.count).sum();
        report_dropped(left + dropped, "the server ended without its database");
    }

    async fn write(&self, store: &Store) {
        let Waiting { tallies, dropped } = std::mem::take(&mut *self.waiting());
        report_dropped(dropped, "too many different ones were waiting");
        let mut tenants: HashMap<TenantId, Vec<(Refusal, Tally)>> = HashMap::new();
        for (refusal, tally) in tallies {
            let tenant = tenants.entry(refusal.tenant.clone()).or_default();
            tenant.push((refusal, tally));
        }
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let mut away = false;
        for (tenant, refusals) in tenants {
            if !away {
                let caller = Caller::worker(tenant);
                let rows: Vec<Refusals> = refusals.iter().map(row).collect();
                match timeout_at(deadline, store.audit(&caller).note_refusals(&rows)).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(error)) if !error.retryable() => {
                        let count = refusals.iter().map(|(_, tally)| tally.count).sum();
                        report_dropped(count, &error_chain(&error));
                        continue;
                    }
                    // The health check reports it already.
                    Ok(Err(_)) | Err(_) => away = true,
                }
            }
            let mut waiting = self.waiting();
            for (refusal, tally) in refusals {
                waiting.add(refusal, tally);
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn add(&mut self, refusal: Refusal, more: Tally) {
        let full = self.tallies.len() >= MOST;
        match self.tallies.get_mut(&refusal) {
            Some(tally) => {
                tally.count += more.count;
                tally.first = tally.first.min(more.first);
            }
            None if full => self.dropped += more.count,
            None => {
                self.tallies.insert(refusal, more);
            }
        }
    }
}

fn row((refusal, tally): &(Refusal, Tally)) -> Refusals {
    let Refusal {
        tenant: _,
        actor,
        action,
        result,
    } = refusal;
    Refusals {
        actor: actor.clone(),
        action: action.to_string(),
        result: result.clone(),
        count: i64::try_from(tally.count).unwrap_or(i64::MAX),
        age: tally.first.elapsed(),
    }
}

fn report_dropped(count: u64, why: &str) {
    if count > 0 {
        counter!("recollect_refusals_dropped_total").increment(count);
        tracing::warn!(count, why, "refused changes are missing from the audit log");
    }
}

pub(crate) fn describe_metrics() {
    describe_counter!(
        "recollect_refusals_dropped_total",
        "Refused changes that could not be written to the audit record."
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(actor: &str) -> Refusal {
        Refusal {
            tenant: TenantId::new("acme"),
            actor: actor.to_owned(),
            action: "append_messages".into(),
            result: "head_moved".to_owned(),
        }
    }

    #[test]
    fn equal_refusals_take_one_place_and_others_are_counted_when_it_is_full() {
        let log = RefusalLog::default();
        for number in 0..MOST + 3 {
            log.note(refusal(&number.to_string()));
        }
        for _ in 0..1_000 {
            log.note(refusal("7"));
        }
        let waiting = log.waiting();
        assert_eq!((waiting.tallies.len(), waiting.dropped), (MOST, 3));
        assert_eq!(waiting.tallies[&refusal("7")].count, 1_001);
    }

    #[test]
    fn unwritten_refusals_keep_the_time_of_the_first() {
        let mut waiting = Waiting::default();
        let first = Instant::now();
        let later = first + PERIOD;
        for (count, first) in [(2, later), (5, first), (1, later)] {
            waiting.add(refusal("backend"), Tally { count, first });
        }
        let tally = waiting.tallies[&refusal("backend")];
        assert_eq!((tally.count, tally.first), (8, first));
    }
}
