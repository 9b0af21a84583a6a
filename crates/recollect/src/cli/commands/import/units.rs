//! Stores what an export has besides messages, one after the other.

use std::collections::HashSet;

use memory_contract::proto::{
    AgentEvent, AppPolicy, AppendAttemptRequest, AppendEventsRequest, Attempt, ErrorReason, File,
    FlushNodeMemoryRequest, GetAppPolicyRequest, GetFileRequest, GetPlanRequest,
    GetWorkingMemoryRequest, NodeRef, Plan, Precondition, PutPlanRequest, PutWorkingMemoryRequest,
    RegisterFileRequest, ResolveThreadRequest, UpdateAppPolicyRequest, precondition::State,
};
use memory_contract::{FileLocation, UnitDigest, app_policy_digest, file_digest, plan_digest};
use prost::Message as _;
use prost_types::FieldMask;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use uuid::Uuid;

use super::summary::Besides;
use crate::cli::client::Client;
use crate::cli::import::{NodeTurn, hashed};
use crate::cli::output::one_line;

/// Events of one request.
const EVENTS: usize = 100;
/// Bytes at which a request has no more events. Each has at most 256 KiB.
const EVENT_BYTES: usize = 2 * 1024 * 1024;

/// Stores policies, files, threads, turns of nodes, plans and logs. What is there already
/// with the same content stays; with other content too, unless `replace` says
/// otherwise.
pub(super) struct Units<'a> {
    client: &'a Client,
    replace: bool,
    again: bool,
    /// The thread that turns of nodes belong to, and its name for people.
    thread: Option<(String, String)>,
    /// The node whose turns were added last.
    node: Option<NodeRef>,
    /// An export of a part has files once for each thread.
    files: HashSet<UnitDigest>,
    /// Events of the thread that wait for their batch, and their size.
    events: Vec<AgentEvent>,
    event_bytes: usize,
    pub(super) besides: Besides,
}

impl<'a> Units<'a> {
    pub(super) fn new(client: &'a Client, replace: bool, again: bool) -> Self {
        Self {
            client,
            replace,
            again,
            thread: None,
            node: None,
            files: HashSet::new(),
            events: Vec::new(),
            event_bytes: 0,
            besides: Besides::default(),
        }
    }

    pub(super) async fn app_policy(&mut self, wanted: AppPolicy) -> Result<(), String> {
        let digest = app_policy_digest(&wanted);
        let app_id = wanted.app_id;
        let mut policies = self.client.policies();
        let request = GetAppPolicyRequest {
            app_id: app_id.clone(),
        };
        let found = policies.get_app_policy(request).await.map_err(problem_of)?;
        let found = found.into_inner().app_policy.unwrap_or_default();
        if found.update_time.is_some() {
            if app_policy_digest(&found) == digest {
                self.besides.app_policies += 1;
                return Ok(());
            }
            if !self.replace {
                return Err(kept(&format!("the app {app_id} has another policy")));
            }
        }
        let request = UpdateAppPolicyRequest {
            app_policy: Some(AppPolicy {
                app_id,
                policy: wanted.policy,
                ..Default::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["policy".to_owned()],
            }),
            // An app without a policy has no etag.
            precondition: Some(Precondition {
                state: Some(match found.etag.is_empty() {
                    true => State::Absent(()),
                    false => State::Etag(found.etag),
                }),
            }),
        };
        let updated = policies.update_app_policy(request).await;
        updated.map_err(problem_of)?;
        self.besides.app_policies += 1;
        Ok(())
    }

    pub(super) async fn file(&mut self, wanted: File) -> Result<(), String> {
        let digest = file_digest(&wanted);
        if !self.files.insert(digest) {
            return Ok(());
        }
        let location = wanted.location.clone().map(FileLocation::from);
        let mut files = self.client.files();
        let request = GetFileRequest {
            location: location.clone().map(Into::into),
        };
        match files.get_file(request).await {
            Ok(found) => {
                let found = found.into_inner().file.unwrap_or_default();
                if file_digest(&found) == digest {
                    self.besides.files += 1;
                    return Ok(());
                }
                if !self.replace {
                    let name = location.as_ref().map_or("", FileLocation::as_str);
                    let name = one_line(name, 80);
                    return Err(kept(&format!("the file {name} has other metadata")));
                }
            }
            Err(status) if status.code() == Code::NotFound => {}
            Err(status) => return Err(problem_of(status)),
        }
        let request = RegisterFileRequest { file: Some(wanted) };
        files.register_file(request).await.map_err(problem_of)?;
        self.besides.files += 1;
        Ok(())
    }

    pub(super) async fn thread(&mut self, request: ResolveThreadRequest) -> Result<(), String> {
        self.thread = None;
        let name = request.session.clone().unwrap_or_default().session_key;
        let resolved = self.client.threads().resolve_thread(request).await;
        let thread = resolved
            .map_err(|status| format!("the thread {name}: {}", status.message()))?
            .into_inner()
            .thread
            .unwrap_or_default();
        self.thread = Some((thread.thread_id, name));
        Ok(())
    }

    /// The id of the thread that was stored last, where it was.
    pub(super) fn thread_id(&self) -> Option<String> {
        self.thread.as_ref().map(|(thread_id, _)| thread_id.clone())
    }

    /// The thread that was stored last, where it was: its id and its name.
    pub(super) fn end_thread(&mut self) -> Option<(String, String)> {
        self.thread.take()
    }

    pub(super) async fn node_turn(&mut self, turn: NodeTurn) -> Result<(), String> {
        let request = turn.request(&self.thread_of("node's memory")?);
        self.node.clone_from(&request.node);
        match self.client.nodes().add_node_turn(request).await {
            Err(status) if !is_known(&status) => return Err(problem_of(status)),
            _ => self.besides.node_turns += 1,
        }
        Ok(())
    }

