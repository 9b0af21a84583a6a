//! `WatchThread`: the changes of a thread as a stream.

mod content;

use std::time::Duration;

use memory_contract::proto::watch_thread_response::Event;
use memory_contract::proto::{WatchStarted, WatchThreadRequest, WatchThreadResponse};
use memory_contract::{
    Invalid, TenantId, ThreadId,
    convert::{event_from, timestamp},
    page::Cursor,
};
use memory_grpc::request::required_conversation_from;
use memory_grpc::{ApiError, Standing, caller_of, standing_of};
use memory_runtime::task;
use memory_store::{Change, Store, Transaction, Watch, WatchPlace};
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status};

use self::content::Content;

/// The most events that wait for a slow caller; reading pauses meanwhile.
const WAITING: usize = 16;
/// As [`WAITING`], where events have content: one may be as large as a response.
const WAITING_WITH_CONTENT: usize = 1;
/// The most that the clocks of the database and of this process may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(12 * 3_600);
/// The kind of stream that a cursor belongs to.
const WATCH: &str = "watch";

pub(crate) type Events = ReceiverStream<Result<WatchThreadResponse, Status>>;
type Sender = mpsc::Sender<Result<WatchThreadResponse, Status>>;

/// Settings of all streams of a server.
#[derive(Clone, Debug)]
pub(crate) struct Watching {
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
    /// How long changes are kept.
    pub(crate) retention: Duration,
}

/// Sends the changes of one thread.
pub(super) struct Watcher {
    watch: Watch,
    stream: Stream,
    content: Content,
    /// Named in the first event.
    actor: String,
    standing: Standing,
    stop: CancellationToken,
}

/// The stream that a cursor belongs to.
#[derive(Clone, Debug, Hash)]
struct Stream {
    kind: &'static str,
    tenant: TenantId,
    thread: ThreadId,
}

/// How a stream ended without an error.
enum End {
    /// The thread was deleted.
    Deleted,
    /// The caller closed the stream.
    Gone,
}

impl Watcher {
    /// Reads the request, and begins to watch.
    pub(super) async fn begin(
        store: &Store,
        watching: &Watching,
        request: Request<WatchThreadRequest>,
    ) -> Result<Self, ApiError> {
        let caller = caller_of(&request)?;
        let standing = standing_of(&request)?;
        let (call, _, request) = request.into_parts();
        let WatchThreadRequest {
            thread,
            cursor,
            include_content,
        } = request;
        let named = required_conversation_from(&call, thread)?;
        let thread = named.thread(store, &caller).await?;
        let stream = Stream {
            kind: WATCH,
            tenant: caller.tenant.clone(),
            thread,
        };
        let from = place(&stream, &cursor, watching.retention)?;
        Ok(Self {
            watch: store.threads(&caller).watch_thread(thread, from).await?,
            stream,
            actor: caller.actor.clone(),
            content: Content {
                store: store.clone(),
                caller,
                thread,
                included: include_content,
            },
            standing,
            stop: watching.stop.clone(),
        })
    }

    /// Sends events until the thread is deleted, the caller closes the stream, its key is
    /// revoked, or the server stops. A layer enforces the deadline of the call.
    pub(super) fn run(self) -> Events {
        let waiting = match self.content.included {
            true => WAITING_WITH_CONTENT,
            false => WAITING,
        };
        let (sender, receiver) = mpsc::channel(waiting);
        let Self {
            watch,
            stream,
            content,
            actor,
            standing,
            stop,
        } = self;
        let work = async move {
            let ended = tokio::select! {
                () = sender.closed() => return,
                () = stop.cancelled() => Err(ApiError::Stopping),
                () = standing.lost() => Err(ApiError::Unauthenticated),
                ended = send(watch, &stream, &content, actor, &sender) => ended,
            };
            match ended {
                Ok(End::Deleted | End::Gone) => {}
                // Without the error the stream would end as for a deleted thread. A slow
                // caller is waited for until the deadline of the call.
                Err(error) => drop(sender.send(Err(error.into())).await),
            }
        };
        // Ends when the caller stops reading.
        task::spawn_for_call("watch", work);
        ReceiverStream::new(receiver)
    }
}

