//! Reading all that a tenant has, in the order in which it came.

use std::collections::HashMap;

use memory_contract::{AppId, File, Message, MessageId, TenantId, Thread, ThreadId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    Page, Store, StoreError, ThreadQuery,
    file::{FILE_COLUMNS, file},
    query::{Params, Query, query},
    rows::{self, THREAD_COLUMNS, column},
    thread::one_more,
};

impl Store {
    /// Lists the stored threads as [`Store::list_threads`] does, but the one
    /// created first first, after the place `after`.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn export_threads(
        &self,
        tenant: &TenantId,
        query: &ThreadQuery,
    ) -> Result<Page<Thread, i64>, StoreError> {
        let ThreadQuery {
            app,
            user,
            after,
            limit,
        } = query;
        let tenant_name = tenant.as_str();
        let (after, one_more) = (after.unwrap_or_default(), one_more(*limit));
        let (app, user) = (
            app.as_ref().map(AppId::as_str),
            user.as_ref().map(UserId::as_str),
        );
        // A query each, so that each has an index that gives its order.
        let (export, params): (Query, Params<'_>) = match (&app, &user) {
            (None, None) => (query!("threads/export"), &[&tenant_name, &after, &one_more]),
            (Some(app), None) => (
                query!("threads/export_by_app"),
                &[&tenant_name, app, &after, &one_more],
            ),
            (None, Some(user)) => (
                query!("threads/export_by_user"),
                &[&tenant_name, user, &after, &one_more],
            ),
            (Some(app), Some(user)) => (
                query!("threads/export_by_app_and_user"),
                &[&tenant_name, app, user, &after, &one_more],
            ),
        };
        let rows = self.pool.within(tenant, export, params).await?;
        let threads = rows
            .iter()
            .map(|row| Ok((column(row, THREAD_COLUMNS)?, rows::thread(row, 0)?)))
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(threads, *limit))
    }

    /// A stored thread's place in the order of [`Store::export_threads`].
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn thread_place(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
    ) -> Result<i64, StoreError> {
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let rows = self
            .pool
            .within(tenant, query!("threads/place"), params)
            .await?;
        column(rows.first().ok_or(StoreError::ThreadNotFound)?, 0)
    }

    /// Lists files, the one registered first first, after the key `after`; 0 for
    /// the first page.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn export_files(
        &self,
        tenant: &TenantId,
        after: i64,
        limit: u32,
    ) -> Result<Page<File, i64>, StoreError> {
        let params: Params<'_> = &[&tenant.as_str(), &after, &one_more(limit)];
        let rows = self
            .main
            .within(tenant, query!("files/export"), params)
            .await?;
        let files = rows
            .iter()
            .map(|row| Ok((column(row, FILE_COLUMNS)?, file(row)?)))
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(files, limit))
    }

    /// Lets each of the messages, a page in order of seq, follow a message that
    /// can be read: where its parent was erased, the nearest one before that is
    /// left. `known` is a message before the page that can be read.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn mend_parents(
        &self,
        tenant: &TenantId,
        thread: ThreadId,
        known: Option<MessageId>,
        messages: &mut [Message],
    ) -> Result<(), StoreError> {
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
            .pool
            .within(tenant, query!("messages/orphans"), params)
            .await?;
        let orphans = rows
            .iter()
            .map(|row: &Row| {
                Ok((
                    column::<Uuid>(row, 0)?,
                    rows::optional_id::<MessageId>(row, 1)?,
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
