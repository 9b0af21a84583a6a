//! The collections of the index: which one serves, and which second one receives the same changes.

use std::{sync::Arc, time::Duration};

use memory_database::{
    Databases, StoreError,
    rows::{column, only, scalar},
};
use memory_postgres::{Params, query};
use tokio_postgres::Row;

use super::queue::{Outbox, read_stats};
use crate::OutboxStats;

/// The purpose of a collection of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionState {
    /// Searches use it.
    Serving,
    /// It receives every change, and can be made the serving one.
    Beside,
    /// It receives no changes and is outdated.
    Abandoned,
    /// It is about to be removed.
    Retired,
}

/// A collection and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionRecord {
    /// Identifies it; one that is opened again has a new number.
    pub number: i32,
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub state: CollectionState,
    /// Whether points that an earlier collection of this name left are removed.
    pub emptied: bool,
    /// Whether everything stored has been queued for it.
    pub queued: bool,
    /// How long it has been in this state.
    pub age: Duration,
}

/// A collection with the changes that wait for it.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionProgress {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub state: CollectionState,
    /// Whether it has everything but changes of the last minute.
    pub complete: bool,
    /// Its queue.
    pub waiting: OutboxStats,
}

/// The outcome of [`Outbox::switch_collection`] and [`Outbox::retire_collection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionChange {
    /// It is so now, or was so before.
    Done,
    /// There is no such collection.
    NotFound,
    /// It receives no changes, so it cannot serve.
    Outdated,
    /// It is still being filled.
    Incomplete,
    /// Changes of it were given up, so it lacks something.
    DeadLetters,
    /// It serves, so it cannot be retired.
    Serving,
    /// It changed its state within the last ten seconds, so servers may still search it.
    Recent,
}

/// The collections of the index.
///
/// # Errors
/// Only errors of the database.
pub async fn index_collections(store: &Databases) -> Result<Vec<CollectionRecord>, StoreError> {
    let found = store
        .pool
        .call_for_all(query!("index_collections/states"), &[]);
    found.await?.iter().map(record).collect()
}

impl Outbox {
    /// The same queue with the changes for one collection alone, the serving one or the second one.
    /// By default it is the serving one.
    #[must_use]
    pub fn of_collection(&self, name: &str) -> Self {
        let mut one = self.clone();
        one.collection = Some(name.to_owned());
        one.turns = Arc::default();
        one
    }

