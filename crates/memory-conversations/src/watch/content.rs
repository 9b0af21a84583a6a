//! Reads the present content that the events of a watch are about. Reading it is not a use of an
//! ephemeral thread, and returns nothing of a deleted or expired one.

use memory_contract::{
    MessageId, ThreadId,
    message::{Message, MessageFilter},
};
use memory_database::{
    StoreError,
    rows::{GET_THREAD, column, id, one_thread},
};
use memory_ledger::DistillKind;
use memory_postgres::{Params, query};
use uuid::Uuid;

use crate::{
    ThreadStore,
    messages::{filter::Filter, row::read_message},
};

/// Consecutive messages of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeqRange {
    /// The seq of the first message.
    pub first: i64,
    /// The number of messages.
    pub count: i64,
}

impl SeqRange {
    /// Whether a message is in the range.
    pub fn contains(self, seq: i64) -> bool {
        (self.first..self.first.saturating_add(self.count)).contains(&seq)
    }
}

impl ThreadStore<'_> {
    /// The readable messages of some ranges, in order of seq: id, seq and external id.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn watched_ids(
        self,
        thread: ThreadId,
        ranges: &[SeqRange],
    ) -> Result<Vec<(MessageId, i64, String)>, StoreError> {
        let firsts: Vec<i64> = ranges.iter().map(|range| range.first).collect();
        let counts: Vec<i64> = ranges.iter().map(|range| range.count).collect();
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &firsts, &counts];
        let read = query!("messages/ids_in_ranges");
        let found = self.store.pool.within(self.caller, read, params).await?;
        let found = found.iter();
        found
            .map(|row| {
                let external: Option<String> = column(row, "external_id")?;
                let external = external.unwrap_or_default();
                Ok((id(row, "message_id")?, column(row, "seq")?, external))
            })
            .collect()
    }

    /// The digests of the external ids of some messages, erased ones included. Messages
    /// without one are left out.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn watched_digests(
        self,
        thread: ThreadId,
        messages: &[Uuid],
    ) -> Result<Vec<(MessageId, Vec<u8>)>, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &messages];
        let read = query!("messages/external_digests");
        let found = self.store.pool.within(self.caller, read, params).await?;
        let found = found.iter();
        found
            .map(|row| Ok((id(row, "message_id")?, column(row, "external_digest")?)))
            .collect()
    }

    /// The readable messages of a range, in order of seq.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn watched_messages(
        self,
        thread: ThreadId,
        range: SeqRange,
    ) -> Result<Vec<Message>, StoreError> {
        let tenant = &self.caller.tenant;
        let all = MessageFilter::default();
        let Filter {
            roles,
            names,
            users,
            start,
            end,
            metadata,
        } = Filter::of(&all);
        let (name, id) = (tenant.as_str(), thread.uuid());
        let of_thread: Params<'_> = &[&name, &id];
        let of_messages: Params<'_> = &[
            &name,
            &id,
            &(range.first - 1),
            &roles,
            &names,
            &users,
            &start,
            &end,
            &metadata,
            &range.count,
            &i64::MAX,
        ];
        let reads = [
            (GET_THREAD, of_thread),
            (query!("messages/list_ascending"), of_messages),
        ];
        let results = self.store.pool.within_all(self.caller, &reads).await?;
        let [threads, messages] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        match one_thread(threads) {
            Ok(_) => {}
            Err(StoreError::ThreadNotFound) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        let messages = messages.iter().map(read_message);
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        let messages = messages.into_iter();
        Ok(messages
            .filter(|message| range.contains(message.seq))
            .collect())
    }

    /// The text of a summary, an observation or a reflection; `None` if it was erased.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn watched_text(
        self,
        thread: ThreadId,
        kind: DistillKind,
        number: i64,
    ) -> Result<Option<String>, StoreError> {
        let tenant = &self.caller.tenant;
        let kind_name = match kind {
            DistillKind::Summary => "summary",
            DistillKind::Observation => "observation",
        };
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &kind_name, &number];
        let read = query!("distillates/text");
        let found = self.store.pool.within(self.caller, read, params).await?;
        found.first().map(|row| column(row, "text")).transpose()
    }
}
