//! Lists messages of a thread, a user or an app.

use memory_context::KnownFiles;
use memory_contract::proto::{self, ListMessagesRequest, ListMessagesResponse};
use memory_contract::{
    AppId, InvalidFields, MessageId, UserId,
    convert::filter_from,
    limits,
    message::{Message, MessageFilter},
    page::PageToken,
};
use memory_grpc::request::{
    Fields, NamedConversation, Target, descends, page_limit, place_from, place_of,
    required_target_from,
};
use memory_grpc::{ApiError, caller_of};
use memory_store::{Caller, MessageQuery, Order, OwnerMessageQuery};
use prost::Message as _;
use tonic::Request;
use tonic::metadata::MetadataMap;

use super::Messages;
use crate::files::with_metadata;

/// Whose messages to list.
#[derive(Debug)]
enum Listed {
    Thread(NamedConversation),
    Owner(AppId, Option<UserId>),
}

/// One page to read.
struct Wanted {
    filter: MessageFilter,
    order: Order,
    /// The place of the last message of the page before.
    after: Option<Place>,
    limit: u32,
}

/// A place in a list, as page tokens have it: a seq, or the time and the id of a message.
type Place = [i64; 3];

impl Messages {
    pub(super) async fn list(
        &self,
        request: Request<ListMessagesRequest>,
    ) -> Result<ListMessagesResponse, ApiError> {
        let caller = caller_of(&request)?;
        let (call, _, request) = request.into_parts();
        let ListMessagesRequest {
            target,
            filter,
            order_by,
            page_size,
            page_token,
        } = request;
        let mut fields = Fields::default();
        let listed = fields.get_all(listed_from(&call, target));
        let filter = fields.take(filter_from(filter));
        let key = match &listed {
            Some(Listed::Owner(..)) => "create_time",
            Some(Listed::Thread(_)) | None => "seq",
        };
        let order = match fields.take(descends(key, &order_by)) {
            true => Order::Descending,
            false => Order::Ascending,
        };
        let limit = fields.take(page_limit(page_size));
        let identity = (
            "messages",
            caller.tenant.as_str(),
            format!("{listed:?}"),
            format!("{filter:?}"),
            order == Order::Descending,
        );
        let after = fields.take(PageToken::place(&identity, &page_token));
        let listed = fields.all(listed)?;
        let by_time = matches!(listed, Listed::Owner(..));
        let wanted = Wanted {
            filter,
            order,
            after,
            limit,
        };
        let (found, next) = self.page_of(&caller, listed, wanted).await?;
        let places: Vec<Place> = found
            .iter()
            .map(|message| match by_time {
                true => said_place(message),
                false => seq_place(message),
            })
            .collect();
        let known = KnownFiles::of_messages(&self.store, &caller, found.iter()).await?;
        let (messages, cut) = fit(found, &known);
        let last = messages.len().checked_sub(1);
        let next = match cut {
            true => last.and_then(|last| places.get(last).copied()),
            false => next,
        };
        let token = |place| PageToken::after_place(&identity, place);
        Ok(ListMessagesResponse {
            messages,
            next_page_token: next.map(token).unwrap_or_default(),
        })
    }

    /// The messages of a page, and the place of the last one that was read if there are
    /// more.
    async fn page_of(
        &self,
        caller: &Caller,
        listed: Listed,
        wanted: Wanted,
    ) -> Result<(Vec<Message>, Option<Place>), ApiError> {
        let Wanted {
            filter,
            order,
            after,
            limit,
        } = wanted;
        let max_bytes = u32::try_from(limits::PAGE_BYTES).unwrap_or(u32::MAX);
        let messages = self.store.messages(caller);
        match listed {
            Listed::Thread(named) => {
                let query = MessageQuery {
                    thread: named.thread(&self.store, caller).await?,
                    filter,
                    order,
                    after: after.map(|[seq, ..]| seq),
                    limit,
                    max_bytes,
                };
                let page = messages.list_messages(&query).await?;
                Ok((page.items, page.next.map(|seq| [seq, 0, 0])))
            }
            Listed::Owner(app, user) => {
                let query = OwnerMessageQuery {
                    app,
                    user,
                    filter,
                    order,
                    after: after.map(|place| {
                        let (time, id) = place_from(place);
                        (time, MessageId::from(id))
                    }),
                    limit,
                    max_bytes,
                };
                let page = messages.list_messages_of(&query).await?;
                let next = page.next.map(|(at, id)| place_of((at, id.uuid())));
                Ok((page.items, next))
            }
        }
    }
}

fn seq_place(message: &Message) -> Place {
    [message.seq, 0, 0]
}

fn said_place(message: &Message) -> Place {
    place_of((message.created, message.id.uuid()))
}

fn listed_from(call: &MetadataMap, target: Option<proto::Target>) -> Result<Listed, InvalidFields> {
    Ok(match required_target_from(call, target)? {
        Target::Thread(named) => Listed::Thread(named),
        Target::User(app, user) => Listed::Owner(app, Some(user)),
        Target::App(app) => Listed::Owner(app, None),
    })
}

/// As many messages, with their files, as a caller accepts at a time,
/// and whether that was not all. The first always fits.
fn fit(found: Vec<Message>, known: &KnownFiles) -> (Vec<proto::Message>, bool) {
    let count = found.len();
    let mut bytes = 0;
    let messages: Vec<proto::Message> = found
        .into_iter()
        .map(|message| with_metadata(message, known))
        .enumerate()
        .take_while(|(index, message)| {
            bytes += message.encoded_len() + 16;
            *index == 0 || bytes <= limits::PAGE_BYTES
        })
        .map(|(_, message)| message)
        .collect();
    let cut = messages.len() < count;
    (messages, cut)
}
