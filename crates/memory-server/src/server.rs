//! The gRPC server: services, layers and the transport's limits.

use std::sync::Arc;
use std::time::Duration;

use memory_api::{Dependencies, Handlers, Limits, StorageQuotas};
use memory_contract::proto::DESCRIPTORS;
use memory_contract::proto::admin_service_server::AdminServiceServer;
use memory_contract::proto::checkpoint_service_server::CheckpointServiceServer;
use memory_contract::proto::context_service_server::ContextServiceServer;
use memory_contract::proto::document_service_server::DocumentServiceServer;
use memory_contract::proto::event_service_server::EventServiceServer;
use memory_contract::proto::file_service_server::FileServiceServer;
use memory_contract::proto::key_service_server::KeyServiceServer;
use memory_contract::proto::ledger_service_server::LedgerServiceServer;
use memory_contract::proto::memory_file_service_server::MemoryFileServiceServer;
use memory_contract::proto::memory_service_server::MemoryServiceServer;
use memory_contract::proto::message_service_server::MessageServiceServer;
use memory_contract::proto::node_memory_service_server::NodeMemoryServiceServer;
use memory_contract::proto::observation_service_server::ObservationServiceServer;
use memory_contract::proto::plan_service_server::PlanServiceServer;
use memory_contract::proto::policy_service_server::PolicyServiceServer;
use memory_contract::proto::recall_service_server::RecallServiceServer;
use memory_contract::proto::secret_service_server::SecretServiceServer;
use memory_contract::proto::subscription_service_server::SubscriptionServiceServer;
use memory_contract::proto::thread_service_server::ThreadServiceServer;
use memory_contract::proto::transfer_service_server::TransferServiceServer;
use memory_contract::proto::working_memory_service_server::WorkingMemoryServiceServer;
use memory_distill::Distiller;
use memory_grpc::ApiError;
use memory_http::{HttpConfig, HttpLayer};
use memory_index::{Background, IndexerHandle, Indexes};
use memory_mcp::{Admit, McpConfig, McpLayer, Permit};
use memory_recall::Recall;
use memory_store::{Secrets, Store};
use memory_transfer::Transfers;
use time::OffsetDateTime;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::codec::CompressionEncoding::Gzip;
use tonic::service::Routes;
use tonic::transport;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::server::{HealthReporter, health_reporter};
use tower::ServiceBuilder;

use crate::config::{AuthConfig, ServerConfig};
use crate::connections::Acceptor;
use crate::layers::{
    Auth, Bounds, CatchPanic, Concurrency, Deadlines, FirstRequest, Gate, Methods, Observe, Rates,
    RecordRefusals, Redact, Repair, Unread, Wrap,
};
use crate::refusals::RefusalLog;
use crate::services::{Admin, Keys, SecretStore, SubscriptionHandlers};
use crate::tls::Tls;

/// The largest request. An append may have 3 MiB of messages.
const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Services that return keys and secrets, whose answers are not compressed: a compressed answer's
/// length reveals something of its content.
const UNCOMPRESSED: &[&str] = &[
    "recollect.v1.KeyService",
    "recollect.v1.SecretService",
    "recollect.v1.SubscriptionService",
];
/// Calls under way on one connection.
const STREAMS: u32 = 256;
/// Streams that a client may have reset before its connection is closed: a
/// client that opens and resets without end is not working, but attacking.
const LOCAL_RESETS: usize = 1_024;
const PENDING_RESETS: usize = 20;
const HEADER_BYTES: u32 = 16 * 1024;

/// The dependencies of the handlers.
pub struct Services {
    /// Conversations, memories, files, keys.
    pub store: Store,
    /// Recall and search, over the index and the store.
    pub recall: Recall,
    /// The vector index of each embedding model: the status of the serving one, and what is left in
    /// any after a deletion.
    pub indexes: Indexes,
    /// Wakes the index worker of this process; `None` where none runs here.
    pub indexer: Option<IndexerHandle>,
    /// The room for imports, shared with the index worker of this process.
    pub background: Background,
    /// The language models, for their status.
    pub distiller: Arc<Distiller>,
    /// Encrypts and stores tenants' secrets.
    pub secrets: Secrets,
    /// Tokens that a tenant may spend on language models a day; 0: no bound.
    pub daily_token_budget: u64,
    /// How long entries of the audit log are kept.
    pub transaction_retention: Duration,
}

