//! Reads and erases messages.

pub(crate) mod append;
pub(crate) mod cache;
mod contents;
pub(crate) mod filter;
mod history;
mod indexing;
mod list;
mod path;
mod recall;
pub(crate) mod row;

use memory_contract::{
    MessageName, ThreadId, json::JsonObject, message::Message, revision::Revision,
};
use memory_database::{
    StoreError,
    rows::{GET_THREAD, column, one_thread, only},
};
use memory_postgres::{Params, query};
use tokio_postgres::types::Json;

use self::history::not_found;
use crate::{MessageStore, MessageWorker, threads::used};

pub use self::append::{Append, Appended, external_exists};
pub use self::contents::{HeldContent, Hold};
pub use self::indexing::{IndexRecord, Place};
pub use self::list::{
    MessageQuery, Order, OwnerMessageQuery, PathMessages, PathPage, PathQuery, SaidPlace,
};
pub use self::path::{History, HistoryQuery, instructions};
pub use self::recall::{Freshness, Hydrated, Neighbor, TextMatch, Unindexed, UnindexedChange};
pub use self::row::{CountedMessage, NewRows, read_message};

impl MessageStore<'_> {
    /// Reads a message.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`.
    pub async fn get_message(
        self,
        thread: ThreadId,
        message: impl Into<MessageName>,
    ) -> Result<Message, StoreError> {
        let message = message.into();
        let tenant = &self.caller.tenant;
        let (name, id, message) = (tenant.as_str(), thread.uuid(), message.as_str());
        let of_thread: Params<'_> = &[&name, &id];
        let of_message: Params<'_> = &[&name, &id, &message];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[
                    (GET_THREAD, of_thread),
                    (query!("messages/get"), of_message),
                ],
            )
            .await?;
        let [threads, messages] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        used(self.store, self.caller, &mut one_thread(threads)?).await?;
        read_message(messages.first().ok_or(StoreError::MessageNotFound)?)
    }

    /// Reads the newest message of the user on the path to a message; `None`: to the
    /// thread's head.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn newest_of_user(
        self,
        thread: ThreadId,
        head: Option<&MessageName>,
    ) -> Result<Option<Message>, StoreError> {
        let (tenant, head) = (&self.caller.tenant, head.map(MessageName::as_str));
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &head];
        let newest = query!("messages/newest_of_user");
        let found = self.store.pool.within(self.caller, newest, params).await?;
        let found = found.first();
        found.map(read_message).transpose()
    }

    /// Replaces the metadata of a message, and returns its id.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`, `ThreadError::EphemeralFull`.
    pub async fn update_message(
        self,
        thread: ThreadId,
        message: impl Into<MessageName>,
        metadata: &JsonObject,
    ) -> Result<(Message, Revision), StoreError> {
        let message = message.into();
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &message.as_str(),
            &Json(metadata),
            &self.store.ephemeral.byte_limit(),
        ];
        let update = query!("messages/update");
        let row = only(self.store.pool.call(self.caller, update, params).await?)?;
        self.conversations.windows.forget(tenant, thread).await;
        match column(&row, "status")? {
            "ok" => Ok((
                read_message(&row)?,
                Revision {
                    thread,
                    change: column(&row, "revision")?,
                },
            )),
            other => Err(not_found(other)),
        }
    }

    /// Erases a message: its content is deleted, its place stays. The head of the
    /// thread falls back to the nearest readable message before it.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`, also on the second call.
    pub async fn delete_message(
        self,
        thread: ThreadId,
        message: impl Into<MessageName>,
    ) -> Result<Revision, StoreError> {
        let message = message.into();
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &message.as_str(),
        ];
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("messages/delete"), params)
                .await?,
        )?;
        self.conversations.windows.forget(tenant, thread).await;
        match column(&row, "status")? {
            "ok" => Ok(Revision {
                thread,
                change: column(&row, "revision")?,
            }),
            other => Err(not_found(other)),
        }
    }
}

impl MessageWorker<'_> {
    /// Forgets request ids older than the configured time, at most `limit`.
    /// Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn sweep_requests(self, limit: u32) -> Result<u64, StoreError> {
        let params: Params<'_> = &[
            &self.workers.request_retention.as_secs_f64(),
            &i64::from(limit),
        ];
        Ok(self
            .workers
            .pool
            .execute(query!("requests/sweep"), params)
            .await?)
    }
}
