//! Which servers run, so that ephemeral threads end when none did.

use std::time::Duration;

use memory_database::{StoreError, rows::column};
use memory_postgres::{Pool, Role, StoreConfig, query};
use memory_runtime::task;
use time::OffsetDateTime;
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{sleep, timeout},
};
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
        let mut server = Server::enter(&pool, config.private, grace).await?;
        if server.others.ids.is_empty() {
            server.end_threads(&pool).await?;
        }
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
    async fn enter(pool: &Pool, private: bool, grace: Duration) -> Result<Self, StoreError> {
        let id = Uuid::new_v4();
        let enter = query!("servers/enter");
        let rows = pool
            .call_for_all(enter, &[&id, &private, &grace.as_secs_f64()])
            .await?;
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
    async fn end_threads(&self, pool: &Pool) -> Result<(), StoreError> {
        let end = query!("threads/end_ephemeral");
        let mut ended = 0;
        loop {
            // Each batch is a separate transaction, well within the statement timeout.
            match pool.execute(end, &[&END_BATCH, &self.newest]).await? {
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
        loop {
            sleep(BEAT).await;
            match timeout(BEAT_TIMEOUT, self.beat_once(pool)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "this server could not show that it runs"),
                Err(_) => tracing::warn!("this server could not show in time that it runs"),
            }
        }
    }

    async fn beat_once(&mut self, pool: &Pool) -> Result<(), StoreError> {
        pool.call_for_all(query!("servers/beat"), &[&self.id])
            .await?;
        if !self.others.ids.is_empty() {
            self.look_for_others(pool).await?;
        }
        Ok(())
    }

    /// Ends the threads once all others were silent for too long, unless one was heard of.
    async fn look_for_others(&mut self, pool: &Pool) -> Result<(), StoreError> {
        let Others { ids, beats } = &self.others;
        let heard = query!("servers/heard");
        let rows = pool
            .call_for_all(heard, &[ids, beats, &self.grace.as_secs_f64()])
            .await?;
        let Some(row) = rows.first() else {
            return Ok(());
        };
        let (any_heard, all_silent): (bool, bool) =
            (column(row, "any_heard")?, column(row, "all_silent")?);
        if !any_heard && all_silent {
            self.end_threads(pool).await?;
        }
        if any_heard || all_silent {
            self.others = Others::default();
        }
        Ok(())
    }

    async fn leave(&self, pool: &Pool) {
        if let Err(error) = pool
            .call_for_all(query!("servers/leave"), &[&self.id])
            .await
        {
            tracing::warn!(%error, "this server could not say that it stops: it counts as running for a while");
        }
    }
}
