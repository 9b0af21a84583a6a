//! Contexts: everything that a model is given for one request.

mod assemble;
mod block;
mod distilled;
mod hash;
mod memory;
mod prompt;
mod recalled;
mod remembered;
mod render;
mod request;

use memory_budget::Budget;
use memory_contract::proto::context_service_server::ContextService;
use memory_contract::proto::{BuildContextRequest, BuildContextResponse};
use memory_contract::{
    FileLocation, Invalid, MemoryMode, MemoryOwner, PolicyLevel, ResolvedPolicy, TenantId,
    ThreadId, limits,
};
use memory_recall::Recall;
use memory_store::{Scope, Store, waiting_until};
use tonic::{Request, Response, Status, async_trait};

pub(super) use self::render::words;

use self::assemble::Material;
use self::memory::{Memory, Reading, of_others};
use self::prompt::Prompt;
use self::remembered::remembered;
use self::request::Wanted;
use super::files::{KnownFiles, location};
use super::recall::patience;
use super::sessions::Conversation;
use super::tokens::{counting, size_of};
use crate::error::ApiError;
use crate::layers::tenant_of;

/// Compiles contexts.
#[derive(Clone)]
pub(crate) struct Contexts {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
}

#[async_trait]
impl ContextService for Contexts {
    async fn build_context(
        &self,
        request: Request<BuildContextRequest>,
    ) -> Result<Response<BuildContextResponse>, Status> {
        Ok(Response::new(self.build(request).await?))
    }
}

impl Contexts {
    async fn build(
        &self,
        request: Request<BuildContextRequest>,
    ) -> Result<BuildContextResponse, ApiError> {
        let tenant = tenant_of(&request)?;
        let patience = patience(&request);
        let (metadata, _, request) = request.into_parts();
        let mut wanted = request::read(&self.store, &tenant, &metadata, request).await?;
        wanted.wait_until = wanted.wait_until.min(patience);
        let Conversed {
            thread,
            scope,
            owner,
            policy,
        } = self.policies(&tenant, &wanted).await?;
        if policy.mode == MemoryMode::Node && wanted.node_id.is_empty() {
            let problem = format!(
                "is required in MEMORY_MODE_NODE: 1 to {} characters",
                limits::NODE_ID_CHARS
            );
            return Err(Invalid::new("node_id", problem).into());
        }
        let prompt = prompt(&mut wanted, &policy).await?;
        let max_tokens = wanted.max_tokens - prompt.tokens;
        let memory = match thread.zip(scope) {
            Some((thread, scope)) => {
                let reading = Reading {
                    store: &self.store,
                    recall: &self.recall,
                    tenant: &tenant,
                    thread,
                    scope,
                    owner: owner.as_ref(),
                    policy: &policy,
                    wanted: &wanted,
                    max_tokens,
                };
                waiting_until(patience, reading.read()).await?
            }
            None => match &wanted.conversation {
                Some(Conversation::Session(session)) => {
                    let (recall, owner) = (&self.recall, owner.as_ref());
                    let (memory, known) = tokio::try_join!(
                        of_others(recall, &tenant, session, &policy, &wanted),
                        remembered(recall, &tenant, owner, &policy, &wanted, &wanted.query)
                    )?;
                    memory.with(known)
                }
                Some(Conversation::Thread(_)) | None => Memory::default(),
            },
        };
        let known = KnownFiles::of(&self.store, &tenant, locations(&prompt, &memory)).await?;
        let material = Material {
            prompt,
            thread,
            memory,
            known,
            policy,
            budget: Budget {
                max_tokens,
                message_limit: usize::MAX,
                oversized_turn: wanted.oversized_turn,
                tokenizer: wanted.tokenizer,
            },
            max_tokens: wanted.max_tokens,
            formats: wanted.formats,
        };
        let bytes = material.bytes();
        counting(bytes, wanted.tokenizer, || material.assemble()).await?
    }

    /// The conversation's thread, if it has one yet, whose long-term memories there
    /// are, and the policy that holds, in one round trip.
    async fn policies(&self, tenant: &TenantId, wanted: &Wanted) -> Result<Conversed, ApiError> {
        match &wanted.conversation {
            Some(Conversation::Thread(thread)) => {
                let (policies, any) = self.store.policies_and_memories(tenant, *thread).await?;
                let session = &policies.thread.session;
                let policy = policies.resolve_with(&wanted.policy);
                Ok(Conversed {
                    thread: Some(*thread),
                    scope: Some(Scope::of_thread(*thread, session, policy.scope)),
                    owner: any.then(|| MemoryOwner::of(session)),
                    policy,
                })
            }
            Some(Conversation::Session(session)) => {
                let (thread, app, any) = self
                    .store
                    .session_policies_and_memories(tenant, session)
                    .await?;
                let (thread, own) = match thread {
                    Some(thread) => (Some(thread.id), thread.policy),
                    None => (None, Default::default()),
                };
                let policy = ResolvedPolicy::resolve(&[
                    (PolicyLevel::App, &app),
                    (PolicyLevel::Thread, &own),
                    (PolicyLevel::Request, &wanted.policy),
                ]);
                Ok(Conversed {
                    thread,
                    scope: thread.map(|id| Scope::of_thread(id, session, policy.scope)),
                    owner: any.then(|| MemoryOwner::of(session)),
                    policy,
                })
            }
            None => Ok(Conversed {
                thread: None,
                scope: None,
                owner: None,
                policy: ResolvedPolicy::resolve(&[(PolicyLevel::Request, &wanted.policy)]),
            }),
        }
    }
}

/// What is known of a conversation before anything of it is read.
struct Conversed {
    thread: Option<ThreadId>,
    /// Which messages a search may find, where there is a thread.
    scope: Option<Scope>,
    owner: Option<MemoryOwner>,
    policy: ResolvedPolicy,
}

/// The system prompt and the input. Both are taken out of the request.
async fn prompt(wanted: &mut Wanted, policy: &ResolvedPolicy) -> Result<Prompt, ApiError> {
    let system_prompt = std::mem::take(&mut wanted.system_prompt);
    let input = std::mem::take(&mut wanted.input);
    let input_name = std::mem::take(&mut wanted.input_name);
    let (tokenizer, max_tokens) = (wanted.tokenizer, wanted.max_tokens);
    let policy = policy.clone();
    let bytes = system_prompt.len() + size_of(&input);
    counting(bytes, tokenizer, move || {
        Prompt::new(
            system_prompt,
            input,
            input_name,
            &policy,
            tokenizer,
            max_tokens,
        )
    })
    .await?
}

/// Where the files are that a context may refer to, what is wanted most first. What
/// is quoted refers to none.
fn locations<'a>(
    prompt: &'a Prompt,
    memory: &'a Memory,
) -> impl Iterator<Item = &'a FileLocation> + use<'a> {
    let input = prompt.input.iter().flat_map(|block| &block.messages);
    let input = input.flat_map(|said| &said.parts).filter_map(location);
    let recent = memory.recent.messages.iter().rev();
    let recent = recent.flat_map(|message| &message.parts);
    let node = memory.dialogue.messages.iter().rev();
    let node = node.flat_map(|message| &message.files);
    input
        .chain(recent.filter_map(location))
        .chain(node.map(|file| &file.location))
}
