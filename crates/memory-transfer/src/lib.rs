#![doc = include_str!("../README.md")]

mod export;
mod import;
mod transfers;

use memory_contract::proto::transfer_service_server::TransferService;
use memory_contract::proto::{ExportRecordsRequest, ImportRecordsRequest};
use tonic::{Request, Response, Status, Streaming, async_trait};

use export::{Export, Exported};
use import::{Import, Imported};
use memory_grpc::{caller_of, remaining};

pub use transfers::Transfers;

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
