//! Reads all data of a tenant for an export, in the order of creation.

use std::collections::HashMap;

use memory_contract::{MessageId, ThreadId, file::File, message::Message};
use memory_database::{
    Page, StoreError,
    page::one_more,
    rows::{self, column},
};
use memory_postgres::{Params, query};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{FileStore, MessageStore, files::file};

impl FileStore<'_> {
    /// Lists files, the one registered first first, after the key `after`; 0 for
    /// the first page.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn export_files(self, after: i64, limit: u32) -> Result<Page<File, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &after, &one_more(limit)];
        let rows = self
            .store
            .main
            .within(self.caller, query!("files/export"), params)
            .await?;
        let files = rows
            .iter()
            .map(|row| Ok((column(row, "ordinal")?, file(row)?)))
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(files, limit))
    }
}

impl MessageStore<'_> {
    /// Replaces erased parents of messages, which are a page in order of seq, by the
    /// nearest readable message before. `known` is a readable message before the page.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn repair_parents(
        self,
        thread: ThreadId,
        known: Option<MessageId>,
        messages: &mut [Message],
    ) -> Result<(), StoreError> {
        let tenant = &self.caller.tenant;
        // Mostly a message follows one of the page, and nothing has to be asked.
        let mut before = known;
        let mut doubtful: Vec<Uuid> = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            let is_there = message.parent.is_none()
                || message.parent == before
                || messages[..place]
                    .iter()
                    .any(|earlier| Some(earlier.id) == message.parent);
            if !is_there {
                doubtful.push(message.id.uuid());
            }
            before = Some(message.id);
        }
        if doubtful.is_empty() {
            return Ok(());
        }
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &doubtful];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("messages/orphans"), params)
            .await?;
        let orphans = rows
            .iter()
            .map(|row: &Row| {
                Ok((
                    column::<Uuid>(row, "message_id")?,
                    rows::optional_id::<MessageId>(row, "nearest_id")?,
                ))
            })
            .collect::<Result<HashMap<_, _>, StoreError>>()?;
        for message in messages {
            if let Some(left) = orphans.get(&message.id.uuid()) {
                message.parent = *left;
            }
        }
        Ok(())
    }
}
