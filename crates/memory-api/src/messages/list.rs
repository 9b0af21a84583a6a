//! Lists messages of a thread, a user or an app.

use memory_context::KnownFiles;
use memory_contract::proto::{self, ListMessagesRequest, ListMessagesResponse, MessagePath};
use memory_contract::{
    AppId, Invalid, InvalidFields, MessageId, MessageName, UserId, check,
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
use memory_store::{Caller, MessageQuery, Order, OwnerMessageQuery, PathPage, PathQuery, Place};
use prost::Message as _;
use tonic::Request;
use tonic::metadata::MetadataMap;

use super::Messages;
use crate::files::with_metadata;

const HEAD: &str = "path.head_message_id";

/// Whose messages to list.
#[derive(Debug)]
enum Listed {
    Thread(NamedConversation),
    /// The messages that lead to a message; `None`: to the thread's head.
    Path(NamedConversation, Option<MessageName>),
    Owner(AppId, Option<UserId>),
}

/// One page to read.
struct Wanted {
    filter: MessageFilter,
    order: Order,
    /// The place of the last message of the page before.
    after: Option<Position>,
    limit: u32,
}

/// A position in a list, as page tokens have it: a seq; or the depths of a message and of the
/// end of its path, the branch of the end, and the highest seq; or the time and the id of a message.
type Position = [i64; 3];

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
            path,
        } = request;
        let mut fields = Fields::default();
        let listed = fields.get_all(listed_from(&call, target, path));
        let filter = fields.take(filter_from(filter));
        let key = match &listed {
            Some(Listed::Owner(..)) => "create_time",
            Some(Listed::Thread(_) | Listed::Path(..)) | None => "seq",
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
        let wanted = Wanted {
            filter,
            order,
            after,
            limit,
        };
        let Found {
            messages: found,
            next,
            position,
        } = self.page_of(&caller, listed, wanted).await?;
        let positions: Vec<Position> = found.iter().map(|message| position.of(message)).collect();
        let known = KnownFiles::of_messages(&self.store, &caller, found.iter()).await?;
        let (messages, cut) = fit(found, &known);
        let last = messages.len().checked_sub(1);
        let next = match cut {
            true => last.and_then(|last| positions.get(last).copied()),
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
    ) -> Result<Found, ApiError> {
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
                Ok(Found {
                    messages: page.items,
                    next: page.next.map(|seq| [seq, 0, 0]),
                    position: PositionKind::Seq,
                })
            }
            Listed::Path(named, head) => {
                let query = PathQuery {
                    thread: named.thread(&self.store, caller).await?,
                    head,
                    filter,
                    order,
                    after: after.map(path_page).transpose()?,
                    limit,
                    max_bytes,
                };
                let page = messages.list_path(&query).await;
                let page = page.map_err(|error| ApiError::from(error).naming(HEAD))?;
                let position = PositionKind::Depth(page.end, page.last_seq);
                let last = page.messages.last().filter(|_| page.more);
                Ok(Found {
                    next: last.map(|message| position.of(message)),
                    messages: page.messages,
                    position,
                })
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
                Ok(Found {
                    messages: page.items,
                    next: page.next.map(|(at, id)| place_of((at, id.uuid()))),
                    position: PositionKind::Said,
                })
            }
        }
    }
}

/// A page that was read.
struct Found {
    messages: Vec<Message>,
    /// The place of the last message that was read if there are more.
    next: Option<Position>,
    position: PositionKind,
}

/// What the order of a list depends on.
#[derive(Clone, Copy)]
enum PositionKind {
    Seq,
    /// The depth on the path to a place, of messages up to a seq.
    Depth(Place, i64),
    Said,
}

impl PositionKind {
    fn of(self, message: &Message) -> Position {
        match self {
            Self::Seq => [message.seq, 0, 0],
            Self::Depth(Place { branch, depth }, last_seq) => {
                let depths = i64::from(message.depth) << 32 | i64::from(depth);
                [depths, branch.into(), last_seq]
            }
            Self::Said => place_of((message.created, message.id.uuid())),
        }
    }
}

fn path_page([depths, branch, last_seq]: Position) -> Result<PathPage, Invalid> {
    let number = |number| {
        u32::try_from(number)
            .ok()
            .and_then(|number| i32::try_from(number).ok())
    };
    let number = |value| number(value).ok_or_else(PageToken::foreign);
    let (after, depth) = (depths >> 32, depths & i64::from(u32::MAX));
    Ok(PathPage {
        end: Place {
            branch: number(branch)?,
            depth: number(depth)?,
        },
        last_seq,
        after_depth: number(after)?,
    })
}

fn listed_from(
    call: &MetadataMap,
    target: Option<proto::Target>,
    path: Option<MessagePath>,
) -> Result<Listed, InvalidFields> {
    let path = path.map(|path| check::optional_message_name(HEAD, &path.head_message_id));
    Ok(match (required_target_from(call, target)?, path) {
        (Target::Thread(named), None) => Listed::Thread(named),
        (Target::Thread(named), Some(head)) => Listed::Path(named, head?),
        (Target::User(..) | Target::App(_), Some(_)) => {
            let problem = "must be unset unless the target is a thread";
            return Err(Invalid::new("path", problem).into());
        }
        (Target::User(app, user), None) => Listed::Owner(app, Some(user)),
        (Target::App(app), None) => Listed::Owner(app, None),
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