    /// Stores the working memory of a session that has none. One that an earlier import
    /// stored stays.
    pub(super) async fn working_memory(
        &mut self,
        request: PutWorkingMemoryRequest,
    ) -> Result<(), String> {
        let mut memories = self.client.working_memories();
        let (summary, data) = (request.summary.clone(), request.data.clone());
        let thread = request.thread.clone();
        let messages = request.messages.len() as u64;
        match memories.put_working_memory(request).await {
            Ok(_) => self.besides.put_messages += messages,
            Err(status) if status.code() == Code::Aborted => {
                let request = GetWorkingMemoryRequest {
                    thread,
                    ..Default::default()
                };
                let found = memories.get_working_memory(request).await;
                let found = found.map_err(problem_of)?.into_inner();
                let there = found.working_memory.unwrap_or_default();
                let wanted = (summary.unwrap_or_default(), data.unwrap_or_default());
                if (there.summary, there.data) != wanted {
                    return Err("the session has another working memory, which was kept".to_owned());
                }
                self.besides.known_messages += messages;
            }
            Err(status) => return Err(problem_of(status)),
        }
        self.besides.working_memories += 1;
        Ok(())
    }

    pub(super) async fn plan(&mut self, wanted: Plan) -> Result<(), String> {
        let thread_id = self.thread_of("plan")?;
        let digest = plan_digest(&wanted);
        let mut plans = self.client.plans();
        let request = GetPlanRequest {
            thread: Some(thread_id.clone().into()),
        };
        let mut state = State::Absent(());
        match plans.get_plan(request).await {
            Ok(found) => {
                let found = found.into_inner().plan.unwrap_or_default();
                if plan_digest(&found) == digest {
                    self.besides.plans += 1;
                    return Ok(());
                }
                if !self.replace {
                    return Err(kept("the thread has another plan"));
                }
                state = State::Etag(found.etag);
            }
            Err(status) if status.code() == Code::NotFound => {}
            Err(status) => return Err(problem_of(status)),
        }
        let request = PutPlanRequest {
            thread: Some(thread_id.into()),
            plan: Some(wanted),
            precondition: Some(Precondition { state: Some(state) }),
        };
        plans.put_plan(request).await.map_err(problem_of)?;
        self.besides.plans += 1;
        Ok(())
    }

    pub(super) async fn attempt(&mut self, attempt: Attempt) -> Result<(), String> {
        let thread_id = self.thread_of("log")?;
        // The same each time, and another one for what was tried twice alike.
        let request_id = match self.again {
            true => Uuid::now_v7(),
            false => hashed(&[thread_id.as_bytes(), &attempt.encode_to_vec()]),
        };
        let request = AppendAttemptRequest {
            thread: Some(thread_id.into()),
            attempt: Some(attempt),
            request_id: request_id.to_string(),
        };
        let appended = self.client.plans().append_attempt(request).await;
        appended.map_err(problem_of)?;
        self.besides.attempts += 1;
        Ok(())
    }

    /// Stores an event with those before it, a batch at a time; [`Units::end_events`]
    /// stores the rest.
    pub(super) async fn event(&mut self, event: AgentEvent) -> Result<(), String> {
        self.thread_of("event")?;
        self.event_bytes += event.encoded_len();
        self.events.push(event);
        match self.events.len() >= EVENTS || self.event_bytes >= EVENT_BYTES {
            true => self.end_events().await,
            false => Ok(()),
        }
    }

    /// Stores the events that wait for their batch.
    pub(super) async fn end_events(&mut self) -> Result<(), String> {
        let events = std::mem::take(&mut self.events);
        self.event_bytes = 0;
        if events.is_empty() {
            return Ok(());
        }
        let thread_id = self.thread_of("event")?;
        let count = events.len() as u64;
        // The same each time: the numbers of the events tell batches apart.
        let request_id = match self.again {
            true => Uuid::now_v7(),
            false => {
                let encoded: Vec<Vec<u8>> = events.iter().map(AgentEvent::encode_to_vec).collect();
                let parts = std::iter::once(thread_id.as_bytes());
                let parts = parts.chain(encoded.iter().map(Vec::as_slice));
                hashed(&parts.collect::<Vec<_>>())
            }
        };
        let request = AppendEventsRequest {
            thread: Some(thread_id.into()),
            events,
            request_id: request_id.to_string(),
        };
        let appended = self.client.events().append_events(request).await;
        appended.map_err(|status| format!("{count} events: {}", status.message()))?;
        self.besides.events += count;
        Ok(())
    }

    fn thread_of(&self, what: &str) -> Result<String, String> {
        match &self.thread {
            Some((thread_id, _)) => Ok(thread_id.clone()),
            None => Err(format!("the thread of this {what} was not stored")),
        }
    }

    pub(super) async fn end_node(&mut self) -> Result<(), String> {
        let Some(node) = self.node.take() else {
            return Ok(());
        };
        let request = FlushNodeMemoryRequest { node: Some(node) };
        self.client
            .nodes()
            .flush_node_memory(request)
            .await
            .map(drop)
            .map_err(|status| format!("stored, and not flushed yet: {}", status.message()))
    }
}

/// Whether a turn was added by an earlier import, so long ago that its request
/// is forgotten.
fn is_known(status: &Status) -> bool {
    let known = ErrorReason::MessageAlreadyExists.as_str_name();
    let reason = status.get_details_error_info().map(|info| info.reason);
    reason.is_some_and(|reason| known.strip_prefix("ERROR_REASON_") == Some(reason.as_str()))
}

pub(super) fn problem_of(status: Status) -> String {
    status.message().to_owned()
}

fn kept(what: &str) -> String {
    format!("{what}, which was kept; --replace overwrites it")
}
