//! Short calls, which panic where the service answers with an error.

use memory_contract::proto::{
    AppPolicy, AppendMessagesRequest, AppendMessagesResponse, BuildContextRequest,
    BuildContextResponse, ClearThreadRequest, ClearThreadResponse, DeleteAppPolicyRequest,
    DeleteAppPolicyResponse, DeleteMessageRequest, DeleteMessageResponse, DeleteThreadRequest,
    DeleteThreadResponse, GetIndexStatusRequest, GetIndexStatusResponse, GetThreadRequest,
    ListMessagesRequest, MemoryPolicy, Message, MessageInput, RecallRequest, RecallResponse,
    ResolveThreadRequest, RevokeApiKeyRequest, RevokeApiKeyResponse, Role, SearchRequest,
    SearchResponse, SessionRef, Thread, UpdateAppPolicyRequest, UpdateThreadRequest,
};

use crate::client::Client;
use crate::messages::{by_id, mask, say, seconds, session, target_thread, turn};
use crate::wait::fresh;

/// The user whom tests talk to unless they need another.
pub const USER_DEFAULT: &str = "ada";

impl Client {
    /// The thread of a session; it is created if it does not exist.
    pub async fn resolve(&self, session: SessionRef) -> Thread {
        let request = ResolveThreadRequest {
            session: Some(session),
            ..Default::default()
        };
        self.call(request).await.thread.unwrap()
    }

    /// A new thread of the usual user; its id.
    pub async fn thread(&self, app: &str) -> String {
        self.thread_of(app, USER_DEFAULT).await
    }

    /// A new thread of a user; its id.
    pub async fn thread_of(&self, app: &str, user: &str) -> String {
        let key = format!("thread:{}", uuid::Uuid::new_v4());
        self.resolve(session(app, user, &key)).await.thread_id
    }

    pub async fn get_thread(&self, thread_id: &str) -> Thread {
        let request = GetThreadRequest {
            thread: by_id(thread_id),
        };
        self.call(request).await.thread.unwrap()
    }

    /// Ends a thread's life a second from now. One that was given so short a life
    /// when it was made could end before anything is in it.
    pub async fn expire(&self, thread_id: &str) {
        let request = UpdateThreadRequest {
            thread: Some(Thread {
                thread_id: thread_id.to_owned(),
                ttl: Some(seconds(1)),
                ..Default::default()
            }),
            update_mask: Some(mask(&["ttl"])),
            precondition: None,
        };
        self.call(request).await;
    }

    /// Stores messages at the end of a thread.
    pub async fn append(
        &self,
        thread_id: &str,
        messages: Vec<MessageInput>,
    ) -> AppendMessagesResponse {
        let request = AppendMessagesRequest {
            thread: by_id(thread_id),
            messages,
            ..Default::default()
        };
        self.call(request).await
    }

    /// Stores a text of the user at the end of a thread.
    pub async fn append_text(&self, thread_id: &str, text: &str) -> AppendMessagesResponse {
        self.append(thread_id, vec![say(Role::User, text)]).await
    }

    /// Stores a question and its answer at the end of a thread.
    pub async fn append_turn(
        &self,
        thread_id: &str,
        question: &str,
        answer: &str,
    ) -> AppendMessagesResponse {
        self.append(thread_id, turn(question, answer)).await
    }

    pub async fn delete_message(&self, thread_id: &str, message_id: &str) -> DeleteMessageResponse {
        let request = DeleteMessageRequest {
            thread: by_id(thread_id),
            message_id: message_id.to_owned(),
        };
        self.call(request).await
    }

    pub async fn clear_thread(&self, thread_id: &str) -> ClearThreadResponse {
        let thread_id = thread_id.to_owned();
        self.call(ClearThreadRequest {
            thread: by_id(thread_id),
        })
        .await
    }

    pub async fn delete_thread(&self, thread_id: &str) -> DeleteThreadResponse {
        let thread_id = thread_id.to_owned();
        self.call(DeleteThreadRequest {
            thread: by_id(thread_id),
        })
        .await
    }

    /// Replaces the whole policy of an app.
    pub async fn set_policy(&self, app: &str, policy: MemoryPolicy) -> AppPolicy {
        let request = UpdateAppPolicyRequest {
            app_policy: Some(AppPolicy {
                app_id: app.to_owned(),
                policy: Some(policy),
                ..Default::default()
            }),
            update_mask: Some(mask(&["policy"])),
            precondition: None,
        };
        self.call(request).await.app_policy.unwrap()
    }

    pub async fn revoke_key(&self, name: &str) -> RevokeApiKeyResponse {
        let name = name.to_owned();
        self.call(RevokeApiKeyRequest { name }).await
    }

    pub async fn delete_policy(&self, app: &str) -> DeleteAppPolicyResponse {
        let request = DeleteAppPolicyRequest {
            app_id: app.to_owned(),
            precondition: None,
        };
        self.call(request).await
    }

    /// All messages that a list request selects, page by page.
    pub async fn list(&self, mut request: ListMessagesRequest) -> Vec<Message> {
        let mut all = Vec::new();
        loop {
            let page = self.call(request.clone()).await;
            all.extend(page.messages);
            if page.next_page_token.is_empty() {
                return all;
            }
            request.page_token = page.next_page_token;
        }
    }

    /// All messages of a thread, in order of seq.
    pub async fn all_messages(&self, thread_id: &str) -> Vec<Message> {
        self.list(ListMessagesRequest {
            target: target_thread(thread_id),
            page_size: 500,
            ..Default::default()
        })
        .await
    }

    /// A recall. With [`crate::fresh_wait`] it waits until the index is fresh.
    pub async fn recall(&self, request: RecallRequest) -> RecallResponse {
        fresh(self, request).await
    }

    /// A context. With [`crate::fresh_wait`] it waits until the index is fresh.
    pub async fn context(&self, request: BuildContextRequest) -> BuildContextResponse {
        fresh(self, request).await
    }

    /// A search. With [`crate::fresh_wait`] it waits until the index is fresh.
    pub async fn search(&self, request: SearchRequest) -> SearchResponse {
        fresh(self, request).await
    }

    /// How the index is doing for this caller's tenant.
    pub async fn index_status(&self) -> GetIndexStatusResponse {
        self.call(GetIndexStatusRequest {}).await
    }
}
