//! Which servers run, so that ephemeral threads end when none did.

use std::time::Duration;

use deadpool_postgres::Object;
use memory_database::{StoreError, rows::column};
use memory_postgres::{Pool, Query, Role, StoreConfig, query, query_error};
use memory_runtime::task;
use time::OffsetDateTime;
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

/// How often a server shows that it runs.
const BEAT: Duration = Duration::from_secs(1);
/// How long that may take.
const BEAT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a server that stops waits for its last words.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// Ephemeral threads that one statement ends, at most.
const END_BATCH: i64 = 5_000;

/// Shows other servers that this one runs: a row that it renews every second, until it stops.
#[derive(Debug)]
pub struct Presence {
    stop: oneshot::Sender<()>,
    beating: JoinHandle<()>,
}

/// This server, and the servers that may have run when it started.
struct Server {
    id: Uuid,
    /// The newest thread of that moment.
    newest: i64,
    /// How long a server may not be heard of and runs nevertheless.
    grace: Duration,
    /// The others, until one was heard of or all were silent for too long.
    others: Others,
}

/// The ids of servers, each with its last beat.
#[derive(Default)]
struct Others {
    ids: Vec<Uuid>,
    beats: Vec<OffsetDateTime>,
}

impl Presence {
    /// Shows that this server runs. Where no other one does, all ephemeral threads end first, of all
    /// tenants; workers erase them as they erase expired threads.
    ///
    /// A server that has stopped as it should does not count. One that was killed looks like one
    /// that is paused, or whose connection hangs: it counts until it was silent for `grace`. If it
    /// was the only one, the threads that were there at the start end then. A private database has
    /// no other servers.
    ///
    /// # Errors
    /// As [`memory_database::Databases::connect`].
    pub async fn begin(config: &StoreConfig, grace: Duration) -> Result<Self, StoreError> {
        let pool = Pool::new(config, config.chat(), Role::Worker, 1, 0)?;
        let connection = pool.get().await?;
        let mut server = Server::enter(&connection, config.private, grace).await?;
        if server.others.ids.is_empty() {
            server.end_threads(&connection).await?;
        }
        drop(connection);
        let (stop, stopped) = oneshot::channel();
        let beating = task::spawn("presence", async move {
            tokio::select! {
                () = server.beat(&pool) => {}
                _ = stopped => server.leave(&pool).await,
            }
        });
        Ok(Self { stop, beating })
    }

    /// Takes leave: the server does not count any more. Without it, it was killed.
    pub async fn end(self) {
        let Self { stop, beating } = self;
        drop(stop);
        let _ = timeout(END_TIMEOUT, beating).await;
    }
}

impl Server {
    async fn enter(
        connection: &Object,
        private: bool,
        grace: Duration,
    ) -> Result<Self, StoreError> {
        let id = Uuid::new_v4();
        let enter = query!("servers/enter");
        let rows = call(connection, enter, &[&id, &private, &grace.as_secs_f64()]).await?;
        let mut server = Self {
            id,
            newest: 0,
            grace,
            others: Others::default(),
        };
        for row in rows {
            server.newest = column(&row, "newest")?;
            if let Some(other) = column(&row, "server_id")? {
                server.others.ids.push(other);
                server.others.beats.push(column(&row, "beat_at")?);
            }
        }
        Ok(server)
    }

    /// Ends the ephemeral threads that were there when this server started.
    async fn end_threads(&self, connection: &Object) -> Result<(), StoreError> {
        let end = query!("threads/end_ephemeral");
        let mut ended = 0;
        loop {
            // Each batch is a separate transaction, well within the statement timeout.
            let count = connection
                .execute(end.sql, &[&END_BATCH, &self.newest])
                .await;
            match count.map_err(|error| query_error(end.name, error))? {
                0 => break,
                count => ended += count,
            }
        }
        tracing::info!(
            ended,
            "no other server ran: all ephemeral threads have ended"
        );
        Ok(())
    }

    /// Renews the row for ever, over a new connection where one is lost.
    async fn beat(&mut self, pool: &Pool) {
        let mut held = None;
        loop {
            sleep(BEAT).await;
            if held.is_none() {
                held = match timeout(BEAT_TIMEOUT, pool.get()).await {
                    Ok(Ok(connection)) => Some(connection),
                    _ => None,
                };
            }
            let Some(connection) = held.take() else {
                tracing::warn!("this server cannot show that it runs: it has no connection");
                continue;
            };
            match timeout(BEAT_TIMEOUT, self.beat_once(&connection)).await {
                Ok(Ok(())) => {
                    held = Some(connection);
                    continue;
                }
                Ok(Err(error)) => tracing::warn!(%error, "this server could not show that it runs"),
                Err(_) => tracing::warn!("this server could not show in time that it runs"),
            }
            // Closed, not returned to the pool.
            drop(Object::take(connection));
        }
    }

    async fn beat_once(&mut self, connection: &Object) -> Result<(), StoreError> {
        call(connection, query!("servers/beat"), &[&self.id]).await?;
        if !self.others.ids.is_empty() {
            self.look_for_others(connection).await?;
        }
        Ok(())
    }

    /// Ends the threads once all others were silent for too long, unless one was heard of.
    async fn look_for_others(&mut self, connection: &Object) -> Result<(), StoreError> {
        let Others { ids, beats } = &self.others;
        let heard = query!("servers/heard");
        let rows = call(connection, heard, &[ids, beats, &self.grace.as_secs_f64()]).await?;
        let Some(row) = rows.first() else {
            return Ok(());
        };
        let (any_heard, all_silent): (bool, bool) =
            (column(row, "any_heard")?, column(row, "all_silent")?);
        if !any_heard && all_silent {
            self.end_threads(connection).await?;
        }
        if any_heard || all_silent {
            self.others = Others::default();
        }
        Ok(())
    }

    async fn leave(&self, pool: &Pool) {
        let left = async {
            let connection = pool.get().await?;
            call(&connection, query!("servers/leave"), &[&self.id]).await
        };
        if let Err(error) = left.await {
            tracing::warn!(%error, "this server could not say that it stops: it counts as running for a while");
        }
    }
}

async fn call(
    connection: &Object,
    query: Query,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Row>, StoreError> {
    let rows = connection.query(query.sql, params).await;
    Ok(rows.map_err(|error| query_error(query.name, error))?)
}
