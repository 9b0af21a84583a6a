//! The stream of records.

use memory_contract::ExportChecksum;
use memory_contract::proto::ExportMessagesResponse;
use memory_contract::proto::export_messages_response::Record;
use memory_store::StoreError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::error::ApiError;

/// The records of an export.
pub(crate) type Exported = ReceiverStream<Result<ExportMessagesResponse, Status>>;

/// Sends records and computes their checksum.
pub(super) struct Output {
    sender: mpsc::Sender<Result<ExportMessagesResponse, Status>>,
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
    pub(super) fn new(sender: mpsc::Sender<Result<ExportMessagesResponse, Status>>) -> Self {
        Self {
            sender,
            checksum: ExportChecksum::default(),
        }
    }

    /// Sends a record, and waits while the caller is slow.
    pub(super) async fn send(&mut self, record: Record) -> Result<(), Stop> {
        self.checksum.see(&record);
        self.give(record).await
    }

    /// Sends the summary.
    pub(super) async fn end(mut self) -> Result<(), Stop> {
        let summary = std::mem::take(&mut self.checksum).summary();
        self.give(Record::Summary(summary)).await
    }

    async fn give(&self, record: Record) -> Result<(), Stop> {
        let response = ExportMessagesResponse {
            record: Some(record),
        };
        self.sender.send(Ok(response)).await.map_err(|_| Stop::Gone)
    }
}
