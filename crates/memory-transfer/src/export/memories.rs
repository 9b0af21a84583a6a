//! Long-term memories of an export.

use memory_contract::proto::record::Kind;

use super::output::{Output, Stop};
use super::{Export, Threads};

const MEMORIES: u32 = 100;

impl Export {
    /// Sends the memories of the app and user; none in the export of one thread.
    pub(super) async fn send_memories(&self, output: &mut Output) -> Result<(), Stop> {
        if matches!(self.threads, Threads::One(_)) {
            return Ok(());
        }
        let mut after = None;
        loop {
            let page = self
                .store
                .memories(&self.caller)
                .export_memories(
                    self.app.as_ref(),
                    self.user.as_ref(),
                    after.as_ref(),
                    MEMORIES,
                )
                .await?;
            for memory in page.items {
                output.send(Kind::Memory(memory.into())).await?;
            }
            if page.next.is_none() {
                return Ok(());
            }
            after = page.next;
        }
    }
}
