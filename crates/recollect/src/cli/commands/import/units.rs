//! Stores threads and working memories of other memory systems, one after the other.

use memory_contract::proto::{
    GetWorkingMemoryRequest, PutWorkingMemoryRequest, ResolveThreadRequest, SetHeadRequest,
};
use tonic::{Code, Status};

use super::summary::Besides;
use crate::cli::client::Client;

/// Stores threads, and working memories of sessions that have none.
pub(super) struct Units<'a> {
    client: &'a Client,
    pub(super) besides: Besides,
}

impl<'a> Units<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self {
            client,
            besides: Besides::default(),
        }
    }

    /// Creates a thread where there is none, and returns its id.
    pub(super) async fn thread(&mut self, request: ResolveThreadRequest) -> Result<String, String> {
        let name = request.session.clone().unwrap_or_default().session_key;
        let resolved = self.client.threads().resolve_thread(request).await;
        let resolved =
            resolved.map_err(|status| format!("the thread {name}: {}", status.message()))?;
        Ok(resolved.into_inner().thread.unwrap_or_default().thread_id)
    }

    /// Sets the head of a thread, unless the thread went on since its messages were stored.
    pub(super) async fn head(&mut self, request: SetHeadRequest) -> Result<(), String> {
        match self.client.threads().set_head(request).await {
            Ok(_) => Ok(()),
            Err(status) if status.code() == Code::Aborted => Ok(()),
            Err(status) => Err(format!("the head of the thread: {}", problem_of(status))),
        }
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
}

pub(super) fn problem_of(status: Status) -> String {
    status.message().to_owned()
}
