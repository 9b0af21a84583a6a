//! Threads with their messages, as a stream.

use std::time::Duration;

use memory_contract::proto::export_messages_response::Record;
use memory_contract::proto::{ExportMessagesRequest, ExportMessagesResponse};
use memory_contract::{
    AppId, InvalidFields, MessageFilter, TenantId, Thread, ThreadId, UserId, check, limits,
};
use memory_store::{MessageQuery, Order, Store, StoreError, ThreadQuery, acting, actor};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tracing::Instrument as _;

use super::fields::Fields;
use super::messages::PAGE_BYTES;
use crate::error::ApiError;

/// Records that wait for a slow caller. The database is read no further
/// meanwhile.
const WAITING: usize = 16;
const THREADS: u32 = 50;
const MESSAGES: u32 = 200;

/// The records of an export.
pub(crate) type Exported = ReceiverStream<Result<ExportMessagesResponse, Status>>;

/// Reads what an export is to contain.
pub(super) struct Export {
    store: Store,
    tenant: TenantId,
    app: Option<AppId>,
    user: Option<UserId>,
    /// The one thread asked for.
    thread: Option<Thread>,
}

/// The caller has gone.
struct Gone;

impl Export {
    /// Checks the request, and that the one thread it may name is there.
    pub(super) async fn read(
        store: Store,
        tenant: TenantId,
        request: ExportMessagesRequest,
    ) -> Result<Self, ApiError> {
        let (app, user, thread) = selection(request)?;
        let thread = match thread {
            Some(id) if store.is_ephemeral(&tenant, id) => {
                return Err(StoreError::EphemeralThread.into());
            }
            Some(id) => Some(store.get_thread(&tenant, id).await?),
            None => None,
        };
        Ok(Self {
            store,
            tenant,
            app,
            user,
            thread,
        })
    }

    /// Sends the records, for at most `time`.
    pub(super) fn run(self, time: Duration) -> Exported {
        let (sender, receiver) = mpsc::channel(WAITING);
        let work = async move {
            let ended = timeout(time, self.send(&sender)).await;
            let error = match ended {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(_elapsed) => ApiError::DeadlineExceeded,
            };
            // The caller may have gone, or may read so slowly that it is the
            // reason for the deadline: nobody waits for it any more.
            let _ = sender.try_send(Err(error.into()));
        };
        tokio::spawn(acting(actor(), work).in_current_span());
        ReceiverStream::new(receiver)
    }

    async fn send(&self, sender: &Sender) -> Result<(), ApiError> {
        if let Some(thread) = &self.thread {
            if self.wants(thread) {
                self.send_thread(thread.clone(), sender).await?.ok();
            }
            return Ok(());
        }
        let mut query = ThreadQuery {
            app: self.app.clone(),
            user: self.user.clone(),
            after: None,
            limit: THREADS,
        };
        loop {
            let page = self.store.list_threads(&self.tenant, &query).await?;
            for thread in page.items {
                if let Err(Gone) = self.send_thread(thread, sender).await? {
                    return Ok(());
                }
            }
            if page.next.is_none() {
                return Ok(());
            }
            query.after = page.next;
        }
    }

    async fn send_thread(
        &self,
        thread: Thread,
        sender: &Sender,
    ) -> Result<Result<(), Gone>, ApiError> {
        let mut query = MessageQuery {
            thread: thread.id,
            filter: MessageFilter::default(),
            order: Order::Ascending,
            after: None,
            limit: MESSAGES,
            max_bytes: u32::try_from(PAGE_BYTES).unwrap_or(u32::MAX),
        };
        let mut record = Some(Record::Thread(thread.into()));
        loop {
            let page = match self.store.list_messages(&self.tenant, &query).await {
                Ok(page) => page,
                // It was deleted, or expired, since the list was read.
                Err(StoreError::ThreadNotFound) => return Ok(Ok(())),
                Err(error) => return Err(error.into()),
            };
            let messages = page
                .items
                .into_iter()
                .map(|message| Record::Message(message.into()));
            for record in record.take().into_iter().chain(messages) {
                let response = ExportMessagesResponse {
                    record: Some(record),
                };
                if sender.send(Ok(response)).await.is_err() {
                    return Ok(Err(Gone));
                }
            }
            if page.next.is_none() {
                return Ok(Ok(()));
            }
            query.after = page.next;
        }
    }

    fn wants(&self, thread: &Thread) -> bool {
        self.app
            .as_ref()
            .is_none_or(|app| *app == thread.session.app)
            && self
                .user
                .as_ref()
                .is_none_or(|user| *user == thread.session.user)
    }
}

type Sender = mpsc::Sender<Result<ExportMessagesResponse, Status>>;
type Selection = (Option<AppId>, Option<UserId>, Option<ThreadId>);

fn selection(request: ExportMessagesRequest) -> Result<Selection, InvalidFields> {
    let ExportMessagesRequest {
        app_id,
        user_id,
        thread_id,
    } = request;
    let mut fields = Fields::default();
    let app = fields.take(check::text("app_id", app_id, limits::APP_ID_CHARS));
    let user = fields.take(check::text("user_id", user_id, limits::USER_ID_CHARS));
    let thread = fields.take(check::optional_uuid("thread_id", &thread_id));
    fields.end()?;
    Ok((
        (!app.is_empty()).then(|| AppId::new(app)),
        (!user.is_empty()).then(|| UserId::new(user)),
        thread.map(ThreadId::from),
    ))
}
