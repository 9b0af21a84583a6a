//! Reads the rows of a ledger.

use memory_contract::{MessageName, ThreadId};
use memory_database::{
    StoreError,
    rows::{self, column},
};
use memory_ledger::{Branching, DistillKind, Entry, Ledger, LedgerRow, LedgerThread, Place};
use memory_postgres::{Params, query};
use tokio_postgres::Row;

use crate::DistillateStore;

/// Messages read at a time.
const PAGE: i64 = 5_000;

impl DistillateStore<'_> {
    /// Reads the ledger of a thread in one snapshot, as if `head` were its head. Reads no
    /// content, and holds at most one page of rows.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`.
    pub async fn ledger(
        self,
        thread: ThreadId,
        head: Option<&MessageName>,
    ) -> Result<Ledger, StoreError> {
        let tenant = &self.caller.tenant;
        let (name, id) = (tenant.as_str(), thread.uuid());
        let head = head.map(MessageName::as_str);
        let of_thread: Params<'_> = &[&name, &id, &head];
        let of_all: Params<'_> = &[&name, &id];
        let page = query!("ledger/messages");
        let first: Params<'_> = &[&name, &id, &0_i64, &PAGE];
        let (snapshot, results) = self
            .store
            .pool
            .snapshot(
                self.caller,
                &[
                    (query!("ledger/thread"), of_thread),
                    (query!("ledger/branches"), of_all),
                    (query!("ledger/distillates"), of_all),
                    (page, first),
                ],
            )
            .await?;
        let Ok([threads, branches, entries, mut messages]) = <[Vec<Row>; 4]>::try_from(results)
        else {
            return Err(StoreError::ThreadNotFound);
        };
        let thread_row = match threads.first() {
            None => Err(StoreError::ThreadNotFound),
            Some(row) => thread_of(row, head.is_some()),
        };
        let thread_row = match thread_row {
            Ok(thread_row) => thread_row,
            Err(error) => {
                snapshot.rollback().await?;
                return Err(error);
            }
        };
        let branches = branches.iter().map(branching).collect::<Result<_, _>>()?;
        let entries = entries.iter().map(entry).collect::<Result<_, _>>()?;
        let mut ledger = Ledger::new(branches, entries, thread_row);
        loop {
            let mut last = None;
            for row in &messages {
                let row = message(row)?;
                last = Some(row.seq);
                ledger.add(&row);
            }
            let full = i64::try_from(messages.len()).is_ok_and(|count| count == PAGE);
            let Some(last) = last.filter(|_| full) else {
                break;
            };
            let next: Params<'_> = &[&name, &id, &last, &PAGE];
            messages = snapshot.query(page, next).await?;
        }
        snapshot.rollback().await?;
        Ok(ledger)
    }
}

fn thread_of(row: &Row, named: bool) -> Result<LedgerThread, StoreError> {
    let (branch, depth): (Option<i32>, Option<i32>) =
        (column(row, "named_branch")?, column(row, "named_depth")?);
    let head = match (named, branch.zip(depth)) {
        (true, None) => return Err(StoreError::MessageNotFound),
        (true, Some((branch, depth))) => Place { branch, depth },
        (false, _) => Place {
            branch: column(row, "head_branch")?,
            depth: column(row, "head_depth")?,
        },
    };
    Ok(LedgerThread {
        last_seq: column(row, "last_seq")?,
        message_count: column(row, "message_count")?,
        head,
    })
}

fn branching(row: &Row) -> Result<Branching, StoreError> {
    Ok(Branching {
        branch: column(row, "branch")?,
        parent: column(row, "parent_branch")?,
        fork_depth: column(row, "fork_depth")?,
    })
}

fn entry(row: &Row) -> Result<Entry, StoreError> {
    let kind = match column(row, "kind")? {
        "summary" => DistillKind::Summary,
        "observation" => DistillKind::Observation,
        _ => {
            return Err(StoreError::Corrupt {
                what: "distillate",
                why: "its kind is not known".to_owned(),
            });
        }
    };
    Ok(Entry {
        kind,
        number: column(row, "number")?,
        end: Place {
            branch: column(row, "branch")?,
            depth: column(row, "to_depth")?,
        },
        after_depth: column(row, "after_depth")?,
        empty: column(row, "empty")?,
        based_on: column(row, "based_on")?,
        sets_aside: column(row, "sets_aside")?,
        active: column(row, "active")?,
        reflects: column::<Option<Vec<i64>>>(row, "reflects")?.unwrap_or_default(),
    })
}

fn message(row: &Row) -> Result<LedgerRow, StoreError> {
    Ok(LedgerRow {
        seq: column(row, "seq")?,
        id: rows::id(row, "message_id")?,
        place: Place {
            branch: column(row, "branch")?,
            depth: column(row, "depth")?,
        },
        tokens: column(row, "tokens")?,
        erased: column(row, "erased")?,
    })
}