    /// Records the collections that a server opens: that of its embedding model, and that of
    /// the model to change to. The first becomes the serving one if neither is; a new second
    /// one receives every change from now on. Returns whether it succeeded: not while a
    /// worker removes one of them.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn open_collections(
        &self,
        first: &str,
        next: Option<&str>,
    ) -> Result<bool, StoreError> {
        let query = query!("index_collections/open");
        scalar(&only(
            self.pool.call_for_all(query, &[&first, &next]).await?,
        )?)
    }

    /// The collections of the index, the serving one first.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_collections(&self) -> Result<Vec<CollectionProgress>, StoreError> {
        let found = self
            .pool
            .call_for_all(query!("index_collections/list"), &[])
            .await?;
        let progress = |row| {
            Ok(CollectionProgress {
                name: column(row, "collection")?,
                state: state(row)?,
                complete: column(row, "complete")?,
                waiting: read_stats(row)?,
            })
        };
        found.iter().map(progress).collect()
    }

    /// Makes the second collection the serving one, and the serving one the second. A collection
    /// that is incomplete or lacks changes serves only with `force`.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn switch_collection(
        &self,
        name: &str,
        force: bool,
    ) -> Result<CollectionChange, StoreError> {
        let query = query!("index_collections/switch");
        outcome(&only(
            self.pool.call_for_all(query, &[&name, &force]).await?,
        )?)
    }

    /// Ends changes to a collection that does not serve. Workers remove it.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn retire_collection(&self, name: &str) -> Result<CollectionChange, StoreError> {
        let query = query!("index_collections/retire");
        outcome(&only(self.pool.call_for_all(query, &[&name]).await?)?)
    }

    /// Records whether everything stored has been queued for a collection.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn set_queued(&self, collection: i32, queued: bool) -> Result<(), StoreError> {
        let query = query!("index_collections/queued");
        let params: Params<'_> = &[&collection, &queued];
        self.pool.execute(query, params).await?;
        Ok(())
    }

    /// Claims a collection, to empty or to remove it, for `lease`. Returns whether it was
    /// free.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn lease_collection(
        &self,
        collection: i32,
        lease: Duration,
    ) -> Result<bool, StoreError> {
        let query = query!("index_collections/lease");
        let params: Params<'_> = &[&collection, &lease.as_secs_f64()];
        Ok(self.pool.execute(query, params).await? > 0)
    }

    /// Claims a collection that receives changes for `lease`, to queue everything stored for
    /// it; `extend` extends the claim. Returns whether it was free.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn lease_to_fill(
        &self,
        collection: i32,
        lease: Duration,
        extend: bool,
    ) -> Result<bool, StoreError> {
        let query = query!("index_collections/lease_to_fill");
        let params: Params<'_> = &[&collection, &lease.as_secs_f64(), &extend];
        Ok(self.pool.execute(query, params).await? > 0)
    }

    /// Ends a lease whose work failed or is done, so that any worker may try again.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn release_collection(&self, collection: i32) -> Result<(), StoreError> {
        let query = query!("index_collections/release");
        self.pool.execute(query, &[&collection]).await?;
        Ok(())
    }

    /// Records that a collection has no points of an earlier one of its name, and ends the
    /// lease.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn collection_emptied(&self, collection: i32) -> Result<(), StoreError> {
        let query = query!("index_collections/emptied");
        self.pool.execute(query, &[&collection]).await?;
        Ok(())
    }

    /// Forgets a retired collection that is removed.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn forget_collection(&self, collection: i32) -> Result<(), StoreError> {
        let query = query!("index_collections/forget");
        self.pool.execute(query, &[&collection]).await?;
        Ok(())
    }

    /// Records that this worker applies the changes for these collections. Abandons the second
    /// collection if no worker has applied its changes for `limit`. Deletes up to `sweep` changes
    /// for collections that receive none any more, and returns whether more may be left.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn record_heartbeat(
        &self,
        names: &[&str],
        limit: Duration,
        sweep: i64,
    ) -> Result<bool, StoreError> {
        let heartbeat = query!("index_collections/record_heartbeat");
        let params: Params<'_> = &[&names, &limit.as_secs_f64()];
        self.pool.execute(heartbeat, params).await?;
        let query = query!("index_collections/sweep");
        let swept = self.pool.execute(query, &[&sweep]).await?;
        Ok(swept >= sweep.unsigned_abs())
    }
}

fn record(row: &Row) -> Result<CollectionRecord, StoreError> {
    let age = column(row, "age_seconds")?;
    Ok(CollectionRecord {
        number: column(row, "number")?,
        name: column(row, "collection")?,
        state: state(row)?,
        emptied: column(row, "emptied")?,
        queued: column(row, "queued")?,
        age: Duration::try_from_secs_f64(age).unwrap_or_default(),
    })
}

fn state(row: &Row) -> Result<CollectionState, StoreError> {
    match column::<&str>(row, "state")? {
        "serving" => Ok(CollectionState::Serving),
        "beside" => Ok(CollectionState::Beside),
        "abandoned" => Ok(CollectionState::Abandoned),
        "retired" => Ok(CollectionState::Retired),
        other => Err(corrupt(format!("its state is {other:?}"))),
    }
}

fn outcome(row: &Row) -> Result<CollectionChange, StoreError> {
    match scalar::<&str>(row)? {
        "done" => Ok(CollectionChange::Done),
        "not_found" => Ok(CollectionChange::NotFound),
        "outdated" => Ok(CollectionChange::Outdated),
        "incomplete" => Ok(CollectionChange::Incomplete),
        "dead_letters" => Ok(CollectionChange::DeadLetters),
        "serving" => Ok(CollectionChange::Serving),
        "recent" => Ok(CollectionChange::Recent),
        other => Err(corrupt(format!("its outcome is {other:?}"))),
    }
}

fn corrupt(why: String) -> StoreError {
    StoreError::Corrupt {
        what: "index collection",
        why,
    }
}
