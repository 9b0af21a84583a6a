//! Calls of Recollect's API.

use std::time::Duration;

use memory_contract::proto::{
    context_service_client::ContextServiceClient, message_service_client::MessageServiceClient,
};
use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;

/// Answers of 4 MiB and a little more: a server may be set to allow that.
const MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// A server of Recollect, as one key calls it.
#[derive(Clone, Debug)]
pub struct Recollect {
    channel: Channel,
    authorization: Option<MetadataValue<Ascii>>,
}

impl Recollect {
    /// Calls over this channel, with this `authorization`.
    pub fn new(channel: Channel, authorization: Option<MetadataValue<Ascii>>) -> Self {
        Self {
            channel,
            authorization,
        }
    }

    /// A request with a deadline.
    pub(crate) fn request<T>(&self, message: T, deadline: Duration) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(authorization) = &self.authorization {
            let metadata = request.metadata_mut();
            metadata.insert("authorization", authorization.clone());
        }
        request.set_timeout(deadline);
        request
    }

    pub(crate) fn contexts(&self) -> ContextServiceClient<Channel> {
        ContextServiceClient::new(self.channel.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub(crate) fn messages(&self) -> MessageServiceClient<Channel> {
        MessageServiceClient::new(self.channel.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }
}
