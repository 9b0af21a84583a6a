//! Lists messages of a thread, of a user or of an app.

use memory_contract::{
    AppId, MessageId, MessageName, ThreadId, UserId,
    message::{Message, MessageFilter},
};
use memory_database::{
    Page, StoreError,
    page::{SCANNED, one_more},
    rows::{GET_THREAD, column, id, one_thread},
};
use memory_ledger::Place;
use memory_postgres::{Params, query};
use time::OffsetDateTime;

use super::{filter::Filter, history::not_found, row::read_message};
use crate::{MessageStore, threads::used};

/// Which end of a list comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The lowest seq first.
    #[default]
    Ascending,
    /// The highest seq first.
    Descending,
}

/// The messages of a thread to list, on all its branches.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageQuery {
    /// The thread whose messages are listed.
    pub thread: ThreadId,
    /// Conditions that the listed messages meet.
    pub filter: MessageFilter,
    /// The order by seq.
    pub order: Order,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<i64>,
    /// The most messages to return, at least 1.
    pub limit: u32,
    /// A page ends before the message that would take the stored parts and
    /// metadata over this many bytes; its first message is always returned.
    pub max_bytes: u32,
}

/// The place of a message in the order in which messages were said.
pub type SaidPlace = (OffsetDateTime, MessageId);

/// Where the next page of a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPage {
    /// The place that the path leads to.
    pub end: Place,
    /// The seq of the newest message of the thread when the first page was read.
    pub last_seq: i64,
    /// The depth of the last message of the page before.
    pub after_depth: i32,
}

/// The messages of a path to list.
#[derive(Clone, Debug, PartialEq)]
pub struct PathQuery {
    /// The thread of the path.
    pub thread: ThreadId,
    /// The message that the path leads to; `None`: the thread's head. Only the first page
    /// looks for it.
    pub head: Option<MessageName>,
    /// Conditions that the listed messages meet.
    pub filter: MessageFilter,
    /// The order; ascending from the beginning of the conversation.
    pub order: Order,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<PathPage>,
    /// The most messages to return, at least 1.
    pub limit: u32,
    /// As in [`MessageQuery`](crate::MessageQuery).
    pub max_bytes: u32,
}

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

/// Messages of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathMessages {
    /// In the order of the query.
    pub messages: Vec<Message>,
    /// Whether more of them follow.
    pub more: bool,
    /// The place that the path leads to.
    pub end: Place,
    /// The seq of the newest message of the thread when the first page was read.
    pub last_seq: i64,
}

impl MessageStore<'_> {
    /// Lists messages by seq.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn list_messages(
        self,
        query: &MessageQuery,
    ) -> Result<Page<Message, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let (list, start) = match query.order {
            Order::Ascending => (query!("messages/list_ascending"), 0),
            Order::Descending => (query!("messages/list_descending"), i64::MAX),
        };
        let (name, id) = (tenant.as_str(), query.thread.uuid());
        let after = query.after.unwrap_or(start);
        let filter = Filter::of(&query.filter);
        let limit = one_more(query.limit);
        let max_bytes = i64::from(query.max_bytes);
        let of_thread: Params<'_> = &[&name, &id];
        let of_messages: Params<'_> = &[
            &name,
            &id,
            &after,
            &filter.roles,
            &filter.names,
            &filter.users,
            &filter.start,
            &filter.end,
            &filter.metadata,
            &limit,
            &max_bytes,
        ];
        let results = self
            .store
            .pool
            .within_all(self.caller, &[(GET_THREAD, of_thread), (list, of_messages)])
            .await?;
        let [threads, messages] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        used(self.store, self.caller, &mut one_thread(threads)?).await?;

        // How many rows there were before the bytes bounded the page.
        let found: i64 = messages
            .first()
            .map_or(Ok(0), |row| column(row, "found_count"))?;
        let items = messages
            .iter()
            .take(query.limit as usize)
            .map(read_message)
            .collect::<Result<Vec<_>, _>>()?;
        let more = found > items.len() as i64;
        Ok(Page {
            next: items.last().map(|message| message.seq).filter(|_| more),
            items,
        })
    }

    /// Lists the messages of a path. All pages are of the path to the place that the first
    /// page found, also if messages come or go meanwhile.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound` for a head that is not stored.
    pub async fn list_path(self, query: &PathQuery) -> Result<PathMessages, StoreError> {
        let tenant = &self.caller.tenant;
        let filter = Filter::of(&query.filter);
        let end = query.after.map(|page| page.end);
        let params: Params<'_> = &[
            &tenant.as_str(),
            &query.thread.uuid(),
            &query.head.as_ref().map(MessageName::as_str),
            &end.map(|end| end.branch),
            &end.map(|end| end.depth),
            &query.after.map(|page| page.last_seq),
            &(query.order == Order::Descending),
            &query.after.map(|page| page.after_depth),
            &filter.roles,
            &filter.names,
            &filter.users,
            &filter.start,
            &filter.end,
            &filter.metadata,
            &i32::try_from(query.limit).unwrap_or(i32::MAX - 1),
            &i64::from(query.max_bytes),
        ];
        let list = query!("messages/list_path");
        let found = self.store.pool.within(self.caller, list, params).await?;
        let Some((last, messages)) = found.split_last() else {
            return Err(StoreError::Corrupt {
                what: "path",
                why: "it has no status".to_owned(),
            });
        };
        match column(last, "status")? {
            "ok" => Ok(PathMessages {
                messages: messages
                    .iter()
                    .map(read_message)
                    .collect::<Result<_, _>>()?,
                more: column(last, "more")?,
                last_seq: column(last, "last_seq")?,
                end: Place {
                    branch: column(last, "branch")?,
                    depth: column(last, "depth")?,
                },
            }),
            other => Err(not_found(other)),
        }
    }

    /// Lists messages of a user or an app by the time at which they were said. A page may
    /// have fewer than `limit`, also none, and a next one: a call reads a limited number
    /// of messages, on which it tests the filter.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_messages_of(
        self,
        query: &OwnerMessageQuery,
    ) -> Result<Page<Message, SaidPlace>, StoreError> {
        let tenant = &self.caller.tenant;
        let filter = Filter::of(&query.filter);
        let tested = filter.roles.is_some()
            || filter.names.is_some()
            || filter.users.is_some()
            || filter.metadata.is_some();
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
            &filter.users,
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
