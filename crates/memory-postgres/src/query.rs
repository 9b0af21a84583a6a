//! Runs the queries of a crate's `queries/`. The name of a query is that of its file; errors and
//! logs contain it.

use std::{ops::Deref, time::Instant};

use deadpool_postgres::Object;
use futures::future::{join, join_all, join3, join4};
use tokio_postgres::{Row, Statement, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{Caller, Pool, PostgresError, query_error};

/// One file of `queries/`.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// The file's path under `queries/`, without `.sql`.
    pub name: &'static str,
    /// The file's text.
    pub sql: &'static str,
}

/// The query in the file `queries/NAME.sql` of the calling crate.
#[macro_export]
macro_rules! query {
    ($name:literal) => {
        $crate::Query {
            name: $name,
            sql: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/queries/",
                $name,
                ".sql"
            )),
        }
    };
}
/// The parameters of a query, in order.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

const ENTER: Query = query!("tenants/enter");

impl Pool {
    /// Runs a query as its own transaction, in one round trip. For functions that take
    /// the tenant as a parameter.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn call(
        &self,
        caller: &Caller,
        query: Query,
        params: Params<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        match caller.bounds.is_unbound() {
            true => self.call_for_all(query, params).await,
            // The function enters the tenant, but not the bounds.
            false => self.within(caller, query, params).await,
        }
    }

    /// Runs a query of no tenant as its own transaction, in one round trip. For workers.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn call_for_all(
        &self,
        query: Query,
        params: Params<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        self.call_noting(query, params, |_| ()).await
    }

    /// Like [`Pool::call_for_all`]; `note` is given the statement before it runs.
    pub(crate) async fn call_noting(
        &self,
        query: Query,
        params: Params<'_>,
        note: impl FnOnce(&Statement),
    ) -> Result<Vec<Row>, PostgresError> {
        let client = Busy::new(self, self.get().await?);
        let statement = prepare(&client, query).await?;
        note(&statement);
        let started = Instant::now();
        let rows = self.alone(&client, client.query(&statement, params)).await;
        client.done();
        self.echo(query, started);
        rows.map_err(|error| query_error(query.name, error))
    }

    /// Like [`Pool::call_for_all`], for a statement that counts its rows.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn execute(&self, query: Query, params: Params<'_>) -> Result<u64, PostgresError> {
        let client = Busy::new(self, self.get().await?);
        let statement = prepare(&client, query).await?;
        let started = Instant::now();
        let count = self
            .alone(&client, client.execute(&statement, params))
            .await;
        client.done();
        self.echo(query, started);
        count.map_err(|error| query_error(query.name, error))
    }

    /// Runs one query in a transaction of the caller's tenant: one round trip.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn within(
        &self,
        caller: &Caller,
        query: Query,
        params: Params<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        let mut results = self.within_all(caller, &[(query, params)]).await?;
        Ok(results.pop().unwrap_or_default())
    }

    /// Runs queries in one transaction of a tenant, in one round trip: nothing
    /// waits for the answer to `BEGIN`, or to any other.
    ///
    /// All are sent when the future is first polled, `COMMIT` included, so a dropped
    /// future leaves no transaction open. After a failure Postgres turns `COMMIT` into a
    /// rollback without an error, so every result is checked.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn within_all(
        &self,
        caller: &Caller,
        queries: &[(Query, Params<'_>)],
    ) -> Result<Vec<Vec<Row>>, PostgresError> {
        let client = Busy::new(self, self.get().await?);
        let enter = prepare(&client, ENTER).await?;
        let mut statements = Vec::with_capacity(queries.len());
        for (query, _) in queries {
            statements.push(prepare(&client, *query).await?);
        }

        let started = Instant::now();
        let bounds = caller.bounds.json();
        let names: Params<'_> = &[&caller.tenant.as_str(), &caller.actor, &bounds];
        let runs = queries
            .iter()
            .zip(&statements)
            .map(|((query, params), statement)| {
                let client = &client;
                async move {
                    let rows = client.query(statement, params).await;
                    self.echo(*query, started);
                    rows.map_err(|error| query_error(query.name, error))
                }
            });
        // `join` polls in order, and the order of polling is that of sending.
        let begin = self.begin_with("BEGIN");
        let (begun, entered, results, committed) = join4(
            client.batch_execute(&begin),
            client.query(&enter, names),
            join_all(runs),
            client.batch_execute("COMMIT"),
        )
        .await;
        client.done();
        begun.map_err(|error| query_error("BEGIN", error))?;
        entered.map_err(|error| query_error(ENTER.name, error))?;
        let results = results.into_iter().collect::<Result<Vec<_>, _>>()?;
        committed.map_err(|error| query_error("COMMIT", error))?;
        Ok(results)
    }

    /// Opens a transaction of the caller's tenant that stays open after these queries, in
    /// one round trip. Dropped without an end, it closes its connection.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn begin(
        &self,
        caller: &Caller,
        queries: &[(Query, Params<'_>)],
    ) -> Result<(Transaction<'_>, Vec<Vec<Row>>), PostgresError> {
        self.begin_as("BEGIN", caller, queries).await
    }

    /// Like [`Pool::begin`], for reading: all queries see the same moment.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn snapshot(
        &self,
        caller: &Caller,
        queries: &[(Query, Params<'_>)],
    ) -> Result<(Transaction<'_>, Vec<Vec<Row>>), PostgresError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.begin_as(begin, caller, queries).await
    }

    async fn begin_as(
        &self,
        begin: &str,
        caller: &Caller,
        queries: &[(Query, Params<'_>)],
    ) -> Result<(Transaction<'_>, Vec<Vec<Row>>), PostgresError> {
        let client = Busy::new(self, self.get().await?);
        let enter = prepare(&client, ENTER).await?;
        let bounds = caller.bounds.json();
        let names: Params<'_> = &[&caller.tenant.as_str(), &caller.actor, &bounds];
        let transaction = Transaction { client, pool: self };
        let statements = transaction.prepare(queries).await?;
        let begin = self.begin_with(begin);
        let (begun, entered, results) = join3(
            transaction.client.batch_execute(&begin),
            transaction.client.query(&enter, names),
            transaction.run(queries, &statements),
        )
        .await;
        begun.map_err(|error| query_error("BEGIN", error))?;
        entered.map_err(|error| query_error(ENTER.name, error))?;
        let results = results?;
        Ok((transaction, results))
    }

    pub(crate) fn echo(&self, query: Query, started: Instant) {
        if self.echo {
            let duration_ms = started.elapsed().as_secs_f64() * 1e3;
            tracing::info!(query = query.name, duration_ms, "query");
        }
    }
}

/// A transaction of a tenant that is open.
pub struct Transaction<'a> {
    client: Busy,
    pool: &'a Pool,
}

impl Transaction<'_> {
    /// Runs queries and commits, in one round trip.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn commit(
        self,
        queries: &[(Query, Params<'_>)],
    ) -> Result<Vec<Vec<Row>>, PostgresError> {
        let statements = self.prepare(queries).await?;
        let (results, committed) = join(
            self.run(queries, &statements),
            self.client.batch_execute("COMMIT"),
        )
        .await;
        let results = results?;
        committed.map_err(|error| query_error("COMMIT", error))?;
        self.client.done();
        Ok(results)
    }

    /// Runs one more query.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn query(&self, query: Query, params: Params<'_>) -> Result<Vec<Row>, PostgresError> {
        let queries = [(query, params)];
        let statements = self.prepare(&queries).await?;
        let mut results = self.run(&queries, &statements).await?;
        Ok(results.pop().unwrap_or_default())
    }

    /// Ends without a change.
    ///
    /// # Errors
    /// Those of [`PostgresError`].
    pub async fn rollback(self) -> Result<(), PostgresError> {
        self.client
            .batch_execute("ROLLBACK")
            .await
            .map_err(|error| query_error("ROLLBACK", error))?;
        self.client.done();
        Ok(())
    }

    /// Before anything is sent: what is not prepared would come too late.
    async fn prepare(
        &self,
        queries: &[(Query, Params<'_>)],
    ) -> Result<Vec<Statement>, PostgresError> {
        let mut statements = Vec::with_capacity(queries.len());
        for (query, _) in queries {
            statements.push(prepare(&self.client, *query).await?);
        }
        Ok(statements)
    }

    async fn run(
        &self,
        queries: &[(Query, Params<'_>)],
        statements: &[Statement],
    ) -> Result<Vec<Vec<Row>>, PostgresError> {
        let started = Instant::now();
        let runs = queries
            .iter()
            .zip(statements)
            .map(|((query, params), statement)| async move {
                let rows = self.client.query(statement, params).await;
                self.pool.echo(*query, started);
                rows.map_err(|error| query_error(query.name, error))
            });
        join_all(runs).await.into_iter().collect()
    }
}

/// A connection with work under way. If it is dropped before the work is done, it is
/// closed instead of going back to the pool, where the next caller would wait for that
/// work, and Postgres is asked to stop.
pub(crate) struct Busy {
    client: Option<Object>,
    tls: MakeRustlsConnect,
}

impl Busy {
    pub(crate) fn new(pool: &Pool, client: Object) -> Self {
        Self {
            client: Some(client),
            tls: pool.tls.clone(),
        }
    }

    /// The work is done: the connection goes back to the pool.
    pub(crate) fn done(mut self) {
        drop(self.client.take());
    }
}

impl Deref for Busy {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.client.as_ref().expect("only done and drop take it")
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else {
            return;
        };
        let cancel = client.cancel_token();
        drop(Object::take(client));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let tls = self.tls.clone();
            runtime.spawn(async move { cancel.cancel_query(tls).await });
        }
    }
}

/// Prepares a query on this connection, once.
pub(crate) async fn prepare(client: &Object, query: Query) -> Result<Statement, PostgresError> {
    client
        .prepare_cached(query.sql)
        .await
        .map_err(|error| query_error(query.name, error))
}
