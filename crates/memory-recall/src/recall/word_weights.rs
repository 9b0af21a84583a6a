//! Weighs the words of queries by how rare they are among the points of the tenant. The
//! index itself knows only frequencies over all tenants, whose scores would tell a tenant
//! how often others use a word.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use memory_contract::TenantId;
use memory_index::{Index, WordCounts};
use memory_runtime::task;
use moka::sync::Cache;
use tokio::sync::{Semaphore, watch};

/// Bytes of the cached counts of all tenants together.
const CACHE_BYTES: u64 = 64 << 20;
/// Points of a tenant that are counted: of more, the weights of rare words alone would be larger,
/// by about the same factor.
const POINTS: usize = 2_048;
/// Points that are counted first for a tenant without counts, whose query waits for that.
const FIRST_POINTS: usize = 256;
/// Counts of a tenant that sends no queries for this long are dropped.
const IDLE: Duration = Duration::from_secs(3_600);
/// Counts are used for this many times the duration of counting: a tenant that is queried all the
/// time costs half a percent of one core.
const AGE_FACTOR: u32 = 200;
/// Counts are used at least for this long for each counted point: a few hundred messages more
/// hardly change the weights of words in a large tenant.
const AGE_OF_A_POINT: Duration = Duration::from_millis(10);
/// Counts of a sample, whose tenant has more points than were counted, are used at least for this
/// long.
const AGE_OF_A_SAMPLE: Duration = Duration::from_secs(90);
/// Shortest and longest time for which counts are used without counting again.
const AGES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(600)];
/// How long outdated counts are used if counting fails.
const RETRY: Duration = Duration::from_secs(1);
/// How long counting may take.
const COUNT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a query waits for counts, and for new ones instead of outdated ones. It embeds
/// its text meanwhile.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const NEXT_WAIT: Duration = Duration::from_millis(5);

/// Counts the words of tenants and caches that. Clones share one cache.
#[derive(Clone)]
pub(super) struct WordWeights {
    index: Arc<dyn Index>,
    known: Cache<TenantId, CachedCounts>,
    /// The tenants whose words are being counted, each with a channel that closes when counting
    /// ends.
    counting: Arc<Mutex<HashMap<TenantId, watch::Receiver<()>>>>,
    /// One tenant is counted at a time, so that counting leaves room for queries.
    turn: Arc<Semaphore>,
    /// The turn of first counts, which take a fraction of the time: a tenant's first query does not
    /// wait until all words of another tenant are counted.
    first_turn: Arc<Semaphore>,
}

#[derive(Clone)]
struct CachedCounts {
    counts: Arc<WordCounts>,
    /// When they are outdated.
    until: Instant,
}

impl WordWeights {
    pub(super) fn new(index: Arc<dyn Index>) -> Self {
        let known = Cache::builder()
            .weigher(|_: &TenantId, known: &CachedCounts| {
                u32::try_from(known.counts.bytes()).unwrap_or(u32::MAX)
            })
            .max_capacity(CACHE_BYTES)
            .time_to_idle(IDLE);
        Self {
            index,
            known: known.build(),
            counting: Arc::default(),
            turn: Arc::new(Semaphore::new(1)),
            first_turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// The word counts of a tenant; none, by which all words weigh the same, as long as
    /// they could not be read.
    pub(super) async fn counts(&self, tenant: &TenantId) -> Arc<WordCounts> {
        let known = self.known.get(tenant);
        let wait = match &known {
            Some(known) if Instant::now() < known.until => return Arc::clone(&known.counts),
            Some(_) => NEXT_WAIT,
            None => FIRST_WAIT,
        };
        let mut counted = self.start_counting(tenant);
        // A closed channel ends the wait too.
        let _ = tokio::time::timeout(wait, counted.changed()).await;
        let latest = self.known.get(tenant).or(known);
        latest.map(|known| known.counts).unwrap_or_default()
    }

    /// Counts in the background, unless that has begun already.
    fn start_counting(&self, tenant: &TenantId) -> watch::Receiver<()> {
        let mut counting = self.lock();
        if let Some(running) = counting.get(tenant)
            && running.has_changed().is_ok()
        {
            return running.clone();
        }
        let (running, counted) = watch::channel(());
        counting.insert(tenant.clone(), counted.clone());
        let (weights, tenant) = (self.clone(), tenant.clone());
        task::spawn("word_counts", async move {
            weights.count(&tenant).await;
            weights.lock().remove(&tenant);
            drop(running);
        });
        counted
    }

    /// Counts the words of a tenant: of one without counts only [`FIRST_POINTS`], and more when it
    /// sends its next query.
    async fn count(&self, tenant: &TenantId) {
        let (turn, points) = match self.known.get(tenant) {
            Some(known) if known.counts.points() > 0 => (&self.turn, POINTS),
            Some(_) | None => (&self.first_turn, FIRST_POINTS),
        };
        // The semaphores are never closed.
        let Ok(_turn) = turn.acquire().await else {
            return;
        };
        self.count_points(tenant, points).await;
    }

    async fn count_points(&self, tenant: &TenantId, points: usize) {
        let started = Instant::now();
        let counting = self.index.word_counts(tenant, points);
        let counted = tokio::time::timeout(COUNT_TIMEOUT, counting).await;
        let paid_off = started.elapsed().saturating_mul(AGE_FACTOR);
        let [least, most] = AGES;
        let (counts, age) = match counted {
            Ok(Ok(counts)) => {
                let of_sample = counts.are_enough(points);
                let counted = u32::try_from(counts.points()).unwrap_or(u32::MAX);
                let age = match of_sample {
                    // First counts of a larger tenant: its next query has more of it counted.
                    true if points < POINTS => Duration::ZERO,
                    true => AGE_OF_A_SAMPLE.max(paid_off),
                    false => AGE_OF_A_POINT.saturating_mul(counted).max(paid_off),
                };
                (Arc::new(counts), age.clamp(least, most))
            }
            // The search itself shows the failure.
            Ok(Err(_)) | Err(_) => {
                let former = self.known.get(tenant).map(|known| known.counts);
                (former.unwrap_or_default(), RETRY)
            }
        };
        let until = Instant::now() + age;
        self.known
            .insert(tenant.clone(), CachedCounts { counts, until });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, watch::Receiver<()>>> {
        self.counting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