/// The gRPC server, ready to serve.
pub struct Server {
    config: ServerConfig,
    auth: AuthConfig,
    methods: Methods,
    routes: Routes,
    health: HealthReporter,
    tls: Option<Tls>,
    store: Store,
    refusals: RefusalLog,
    background: Background,
    stop: CancellationToken,
}

impl Server {
    /// All services behind their layers. `stop` ends the server: no new
    /// connections, endless streams end, calls under way go on to their end.
    ///
    /// # Errors
    /// If the reflection service cannot read the contract's descriptors.
    pub fn new(
        config: ServerConfig,
        auth: AuthConfig,
        tls: Option<Tls>,
        services: Services,
        stop: CancellationToken,
    ) -> Result<Self, tonic_reflection::server::Error> {
        let (reporter, health) = health_reporter();
        let store = services.store.clone();
        let background = services.background.clone();
        Ok(Self {
            routes: routes(&config, &auth, services, health, stop.clone())?,
            methods: Methods::new(),
            health: reporter,
            tls,
            refusals: RefusalLog::default(),
            config,
            auth,
            store,
            background,
            stop,
        })
    }

    /// Sets what the gRPC health service answers.
    pub fn health_reporter(&self) -> HealthReporter {
        self.health.clone()
    }

    /// The full names of the contract's services.
    pub fn service_names(&self) -> &[String] {
        self.methods.services()
    }

    /// Writes refused changes into the audit log, until `stop`.
    pub fn write_refusals(&self, stop: CancellationToken) -> impl Future<Output = ()> + use<> {
        self.refusals.clone().write_to(self.store.clone(), stop)
    }

    /// Serves on the listener until it is stopped, then until the last call has
    /// ended.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn serve(self, listener: TcpListener) -> Result<(), tonic::transport::Error> {
        let Self {
            config,
            auth,
            background,
            methods,
            routes,
            tls,
            store,
            refusals,
            stop,
            health: _,
        } = self;
        let http = HttpConfig {
            cors_origins: config.cors_origins.clone(),
            open: auth.open(),
            console: config.console,
            max_message_bytes: MESSAGE_BYTES,
            passed: &[memory_mcp::PATH],
            uncompressed: UNCOMPRESSED,
            refuse: |unreadable| ApiError::from(unreadable).into(),
        };
        let auth_layer = Auth::new(methods.clone(), &auth, store.authenticator());
        let mcp = McpConfig {
            origins: config.cors_origins.clone(),
            open: auth.open(),
            admit: admit(Gate::new("requests of MCP", auth_layer.clone(), &config)),
        };
        let layers = ServiceBuilder::new()
            .layer(Wrap(FirstRequest))
            .layer(Wrap(Unread::new(&config)))
            .layer(HttpLayer::new(http))
            .layer(McpLayer::new(mcp))
            .layer(Wrap(Observe::new(methods.clone())))
            .layer(Wrap(RecordRefusals::new(methods.clone(), refusals)))
            .layer(Wrap(Repair))
            .layer(Wrap(CatchPanic))
            .layer(Wrap(Deadlines::new(methods.clone(), &config)))
            .layer(Wrap(auth_layer))
            .layer(Wrap(Rates::new(methods.clone(), &config)))
            .layer(Wrap(Concurrency::new(methods.clone(), &config, background)))
            .layer(Wrap(Bounds::new(
                methods.clone(),
                store.clone(),
                MESSAGE_BYTES,
            )))
            .layer(Wrap(Redact::new(methods, store.clone(), MESSAGE_BYTES)))
            .into_inner();
        let acceptor = Acceptor::new(&config, tls.as_ref().map(Tls::configuration));
        let server = transport::Server::builder()
            // For JSON and gRPC-web.
            .accept_http1(true)
            .max_concurrent_streams(STREAMS)
            .http2_max_local_error_reset_streams(Some(LOCAL_RESETS))
            .http2_max_pending_accept_reset_streams(Some(PENDING_RESETS))
            .http2_max_header_list_size(HEADER_BYTES)
            .http2_keepalive_interval(Some(config.keepalive_interval))
            .http2_keepalive_timeout(Some(config.keepalive_timeout))
            // Without a grace period: tonic would cut the connection off at its end
            // without having sent GOAWAY. Calls end by their deadlines anyway.
            .max_connection_age(config.max_connection_age)
            .layer(layers)
            .add_routes(routes);
        let incoming = acceptor.incoming(listener, stop.clone());
        let serving = server.serve_with_incoming_shutdown(incoming, stop.clone().cancelled_owned());
        let Some(tls) = tls else {
            return serving.await;
        };
        let (served, ()) = tokio::join!(serving, tls.follow_files(stop));
        served
    }
}

