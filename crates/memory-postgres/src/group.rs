//! Calls that share transactions (group commit).

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use futures::future::{join_all, join3};
use memory_runtime::{error_chain, task};
use tokio::sync::oneshot;
use tokio_postgres::{
    Row, Statement,
    types::{IsNull, ToSql, Type, to_sql_checked},
};

use crate::{
    Caller, Params, Pool, PostgresError, Query,
    query::{Busy, prepare},
    query_error,
};

/// Transactions at a time. With fewer, each has more calls; with more, more of Postgres's
/// cores work.
const LANES: usize = 2;
/// The most calls in one transaction: as many as `join_all` polls in order.
const MAX_CALLS: usize = 30;
/// The most calls that wait for a transaction; further ones run by themselves.
const MAX_WAITING: usize = 1024;
/// A call with more bytes of parameters runs by itself.
const MAX_BYTES: usize = 32 << 10;
/// A call by itself that takes longer, for example because it waits for a lock, leaves its lane to
/// others.
const HOLD: Duration = Duration::from_millis(100);
/// How long calls run by themselves after a call of the same order has ended a shared transaction,
/// by waiting for a lock or by an error: each time, all its other calls run twice.
const APART: Duration = Duration::from_secs(5);
/// The most orders that are remembered for that.
const MAX_APART: usize = 4096;
/// Begins a shared transaction. A call that has to wait for a lock for as long as [`HOLD`] ends
/// it, so that the other calls do not wait with it.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = 100";

/// Runs calls of functions that take the tenant as a parameter, and that tell a refusal by
/// what they return. While transactions are under way, further calls wait and then share the
/// next one: Postgres does the work of a transaction, and its write to the disk, once for all
/// of them. A call that finds no other runs at once, by itself. A clone shares the lanes.
///
/// If a call fails in a shared transaction, all calls of it run again, each by itself, so that
/// no call is answered with the refusal of another one. A lost connection is the error of all.
#[derive(Clone, Debug)]
pub struct Group(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    pool: Pool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Lanes in use.
    lanes: usize,
    /// Only while all lanes are in use.
    waiting: VecDeque<Waiting>,
    /// Orders whose calls run by themselves, and until when.
    apart: HashMap<u128, Instant>,
    /// The types of the parameters of a query, by its name, once it was prepared.
    types: HashMap<&'static str, Arc<[Type]>>,
}

/// A call that waits for a transaction.
#[derive(Debug)]
struct Waiting {
    order: u128,
    query: Query,
    params: Vec<Encoded>,
    answer: oneshot::Sender<Answer>,
}

/// The answer to a call in a shared transaction.
#[derive(Debug)]
enum Answer {
    Ended(Result<Vec<Row>, PostgresError>),
    /// It was rolled back, and the call has to run by itself.
    RunAlone,
}

impl Group {
    /// A group of calls through a pool.
    pub fn new(pool: &Pool) -> Self {
        Self(Arc::new(Shared {
            pool: pool.clone(),
            state: Mutex::default(),
        }))
    }

