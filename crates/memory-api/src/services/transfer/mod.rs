//! The transfer service: exports and imports of records.

mod export;
mod import;

use std::time::Duration;

use memory_contract::proto::transfer_service_server::TransferService;
use memory_contract::proto::{ExportRecordsRequest, ImportRecordsRequest};
use memory_store::Store;
use tonic::{Request, Response, Status, Streaming, async_trait};

use super::{
    Checkpoints, Documents, Events, Files, Memories, Messages, Nodes, Plans, Policies, Threads,
};
use crate::layers::{caller_of, remaining};
use export::{Export, Exported};
use import::{Import, Imported};

/// Bytes of content in one record, which base64 makes a third larger.
const CONTENT_BYTES: usize = 2 * 1024 * 1024;

/// Implements `TransferService`. An import stores records through the other services, so
/// that it checks, counts and records what they do.
#[derive(Clone)]
pub(crate) struct Transfers {
    pub(crate) store: Store,
    /// The longest that a stream may last.
    pub(crate) stream_timeout: Duration,
    pub(crate) threads: Threads,
    pub(crate) messages: Messages,
    pub(crate) policies: Policies,
    pub(crate) files: Files,
    pub(crate) nodes: Nodes,
    pub(crate) plans: Plans,
    pub(crate) events: Events,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) memories: Memories,
    pub(crate) documents: Documents,
}

#[async_trait]
impl TransferService for Transfers {
    type ExportRecordsStream = Exported;
    type ImportRecordsStream = Imported;

    async fn export_records(
        &self,
        request: Request<ExportRecordsRequest>,
    ) -> Result<Response<Exported>, Status> {
        let caller = caller_of(&request)?;
        let time = remaining(&request, self.stream_timeout);
        let (call, _, request) = request.into_parts();
        let export = Export::read(self.store.clone(), caller, &call, request).await?;
        Ok(Response::new(export.run(time)))
    }

    async fn import_records(
        &self,
        request: Request<Streaming<ImportRecordsRequest>>,
    ) -> Result<Response<Imported>, Status> {
        let caller = caller_of(&request)?;
        let time = remaining(&request, self.stream_timeout);
        let import = Import::new(self.clone(), caller);
        Ok(Response::new(import.run(request.into_inner(), time)))
    }
}