/// Admits requests of MCP.
fn admit(gate: Gate) -> Admit {
    Arc::new(move |headers| {
        let admission = gate.clone().admit(headers);
        Box::pin(async move {
            let permit = admission.await.map_err(Status::from)?;
            Ok(Box::new(permit) as Permit)
        })
    })
}

/// All services with their limits.
fn routes(
    config: &ServerConfig,
    auth: &AuthConfig,
    services: Services,
    health: HealthServer<impl Health>,
    stop: CancellationToken,
) -> Result<Routes, tonic_reflection::server::Error> {
    let Services {
        store,
        recall,
        indexes,
        indexer,
        background,
        distiller,
        secrets,
        daily_token_budget,
        transaction_retention,
    } = services;
    let limits = Limits::new(config.tenant_messages, config.tenant_bytes);
    let quotas = StorageQuotas::new(limits, store.clone());
    let handlers = Handlers::new(Dependencies {
        store: store.clone(),
        recall: recall.clone(),
        indexer: indexer.clone(),
        background,
        quotas: quotas.clone(),
        extraction_languages: distiller.extraction_languages(),
        stream_timeout: config.stream_timeout,
        transaction_retention,
        stop: stop.clone(),
    });
    let transfers = Transfers::new(store.clone(), handlers.clone(), config.stream_timeout);
    let Handlers {
        threads,
        messages,
        recalls,
        contexts,
        policies,
        memories,
        working_memories,
        nodes,
        events,
        plans,
        documents,
        memory_files,
        checkpoints,
        files,
        observations,
        ledgers,
    } = handlers;
    let admin = Admin {
        store: store.clone(),
        indexes: indexes.clone(),
        indexer: indexer.clone(),
        recall,
        distiller,
        daily_token_budget,
        started: OffsetDateTime::now_utc(),
        quotas,
    };
    let keys = Keys::new(store, auth);
    let subscriptions = SubscriptionHandlers::new(secrets.subscriptions(), stop);
    let secrets = SecretStore { secrets };
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            // So that grpcurl prints the details of errors in words.
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
    };
    // The same for all services but those of [`UNCOMPRESSED`].
    macro_rules! with_limits {
        ($service:expr) => {
            $service
                .accept_compressed(Gzip)
                .send_compressed(Gzip)
                .max_decoding_message_size(MESSAGE_BYTES)
        };
    }
    Ok(Routes::new(health)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?)
        .add_service(with_limits!(ThreadServiceServer::new(threads)))
        .add_service(with_limits!(MessageServiceServer::new(messages)))
        .add_service(with_limits!(RecallServiceServer::new(recalls)))
        .add_service(with_limits!(ContextServiceServer::new(contexts)))
        .add_service(with_limits!(PolicyServiceServer::new(policies)))
        .add_service(with_limits!(MemoryServiceServer::new(memories)))
        .add_service(with_limits!(WorkingMemoryServiceServer::new(
            working_memories
        )))
        .add_service(with_limits!(NodeMemoryServiceServer::new(nodes)))
        .add_service(with_limits!(EventServiceServer::new(events)))
        .add_service(with_limits!(PlanServiceServer::new(plans)))
        .add_service(with_limits!(DocumentServiceServer::new(documents)))
        .add_service(with_limits!(MemoryFileServiceServer::new(memory_files)))
        .add_service(with_limits!(TransferServiceServer::new(transfers)))
        // Uncompressed: gzip takes ten times as long as all else, and states are read by
        // workers nearby.
        .add_service(
            CheckpointServiceServer::new(checkpoints)
                .accept_compressed(Gzip)
                .max_decoding_message_size(MESSAGE_BYTES),
        )
        .add_service(with_limits!(FileServiceServer::new(files)))
        .add_service(with_limits!(ObservationServiceServer::new(observations)))
        .add_service(with_limits!(LedgerServiceServer::new(ledgers)))
        .add_service(with_limits!(AdminServiceServer::new(admin)))
        .add_service(
            KeyServiceServer::new(keys)
                .accept_compressed(Gzip)
                .max_decoding_message_size(MESSAGE_BYTES),
        )
        .add_service(
            SecretServiceServer::new(secrets)
                .accept_compressed(Gzip)
                .max_decoding_message_size(MESSAGE_BYTES),
        )
        .add_service(
            SubscriptionServiceServer::new(subscriptions)
                .accept_compressed(Gzip)
                .max_decoding_message_size(MESSAGE_BYTES),
        ))
}
