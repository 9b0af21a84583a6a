//! The audit log: who changed what.

use std::{cmp::Reverse, time::Duration};

use memory_contract::ThreadId;
use memory_database::{
    Page, StoreError, Transaction, page::one_more, read_transaction, rows::column,
};
use memory_postgres::{Params, Query, query};
use time::OffsetDateTime;

use crate::AuditStore;

/// Equal refusals of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals {
    /// The name of the API key that tried.
    pub actor: String,
    /// The rejected action, such as `append_messages`.
    pub action: String,
    /// The reason of the refusal, such as `head_moved`.
    pub result: String,
    /// How many there were.
    pub count: i64,
    /// How long ago the first of them was.
    pub age: Duration,
}

/// Which changes to list, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionQuery {
    /// Only of this thread.
    pub thread: Option<ThreadId>,
    /// Only by this actor.
    pub actor: Option<String>,
    /// Only of these actions, such as `append_messages`; empty: all.
    pub actions: Vec<String>,
    /// Only at or after this time.
    pub start: Option<OffsetDateTime>,
    /// Only before this time.
    pub end: Option<OffsetDateTime>,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<i64>,
    /// The most changes to return, at least 1.
    pub limit: u32,
}

impl AuditStore<'_> {
    /// Records rejected changes in the main database, because their subject is not known.
    /// After an error they may have been recorded nevertheless.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn note_refusals(self, refusals: &[Refusals]) -> Result<(), StoreError> {
        let tenant = &self.caller.tenant;
        let (mut actors, mut actions, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let (mut counts, mut ages) = (Vec::new(), Vec::new());
        for refusal in refusals {
            let Refusals {
                actor,
                action,
                result,
                count,
                age,
            } = refusal;
            actors.push(actor.as_str());
            actions.push(action.as_str());
            results.push(result.as_str());
            counts.push(*count);
            ages.push(age.as_secs_f64());
        }
        let name = tenant.as_str();
        let params: Params<'_> = &[&name, &actors, &actions, &results, &counts, &ages];
        let note = query!("transactions/audit_refusals");
        self.store.main.within(self.caller, note, params).await?;
        Ok(())
    }

    /// Lists the entries of the audit log, the newest first.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_transactions(
        self,
        query: &TransactionQuery,
    ) -> Result<Page<Transaction, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let TransactionQuery {
            thread,
            actor,
            actions,
            start,
            end,
            after,
            limit,
        } = query;
        let actions = (!actions.is_empty()).then_some(actions);
        let (name, before) = (tenant.as_str(), after.unwrap_or(i64::MAX));
        let rows = one_more(*limit);
        let thread = thread.map(ThreadId::uuid);
        // A query each, so that each has an index that gives its order.
        let (list, params): (Query, Params<'_>) = match (&thread, actor) {
            (None, None) => (
                query!("transactions/list"),
                &[&name, &before, &rows, &actions, start, end],
            ),
            (Some(thread), None) => (
                query!("transactions/list_by_thread"),
                &[&name, thread, &before, &rows, &actions, start, end],
            ),
            (None, Some(actor)) => (
                query!("transactions/list_by_actor"),
                &[&name, actor, &before, &rows, &actions, start, end],
            ),
            (Some(thread), Some(actor)) => (
                query!("transactions/list_by_thread_and_actor"),
                &[&name, thread, actor, &before, &rows, &actions, start, end],
            ),
        };
        let mut found = self.store.pool.within(self.caller, list, params).await?;
        if self.store.has_chat_database() {
            // Changes of files, keys and secrets are recorded in the main database.
            found.extend(self.store.main.within(self.caller, list, params).await?);
        }
        let mut transactions = found
            .iter()
            .map(|row| Ok((column(row, "id")?, read_transaction(row)?)))
            .collect::<Result<Vec<(i64, Transaction)>, StoreError>>()?;
        transactions.sort_unstable_by_key(|(id, _)| Reverse(*id));
        Ok(Page::cut(transactions, *limit))
    }
}
