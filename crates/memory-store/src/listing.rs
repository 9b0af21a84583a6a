//! Lists messages of a user or an app, and the users and apps themselves.

use memory_contract::{App, AppId, Message, MessageFilter, MessageId, User, UserId};
use time::OffsetDateTime;

use memory_postgres::{Params, query};

use crate::{
    MessageStore, Order, Page, StoreError, ThreadStore,
    messages::{Filter, row::read_message},
    rows::{column, id},
    thread::one_more,
};

/// Entries that one call with a filter reads at most.
pub(crate) const SCANNED: i32 = 5_000;

/// The place of a message in the order in which messages were said.
pub type SaidPlace = (OffsetDateTime, MessageId);

/// The messages of a user or an app to list.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerMessageQuery {
    /// The app.
    pub app: AppId,
    /// One user; `None` for all.
    pub user: Option<UserId>,
    /// Conditions that the listed messages meet.
    pub filter: MessageFilter,
    /// The order by time, and by id among messages of the same time.
    pub order: Order,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<SaidPlace>,
    /// The most messages to return, at least 1.
    pub limit: u32,
    /// As in [`MessageQuery`](crate::MessageQuery).
    pub max_bytes: u32,
}

impl MessageStore<'_> {
    /// Lists messages of a user or an app by the time at which they were said. A page may
    /// have fewer than `limit`, also none, and a next one: a call reads a limited number
    /// of messages, on which it tests the filter.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn list_messages_of(
        self,
        query: &OwnerMessageQuery,
    ) -> Result<Page<Message, SaidPlace>, StoreError> {
        let tenant = &self.caller.tenant;
        let filter = Filter::of(&query.filter);
        let tested = filter.roles.is_some() || filter.names.is_some() || filter.metadata.is_some();
        let limit = i32::try_from(one_more(query.limit)).unwrap_or(i32::MAX);
        let scanned = if tested { limit.max(SCANNED) } else { limit };
        let (after_time, after_id) = query.after.map(|(at, id)| (at, id.uuid())).unzip();
        let params: Params<'_> = &[
            &tenant.as_str(),
            &query.app.as_str(),
            &query.user.as_ref().map(UserId::as_str),
            &(query.order == Order::Descending),
            &after_time,
            &after_id,
            &filter.roles,
            &filter.names,
            &filter.start,
            &filter.end,
            &filter.metadata,
            &scanned,
            &limit,
            &i64::from(query.max_bytes),
        ];
        let found = self
            .store
            .pool
            .within(self.caller, query!("messages/list"), params)
            .await?;
        let Some(first) = found.first() else {
            return Ok(Page {
                items: Vec::new(),
                next: None,
            });
        };
        let mut items = Vec::new();
        for row in found.iter().take(query.limit as usize) {
            if column::<Option<i64>>(row, "found_count")?.is_some() {
                items.push(read_message(row)?);
            }
        }
        let listed: Option<i64> = column(first, "found_count")?;
        let next = match items.last() {
            Some(last) if listed.unwrap_or_default() > items.len() as i64 => {
                Some((last.created, last.id))
            }
            _ if column::<i64>(first, "scanned")? == i64::from(scanned) => {
                Some((column(first, "last_time")?, id(first, "last_id")?))
            }
            _ => None,
        };
        Ok(Page { items, next })
    }
}

impl ThreadStore<'_> {
    /// Lists the users of an app that have threads or memories, by id; the empty one
    /// stands for data that belongs to no user.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn list_users(
        self,
        app: &AppId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<User, String>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &app.as_str(),
            &after.unwrap_or_default(),
            &after.is_some(),
            &one_more(limit),
        ];
        let list = query!("users/list");
        let found = self.store.pool.within(self.caller, list, params).await?;
        let users = found.iter().map(|row| {
            let name: String = column(row, "user_id")?;
            let user = User {
                id: UserId::new(name.clone()),
                thread_count: column(row, "thread_count")?,
                message_count: column(row, "message_count")?,
                memory_count: column(row, "memory_count")?,
                active: column(row, "updated_at")?,
            };
            Ok((name, user))
        });
        Ok(Page::cut(users.collect::<Result<_, StoreError>>()?, limit))
    }

    /// Lists the apps of the tenant that have threads or memories, by id.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn list_apps(
        self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Page<App, String>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &after.unwrap_or_default(),
            &one_more(limit),
        ];
        let list = query!("apps/list");
        let found = self.store.pool.within(self.caller, list, params).await?;
        let apps = found.iter().map(|row| {
            let name: String = column(row, "app_id")?;
            let app = App {
                id: AppId::new(name.clone()),
                active: column(row, "updated_at")?,
            };
            Ok((name, app))
        });
        Ok(Page::cut(apps.collect::<Result<_, StoreError>>()?, limit))
    }
}
