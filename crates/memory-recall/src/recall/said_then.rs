//! What was said at a time, for a query without a text.

use std::collections::HashSet;

use memory_contract::{AppId, MessageId, ThreadId, UserId, limits, message::Message};
use memory_store::{Caller, MessageQuery, Order, OwnerMessageQuery, SaidPlace, Scope};

use super::messages::Ranking;
use super::searcher::Searcher;
use crate::error::RecallError;
use crate::query::{Degradation, DegradationReason, RecallQuery};
use crate::rank::Ranked;

/// The pages that a list reads, for all apps of a space together: more where the space has more apps,
/// of each of which one page is read. A page of an app or a user tests the filter on at most 5,000
/// messages: 50,000 take about half a second. Without a bound a filter that few messages pass would
/// read all that an app has of the time, until the call's deadline.
const MOST_PAGES: usize = 10;
/// The most messages of a page after the first, which replaces messages on inactive branches.
const LATER_PAGE: usize = 500;
/// The bytes of a page, of which only ids and times are used.
const MAX_BYTES: u32 = limits::ANSWER_BYTES as u32;

/// What was said in a thread, in an app or to one of its users, as far as it was read.
struct List<'a> {
    /// When each message was said, and its id; the newest first.
    found: Vec<SaidPlace>,
    rest: Rest<'a>,
}

/// What is left to read of a list.
#[derive(Clone, Copy)]
enum Rest<'a> {
    /// A thread, after a seq.
    Thread(ThreadId, Option<i64>),
    /// An app, or one of its users, after a place.
    Owner(&'a AppId, Option<&'a UserId>, Option<SaidPlace>),
    Nothing,
}

impl Searcher {
    /// The newest messages of the scope that pass the filter and may be returned: `query.top_k`
    /// and as many as the recent window has, because those in the window are no matches.
    pub(super) async fn said_then(
        &self,
        caller: &Caller,
        query: &RecallQuery,
    ) -> Result<Ranking, RecallError> {
        let wanted = query.top_k + query.thread.map_or(0, |_| query.recent_window);
        let mut lists = lists_of(&query.scope);
        let mut pages = 0;
        while pages < MOST_PAGES && lists.iter().any(|list| list.lacks(wanted)) {
            for list in lists.iter_mut().filter(|list| list.lacks(wanted)) {
                self.read_page(caller, query, wanted, list).await?;
                pages += 1;
            }
        }
        let is_cut = lists.iter().any(|list| list.lacks(wanted));
        let mut found: Vec<SaidPlace> = lists.into_iter().flat_map(|list| list.found).collect();
        found.sort_unstable_by(|left, right| right.cmp(left));
        found.truncate(wanted);
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
            degradations: is_cut.then(list_is_cut).into_iter().collect(),
            ..Ranking::default()
        })
    }

    /// Reads the next page of a list, and keeps of it what may be returned.
    async fn read_page(
        &self,
        caller: &Caller,
        query: &RecallQuery,
        wanted: usize,
        list: &mut List<'_>,
    ) -> Result<(), RecallError> {
        let messages = self.store.messages(caller);
        let (filter, order) = (query.filter.clone(), Order::Descending);
        let (page, rest) = match list.rest {
            Rest::Thread(thread, after) => {
                let page = MessageQuery {
                    thread,
                    filter,
                    order,
                    after,
                    limit: limit(wanted, after.is_some()),
                    max_bytes: MAX_BYTES,
                };
                let page = messages.list_messages(&page).await?;
                let rest = page.next.map(|seq| Rest::Thread(thread, Some(seq)));
                (page.items, rest)
            }
            Rest::Owner(app, user, after) => {
                let page = OwnerMessageQuery {
                    app: app.clone(),
                    user: user.cloned(),
                    filter,
                    order,
                    after,
                    limit: limit(wanted, after.is_some()),
                    max_bytes: MAX_BYTES,
                };
                let page = messages.list_messages_of(&page).await?;
                let rest = page.next.map(|place| Rest::Owner(app, user, Some(place)));
                (page.items, rest)
            }
            Rest::Nothing => return Ok(()),
        };
        list.rest = rest.unwrap_or(Rest::Nothing);
        let mut said: Vec<SaidPlace> = page.iter().map(said).collect();
        if !query.all_branches {
            let ids: Vec<MessageId> = said.iter().map(|(_, id)| *id).collect();
            let paths = messages.hydrate_paths(&query.scope, query.head(), &ids);
            let active = paths.await?.into_iter().filter(|(_, active)| *active);
            let active: HashSet<MessageId> = active.map(|(id, _)| id).collect();
            said.retain(|(_, id)| active.contains(id));
        }
        list.found.extend(said);
        Ok(())
    }
}

impl List<'_> {
    /// Whether it has fewer messages than are wanted, and more to read.
    fn lacks(&self, wanted: usize) -> bool {
        self.found.len() < wanted && !matches!(self.rest, Rest::Nothing)
    }
}

/// The lists of a scope, none of which is read yet: of a space one for each app.
fn lists_of(scope: &Scope) -> Vec<List<'_>> {
    let rests = match scope {
        Scope::Thread(thread) => vec![Rest::Thread(*thread, None)],
        Scope::User { app, user } => vec![Rest::Owner(app, Some(user), None)],
        Scope::App(app) => vec![Rest::Owner(app, None, None)],
        Scope::Space { user, space } => {
            let apps = space.apps.iter();
            apps.map(|app| Rest::Owner(app, Some(user), None)).collect()
        }
    };
    let unread = |rest| List {
        found: Vec::new(),
        rest,
    };
    rests.into_iter().map(unread).collect()
}

fn said(message: &Message) -> SaidPlace {
    (message.created, message.id)
}

fn limit(wanted: usize, later: bool) -> u32 {
    let limit = if later { LATER_PAGE } else { wanted };
    u32::try_from(limit).unwrap_or(u32::MAX)
}

fn list_is_cut() -> Degradation {
    Degradation {
        reason: DegradationReason::ListCut,
        message:
            "as many of the newest messages of that time were read as one call may; older ones may \
             be missing: to list them, narrow the time in `filter`"
                .to_owned(),
    }
}
