//! Reads the messages of a path.

use memory_database::{
    StoreError, ThreadError,
    rows::{self, column, optional_id},
};
use memory_postgres::query;
use tokio_postgres::Row;

use super::{
    cache::{self, Window},
    path::{History, HistoryQuery, Path, Version},
    row::read_message,
};
use crate::MessageStore;

impl MessageStore<'_> {
    /// Reads back from a head, in one round trip, at a cost that depends on
    /// what is returned and not on the thread.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound` for a head that the thread does not
    /// have or that was erased.
    pub async fn history(self, query: &HistoryQuery) -> Result<History, StoreError> {
        self.read_path(&Path::of(query)).await
    }

    /// Reads the messages of a path, from the cache if the thread has not changed.
    pub(crate) async fn read_path(self, path: &Path) -> Result<History, StoreError> {
        let tenant = &self.caller.tenant;
        let known = self.conversations.windows.find(tenant, path).await;
        let request = path.request(tenant, known.as_deref().map(Window::version));
        let found = self
            .store
            .pool
            .call(self.caller, query!("messages/history"), &request.params())
            .await?;
        self.settle(path, known.as_deref(), &found).await
    }

    /// The history that an answer of the database or, if that says so, a known
    /// window has. Caches the messages read.
    async fn settle(
        self,
        path: &Path,
        known: Option<&Window>,
        found: &[Row],
    ) -> Result<History, StoreError> {
        let tenant = &self.caller.tenant;
        match (read_history(found)?, known) {
            (PathRead::Read { history, version }, _) => {
                self.conversations
                    .windows
                    .keep(tenant, path, version, &history)
                    .await;
                Ok(history)
            }
            (PathRead::Unchanged, known) => {
                cache::count_lookup("hit");
                let answer = known.and_then(|window| window.answer(path));
                answer.ok_or_else(|| rows::unknown_status("unchanged"))
            }
        }
    }
}

/// The result of the function `history`.
enum PathRead {
    /// Nothing: the caller's window is right.
    Unchanged,
    Read {
        history: History,
        version: Version,
    },
}

/// Reads what the function `history` returns: messages, then instructions, then a row with
/// the status.
fn read_history(found: &[Row]) -> Result<PathRead, StoreError> {
    let Some((last, found)) = found.split_last() else {
        return Err(StoreError::Corrupt {
            what: "history",
            why: "it has no status".to_owned(),
        });
    };
    let mut messages = found.len();
    while let Some(before) = messages.checked_sub(1)
        && column::<Option<&str>>(&found[before], "status")?.is_some()
    {
        messages = before;
    }
    let (messages, instructions) = found.split_at(messages);
    let read = |rows: &[Row]| rows.iter().map(read_message).collect::<Result<_, _>>();
    match column(last, "status")? {
        "ok" => Ok(PathRead::Read {
            history: History {
                messages: read(messages)?,
                instructions: read(instructions)?,
                older: column(last, "older")?,
                path_messages: column(last, "path_messages")?,
                path_tokens: column(last, "path_tokens")?,
            },
            version: Version {
                last_seq: column(last, "last_seq")?,
                message_count: column(last, "message_count")?,
                update_count: column(last, "update_count")?,
                head: optional_id(last, "head_id")?,
            },
        }),
        "unchanged" => Ok(PathRead::Unchanged),
        other => Err(not_found(other)),
    }
}

pub(super) fn not_found(status: &str) -> StoreError {
    match status {
        "thread_not_found" => StoreError::ThreadNotFound,
        "message_not_found" => StoreError::MessageNotFound,
        "ephemeral_full" => StoreError::Thread(ThreadError::EphemeralFull),
        other => rows::unknown_status(other),
    }
}
