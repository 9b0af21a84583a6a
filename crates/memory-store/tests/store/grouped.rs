//! Appends that share transactions.

use std::{collections::BTreeMap, fmt::Display, time::Duration};

use futures::FutureExt as _;
use futures::future::{join, join_all, join3, join4};
use memory_contract::{
    MessageId, RequestId, ThreadId,
    message::{Parent, Role},
};
use memory_store::{Append, AppendError, Appended, Caller, StoreError};
use tokio::time::timeout;
use uuid::Uuid;

use crate::world::{World, after, caller, new_thread, said, session};

/// Tenants, each with so many threads.
const TENANTS: [&str; 3] = ["a", "b", "c"];
const THREADS: usize = 3;

/// Where a message is: its thread and seq.
type Place = (Uuid, i64);
/// A message's tenant and text.
type Text = (String, String);

fn append(thread: ThreadId, text: &str, request_id: Option<RequestId>) -> Append {
    Append {
        thread,
        messages: vec![said(Role::User, text)],
        request_id,
        expected_head: None,
    }
}

fn place(appended: &Appended) -> Place {
    (appended.revision.thread.uuid(), appended.messages[0].seq)
}

/// A thread to append to.
struct Target {
    caller: Caller,
    thread: ThreadId,
    key: String,
}

impl Target {
    async fn all(world: &World) -> Vec<Self> {
        let mut targets = Vec::new();
        for tenant in TENANTS {
            let caller = Caller {
                actor: format!("key of {tenant}"),
                ..caller(tenant)
            };
            for number in 0..THREADS {
                let key = format!("session:{number}");
                let threads = world.store.threads(&caller);
                let thread = threads.create_thread(&new_thread("app", "ada", &key)).await;
                targets.push(Self {
                    caller: caller.clone(),
                    thread: thread.unwrap().id,
                    key,
                });
            }
        }
        targets
    }

    async fn append(&self, world: &World, append: &Append) -> Result<Appended, StoreError> {
        world.store.messages(&self.caller).append(append).await
    }

    /// Appends a text, by the thread's id or by its session, and returns where it is.
    async fn say(&self, world: &World, text: String, by_session: bool) -> (Place, Text) {
        let store = world.store.messages(&self.caller);
        let appended = match by_session {
            true => {
                let append = append(ThreadId::new(), &text, Some(RequestId::new()));
                let session = session("app", "ada", &self.key);
                store.append_to_session(&session, &append).await
            }
            false => store.append(&append(self.thread, &text, None)).await,
        };
        (place(&appended.unwrap()), self.text(text))
    }

    fn text(&self, text: impl Into<String>) -> Text {
        (self.caller.tenant.as_str().to_owned(), text.into())
    }
}

/// Appends texts to all threads at once.
async fn say_many(world: &World, targets: &[Target], name: impl Display) -> Vec<(Place, Text)> {
    let name = &name;
    let calls = (0..32).map(|number| {
        let target = &targets[number % targets.len()];
        target.say(world, format!("{name} {number}"), number % 4 == 0)
    });
    join_all(calls).await
}

/// All messages, each with its only audit row.
async fn stored(world: &World) -> BTreeMap<Place, Text> {
    let sql = "SELECT m.thread_id, m.seq, m.tenant_id, m.parts::jsonb -> 0 ->> 'text'
        FROM recollect.messages m
        JOIN recollect.transactions t ON t.tenant_id = m.tenant_id AND t.thread_id = m.thread_id
            AND t.action = 'append_messages' AND t.subject = m.seq::text AND t.item_count = 1
            AND t.actor = 'key of ' || m.tenant_id";
    let rows = world.owner().await.query(sql, &[]).await.unwrap();
    let count = rows.len();
    let found: BTreeMap<Place, Text> = rows
        .iter()
        .map(|row| ((row.get(0), row.get(1)), (row.get(2), row.get(3))))
        .collect();
    assert_eq!(found.len(), count);
    found
}

