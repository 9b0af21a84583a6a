//! Lists threads, the oldest or the newest first.

use memory_contract::{AppId, Thread, ThreadId, UserId};

use crate::{
    Page, StoreError, ThreadStore,
    query::{Params, Query, query},
    rows::{self, column, scalar},
    thread::one_more,
};

/// Which threads to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadQuery {
    /// Only of this app.
    pub app: Option<AppId>,
    /// Only of this user.
    pub user: Option<UserId>,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<i64>,
    /// The most threads to return, at least 1.
    pub limit: u32,
}

/// The queries of one order: one for each filter, so that each has an index that
/// gives its order.
struct Queries {
    all: Query,
    by_app: Query,
    by_user: Query,
    by_app_and_user: Query,
}

impl ThreadStore<'_> {
    /// Lists the stored threads, the one created last first.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn list_threads(self, query: &ThreadQuery) -> Result<Page<Thread, i64>, StoreError> {
        let queries = Queries {
            all: query!("threads/list"),
            by_app: query!("threads/list_by_app"),
            by_user: query!("threads/list_by_user"),
            by_app_and_user: query!("threads/list_by_app_and_user"),
        };
        self.page_of_threads(query, i64::MAX, queries).await
    }

    /// Lists the stored threads as [`ThreadStore::list_threads`](crate::ThreadStore::list_threads) does, but the one
    /// created first first, after the place `after`.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn export_threads(
        self,
        query: &ThreadQuery,
    ) -> Result<Page<Thread, i64>, StoreError> {
        let queries = Queries {
            all: query!("threads/export"),
            by_app: query!("threads/export_by_app"),
            by_user: query!("threads/export_by_user"),
            by_app_and_user: query!("threads/export_by_app_and_user"),
        };
        self.page_of_threads(query, 0, queries).await
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

    /// The threads of a query behind its place, or else behind `begin`.
    async fn page_of_threads(
        self,
        query: &ThreadQuery,
        begin: i64,
        queries: Queries,
    ) -> Result<Page<Thread, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let ThreadQuery {
            app,
            user,
            after,
            limit,
        } = query;
        let name = tenant.as_str();
        let (after, one_more) = (after.unwrap_or(begin), one_more(*limit));
        let (app, user) = (
            app.as_ref().map(AppId::as_str),
            user.as_ref().map(UserId::as_str),
        );
        let (query, params): (Query, Params<'_>) = match (&app, &user) {
            (None, None) => (queries.all, &[&name, &after, &one_more]),
            (Some(app), None) => (queries.by_app, &[&name, app, &after, &one_more]),
            (None, Some(user)) => (queries.by_user, &[&name, user, &after, &one_more]),
            (Some(app), Some(user)) => (
                queries.by_app_and_user,
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
}
