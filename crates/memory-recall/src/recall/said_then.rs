//! What was said at a time, for a query without a text.

use memory_contract::{AppId, MessageId, UserId, limits, message::Message};
use memory_store::{Caller, MessageQuery, Order, OwnerMessageQuery, Scope};
use time::OffsetDateTime;

use super::messages::Ranking;
use super::searcher::Searcher;
use crate::error::RecallError;
use crate::query::RecallQuery;
use crate::rank::Ranked;

/// When a message was said, and its id.
type Said = (OffsetDateTime, MessageId);

impl Searcher {
    /// The newest messages of the scope that pass the filter, at most `query.top_k`.
    pub(super) async fn said_then(
        &self,
        caller: &Caller,
        query: &RecallQuery,
    ) -> Result<Ranking, RecallError> {
        let mut found: Vec<Said> = match &query.scope {
            Scope::Thread(thread) => {
                let page = MessageQuery {
                    thread: *thread,
                    filter: query.filter.clone(),
                    order: Order::Descending,
                    after: None,
                    limit: limit(query),
                    max_bytes: MAX_BYTES,
                };
                let page = self.store.messages(caller).list_messages(&page).await?;
                page.items.iter().map(said).collect()
            }
            Scope::User { app, user } => self.said_to(caller, query, app, Some(user)).await?,
            Scope::App(app) => self.said_to(caller, query, app, None).await?,
            Scope::Space { user, space } => {
                let mut found = Vec::new();
                for app in &space.apps {
                    found.extend(self.said_to(caller, query, app, Some(user)).await?);
                }
                found
            }
        };
        found.sort_unstable_by(|left, right| right.cmp(left));
        found.truncate(query.top_k);
        let count = found.len() as f32;
        let ranked = found.iter().enumerate().map(|(place, (_, id))| Ranked {
            id: *id,
            weight: 1.0 - place as f32 / count,
            relevance: Some(0.0),
            dense: None,
            lexical: None,
            passage: None,
        });
        Ok(Ranking {
            ranked: ranked.collect(),
            ..Ranking::default()
        })
    }

    /// The newest messages of an app, or of one of its users, that pass the filter.
    async fn said_to(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        app: &AppId,
        user: Option<&UserId>,
    ) -> Result<Vec<Said>, RecallError> {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = OwnerMessageQuery {
                app: app.clone(),
                user: user.cloned(),
                filter: query.filter.clone(),
                order: Order::Descending,
                after,
                limit: limit(query),
                max_bytes: MAX_BYTES,
            };
            let page = self.store.messages(caller).list_messages_of(&page).await?;
            found.extend(page.items.iter().map(said));
            after = page.next;
            if after.is_none() || found.len() >= query.top_k {
                return Ok(found);
            }
        }
    }
}

/// The bytes of a page, of which only ids and times are used.
const MAX_BYTES: u32 = limits::ANSWER_BYTES as u32;

fn said(message: &Message) -> Said {
    (message.created, message.id)
}

fn limit(query: &RecallQuery) -> u32 {
    u32::try_from(query.top_k).unwrap_or(u32::MAX)
}
