//! Helpers for tests that watch threads.

use std::time::Duration;

use memory_contract::convert::{ReportedChange, change_of};
use memory_contract::proto::{WatchThreadRequest, WatchThreadResponse};
use tonic::Streaming;

use crate::by_id;
use crate::{Client, Failure};

const EVENT_TIMEOUT: Duration = Duration::from_secs(120);

/// The events of a watch.
pub struct Events {
    stream: Streaming<WatchThreadResponse>,
    /// The event that the stream started with.
    pub first: WatchThreadResponse,
}

/// What an event reports, in the words of the audit log.
pub trait Reported {
    fn change(&self) -> ReportedChange;

    /// Its action, such as `append_messages`.
    fn action(&self) -> String {
        self.change().action
    }

    /// The changed object besides the thread.
    fn subject(&self) -> String {
        self.change().subject
    }

    /// The number of changed items.
    fn item_count(&self) -> i64 {
        self.change().count
    }
}

impl Reported for WatchThreadResponse {
    fn change(&self) -> ReportedChange {
        change_of(self.event.as_ref().expect("an event is set"))
    }
}

impl Client {
    /// Watches a thread, from a cursor on where it is not empty.
    pub async fn watch(&self, thread_id: &str, cursor: &str) -> Events {
        let request = watch_request(thread_id, cursor);
        let stream = self.threads().watch_thread(request).await.unwrap();
        Events::begin(stream.into_inner()).await
    }

    /// As [`Client::watch`], with content.
    pub async fn watch_contents(&self, thread_id: &str, cursor: &str) -> Events {
        let request = WatchThreadRequest {
            include_content: true,
            ..watch_request(thread_id, cursor)
        };
        let stream = self.threads().watch_thread(request).await.unwrap();
        Events::begin(stream.into_inner()).await
    }
}

impl Events {
    /// Takes the first event of a stream.
    ///
    /// # Panics
    /// If it is another one than it has to be.
    pub async fn begin(stream: Streaming<WatchThreadResponse>) -> Self {
        let first = WatchThreadResponse::default();
        let mut events = Self { stream, first };
        events.first = events.next().await;
        assert_eq!(events.first.action(), "watch");
        assert!(!events.first.actor.is_empty() && !events.first.cursor.is_empty());
        events
    }

    /// The next event.
    ///
    /// # Panics
    /// If none arrives within the time limit.
    pub async fn next(&mut self) -> WatchThreadResponse {
        let event = self.try_next().await.unwrap();
        event.expect("the stream continues")
    }

    /// The actions of the next `count` events.
    pub async fn actions(&mut self, count: usize) -> Vec<String> {
        let mut actions = Vec::new();
        while actions.len() < count {
            actions.push(self.next().await.action());
        }
        actions
    }

    /// The events that are left, and how the stream ended.
    pub async fn rest(mut self) -> (Vec<WatchThreadResponse>, Option<Failure>) {
        let mut events = Vec::new();
        loop {
            match self.try_next().await {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return (events, None),
                Err(failure) => return (events, Some(failure)),
            }
        }
    }

    async fn try_next(&mut self) -> Result<Option<WatchThreadResponse>, Failure> {
        let next = tokio::time::timeout(EVENT_TIMEOUT, self.stream.message()).await;
        next.expect("no event in time").map_err(Failure::from)
    }
}

/// A watch of a thread, from a cursor on where it is not empty.
pub fn watch_request(thread_id: &str, cursor: &str) -> WatchThreadRequest {
    WatchThreadRequest {
        thread: by_id(thread_id),
        cursor: cursor.to_owned(),
        include_content: false,
    }
}
