//! Turns that wait to be stored: a bounded queue, in the order of each conversation.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use memory_runtime::task;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::counts::{Counts, count};
use crate::recollect::Recollect;
use crate::store::{Outcome, store};
use crate::waiting::Job;

/// Turns of one conversation are stored one after the other, those of others beside them.
const LANES: usize = 32;
/// The most turns that wait in a lane, ...
const LANE_TURNS: usize = 64;
/// ... and the most bytes of all of them.
const BYTES: usize = 128 * 1024 * 1024;
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a proxy that stops waits for its turns to be stored.
const STOP_TIME: Duration = Duration::from_secs(10);

/// The turns that wait.
#[derive(Debug)]
pub(crate) struct Queue {
    lanes: Mutex<Vec<JoinHandle<()>>>,
    senders: std::sync::Mutex<Vec<Sender<(Job, OwnedSemaphorePermit)>>>,
    room: Arc<Semaphore>,
    counts: Arc<Counts>,
}

impl Queue {
    /// Starts to store turns.
    pub(crate) fn start(recollect: &Recollect, counts: Arc<Counts>) -> Self {
        let mut senders = Vec::with_capacity(LANES);
        let mut lanes = Vec::with_capacity(LANES);
        for _ in 0..LANES {
            let (sender, receiver) = channel(LANE_TURNS);
            let work = work(receiver, recollect.clone(), Arc::clone(&counts));
            lanes.push(task::spawn("proxy_lane", work));
            senders.push(sender);
        }
        Self {
            lanes: Mutex::new(lanes),
            senders: std::sync::Mutex::new(senders),
            room: Arc::new(Semaphore::new(BYTES)),
            counts,
        }
    }

    /// Adds a turn. One for which there is no room is lost.
    pub(crate) fn add(&self, job: Job) {
        let bytes = u32::try_from(job.bytes()).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(bytes) else {
            self.counts.lose("too many bytes wait to be stored");
            return;
        };
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let lane = hasher.hash_one(&job.waiting.whose) as usize % LANES;
        let sender = self.senders();
        let Some(sender) = sender.get(lane) else {
            self.counts.lose("the proxy stops");
            return;
        };
        self.counts.waiting.fetch_add(1, Relaxed);
        if sender.try_send((job, room)).is_err() {
            self.counts.waiting.fetch_sub(1, Relaxed);
            self.counts.lose("too many turns wait to be stored");
        }
    }

    /// Stores what waits, for at most ten seconds.
    pub(crate) async fn stop(&self) {
        self.senders().clear();
        let mut lanes = std::mem::take(&mut *self.lanes.lock().await);
        let ended = async {
            for lane in &mut lanes {
                let _ = lane.await;
            }
        };
        if timeout(STOP_TIME, ended).await.is_err() {
            for lane in &lanes {
                lane.abort();
            }
            for _ in 0..self.counts.waiting.swap(0, Relaxed) {
                self.counts.lose("the proxy stops");
            }
        }
    }

    fn senders(&self) -> std::sync::MutexGuard<'_, Vec<Sender<(Job, OwnedSemaphorePermit)>>> {
        let senders = self.senders.lock();
        senders.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Stores the turns of one lane.
async fn work(
    mut turns: Receiver<(Job, OwnedSemaphorePermit)>,
    recollect: Recollect,
    counts: Arc<Counts>,
) {
    while let Some((job, _room)) = turns.recv().await {
        store_patiently(&recollect, &job, &counts).await;
        counts.waiting.fetch_sub(1, Relaxed);
    }
}

async fn store_patiently(recollect: &Recollect, job: &Job, counts: &Counts) {
    let mut pause = SHORTEST_PAUSE;
    loop {
        match store(recollect, job).await {
            Outcome::Stored => return count(&counts.stored),
            Outcome::Known => return count(&counts.known),
            Outcome::Refused(code) => return counts.lose(code.description()),
            Outcome::Later(code) => {
                if Instant::now() + pause > job.until {
                    return counts.lose(code.description());
                }
                tracing::debug!(?code, "a turn is stored later");
            }
        }
        sleep(pause).await;
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}
