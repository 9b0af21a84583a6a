//! The stream of records.

use memory_checksum::ExportChecksum;
use memory_contract::proto::record::Kind;
use memory_contract::proto::{ExportRecordsResponse, Record};
use memory_grpc::ApiError;
use memory_store::StoreError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

/// The records of an export.
pub(crate) type Exported = ReceiverStream<Result<ExportRecordsResponse, Status>>;

/// Sends records and computes their checksum.
pub(super) struct Output {
    sender: mpsc::Sender<Result<ExportRecordsResponse, Status>>,
    checksum: ExportChecksum,
}

/// Why an export ends early.
pub(super) enum Stop {
    /// The caller has closed the stream.
    Gone,
    Failed(ApiError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl Output {
    pub(super) fn new(sender: mpsc::Sender<Result<ExportRecordsResponse, Status>>) -> Self {
        Self {
            sender,
            checksum: ExportChecksum::default(),
        }
    }

    /// Sends a record, and waits while the caller is slow.
    pub(super) async fn send(&mut self, kind: Kind) -> Result<(), Stop> {
        self.checksum.see(&kind);
        self.give(kind).await
    }

    /// Sends the summary.
    pub(super) async fn end(mut self) -> Result<(), Stop> {
        let summary = std::mem::take(&mut self.checksum).summary();
        self.give(Kind::Summary(summary)).await
    }

    async fn give(&self, kind: Kind) -> Result<(), Stop> {
        let response = ExportRecordsResponse {
            record: Some(Record { kind: Some(kind) }),
        };
        self.sender.send(Ok(response)).await.map_err(|_| Stop::Gone)
    }
}
