//! Documents of an export.

use memory_contract::proto::record::Kind;

use super::output::{Output, Stop};
use super::{Export, Threads};

const DOCUMENTS: u32 = 100;

impl Export {
    /// Sends the documents of the app and user; none in the export of one thread.
    pub(super) async fn send_documents(&self, output: &mut Output) -> Result<(), Stop> {
        if matches!(self.threads, Threads::One(_)) {
            return Ok(());
        }
        let mut after = None;
        loop {
            let page = self
                .store
                .documents(&self.caller)
                .export_documents(
                    self.app.as_ref(),
                    self.user.as_ref(),
                    after.as_ref(),
                    DOCUMENTS,
                )
                .await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some((last.owner.clone(), last.document.name.clone()));
            for document in page {
                output.send(Kind::Document(document.into())).await?;
            }
        }
    }
}
