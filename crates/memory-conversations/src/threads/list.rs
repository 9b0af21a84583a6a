//! Lists threads by creation or by last change.

use memory_contract::{
    AppId, ThreadId, UserId, json::JsonObject, listing::ThreadOrder, thread::Thread,
};
use memory_database::{
    Page, StoreError,
    page::{SCANNED, one_more},
    rows::{self, column, scalar},
};
use memory_postgres::{Params, Query, query};
use time::OffsetDateTime;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::ThreadStore;

/// Whose threads to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Only of this app.
    pub app: Option<AppId>,
    /// Only of this user of the app.
    pub user: Option<UserId>,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<i64>,
    /// The most threads to return, at least 1.
    pub limit: u32,
}

/// The place of a thread in a list: its last change, and its place in the order of
/// creation.
pub type ThreadPlace = (OffsetDateTime, i64);

/// Which threads to list, and in which order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadListQuery {
    /// Only of this app.
    pub app: Option<AppId>,
    /// Only of this user of the app.
    pub user: Option<UserId>,
    /// Keys that the metadata has with exactly these values; empty for all.
    pub metadata: JsonObject,
    /// The order of the list.
    pub order: ThreadOrder,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<ThreadPlace>,
    /// The most threads to return, at least 1.
    pub limit: u32,
}

impl ThreadStore<'_> {
    /// Lists the stored threads. A page may have fewer than `limit`, also none, and a next
    /// one: a call reads a limited number of threads, on which it tests the filter.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_threads(
        self,
        query: &ThreadListQuery,
    ) -> Result<Page<Thread, ThreadPlace>, StoreError> {
        let tenant = &self.caller.tenant;
        let (after_time, after_ordinal) = query.after.unzip();
        let metadata = (!query.metadata.is_empty()).then_some(Json(&query.metadata));
        let limit = i32::try_from(one_more(query.limit)).unwrap_or(i32::MAX);
        let scanned = if metadata.is_some() {
            limit.max(SCANNED)
        } else {
            limit
        };
        let params: Params<'_> = &[
            &tenant.as_str(),
            &query.app.as_ref().map(AppId::as_str),
            &query.user.as_ref().map(UserId::as_str),
            &query.order.by_update,
            &query.order.descending,
            &after_time,
            &after_ordinal,
            &metadata,
            &scanned,
            &limit,
        ];
        let list = query!("threads/list");
        let found = self.store.pool.within(self.caller, list, params).await?;
        let mut threads = Vec::with_capacity(found.len());
        for row in &found {
            if column::<Option<Uuid>>(row, "thread_id")?.is_some() {
                let thread = rows::thread(row)?;
                threads.push(((thread.updated, column(row, "ordinal")?), thread));
            }
        }
        let mut page = Page::cut(threads, query.limit);
        if page.next.is_none()
            && let Some(row) = found.first()
            && column::<i64>(row, "scanned")? == i64::from(scanned)
        {
            page.next = Some((column(row, "last_time")?, column(row, "last_ordinal")?));
        }
        Ok(page)
    }

    /// Lists the stored threads, without ephemeral ones, in the order of creation.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn export_threads(
        self,
        query: &ThreadQuery,
    ) -> Result<Page<Thread, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let ThreadQuery {
            app,
            user,
            after,
            limit,
        } = query;
        let name = tenant.as_str();
        let (after, one_more) = (after.unwrap_or_default(), one_more(*limit));
        let user = user.as_ref().map(UserId::as_str);
        let app = app.as_ref().map(AppId::as_str);
        let (query, params): (Query, Params<'_>) = match (&app, &user) {
            (None, _) => (query!("threads/export"), &[&name, &after, &one_more]),
            (Some(app), None) => (
                query!("threads/export_by_app"),
                &[&name, app, &after, &one_more],
            ),
            (Some(app), Some(user)) => (
                query!("threads/export_by_app_and_user"),
                &[&name, app, user, &after, &one_more],
            ),
        };
        let rows = self.store.pool.within(self.caller, query, params).await?;
        let threads = rows
            .iter()
            .map(|row| Ok((column(row, "ordinal")?, rows::thread(row)?)))
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(threads, *limit))
    }

    /// A stored thread's place in the order of [`ThreadStore::export_threads`](crate::ThreadStore::export_threads).
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn thread_place(self, thread: ThreadId) -> Result<i64, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid()];
        let rows = self
            .store
            .pool
            .within(self.caller, query!("threads/place"), params)
            .await?;
        scalar(rows.first().ok_or(StoreError::ThreadNotFound)?)
    }
}
