//! Sets the head of a thread.

use memory_contract::{MessageName, ThreadId, thread::Thread};
use memory_database::{
    AppendError, StoreError,
    rows::{self, column, only},
};
use memory_postgres::{Params, query};

use crate::ThreadStore;

impl ThreadStore<'_> {
    /// Makes a readable message the head of its thread. Idempotent, but that
    /// `expected` may say what the head has to be before: `Some(None)` that the
    /// thread is empty.
    ///
    /// # Errors
    /// `ThreadNotFound`, `AppendError::HeadMoved`, `MessageNotFound`.
    pub async fn set_head(
        self,
        thread: ThreadId,
        head: impl Into<MessageName>,
        expected: Option<Option<MessageName>>,
    ) -> Result<Thread, StoreError> {
        let head = head.into();
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &head.as_str(),
            &expected.is_some(),
            &expected_head(&expected),
        ];
        let set_head = query!("threads/set_head");
        let row = only(self.store.pool.call(self.caller, set_head, params).await?)?;
        match column(&row, "status")? {
            "ok" => rows::thread(&row),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            "message_not_found" => Err(StoreError::MessageNotFound),
            "head_moved" => Err(StoreError::Append(AppendError::HeadMoved {
                head: rows::thread(&row)?.head,
            })),
            other => Err(rows::unknown_status(other)),
        }
    }
}

/// The expected head as a parameter.
pub(crate) fn expected_head(expected: &Option<Option<MessageName>>) -> Option<&str> {
    expected.as_ref()?.as_ref().map(MessageName::as_str)
}