async fn send(
    mut watch: Watch,
    stream: &Stream,
    content: &Content,
    actor: String,
    sender: &Sender,
) -> Result<End, ApiError> {
    let started = WatchThreadResponse {
        actor,
        create_time: Some(timestamp(OffsetDateTime::now_utc())),
        cursor: cursor(stream, watch.place()),
        event: Some(Event::Started(WatchStarted {})),
    };
    if sender.send(Ok(started)).await.is_err() {
        return Ok(End::Gone);
    }
    loop {
        let changes = watch.next().await?.into_iter();
        let mut responses: Vec<WatchThreadResponse> =
            changes.map(|change| response(stream, change)).collect();
        let events = responses.iter_mut().filter_map(|one| one.event.as_mut());
        content.add_ids(events).await?;
        for mut response in responses {
            // Content is read only once there is room for it.
            let Ok(permit) = sender.reserve().await else {
                return Ok(End::Gone);
            };
            if let Some(event) = &mut response.event {
                content.add(event).await?;
            }
            let is_last = matches!(response.event, Some(Event::ThreadDeleted(_)));
            permit.send(Ok(response));
            if is_last {
                return Ok(End::Deleted);
            }
        }
    }
}

/// A change without content.
fn response(stream: &Stream, change: Change) -> WatchThreadResponse {
    let Change { transaction, place } = change;
    let Transaction {
        actor,
        action,
        thread: _,
        subject,
        item_count,
        result: _,
        created,
    } = transaction;
    WatchThreadResponse {
        actor,
        create_time: Some(timestamp(created)),
        cursor: cursor(stream, place),
        event: Some(event_from(&action, &subject, item_count)),
    }
}

fn cursor(stream: &Stream, WatchPlace { chat, main }: WatchPlace) -> String {
    Cursor::at(stream, [chat, main])
}

/// Reads a cursor.
fn place(
    stream: &Stream,
    cursor: &str,
    retention: Duration,
) -> Result<Option<WatchPlace>, Invalid> {
    let Some([chat, main]) = Cursor::place(stream, cursor)? else {
        return Ok(None);
    };
    let place = WatchPlace { chat, main };
    let (time, now) = (place.time(), OffsetDateTime::now_utc());
    if time < now - retention {
        return Err(Invalid::new(
            "cursor",
            "is older than what the server keeps; start again without it",
        ));
    }
    if time > now + CLOCK_SKEW {
        return Err(Invalid::new(
            "cursor",
            "was not issued by this service; start again without it",
        ));
    }
    Ok(Some(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3_600);

    fn stream(tenant: &str, thread: u128) -> Stream {
        Stream {
            kind: WATCH,
            tenant: TenantId::new(tenant),
            thread: ThreadId::from(uuid::Uuid::from_u128(thread)),
        }
    }

    fn ids(time: OffsetDateTime) -> i64 {
        i64::try_from(time.unix_timestamp_nanos() / 1_000 * 256).unwrap()
    }

    #[test]
    fn a_cursor_is_good_for_its_thread_and_for_as_long_as_changes_are_kept() {
        let now = OffsetDateTime::now_utc();
        let own = stream("a", 1);
        let at = |time| [ids(time), ids(time) + 7];
        let check = |stream: &Stream, place_of: [i64; 2]| {
            place(stream, &Cursor::at(&own, place_of), DAY).map_err(|invalid| invalid.field)
        };
        let [chat, main] = at(now - DAY / 2);
        let good = Ok(Some(WatchPlace { chat, main }));
        assert_eq!(check(&own, [chat, main]), good);
        for (other, at) in [
            (stream("a", 2), at(now)),
            (stream("b", 1), at(now)),
            (own.clone(), at(now - DAY * 2)),
            (own.clone(), at(now + DAY)),
            (own.clone(), [i64::MIN; 2]),
            (own.clone(), [i64::MAX; 2]),
        ] {
            assert_eq!(check(&other, at), Err("cursor".to_owned()), "{at:?}");
        }
        assert_eq!(place(&own, "", DAY), Ok(None));
        let cut = &Cursor::at(&own, at(now))[..30];
        for wrong in ["x", "~", cut] {
            assert!(place(&own, wrong, DAY).is_err(), "{wrong}");
        }
    }
}
