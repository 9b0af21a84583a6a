//! The plan and the attempts of a thread.

use memory_contract::proto::export_messages_response::Record;
use memory_contract::{ThreadId, limits};
use memory_store::{IterationQuery, PlanError, StoreError};

use super::Export;
use super::output::{Output, Stop};

const ITERATIONS: u32 = 100;

impl Export {
    pub(super) async fn send_plan(
        &self,
        thread: ThreadId,
        output: &mut Output,
    ) -> Result<(), Stop> {
        match self.store.plans(&self.caller).get_plan(thread).await {
            Ok(plan) => output.send(Record::Plan(plan.into())).await?,
            Err(StoreError::Plan(PlanError::NotFound)) => {}
            Err(error) => return Err(error.into()),
        }
        let mut query = IterationQuery {
            thread,
            task: None,
            failed: false,
            after: None,
            limit: ITERATIONS,
            max_bytes: u32::try_from(limits::PAGE_BYTES).unwrap_or(u32::MAX),
        };
        loop {
            let page = self
                .store
                .plans(&self.caller)
                .list_iterations(&query)
                .await?;
            for iteration in page.items {
                output.send(Record::Iteration(iteration.into())).await?;
            }
            if page.next.is_none() {
                return Ok(());
            }
            query.after = page.next;
        }
    }
}
