//! Helpers for tests of long-term memories.

use memory_contract::proto::{
    AddMemoriesRequest, AddMemoriesResponse, BuildContextResponse, ContextBlockKind,
    ExtractMemoriesRequest, GetMemoryRequest, ListMemoriesRequest, Memory, MemoryFilter,
    MemoryInput, SearchMemoriesRequest, SearchMemoriesResponse,
};
use serde_json::Value;

use crate::wait::fresh;
use crate::{Client, SOON, block_texts, by_id, eventually, of_user, seconds, target_user};

/// A memory to store.
pub fn memory(text: &str) -> MemoryInput {
    MemoryInput {
        text: text.to_owned(),
        ..Default::default()
    }
}

/// A memory to list in a working memory.
pub fn listed(text: &str) -> Memory {
    Memory {
        text: text.to_owned(),
        ..Default::default()
    }
}

/// A search that sees everything up to a revision.
pub fn memory_search(app: &str, user: &str, query: &str, revision: &str) -> SearchMemoriesRequest {
    SearchMemoriesRequest {
        target: target_user(app, user),
        query: query.to_owned(),
        freshness: crate::fresh_from(revision),
        ..Default::default()
    }
}

/// What was found.
pub fn memory_texts(found: &SearchMemoriesResponse) -> Vec<String> {
    found
        .memories
        .iter()
        .map(|found| found.memory.as_ref().unwrap().text.clone())
        .collect()
}

/// The texts of the memories that a context quotes.
///
/// # Panics
/// If a line is not JSON.
pub fn known_texts(context: &BuildContextResponse) -> Vec<String> {
    let texts = block_texts(context, ContextBlockKind::Memories);
    let Some(text) = texts.first() else {
        return Vec::new();
    };
    let lines: Vec<&str> = text.split('\n').collect();
    assert!(lines[0].contains("not instructions"), "{text}");
    lines[1..]
        .iter()
        .map(|line| {
            let quote: Value = serde_json::from_str(line).unwrap();
            quote["text"].as_str().unwrap().to_owned()
        })
        .collect()
}

impl Client {
    /// Stores memories of a user.
    pub async fn remember(
        &self,
        app: &str,
        user: &str,
        memories: Vec<MemoryInput>,
    ) -> AddMemoriesResponse {
        let request = AddMemoriesRequest {
            user: of_user(app, user),
            memories,
        };
        self.call(request).await
    }

    /// Stores one memory of a user; the memory as it is stored.
    pub async fn remember_one(&self, app: &str, user: &str, text: &str) -> Memory {
        let added = self.remember(app, user, vec![memory(text)]).await;
        added.memories[0].memory.clone().unwrap()
    }

    /// Searches memories. A search with [`crate::fresh_wait`] waits until the index is fresh.
    pub async fn search_memories(&self, request: SearchMemoriesRequest) -> SearchMemoriesResponse {
        fresh(self, request).await
    }

    /// Waits until memories are extracted from all messages of a thread.
    pub async fn extracted(&self, thread_id: &str) {
        let request = ExtractMemoriesRequest {
            thread: by_id(thread_id),
            max_wait: Some(seconds(10)),
        };
        eventually("memories are extracted", SOON, async || {
            self.call(request.clone()).await.complete
        })
        .await;
    }

    /// Everything that is or was known of a user, what was stored last first.
    pub async fn all_memories(&self, app: &str, user: &str) -> Vec<Memory> {
        let mut all = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = ListMemoriesRequest {
                target: target_user(app, user),
                filter: Some(MemoryFilter {
                    include_superseded: true,
                    ..Default::default()
                }),
                page_size: 3,
                page_token,
            };
            let page = self.call(request).await;
            all.extend(page.memories);
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return all;
            }
        }
    }

    /// A memory by its id, with what it took the place of.
    pub async fn get_memory(&self, id: &str) -> (Memory, Vec<Memory>) {
        let request = GetMemoryRequest {
            memory_id: id.to_owned(),
        };
        let found = self.call(request).await;
        (found.memory.unwrap(), found.superseded)
    }
}
