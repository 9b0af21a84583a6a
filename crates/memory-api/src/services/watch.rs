//! `WatchThread`: the changes of a thread as a stream.

use std::time::Duration;

use memory_contract::proto::{WatchThreadRequest, WatchThreadResponse};
use memory_contract::{Cursor, Invalid, TenantId, ThreadId, timestamp};
use memory_store::{Change, Store, Transaction, Watch, WatchPlace, task};
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status};

use super::request::required_conversation_from;
use crate::error::ApiError;
use crate::layers::{Standing, caller_of, standing_of};

/// The most events that wait for a slow caller; reading pauses meanwhile.
const WAITING: usize = 16;
/// The most that the clocks of the database and of this process may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(3_600);
/// The action of the first event.
const WATCH: &str = "watch";
/// The action of the last event.
const LAST: &str = "delete_thread";

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
        let WatchThreadRequest { thread, cursor } = request;
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
            actor: caller.actor,
            standing,
            stop: watching.stop.clone(),
        })
    }

    /// Sends events until the thread is deleted, the caller closes the stream, its key is
    /// revoked, or the server stops. A layer enforces the deadline of the call.
    pub(super) fn run(self) -> Events {
        let (sender, receiver) = mpsc::channel(WAITING);
        let Self {
            watch,
            stream,
            actor,
            standing,
            stop,
        } = self;
        let work = async move {
            let ended = tokio::select! {
                () = sender.closed() => return,
                () = stop.cancelled() => Err(ApiError::Stopping),
                () = standing.lost() => Err(ApiError::Unauthenticated),
                ended = send(watch, &stream, actor, &sender) => ended,
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
    actor: String,
    sender: &Sender,
) -> Result<End, ApiError> {
    let first = Change {
        transaction: Transaction {
            actor,
            action: WATCH.to_owned(),
            thread: Some(stream.thread),
            subject: String::new(),
            item_count: 0,
            result: String::new(),
            created: OffsetDateTime::now_utc(),
        },
        place: watch.place(),
    };
    let mut changes = vec![first];
    loop {
        for change in changes {
            let is_last = change.transaction.action == LAST;
            if sender.send(Ok(event(stream, change))).await.is_err() {
                return Ok(End::Gone);
            }
            if is_last {
                return Ok(End::Deleted);
            }
        }
        changes = watch.next().await?;
    }
}

fn event(stream: &Stream, change: Change) -> WatchThreadResponse {
    let Change {
        transaction,
        place: WatchPlace { chat, main },
    } = change;
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
        action,
        actor,
        subject,
        item_count,
        create_time: Some(timestamp(created)),
        cursor: Cursor::at(stream, [chat, main]),
    }
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
