//! The log of an agent's attempts.

use memory_agent_contract::plan::{Attempt, NewAttempt, Plan};
use memory_contract::{RequestId, ThreadId, limits};
use memory_database::{
    AppendError, Page, PlanError, StoreError,
    page::one_more,
    rows::{GET_THREAD, column, one_thread, only, scalar, unknown_status},
    words,
};
use memory_postgres::{Params, query};
use tokio_postgres::Row;

use super::plan::plan;
use crate::PlanStore;

/// The result of [`PlanStore::append_attempt`](crate::PlanStore::append_attempt).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedAttempt {
    /// The stored attempt.
    pub attempt: Attempt,
    /// Whether the request id was known, so that nothing was added.
    pub replayed: bool,
}

/// The attempts of a thread to list, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptQuery {
    /// The thread whose attempts are listed.
    pub thread: ThreadId,
    /// Only attempts at this task.
    pub task: Option<String>,
    /// Whether only failed attempts are listed.
    pub failed: bool,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<i64>,
    /// The most attempts to return, at least 1.
    pub limit: u32,
    /// About the most bytes to return; the first attempt is returned anyway.
    pub max_bytes: u32,
}

/// The plan of a thread and its failed attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The plan, if there is one.
    pub plan: Option<Plan>,
    /// Failed attempts, the newest first.
    pub failures: Vec<Attempt>,
    /// How many older failures were left out.
    pub older_failures: usize,
    /// How many attempts were logged.
    pub attempts: i64,
}

impl PlanStore<'_> {
    /// Adds an attempt to the log of a thread, in one round trip. Numbers have
    /// no gaps. With a request id it is idempotent.
    ///
    /// # Errors
    /// `ThreadNotFound`, `AppendError::RequestReused`, `PlanError::LogFull`:
    /// nothing was stored. After `Unavailable` it may have been; a request id
    /// makes the retry safe.
    pub async fn append_attempt(
        self,
        thread: ThreadId,
        attempt: NewAttempt,
        request_id: Option<RequestId>,
    ) -> Result<LoggedAttempt, StoreError> {
        let tenant = &self.caller.tenant;
        let id = thread.to_string();
        let NewAttempt {
            task,
            action,
            result,
            error,
            diagnosis,
            fix,
        } = &attempt;
        let texts = [&id, task, action, result, error, diagnosis, fix].map(String::as_str);
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let hash = request_id.map(|_| words::digest(&texts).to_vec());
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            task,
            action,
            result,
            error,
            diagnosis,
            fix,
            &i32::try_from(bytes).unwrap_or(i32::MAX),
            &limits::ATTEMPTS,
            &request_id.map(RequestId::uuid),
            &hash,
        ];
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("attempts/append"), params)
                .await?,
        )?;
        match column(&row, "status")? {
            status @ ("ok" | "replayed") => Ok(LoggedAttempt {
                attempt: Attempt {
                    number: column(&row, "number")?,
                    task_number: column(&row, "task_number")?,
                    created: column(&row, "created_at")?,
                    entry: attempt,
                },
                replayed: status == "replayed",
            }),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            "request_reused" => Err(StoreError::Append(AppendError::RequestReused)),
            "full" => Err(StoreError::Plan(PlanError::LogFull)),
            other => Err(unknown_status(other)),
        }
    }

    /// Lists attempts of a thread, the oldest first; fewer than `limit` where
    /// more would be over `max_bytes`.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn list_attempts(
        self,
        query: &AttemptQuery,
    ) -> Result<Page<Attempt, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let AttemptQuery {
            thread,
            task,
            failed,
            after,
            limit,
            max_bytes,
        } = query;
        let (name, id) = (tenant.as_str(), thread.uuid());
        let of_thread: Params<'_> = &[&name, &id];
        let of_log: Params<'_> = &[
            &name,
            &id,
            &after.unwrap_or_default(),
            task,
            failed,
            &one_more(*limit),
            &i64::from(*max_bytes),
        ];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[(GET_THREAD, of_thread), (query!("attempts/list"), of_log)],
            )
            .await?;
        let [threads, rows] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        one_thread(threads)?;
        let mut items = attempts(rows)?;
        items.truncate(*limit as usize);
        let more = found(rows)? > items.len();
        Ok(Page {
            next: items.last().map(|last| last.number).filter(|_| more),
            items,
        })
    }

    /// Reads the plan of a thread and its failed attempts, in one round trip: of one task
    /// or of all; at most `limit` failures of `max_bytes` together.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn progress(
        self,
        thread: ThreadId,
        task: Option<&str>,
        limit: u32,
        max_bytes: u32,
    ) -> Result<Progress, StoreError> {
        let tenant = &self.caller.tenant;
        let (name, id) = (tenant.as_str(), thread.uuid());
        let of_thread: Params<'_> = &[&name, &id];
        let of_task: Params<'_> = &[&name, &id, &task];
        let of_failures: Params<'_> = &[&name, &id, &task, &one_more(limit), &i64::from(max_bytes)];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[
                    (GET_THREAD, of_thread),
                    (query!("plans/get"), of_thread),
                    (query!("attempts/failed"), of_failures),
                    (query!("attempts/count"), of_task),
                ],
            )
            .await?;
        let [threads, plans, failed, counts] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        one_thread(threads)?;
        let mut failures = attempts(failed)?;
        failures.truncate(limit as usize);
        Ok(Progress {
            plan: plans.first().map(plan).transpose()?,
            older_failures: found(failed)?.saturating_sub(failures.len()),
            failures,
            attempts: counts.first().map_or(Ok(0), scalar)?,
        })
    }
}

/// How many rows there were before the bytes bounded the page.
pub(crate) fn found(rows: &[Row]) -> Result<usize, StoreError> {
    let count = |row| column(row, "found_count");
    let found: i64 = rows.first().map_or(Ok(0), count)?;
    Ok(usize::try_from(found).unwrap_or_default())
}

fn attempts(rows: &[Row]) -> Result<Vec<Attempt>, StoreError> {
    let attempt = |row: &Row| {
        Ok(Attempt {
            number: column(row, "number")?,
            task_number: column(row, "task_number")?,
            entry: NewAttempt {
                task: column(row, "task")?,
                action: column(row, "action")?,
                result: column(row, "result")?,
                error: column(row, "error")?,
                diagnosis: column(row, "diagnosis")?,
                fix: column(row, "fix")?,
            },
            created: column(row, "created_at")?,
        })
    };
    rows.iter().map(attempt).collect()
}