    /// Runs a query: when this returns without an error, it is committed. Calls of one
    /// transaction run in the order of `order`, which stands for what they lock, so that two
    /// transactions seldom wait for each other. Calls of the same `order` run in the order
    /// in which they came.
    ///
    /// A dropped call is cancelled unless it shares a transaction.
    ///
    /// # Errors
    /// Those of [`PostgresError`]. After `Unavailable` it may have been committed.
    pub async fn call(
        &self,
        caller: &Caller,
        order: u128,
        query: Query,
        params: Params<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        // A shared transaction has no bounds.
        if !caller.bounds.is_unbound() || self.0.is_apart(order) {
            return self.0.pool.call(caller, query, params).await;
        }
        if let Some(lane) = Lane::free(&self.0) {
            let alone = self.0.alone(query, params);
            tokio::pin!(alone);
            let rows = tokio::time::timeout(HOLD, &mut alone).await;
            drop(lane);
            return match rows {
                Ok(rows) => rows,
                Err(_) => alone.await,
            };
        }
        let answer = match self.0.wait(order, query, params) {
            Some(answer) => answer.await,
            None => Ok(Answer::RunAlone),
        };
        match answer {
            Ok(Answer::Ended(rows)) => rows,
            Ok(Answer::RunAlone) => self.0.pool.call(caller, query, params).await,
            Err(ended) => Err(PostgresError::Unavailable {
                source: ended.into(),
            }),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_apart(&self, order: u128) -> bool {
        let mut state = self.state();
        let known = state.apart.get(&order).copied();
        let is_apart = known.is_some_and(|until| until > Instant::now());
        if known.is_some() && !is_apart {
            state.apart.remove(&order);
        }
        is_apart
    }

    fn set_apart(&self, order: u128) {
        let mut state = self.state();
        if state.apart.len() >= MAX_APART {
            state.apart.clear();
        }
        state.apart.insert(order, Instant::now() + APART);
    }

    /// Runs a query as its own transaction, and remembers the types of its parameters.
    async fn alone(&self, query: Query, params: Params<'_>) -> Result<Vec<Row>, PostgresError> {
        let remember = |statement: &Statement| {
            let mut state = self.state();
            let types = state.types.entry(query.name);
            types.or_insert_with(|| statement.params().into());
        };
        self.pool.call_noting(query, params, remember).await
    }

    /// Lets a call wait for the next transaction; `None` if it has to run by itself.
    fn wait(
        &self,
        order: u128,
        query: Query,
        params: Params<'_>,
    ) -> Option<oneshot::Receiver<Answer>> {
        let types = self.state().types.get(query.name).map(Arc::clone)?;
        let params = encode(params, &types)?;
        let (answer, answered) = oneshot::channel();
        let mut state = self.state();
        // A lane may have become free meanwhile, and would not look for this call.
        if state.lanes < LANES || state.waiting.len() >= MAX_WAITING {
            return None;
        }
        state.waiting.push_back(Waiting {
            order,
            query,
            params,
            answer,
        });
        Some(answered)
    }

    /// Runs calls in one transaction, and answers each.
    async fn together(&self, calls: Vec<Waiting>) {
        let mut result = self.transaction(&calls).await;
        for (place, call) in calls.into_iter().enumerate() {
            // A caller that is gone needs no answer.
            let _ = call.answer.send(match &mut result {
                Ok(Some(rows)) => Answer::Ended(Ok(mem::take(&mut rows[place]))),
                Ok(None) => Answer::RunAlone,
                Err(error) => Answer::Ended(Err(again(error))),
            });
        }
    }

    /// The rows of calls in one transaction; `None` if a call failed and nothing is committed.
    async fn transaction(&self, calls: &[Waiting]) -> Result<Option<Vec<Vec<Row>>>, PostgresError> {
        let client = Busy::new(&self.pool, self.pool.get().await?);
        let mut statements = Vec::with_capacity(calls.len());
        for call in calls {
            statements.push(prepare(&client, call.query).await?);
        }
        let started = Instant::now();
        let runs = calls.iter().zip(&statements).map(|(call, statement)| {
            let (client, pool) = (&client, &self.pool);
            async move {
                let params: Vec<_> = call.params.iter().map(|param| param as _).collect();
                let rows = client.query(statement, &params).await;
                pool.echo(call.query, started);
                rows
            }
        });
        // `join3` polls in order, and the order of polling is that of sending.
        let begin = self.pool.begin_with(BEGIN);
        let (begun, results, committed) = join3(
            client.batch_execute(&begin),
            join_all(runs),
            client.batch_execute("COMMIT"),
        )
        .await;
        client.done();
        begun.map_err(|error| query_error("BEGIN", error))?;
        let mut rows = Vec::with_capacity(calls.len());
        for (call, result) in calls.iter().zip(results) {
            match result {
                Ok(result) => rows.push(result),
                // Postgres says so itself, and turns the commit into a rollback.
                Err(error) if error.as_db_error().is_some() => {
                    self.set_apart(call.order);
                    return Ok(None);
                }
                Err(error) => return Err(query_error(call.query.name, error)),
            }
        }
        committed.map_err(|error| query_error("COMMIT", error))?;
        Ok(Some(rows))
    }
}

/// The right to have a transaction under way. Its end lets those who wait begin.
struct Lane<'a>(&'a Arc<Shared>);

impl<'a> Lane<'a> {
    fn free(shared: &'a Arc<Shared>) -> Option<Self> {
        let mut state = shared.state();
        (state.lanes < LANES).then(|| {
            state.lanes += 1;
            Self(shared)
        })
    }

    /// The calls of the next transaction.
    fn next(&self) -> Vec<Waiting> {
        let mut state = self.0.state();
        let count = state.waiting.len().min(MAX_CALLS);
        let mut calls: Vec<_> = state.waiting.drain(..count).collect();
        drop(state);
        calls.retain(|call| !call.answer.is_closed());
        calls.sort_by_key(|call| call.order);
        calls
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if state.waiting.is_empty() || tokio::runtime::Handle::try_current().is_err() {
            state.lanes -= 1;
            return;
        }
        drop(state);
        let shared = Arc::clone(self.0);
        task::spawn("group", async move {
            let lane = Lane(&shared);
            loop {
                let calls = lane.next();
                if calls.is_empty() {
                    break;
                }
                shared.together(calls).await;
            }
        });
    }
}

/// A parameter as Postgres receives it.
#[derive(Debug)]
struct Encoded(Option<Bytes>);

impl ToSql for Encoded {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        Ok(match &self.0 {
            Some(bytes) => {
                out.extend_from_slice(bytes);
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Parameters as Postgres receives them; `None` if they cannot be encoded or are large.
fn encode(params: Params<'_>, types: &[Type]) -> Option<Vec<Encoded>> {
    let mut out = BytesMut::new();
    let mut bytes = 0;
    let mut encoded = Vec::with_capacity(params.len());
    for (param, ty) in params.iter().zip(types) {
        let is_null = param.to_sql_checked(ty, &mut out).ok()?;
        let value = out.split().freeze();
        bytes += value.len();
        encoded.push(Encoded(match is_null {
            IsNull::No => Some(value),
            IsNull::Yes => None,
        }));
    }
    (bytes <= MAX_BYTES).then_some(encoded)
}

/// An error of the transaction, for each of its calls.
fn again(error: &PostgresError) -> PostgresError {
    match error {
        PostgresError::PoolTimeout => PostgresError::PoolTimeout,
        PostgresError::Config { key, why } => PostgresError::Config {
            key,
            why: why.clone(),
        },
        PostgresError::Unavailable { .. } | PostgresError::Query { .. } => {
            PostgresError::Unavailable {
                source: error_chain(error).into(),
            }
        }
    }
}
