//! The gRPC server: services, layers and the transport's limits.

use std::time::Duration;

use memory_contract::proto::DESCRIPTORS;
use memory_contract::proto::admin_service_server::AdminServiceServer;
use memory_contract::proto::context_service_server::ContextServiceServer;
use memory_contract::proto::file_service_server::FileServiceServer;
use memory_contract::proto::key_service_server::KeyServiceServer;
use memory_contract::proto::ledger_service_server::LedgerServiceServer;
use memory_contract::proto::memory_service_server::MemoryServiceServer;
use memory_contract::proto::message_service_server::MessageServiceServer;
use memory_contract::proto::node_memory_service_server::NodeMemoryServiceServer;
use memory_contract::proto::observation_service_server::ObservationServiceServer;
use memory_contract::proto::plan_service_server::PlanServiceServer;
use memory_contract::proto::policy_service_server::PolicyServiceServer;
use memory_contract::proto::recall_service_server::RecallServiceServer;
use memory_contract::proto::secret_service_server::SecretServiceServer;
use memory_contract::proto::thread_service_server::ThreadServiceServer;
use memory_contract::proto::working_memory_service_server::WorkingMemoryServiceServer;
use memory_store::Authenticator;
use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;
use tonic::codec::CompressionEncoding::Gzip;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::ServiceBuilder;

use super::parts::Parts;
use super::{Listener, ServerError};
use crate::config::Config;
use crate::layers::{Auth, CatchPanic, Concurrency, Deadlines, Methods, Observe, Record, Repair};
use crate::refusals::RefusalLog;
use crate::services::{
    About, Admin, Contexts, Files, Keys, Ledgers, Memories, Messages, Nodes, Observations, Plans,
    Policies, Recalls, SecretStore, Threads, Watching, WorkingMemories,
};

/// The largest request. An append may have 3 MiB of messages.
const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Calls under way on one connection.
const STREAMS: u32 = 256;
/// Streams that a client may have reset before its connection is closed: a
/// client that opens and resets without end is not working, but attacking.
const LOCAL_RESETS: usize = 1_024;
const PENDING_RESETS: usize = 20;
const HEADER_BYTES: u32 = 16 * 1024;
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

/// Serves until it is told to stop, then until the last call has ended.
pub(super) async fn serve(
    config: &Config,
    methods: Methods,
    keys: Authenticator,
    refusals: RefusalLog,
    listener: Listener,
    routes: Routes,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error> {
    let server = &config.server;
    let layers = ServiceBuilder::new()
        .layer(Observe::new(methods.clone()))
        .layer(Record::new(methods.clone(), refusals))
        .layer(Repair)
        .layer(CatchPanic)
        .layer(Deadlines::new(
            methods.clone(),
            server.call_timeout,
            server.stream_timeout,
        ))
        .layer(Concurrency::new(
            methods.clone(),
            server.max_calls,
            server.max_streams,
            server.max_watches,
        ))
        .layer(Auth::new(methods, &config.auth, keys))
        .into_inner();
    let incoming = TcpIncoming::from(listener.0)
        .with_nodelay(Some(true))
        .with_keepalive(Some(TCP_KEEPALIVE));
    Server::builder()
        .max_concurrent_streams(STREAMS)
        .http2_max_local_error_reset_streams(Some(LOCAL_RESETS))
        .http2_max_pending_accept_reset_streams(Some(PENDING_RESETS))
        .http2_max_header_list_size(HEADER_BYTES)
        .http2_keepalive_interval(Some(server.keepalive_interval))
        .http2_keepalive_timeout(Some(server.keepalive_timeout))
        // Without a grace: tonic cuts the connection off then, without having
        // asked the client to go. Calls end by their deadlines anyway.
        .max_connection_age(server.max_connection_age)
        .layer(layers)
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming, stop.cancelled_owned())
        .await
}

/// All services over the parts; `stop` ends streams that would go on for ever.
pub(super) fn routes(
    config: &Config,
    parts: &Parts,
    health: HealthServer<impl Health>,
    stop: CancellationToken,
) -> Result<Routes, ServerError> {
    let Parts {
        store,
        outbox: _,
        index,
        embedder,
        recall,
        indexer: _,
        indexer_handle,
        secrets,
        distiller,
    } = parts;
    let about = About {
        embedding_model: embedder
            .as_ref()
            .map(|e| e.model().name.clone())
            .unwrap_or_default(),
        started: OffsetDateTime::now_utc(),
    };
    let threads = Threads {
        store: store.clone(),
        indexer: indexer_handle.clone(),
        watching: Watching {
            stop,
            retention: config.database.transaction_retention,
        },
    };
    let messages = Messages {
        store: store.clone(),
        indexer: indexer_handle.clone(),
        stream_timeout: config.server.stream_timeout,
    };
    let files = Files {
        store: store.clone(),
    };
    let recalls = Recalls {
        store: store.clone(),
        recall: recall.clone(),
    };
    let policies = Policies {
        store: store.clone(),
    };
    let contexts = Contexts {
        store: store.clone(),
        recall: recall.clone(),
    };
    let memories = Memories {
        store: store.clone(),
        recall: recall.clone(),
        indexer: indexer_handle.clone(),
    };
    let working_memories = WorkingMemories {
        store: store.clone(),
        indexer: indexer_handle.clone(),
    };
    let nodes = Nodes {
        store: store.clone(),
    };
    let plans = Plans {
        store: store.clone(),
    };
    let observations = Observations {
        store: store.clone(),
    };
    let ledgers = Ledgers {
        store: store.clone(),
    };
    let admin = Admin {
        store: store.clone(),
        index: index.clone(),
        indexer: indexer_handle.clone(),
        distiller: distiller.clone(),
        daily_token_budget: config.distill.daily_token_budget,
        about,
    };
    let keys = Keys::new(store.clone(), &config.auth);
    let secrets = SecretStore {
        secrets: secrets.clone(),
    };
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            // So that grpcurl prints the details of errors in words.
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
    };
    let broken = |error: tonic_reflection::server::Error| ServerError::Ended {
        part: "reflection",
        reason: error.to_string(),
    };
    // The same for all services but those of keys and secrets, whose answers are
    // sent as they are: a compressed answer's length tells of its content.
    macro_rules! with_limits {
        ($service:expr) => {
            $service
                .accept_compressed(Gzip)
                .send_compressed(Gzip)
                .max_decoding_message_size(MESSAGE_BYTES)
        };
    }
    Ok(Routes::new(health)
        .add_service(reflection().build_v1().map_err(broken)?)
        .add_service(reflection().build_v1alpha().map_err(broken)?)
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
        .add_service(with_limits!(PlanServiceServer::new(plans)))
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
        ))
}
