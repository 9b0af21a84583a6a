//! Recall and append on a service with many tenants.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use memory_contract::proto::{AppRef, AppendMessagesRequest, RecallRequest, Target, UserRef};
use serde::{Deserialize, Serialize};
use tonic::transport::Channel;

use super::{
    fill::{APP, Tenants, header, user},
    synthetic::{Language, Zipf, reply, users},
};
use crate::{
    Failure,
    blocks::{self, Call, Figures, Series},
    clients::Clients,
    progress,
    random::Random,
    service::Service,
    stats::rounded,
};

/// The kinds of calls, by place.
pub const KINDS: [&str; 3] = [
    "recall over one user",
    "recall over the largest tenant",
    "append",
];
/// Threads that appends go to.
const THREADS: usize = 64;
/// The longest wait for the first recall.
const FIRST: Duration = Duration::from_secs(300);

/// The figures of each kind, in the order of [`KINDS`].
#[derive(Serialize, Deserialize)]
pub struct CallFigures {
    recall_user: Figures,
    recall_largest_tenant: Figures,
    append: Figures,
    /// KiB that the service reads from the disk for a call, also for those that warm a block up, and
    /// with what it reads ahead meanwhile; 0 where the system does not count them.
    #[serde(default)]
    read_kib: [f64; 3],
}

impl CallFigures {
    /// The figures of the kind at this place.
    pub fn figures(&self, place: usize) -> &Figures {
        match place {
            0 => &self.recall_user,
            1 => &self.recall_largest_tenant,
            _ => &self.append,
        }
    }

    /// KiB that the service reads from the disk for a call of the kind at this place.
    pub fn read_kib(&self, place: usize) -> f64 {
        self.read_kib[place]
    }
}

/// One caller for each kind of call.
pub struct Callers([Caller; 3]);

#[derive(Clone, Copy)]
enum Kind {
    User,
    LargestTenant,
    Append,
}

#[derive(Clone)]
struct Caller {
    kind: Kind,
    shared: Arc<Shared>,
}

struct Shared {
    channel: Channel,
    tenants: Zipf,
    /// Messages of each tenant.
    messages: Vec<usize>,
    language: Language,
    random: Mutex<Random>,
    /// Where to append: a tenant and its thread.
    threads: Vec<(usize, String)>,
}

impl Callers {
    /// Connects, and opens threads to append to: of tenants drawn by their share of the
    /// traffic.
    pub async fn connect(
        service: &Service,
        tenants: &Tenants,
        random: &mut Random,
    ) -> Result<Self, Failure> {
        let channel = service.channel().await?;
        let zipf = Zipf::new(tenants.messages.len());
        let mut threads = Vec::with_capacity(THREADS);
        for number in 0..THREADS {
            let tenant = zipf.draw(random);
            let mut clients = Clients::new(channel.clone(), &header(tenant)?);
            let key = format!("session:append-{number}");
            threads.push((tenant, clients.thread(APP, &user(0), &key).await?));
        }
        let shared = Arc::new(Shared {
            channel,
            tenants: zipf,
            messages: tenants.messages.clone(),
            language: Language::new(),
            random: Mutex::new(Random::new(random.below(usize::MAX) as u64)),
            threads,
        });
        let kinds = [Kind::User, Kind::LargestTenant, Kind::Append];
        Ok(Self(kinds.map(|kind| Caller {
            kind,
            shared: Arc::clone(&shared),
        })))
    }

    /// The time until a recall over the largest tenant uses the index.
    pub async fn first_recall(&mut self) -> Result<Duration, Failure> {
        let begin = Instant::now();
        loop {
            match self.0[1].call().await {
                Ok(()) => return Ok(begin.elapsed()),
                Err(error) if begin.elapsed() > FIRST => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    /// Measures in blocks, in another random order in each round.
    pub async fn measure(
        &self,
        service: &Service,
        rounds: usize,
        block: Duration,
        random: &mut Random,
    ) -> Result<CallFigures, Failure> {
        let mut series = [Series::new()?, Series::new()?, Series::new()?];
        let mut read = [0; 3];
        let mut places = [0, 1, 2];
        let processes = service.processes();
        let meter = service.meter();
        let read_so_far = || processes.read_from_disk();
        for _ in 0..rounds {
            random.shuffle(&mut places);
            for place in places {
                service.drained().await?;
                let step = progress::step(KINDS[place]);
                let caller = std::slice::from_ref(&self.0[place]);
                let before = read_so_far();
                series[place].add(&blocks::closed(&meter, caller, block).await?)?;
                read[place] += read_so_far().saturating_sub(before);
                step.finish_and_clear();
            }
        }
        let [recall_user, recall_largest_tenant, append] = series.map(|one| one.figures());
        let mut measured = CallFigures {
            recall_user,
            recall_largest_tenant,
            append,
            read_kib: [0.0; 3],
        };
        for (place, bytes) in read.into_iter().enumerate() {
            let calls = measured.figures(place).count + rounds as u64 * blocks::WARM_UP;
            measured.read_kib[place] = rounded(bytes as f64 / 1_024.0 / calls as f64, 1);
        }
        Ok(measured)
    }
}

impl Shared {
    fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn recall(&self, tenant: usize, target: Target) -> Result<(), Failure> {
        let mut clients = Clients::new(self.channel.clone(), &header(tenant)?);
        let request = RecallRequest {
            target: Some(target),
            query: self.draw(|random| self.language.question(random)),
            ..Default::default()
        };
        let response = clients.recall.recall(request).await?.into_inner();
        match response.degradations.first() {
            Some(degradation) => Err(format!("recall: {}", degradation.message).into()),
            None => Ok(()),
        }
    }
}

impl Call for Caller {
    async fn call(&mut self) -> Result<(), Failure> {
        let shared = &self.shared;
        match self.kind {
            Kind::User => {
                let tenant = shared.draw(|random| shared.tenants.draw(random));
                let users = Zipf::new(users(shared.messages[tenant]));
                let user = UserRef {
                    app_id: APP.to_owned(),
                    user_id: user(shared.draw(|random| users.draw(random))),
                };
                shared.recall(tenant, user.into()).await
            }
            Kind::LargestTenant => {
                let app = AppRef {
                    app_id: APP.to_owned(),
                };
                shared.recall(0, app.into()).await
            }
            Kind::Append => {
                let place = shared.draw(|random| random.below(shared.threads.len()));
                let (tenant, thread) = &shared.threads[place];
                let mut clients = Clients::new(shared.channel.clone(), &header(*tenant)?);
                let request = AppendMessagesRequest {
                    thread: Some(thread.clone().into()),
                    messages: vec![shared.draw(|random| reply(&shared.language, random))],
                    request_id: uuid::Uuid::now_v7().to_string(),
                    ..Default::default()
                };
                clients.messages.append_messages(request).await?;
                Ok(())
            }
        }
    }
}
