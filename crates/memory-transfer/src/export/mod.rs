//! `ExportRecords`: all data of a tenant, or part of it, as a stream.

mod checkpoints;
mod documents;
mod memories;
mod output;
mod plan;
mod thread;

use std::time::Duration;

use memory_contract::proto::ExportRecordsRequest;
use memory_contract::proto::record::Kind;
use memory_contract::{AppId, Invalid, ThreadId, UserId, check, thread::Thread};
use memory_grpc::ApiError;
use memory_runtime::task;
use memory_store::{Caller, Store, StoreError, ThreadError, ThreadQuery};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::metadata::MetadataMap;

use memory_api::app_policy;
use memory_grpc::request::{Fields, Target, target_from};
use output::{Output, Stop};

pub(crate) use output::Exported;

/// The most records that wait for a slow caller; reading pauses meanwhile.
const WAITING: usize = 16;
const POLICIES: u32 = 100;
const FILES: u32 = 100;
const THREADS: u32 = 50;

/// What an export contains.
pub(super) struct Export {
    store: Store,
    caller: Caller,
    app: Option<AppId>,
    user: Option<UserId>,
    threads: Threads,
}

/// Which threads are asked for, before the filters.
enum Threads {
    All,
    One(Box<Thread>),
    /// Those created after this place in the order of creation.
    After(i64),
}

impl Export {
    /// Reads the request.
    ///
    /// # Errors
    /// All invalid fields at once; an unknown or ephemeral thread.
    pub(super) async fn read(
        store: Store,
        caller: Caller,
        metadata: &MetadataMap,
        request: ExportRecordsRequest,
    ) -> Result<Self, ApiError> {
        let Selection {
            app,
            user,
            thread,
            after,
        } = selection(&store, &caller, metadata, request).await?;
        let threads = match (thread, after) {
            (Some(id), _) => match store.threads(&caller).get_thread(id).await? {
                // The export would outlive it.
                thread if thread.ephemeral => {
                    return Err(StoreError::Thread(ThreadError::Ephemeral).into());
                }
                thread => Threads::One(Box::new(thread)),
            },
            (None, Some(id)) => Threads::After(store.threads(&caller).thread_place(id).await?),
            (None, None) => Threads::All,
        };
        Ok(Self {
            store,
            caller,
            app,
            user,
            threads,
        })
    }

    /// Sends the records, for at most `time`.
    pub(super) fn run(self, time: Duration) -> Exported {
        let (sender, receiver) = mpsc::channel(WAITING);
        let work = async move {
            let sent = async {
                if let Err(Stop::Failed(error)) = self.send(Output::new(sender.clone())).await {
                    let _ = sender.send(Err(Status::from(error))).await;
                }
            };
            if timeout(time, sent).await.is_err() {
                // A caller that reads slowly may be the reason, so do not wait for it.
                let _ = sender.try_send(Err(ApiError::DeadlineExceeded.into()));
            }
        };
        // Ends when the caller stops reading.
        task::spawn_for_call("export", work);
        ReceiverStream::new(receiver)
    }

    async fn send(&self, mut output: Output) -> Result<(), Stop> {
        match &self.threads {
            Threads::One(thread) => {
                self.send_app_policy(&thread.session.app, &mut output)
                    .await?;
                if self.wants(thread) {
                    self.send_thread(Thread::clone(thread), &mut output).await?;
                }
            }
            Threads::After(place) => self.send_threads(Some(*place), &mut output).await?,
            Threads::All => {
                match &self.app {
                    Some(app) => self.send_app_policy(app, &mut output).await?,
                    None if self.is_whole() => {
                        self.send_app_policies(&mut output).await?;
                        self.send_files(&mut output).await?;
                    }
                    None => {}
                }
                self.send_threads(None, &mut output).await?;
            }
        }
        self.send_memories(&mut output).await?;
        self.send_documents(&mut output).await?;
        output.end().await
    }

    async fn send_app_policy(&self, app: &AppId, output: &mut Output) -> Result<(), Stop> {
        let policy = self.store.policies(&self.caller).app_policy(app).await?;
        if policy.updated.is_some() {
            output.send(Kind::AppPolicy(app_policy(policy))).await?;
        }
        Ok(())
    }

    async fn send_app_policies(&self, output: &mut Output) -> Result<(), Stop> {
        let mut after = Some(0);
        while let Some(key) = after {
            let page = self
                .store
                .policies(&self.caller)
                .list_app_policies(key, POLICIES);
            let page = page.await?;
            for policy in page.items {
                output.send(Kind::AppPolicy(app_policy(policy))).await?;
            }
            after = page.next;
        }
        Ok(())
    }

    async fn send_files(&self, output: &mut Output) -> Result<(), Stop> {
        let mut after = Some(0);
        while let Some(key) = after {
            let page = self
                .store
                .files(&self.caller)
                .export_files(key, FILES)
                .await?;
            for file in page.items {
                output.send(Kind::File(file.into())).await?;
            }
            after = page.next;
        }
        Ok(())
    }

    async fn send_threads(&self, after: Option<i64>, output: &mut Output) -> Result<(), Stop> {
        let mut query = ThreadQuery {
            app: self.app.clone(),
            user: self.user.clone(),
            after,
            limit: THREADS,
        };
        loop {
            let page = self
                .store
                .threads(&self.caller)
                .export_threads(&query)
                .await?;
            for thread in page.items {
                self.send_thread(thread, output).await?;
            }
            if page.next.is_none() {
                return Ok(());
            }
            query.after = page.next;
        }
    }

    /// Whether the export, or the one that it continues, contains all data of the tenant
    /// and therefore all files.
    fn is_whole(&self) -> bool {
        self.app.is_none() && self.user.is_none() && !matches!(self.threads, Threads::One(_))
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

struct Selection {
    app: Option<AppId>,
    user: Option<UserId>,
    thread: Option<ThreadId>,
    after: Option<ThreadId>,
}

async fn selection(
    store: &Store,
    caller: &Caller,
    metadata: &MetadataMap,
    request: ExportRecordsRequest,
) -> Result<Selection, ApiError> {
    let ExportRecordsRequest {
        target,
        after_thread_id,
    } = request;
    let mut fields = Fields::default();
    let (mut app, mut user, mut named) = (None, None, None);
    match fields.get_all(target_from(metadata, target)).flatten() {
        Some(Target::Thread(thread)) => named = Some(thread),
        Some(Target::User(of_app, of_user)) => (app, user) = (Some(of_app), Some(of_user)),
        Some(Target::App(of_app)) => app = Some(of_app),
        None => {}
    }
    let after = check::optional_uuid("after_thread_id", &after_thread_id);
    let after = fields.take(after.and_then(|after| match (after, &named) {
        (Some(_), Some(_)) => Err(Invalid::new(
            "after_thread_id",
            "must not be given together with a thread",
        )),
        (after, _) => Ok(after),
    }));
    fields.end()?;
    let thread = match named {
        Some(named) => Some(named.thread(store, caller).await?),
        None => None,
    };
    Ok(Selection {
        app,
        user,
        thread,
        after: after.map(ThreadId::from),
    })
}
