//! A caller with an API key.

use memory_contract::proto::{
    admin_service_client::AdminServiceClient, checkpoint_service_client::CheckpointServiceClient,
    context_service_client::ContextServiceClient, document_service_client::DocumentServiceClient,
    event_service_client::EventServiceClient, file_service_client::FileServiceClient,
    key_service_client::KeyServiceClient, ledger_service_client::LedgerServiceClient,
    memory_file_service_client::MemoryFileServiceClient,
    memory_service_client::MemoryServiceClient, message_service_client::MessageServiceClient,
    node_memory_service_client::NodeMemoryServiceClient,
    observation_service_client::ObservationServiceClient, plan_service_client::PlanServiceClient,
    policy_service_client::PolicyServiceClient, recall_service_client::RecallServiceClient,
    secret_service_client::SecretServiceClient,
    subscription_service_client::SubscriptionServiceClient,
    thread_service_client::ThreadServiceClient, transfer_service_client::TransferServiceClient,
    working_memory_service_client::WorkingMemoryServiceClient,
};
use sha2::{Digest as _, Sha256};
use tonic::metadata::AsciiMetadataValue;
use tonic::service::{Interceptor, interceptor::InterceptedService};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

/// An API key that the harness puts into every server's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The key of tenant `acme`, an administrator's.
    Acme,
    /// A second key of tenant `acme`, no administrator's.
    AcmeToo,
    /// The key of tenant `globex`, an administrator's.
    Globex,
}

impl Key {
    /// All keys.
    pub const ALL: [Self; 3] = [Self::Acme, Self::AcmeToo, Self::Globex];

    /// The key's name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acme => "acme-backend",
            Self::AcmeToo => "acme-reports",
            Self::Globex => "globex-backend",
        }
    }

    /// The tenant that the key selects.
    pub fn tenant(self) -> &'static str {
        match self {
            Self::Acme | Self::AcmeToo => "acme",
            Self::Globex => "globex",
        }
    }

    /// Whether it is an administrator's.
    pub fn is_admin(self) -> bool {
        match self {
            Self::Acme | Self::Globex => true,
            Self::AcmeToo => false,
        }
    }

    /// What the caller sends.
    pub fn secret(self) -> String {
        format!("key-of-{}-0123456789abcdef", self.name())
    }

    /// Its table in the configuration file.
    pub fn toml(self) -> String {
        let digest = Sha256::digest(self.secret());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "[[auth.keys]]\nname = \"{}\"\ntenant = \"{}\"\nsha256 = \"{digest}\"\nscopes = {}\n\n",
            self.name(),
            self.tenant(),
            match self.is_admin() {
                true => "[\"admin\"]",
                false => "[\"read\", \"write\", \"delete\"]",
            },
        )
    }
}

/// Adds the `authorization` header.
#[derive(Clone)]
pub struct Bearer(Option<AsciiMetadataValue>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", value.clone());
        }
        Ok(request)
    }
}

type Authorized = InterceptedService<Channel, Bearer>;

/// A caller of the service. The short methods panic where the service answers
/// with an error; [`Client::refused`] returns the error.
#[derive(Clone)]
pub struct Client {
    channel: Channel,
    bearer: Bearer,
}

impl Client {
    /// A caller with a key.
    pub async fn new(addr: &str, key: Key) -> Self {
        Self::with_authorization(addr, Some(&format!("Bearer {}", key.secret()))).await
    }

    /// A caller with any `authorization` header, or none.
    pub async fn with_authorization(addr: &str, header: Option<&str>) -> Self {
        let channel = Endpoint::from_shared(format!("http://{addr}"))
            .unwrap()
            .connect()
            .await
            .unwrap_or_else(|error| panic!("cannot connect to {addr}: {error:?}"));
        Self {
            channel,
            bearer: Bearer(header.map(|header| header.parse().unwrap())),
        }
    }

    /// A caller with a key over a connection that is open.
    pub fn over(channel: Channel, key: Key) -> Self {
        let header = format!("Bearer {}", key.secret());
        Self {
            channel,
            bearer: Bearer(Some(header.parse().unwrap())),
        }
    }

    /// The connection, without the key.
    pub fn channel(&self) -> Channel {
        self.channel.clone()
    }

    /// The connection with the key.
    pub fn authorized(&self) -> Authorized {
        InterceptedService::new(self.channel.clone(), self.bearer.clone())
    }

    pub fn threads(&self) -> ThreadServiceClient<Authorized> {
        ThreadServiceClient::new(self.authorized())
    }

    pub fn transfers(&self) -> TransferServiceClient<Authorized> {
        TransferServiceClient::new(self.authorized())
    }

    pub fn messages(&self) -> MessageServiceClient<Authorized> {
        MessageServiceClient::new(self.authorized())
    }

    pub fn events(&self) -> EventServiceClient<Authorized> {
        EventServiceClient::new(self.authorized())
    }

    pub fn files(&self) -> FileServiceClient<Authorized> {
        FileServiceClient::new(self.authorized())
    }

    pub fn recalls(&self) -> RecallServiceClient<Authorized> {
        RecallServiceClient::new(self.authorized())
    }

    pub fn policies(&self) -> PolicyServiceClient<Authorized> {
        PolicyServiceClient::new(self.authorized())
    }

    pub fn contexts(&self) -> ContextServiceClient<Authorized> {
        ContextServiceClient::new(self.authorized())
    }

    pub fn observations(&self) -> ObservationServiceClient<Authorized> {
        ObservationServiceClient::new(self.authorized())
    }

    pub fn ledgers(&self) -> LedgerServiceClient<Authorized> {
        LedgerServiceClient::new(self.authorized())
    }

    pub fn memories(&self) -> MemoryServiceClient<Authorized> {
        MemoryServiceClient::new(self.authorized())
    }

    pub fn documents(&self) -> DocumentServiceClient<Authorized> {
        DocumentServiceClient::new(self.authorized())
    }

    pub fn memory_files(&self) -> MemoryFileServiceClient<Authorized> {
        MemoryFileServiceClient::new(self.authorized())
    }

    pub fn checkpoints(&self) -> CheckpointServiceClient<Authorized> {
        // A checkpoint may be larger than other responses.
        CheckpointServiceClient::new(self.authorized()).max_decoding_message_size(48 * 1024 * 1024)
    }

    pub fn nodes(&self) -> NodeMemoryServiceClient<Authorized> {
        NodeMemoryServiceClient::new(self.authorized())
    }

    pub fn plans(&self) -> PlanServiceClient<Authorized> {
        PlanServiceClient::new(self.authorized())
    }

    pub fn working_memories(&self) -> WorkingMemoryServiceClient<Authorized> {
        WorkingMemoryServiceClient::new(self.authorized())
    }

    pub fn admin(&self) -> AdminServiceClient<Authorized> {
        AdminServiceClient::new(self.authorized())
    }

    pub fn keys(&self) -> KeyServiceClient<Authorized> {
        KeyServiceClient::new(self.authorized())
    }

    pub fn secrets(&self) -> SecretServiceClient<Authorized> {
        SecretServiceClient::new(self.authorized())
    }

    pub fn subscriptions(&self) -> SubscriptionServiceClient<Authorized> {
        SubscriptionServiceClient::new(self.authorized())
    }
}
