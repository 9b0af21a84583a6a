//! The clients of one connection.

use memory_contract::proto::{
    MemoryPolicy, ResolveThreadRequest, SessionRef, Thread, UpdateThreadRequest,
    admin_service_client::AdminServiceClient, context_service_client::ContextServiceClient,
    memory_service_client::MemoryServiceClient, message_service_client::MessageServiceClient,
    node_memory_service_client::NodeMemoryServiceClient,
    observation_service_client::ObservationServiceClient,
    policy_service_client::PolicyServiceClient, recall_service_client::RecallServiceClient,
    thread_service_client::ThreadServiceClient,
};
use prost_types::FieldMask;
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::Channel,
};

use crate::Failure;

/// A channel that carries the API key.
pub type Authorized = InterceptedService<Channel, Key>;

/// One client of each service, over one connection.
#[derive(Clone)]
pub struct Clients {
    pub threads: ThreadServiceClient<Authorized>,
    pub messages: MessageServiceClient<Authorized>,
    pub recall: RecallServiceClient<Authorized>,
    pub contexts: ContextServiceClient<Authorized>,
    /// Observations of threads.
    pub observations: ObservationServiceClient<Authorized>,
    /// Long-term memories.
    pub memories: MemoryServiceClient<Authorized>,
    pub nodes: NodeMemoryServiceClient<Authorized>,
    /// Policies of apps.
    pub policies: PolicyServiceClient<Authorized>,
    /// Administration.
    pub admin: AdminServiceClient<Authorized>,
}

impl Clients {
    /// Clients over a connection, with an API key.
    pub fn new(channel: Channel, key: &Key) -> Self {
        Self {
            threads: ThreadServiceClient::with_interceptor(channel.clone(), key.clone()),
            messages: MessageServiceClient::with_interceptor(channel.clone(), key.clone()),
            recall: RecallServiceClient::with_interceptor(channel.clone(), key.clone()),
            contexts: ContextServiceClient::with_interceptor(channel.clone(), key.clone()),
            observations: ObservationServiceClient::with_interceptor(channel.clone(), key.clone()),
            memories: MemoryServiceClient::with_interceptor(channel.clone(), key.clone()),
            nodes: NodeMemoryServiceClient::with_interceptor(channel.clone(), key.clone()),
            policies: PolicyServiceClient::with_interceptor(channel.clone(), key.clone()),
            admin: AdminServiceClient::with_interceptor(channel, key.clone()),
        }
    }

    /// The id of a session's thread, which is created if it does not exist.
    pub async fn thread(&mut self, app: &str, user: &str, key: &str) -> Result<String, Failure> {
        let request = ResolveThreadRequest {
            session: Some(SessionRef {
                app_id: app.to_owned(),
                user_id: user.to_owned(),
                session_key: key.to_owned(),
                agent_session_key: String::new(),
            }),
            ..Default::default()
        };
        let resolved = self.threads.resolve_thread(request).await?.into_inner();
        Ok(resolved.thread.ok_or("no thread")?.thread_id)
    }

    /// The same, with a policy.
    pub async fn thread_with_policy(
        &mut self,
        app: &str,
        user: &str,
        key: &str,
        policy: MemoryPolicy,
    ) -> Result<String, Failure> {
        let thread_id = self.thread(app, user, key).await?;
        let request = UpdateThreadRequest {
            thread: Some(Thread {
                thread_id: thread_id.clone(),
                policy: Some(policy),
                ..Default::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["policy".to_owned()],
            }),
            precondition: None,
        };
        self.threads.update_thread(request).await?;
        Ok(thread_id)
    }
}

/// A new app id, so that runs do not share data.
pub fn new_app() -> String {
    format!("bench-{}", uuid::Uuid::now_v7())
}

/// Puts the API key on each call.
#[derive(Clone)]
pub struct Key(Option<MetadataValue<Ascii>>);

impl Key {
    /// No key, for a service that needs none.
    pub fn none() -> Self {
        Self(None)
    }

    /// A key; `None` for a service that needs none.
    pub fn new(key: Option<&str>) -> Result<Self, Failure> {
        Ok(Self(
            key.map(|key| format!("Bearer {key}").parse()).transpose()?,
        ))
    }
}

impl Interceptor for Key {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("authorization", key.clone());
        }
        Ok(request)
    }
}