async fn number(world: &World, sql: &str) -> i64 {
    let row = world.owner().await.query_one(sql, &[]).await;
    row.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_of_several_tenants_at_once_each_get_their_own_answer() {
    let world = World::new().await;
    let targets = Target::all(&world).await;
    let mut expected = BTreeMap::new();
    for round in 0..10 {
        let [before, between, after_all] = ["before", "between", "after"]
            .map(|name| say_many(&world, &targets, format!("{name} {round}")));
        // A known request id, and one for two threads of a tenant.
        let same = append(targets[1].thread, "same", Some(RequestId::new()));
        let same = join(
            targets[1].append(&world, &same),
            targets[1].append(&world, &same),
        );
        let reused = Some(RequestId::new());
        let [here, there] = [3, 4].map(|number| append(targets[number].thread, "reused", reused));
        let reused = join(
            targets[3].append(&world, &here),
            targets[4].append(&world, &there),
        );
        // A thread of another tenant, an unknown parent, and a caller that goes away.
        let foreign = append(targets[0].thread, "foreign", None);
        let mut orphan = append(targets[5].thread, "orphan", None);
        let unknown = Parent::Message(MessageId::new().into());
        orphan.messages = vec![after(unknown, Role::User, "orphan")];
        let cancelled = append(targets[2].thread, "cancelled", None);
        let refused = async {
            let cancelled = targets[2].append(&world, &cancelled).now_or_never();
            assert!(cancelled.is_none());
            join(
                targets[5].append(&world, &foreign),
                targets[5].append(&world, &orphan),
            )
            .await
        };

        let (before, (same, reused, (foreign, orphan)), between, after_all) =
            join4(before, join3(same, reused, refused), between, after_all).await;
        expected.extend([before, between, after_all].into_iter().flatten());
        let (first, second) = (same.0.unwrap(), same.1.unwrap());
        assert_ne!(first.replayed, second.replayed);
        assert_eq!(first.messages, second.messages);
        expected.insert(place(&first), targets[1].text("same"));
        let ((Ok(won), Err(lost)) | (Err(lost), Ok(won))) = reused else {
            panic!("{reused:?}");
        };
        assert!(
            matches!(lost, StoreError::Append(AppendError::RequestReused)),
            "{lost:?}"
        );
        expected.insert(place(&won), targets[3].text("reused"));
        assert!(
            matches!(foreign, Err(StoreError::ThreadNotFound)),
            "{foreign:?}"
        );
        let orphan = orphan.unwrap_err();
        assert!(
            matches!(
                orphan,
                StoreError::Append(AppendError::ParentNotFound { index: 0 })
            ),
            "{orphan:?}"
        );
    }
    let mut stored = stored(&world).await;
    let count = stored.len() as i64;
    assert_eq!(
        number(
            &world,
            "SELECT sum(last_seq)::bigint FROM recollect.threads"
        )
        .await,
        count
    );
    let transactions = "SELECT count(DISTINCT xmin::text) FROM recollect.messages";
    let transactions = number(&world, transactions).await;
    // How many share one depends on what else the machine does: half of them where it does nothing.
    assert!(transactions < count, "{transactions} of {count}");
    // A cancelled append may have been stored, but not twice.
    stored.retain(|_, (_, text)| text != "cancelled");
    assert!(count - stored.len() as i64 <= 10);
    assert_eq!(stored, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_to_a_locked_thread_do_not_hold_up_others() {
    let world = World::new().await;
    let targets = Target::all(&world).await;
    say_many(&world, &targets, "first").await;
    let owner = world.owner().await;
    let (locked, others) = targets.split_first().unwrap();
    let lock = format!(
        "BEGIN; SELECT FROM recollect.threads WHERE thread_id = '{}' FOR UPDATE",
        locked.thread
    );
    owner.batch_execute(&lock).await.unwrap();
    let waiting = join_all((0..6).map(|number| locked.say(&world, format!("{number}"), false)));
    let said = async {
        for round in 0..3 {
            let said = say_many(&world, others, format!("round {round}"));
            timeout(Duration::from_secs(20), said).await.unwrap();
        }
        owner.batch_execute("COMMIT").await.unwrap();
    };
    let (waited, ()) = join(waiting, said).await;
    let stored = stored(&world).await;
    for (place, text) in waited {
        assert_eq!(stored[&place], text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_fails_does_not_fail_those_that_share_its_transaction() {
    let world = World::new().await;
    let targets = Target::all(&world).await;
    say_many(&world, &targets, "first").await;
    // A thread that is cleared in steps answers with an error.
    let clearing = format!(
        "UPDATE recollect.threads SET expires_at = '-infinity' WHERE thread_id = '{0}';
         CREATE OR REPLACE FUNCTION recollect.is_clearing(p_tenant text, p_thread uuid)
         RETURNS boolean LANGUAGE sql AS $$ SELECT p_thread = '{0}' $$",
        targets[0].thread
    );
    world.owner().await.batch_execute(&clearing).await.unwrap();
    for _ in 0..5 {
        let refused = append(targets[0].thread, "refused", None);
        let refused = targets[0].append(&world, &refused);
        let said = say_many(&world, &targets[1..], "said");
        let more = say_many(&world, &targets[1..], "more");
        let (said, refused, more) = join3(said, refused, more).await;
        let refused = refused.unwrap_err();
        assert!(
            !matches!(refused, StoreError::ThreadNotFound),
            "{refused:?}"
        );
        let stored = stored(&world).await;
        for (place, text) in said.iter().chain(&more) {
            assert_eq!(&stored[place], text);
        }
    }
}
