//! The plan, the attempts and the events of a thread.

use memory_agent_contract::plan::EventQuery;
use memory_contract::proto::record::Kind;
use memory_contract::{ThreadId, limits};
use memory_store::{AttemptQuery, PlanError, StoreError};

use super::Export;
use super::output::{Output, Stop};

/// Entries of a log that are read at a time.
const ENTRIES: u32 = 100;

impl Export {
    pub(super) async fn send_plan(
        &self,
        thread: ThreadId,
        output: &mut Output,
    ) -> Result<(), Stop> {
        match self.store.plans(&self.caller).get_plan(thread).await {
            Ok(plan) => output.send(Kind::Plan(plan.into())).await?,
            Err(StoreError::Plan(PlanError::NotFound)) => {}
            Err(error) => return Err(error.into()),
        }
        let mut query = AttemptQuery {
            thread,
            task: None,
            failed: false,
            after: None,
            limit: ENTRIES,
            max_bytes: u32::try_from(limits::PAGE_BYTES).unwrap_or(u32::MAX),
        };
        loop {
            let page = self.store.plans(&self.caller).list_attempts(&query).await?;
            for attempt in page.items {
                output.send(Kind::Attempt(attempt.into())).await?;
            }
            if page.next.is_none() {
                return self.send_events(thread, output).await;
            }
            query.after = page.next;
        }
    }

    async fn send_events(&self, thread: ThreadId, output: &mut Output) -> Result<(), Stop> {
        let mut query = EventQuery::of(thread, ENTRIES, limits::PAGE_BYTES);
        loop {
            let page = self.store.plans(&self.caller).list_events(&query).await?;
            for event in page.items {
                output.send(Kind::Event(event.into())).await?;
            }
            if page.next.is_none() {
                return self.send_checkpoints(thread, output).await;
            }
            query.after = page.next;
        }
    }
}
