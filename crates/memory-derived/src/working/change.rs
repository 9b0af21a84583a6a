//! Changes and forgets working memories.

use memory_contract::{TenantId, ThreadId, json::JsonObject, precondition::Precondition};
use memory_database::{
    StoreError,
    rows::{self, column, only, scalar},
};
use memory_postgres::{Caller, Params, query};
use tokio_postgres::types::Json;

use super::put::check_working;
use crate::{WorkingMemoryStore, WorkingMemoryWorker};

impl WorkingMemoryStore<'_> {
    /// The model that was named last for a thread's working memory, and its window
    /// in tokens, where that is known; otherwise the policy's holds. The name is
    /// empty where none was named.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn working_model(
        self,
        thread: ThreadId,
    ) -> Result<(String, Option<i32>), StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let model = query!("working/model");
        let found = self.store.pool.within(self.caller, model, params).await?;
        match found.first() {
            Some(row) => Ok((column(row, "model")?, column(row, "context_window")?)),
            None => Ok((String::new(), None)),
        }
    }

    /// Changes the data of a working memory. Changes of one thread happen one after the
    /// other, so none is lost. Returns the data that `change` makes, and its new etag. If
    /// `change` fails, nothing is changed.
    ///
    /// # Errors
    /// `ThreadNotFound`, `EtagChanged`.
    pub async fn update_working_data<E>(
        self,
        thread: ThreadId,
        precondition: &Precondition,
        change: impl FnOnce(JsonObject) -> Result<JsonObject, E>,
    ) -> Result<Result<(JsonObject, String), E>, StoreError> {
        let tenant = &self.caller.tenant;
        let (name, actor, id) = (tenant.as_str(), self.caller.actor.as_str(), thread.uuid());
        let params: Params<'_> = &[&name, &actor, &id];
        let begin = [(query!("working/begin_data"), params)];
        let (transaction, mut results) = self.store.pool.begin(self.caller, &begin).await?;
        let row = only(results.pop().unwrap_or_default())?;
        let found = match column(&row, "status")? {
            "ok" => check_working(
                precondition,
                column(&row, "anything")?,
                column(&row, "etag")?,
            ),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            other => Err(rows::unknown_status(other)),
        };
        if let Err(error) = found {
            // Expired data is not restored.
            transaction.commit(&[]).await?;
            return Err(error);
        }
        let data = match change(column::<Json<JsonObject>>(&row, "data")?.0) {
            Ok(data) => data,
            Err(error) => {
                transaction.commit(&[]).await?;
                return Ok(Err(error));
            }
        };
        let stored = Json(&data);
        let params: Params<'_> = &[&name, &id, &stored];
        let set = [(query!("working/set_data"), params)];
        let mut results = transaction.commit(&set).await?;
        let etag = scalar(&only(results.pop().unwrap_or_default())?)?;
        Ok(Ok((data, etag)))
    }

    /// Forgets a working memory. Returns whether it had any content. The messages stay in
    /// the thread. Idempotent.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn delete_working_memory(self, thread: ThreadId) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &self.caller.actor, &thread.uuid()];
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("working/delete"), params)
                .await?,
        )?;
        match column(&row, "status")? {
            "ok" => column(&row, "deleted"),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            other => Err(rows::unknown_status(other)),
        }
    }
}

impl WorkingMemoryStore<'_> {
    /// Forgets the working memory of a thread if it has expired. Returns whether it had.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn expire_working_memory(self, thread: ThreadId) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &self.caller.actor, &thread.uuid()];
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("working/sweep"), params)
                .await?,
        )?;
        scalar(&row)
    }
}

impl WorkingMemoryWorker<'_> {
    /// Forgets expired working memories, at most `limit`. Returns
    /// how many had expired.
    ///
    /// # Errors
    /// Only errors of the database; a part may have been forgotten.
    pub async fn sweep_working_memories(self, limit: u32) -> Result<u64, StoreError> {
        let expired = query!("working/expired");
        let found = self
            .workers
            .pool
            .call_for_all(expired, &[&i64::from(limit)])
            .await?;
        let (mut swept, mut failed) = (0, None);
        for row in &found {
            let caller = Caller::worker(TenantId::new(column::<String>(row, "tenant_id")?));
            let thread = rows::id::<ThreadId>(row, "thread_id")?;
            // Another worker may have done it. A failing one does not block others.
            match WorkingMemoryStore::new(self.store, self.conversations, &caller)
                .expire_working_memory(thread)
                .await
            {
                Ok(expired) => swept += u64::from(expired),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(swept),
        }
    }
}
