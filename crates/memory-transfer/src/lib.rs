#![doc = include_str!("../README.md")]

mod export;
mod import;

use std::time::Duration;

use memory_api::Handlers;
use memory_contract::proto::transfer_service_server::TransferService;
use memory_contract::proto::{ExportRecordsRequest, ImportRecordsRequest};
use memory_grpc::{caller_of, remaining};
use memory_store::Store;
use tonic::{Request, Response, Status, Streaming, async_trait};

use export::{Export, Exported};
use import::{Import, Imported};

/// Bytes of content in one record, which base64 makes a third larger.
const CONTENT_BYTES: usize = 2 * 1024 * 1024;

/// Implements `TransferService`. An import stores records through the handlers of the other
/// services, so that it checks, counts and records what they do.
#[derive(Clone)]
pub struct Transfers {
    store: Store,
    handlers: Handlers,
    /// The longest that a stream may last.
    stream_timeout: Duration,
}

impl Transfers {
    /// An import calls the handlers; an export reads from the store.
    pub fn new(store: Store, handlers: Handlers, stream_timeout: Duration) -> Self {
        Self {
            store,
            handlers,
            stream_timeout,
        }
    }
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
        let import = Import::new(self.store.clone(), self.handlers.clone(), caller);
        Ok(Response::new(import.run(request.into_inner(), time)))
    }
}
