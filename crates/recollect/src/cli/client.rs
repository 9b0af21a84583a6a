//! The connection to a server.

use std::time::Duration;

use memory_contract::proto::{
    admin_service_client::AdminServiceClient, context_service_client::ContextServiceClient,
    ledger_service_client::LedgerServiceClient,
    memory_file_service_client::MemoryFileServiceClient,
    memory_service_client::MemoryServiceClient, message_service_client::MessageServiceClient,
    observation_service_client::ObservationServiceClient, plan_service_client::PlanServiceClient,
    recall_service_client::RecallServiceClient,
    subscription_service_client::SubscriptionServiceClient,
    thread_service_client::ThreadServiceClient, transfer_service_client::TransferServiceClient,
    working_memory_service_client::WorkingMemoryServiceClient,
};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use super::args::ServerArgs;
use super::failure::{Failure, chain};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Answers of 4 MiB and a little more: a server may be set to allow that.
const MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// A connected channel that sends the API key with each call.
pub type Transport = InterceptedService<Channel, ApiKey>;

/// The services of one server.
#[derive(Debug, Clone)]
pub struct Client {
    addr: String,
    transport: Transport,
}

/// Adds `authorization: Bearer KEY` to each call.
#[derive(Debug, Clone)]
pub struct ApiKey(Option<MetadataValue<Ascii>>);

impl Interceptor for ApiKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("authorization", key.clone());
        }
        Ok(request)
    }
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// [`Failure::Unreachable`], or [`Failure::Usage`] for a wrong address.
    pub async fn connect(args: &ServerArgs) -> Result<Self, Failure> {
        let (addr, endpoint, key) = endpoint(args)?;
        let channel = endpoint
            .connect()
            .await
            .map_err(|error| Failure::Unreachable {
                addr: addr.clone(),
                problem: chain(&error),
            })?;
        Ok(Self {
            addr,
            transport: InterceptedService::new(channel, key),
        })
    }

    /// A channel that connects when the first call is made, and again after each loss, and
    /// the value of `authorization`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a wrong address.
    pub fn channel(args: &ServerArgs) -> Result<(Channel, Option<MetadataValue<Ascii>>), Failure> {
        let (_, endpoint, ApiKey(key)) = endpoint(args)?;
        Ok((endpoint.connect_lazy(), key))
    }

    /// Connects when the first call is made, and again after each loss.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a wrong address.
    pub fn lazy(args: &ServerArgs) -> Result<Transport, Failure> {
        let (_, endpoint, key) = endpoint(args)?;
        Ok(InterceptedService::new(endpoint.connect_lazy(), key))
    }

    pub fn threads(&self) -> ThreadServiceClient<Transport> {
        ThreadServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn messages(&self) -> MessageServiceClient<Transport> {
        MessageServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn transfers(&self) -> TransferServiceClient<Transport> {
        TransferServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn recall(&self) -> RecallServiceClient<Transport> {
        RecallServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn contexts(&self) -> ContextServiceClient<Transport> {
        ContextServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn plans(&self) -> PlanServiceClient<Transport> {
        PlanServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn observations(&self) -> ObservationServiceClient<Transport> {
        ObservationServiceClient::new(self.transport.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn ledgers(&self) -> LedgerServiceClient<Transport> {
        LedgerServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn memories(&self) -> MemoryServiceClient<Transport> {
        MemoryServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn memory_files(&self) -> MemoryFileServiceClient<Transport> {
        MemoryFileServiceClient::new(self.transport.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn working_memories(&self) -> WorkingMemoryServiceClient<Transport> {
        WorkingMemoryServiceClient::new(self.transport.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn subscriptions(&self) -> SubscriptionServiceClient<Transport> {
        SubscriptionServiceClient::new(self.transport.clone())
            .max_decoding_message_size(MESSAGE_BYTES)
    }

    pub fn admin(&self) -> AdminServiceClient<Transport> {
        AdminServiceClient::new(self.transport.clone()).max_decoding_message_size(MESSAGE_BYTES)
    }

    /// The channel, for services that are not Recollect's own.
    pub fn transport(&self) -> Transport {
        self.transport.clone()
    }

    /// Explains an error of a call.
    pub fn failure(&self, status: &Status) -> Failure {
        Failure::call(&self.addr, status)
    }
}

/// The address with its scheme, how to connect to it, and the key to send.
fn endpoint(args: &ServerArgs) -> Result<(String, Endpoint, ApiKey), Failure> {
    let addr = match args.addr.contains("://") {
        true => args.addr.clone(),
        false => format!("http://{}", args.addr),
    };
    let usage = |problem: String| Failure::Usage(format!("--addr {addr}: {problem}"));
    let endpoint = Endpoint::from_shared(addr.clone())
        .map_err(|error| usage(chain(&error)))?
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true);
    let endpoint = match addr.starts_with("https://") {
        true => endpoint
            .tls_config(tonic::transport::ClientTlsConfig::new().with_native_roots())
            .map_err(|error| usage(chain(&error)))?,
        false => endpoint,
    };
    let key = match &args.api_key {
        Some(key) => {
            let mut value: MetadataValue<Ascii> =
                format!("Bearer {key}").parse().map_err(|_| {
                    Failure::Usage("the API key has characters that no key has".to_owned())
                })?;
            value.set_sensitive(true);
            Some(value)
        }
        None => None,
    };
    Ok((addr, endpoint, ApiKey(key)))
}
