//! Ephemeral threads against stored ones: the same steps, the same answers.

use std::time::Duration;

use memory_contract::{
    Branch, Message, MessageFilter, MessageId, Parent, RequestId, Role, Thread, ThreadId,
};
use memory_store::{
    Append, Appended, CountedMessage, EphemeralConfig, Erased, Hydrated, MessageQuery, Neighbor,
    NewThread, Order, Scope, Store, StoreError, ThreadChange,
};
use proptest::prelude::*;
use serde_json::json;
use time::OffsetDateTime;

use crate::{
    paths::{Answer, Look, look, looks},
    world::{World, after, new_thread, said, tenant},
};

/// One step. Numbers choose among the messages so far, deleted ones included.
#[derive(Clone, Debug)]
enum Step {
    Append(Vec<(Follows, Speech)>),
    /// Sends the last append with a request id once more: as it was, or with
    /// another text.
    Repeat(bool),
    /// Appends with a belief of the head, right or wrong.
    Expect(bool),
    /// Uses a message's id again.
    Reuse(usize),
    Delete(usize),
    DeleteHead,
    SetHead(usize),
    Clear,
    Change(u8),
}

#[derive(Clone, Copy, Debug)]
enum Follows {
    Previous,
    Root,
    Message(usize),
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Speech {
    role: usize,
    words: usize,
    tagged: bool,
    day: u8,
}

const WORDS: [&str; 5] = [
    "swimming in the lake",
    "a dog",
    "",
    "東京タワー",
    "ünïcode \"quoted\"\n\u{1}",
];

fn speech() -> impl Strategy<Value = Speech> {
    (0..4_usize, 0..WORDS.len(), any::<bool>(), 0..4_u8).prop_map(|(role, words, tagged, day)| {
        Speech {
            role,
            words,
            tagged,
            day,
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let follows = prop_oneof![
        6 => Just(Follows::Previous),
        1 => Just(Follows::Root),
        4 => any::<usize>().prop_map(Follows::Message),
        1 => Just(Follows::Unknown),
    ];
    let messages = prop::collection::vec((follows, speech()), 1..5);
    prop_oneof![
        8 => messages.prop_map(Step::Append),
        1 => any::<bool>().prop_map(Step::Repeat),
        1 => any::<bool>().prop_map(Step::Expect),
        1 => any::<usize>().prop_map(Step::Reuse),
        3 => any::<usize>().prop_map(Step::Delete),
        1 => Just(Step::DeleteHead),
        1 => any::<usize>().prop_map(Step::SetHead),
        1 => Just(Step::Clear),
        1 => any::<u8>().prop_map(Step::Change),
    ]
}

/// A stored thread and an ephemeral one, to which the same is done.
struct Pair<'a> {
    world: &'a World,
    stored: ThreadId,
    ephemeral: ThreadId,
    /// All messages ever appended.
    ids: Vec<MessageId>,
    last: Option<Append>,
}

impl<'a> Pair<'a> {
    async fn new(world: &'a World) -> Self {
        Self {
            stored: world.thread().await.id,
            ephemeral: ephemeral(&world.store, world, None).await.unwrap().id,
            world,
            ids: Vec::new(),
            last: None,
        }
    }

    fn pick(&self, number: usize) -> MessageId {
        match self.ids.len() {
            0 => MessageId::new(),
            count => self.ids[number % count],
        }
    }

    fn speech(&self, follows: Follows, speech: Speech, batch: &[CountedMessage]) -> CountedMessage {
        let parent = match follows {
            Follows::Previous => Parent::Previous,
            Follows::Root => Parent::Root,
            Follows::Unknown => Parent::Message(MessageId::new()),
            Follows::Message(number) if number % 3 == 0 && !batch.is_empty() => {
                Parent::Message(batch[number % batch.len()].message.id)
            }
            Follows::Message(number) => Parent::Message(self.pick(number)),
        };
        let mut counted = after(parent, Role::ALL[speech.role], WORDS[speech.words]);
        counted.tokens = i32::try_from(speech.words).unwrap() * 7 + 1;
        if speech.tagged {
            let tags = json!({"day": speech.day, "deep": {"a": [1, true, null], "b": "x\ty"}});
            counted.message.metadata = tags.as_object().unwrap().clone();
            counted.message.name = format!("name {}", speech.day);
        }
        if speech.day > 1 {
            let nanos = 1_700_000_000_123_456_789 + i128::from(speech.day) * 86_400_000_000_000;
            counted.message.created =
                Some(OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap());
        }
        counted
    }

    async fn play(&mut self, step: &Step) {
        let World { store, tenant, .. } = self.world;
        match step {
            Step::Append(messages) => {
                let mut batch: Vec<CountedMessage> = Vec::new();
                for (follows, speech) in messages {
                    batch.push(self.speech(*follows, *speech, &batch));
                }
                self.append(batch, Some(RequestId::new()), None).await;
            }
            Step::Repeat(same) => {
                let Some(mut last) = self.last.clone() else {
                    return;
                };
                if !same {
                    last.messages[0].message.name.push('!');
                }
                self.send(last).await;
            }
            Step::Expect(right) => {
                let head = store.get_thread(tenant, self.stored).await.unwrap().head;
                let expected = if *right { head } else { Some(MessageId::new()) };
                let batch = vec![said(Role::User, "on")];
                self.append(batch, None, Some(expected)).await;
            }
            Step::Reuse(number) => {
                let mut again = said(Role::User, "again");
                again.message.id = self.pick(*number);
                let batch = vec![said(Role::User, "new"), again];
                // An id of a cleared message is free, so both may succeed.
                self.append(batch, None, None).await;
            }
            Step::Delete(number) => self.delete(self.pick(*number)).await,
            Step::DeleteHead => {
                let head = store.get_thread(tenant, self.ephemeral).await.unwrap().head;
                if let Some(head) = head {
                    self.delete(head).await;
                }
            }
            Step::SetHead(number) => self.set_head(self.pick(*number)).await,
            Step::Clear => {
                let stored = store.clear_thread(tenant, self.stored).await.unwrap();
                let ephemeral = store.clear_thread(tenant, self.ephemeral).await.unwrap();
                assert_eq!(count(stored), count(ephemeral));
                let zero = |erased: Erased| erased.revision.change == 0;
                assert_eq!(zero(stored), zero(ephemeral));
            }
            Step::Change(number) => {
                let change = ThreadChange {
                    title: (number % 2 == 0).then(|| format!("title {number}")),
                    metadata: (number % 3 == 0)
                        .then(|| json!({"n": number}).as_object().unwrap().clone()),
                    ttl: (number % 5 == 0).then_some(Some(Duration::from_secs(3_600))),
                    policy: None,
                };
                for thread in [self.stored, self.ephemeral] {
                    store.update_thread(tenant, thread, &change).await.unwrap();
                }
            }
        }
    }

    async fn append(
        &mut self,
        messages: Vec<CountedMessage>,
        request_id: Option<RequestId>,
        expected_head: Option<Option<MessageId>>,
    ) {
        let append = Append {
            thread: self.stored,
            messages,
            request_id,
            expected_head,
        };
        if self.send(append.clone()).await {
            for counted in &append.messages {
                if !self.ids.contains(&counted.message.id) {
                    self.ids.push(counted.message.id);
                }
            }
            if append.request_id.is_some() {
                self.last = Some(append);
            }
        }
    }

    /// Appends to both; whether they took it.
    async fn send(&self, append: Append) -> bool {
        let World { store, tenant, .. } = self.world;
        let stored = store.append(tenant, &append).await;
        let append = Append {
            thread: self.ephemeral,
            // Message ids are the same in both; request ids must not be.
            request_id: append
                .request_id
                .map(|id| RequestId::from(other(id.uuid()))),
            ..append
        };
        let ephemeral = store.append(tenant, &append).await;
        let taken = stored.is_ok();
        let shape = |done: Result<Appended, StoreError>| {
            done.map(|done| (done.messages, done.replayed))
                .map_err(|error| format!("{error:?}"))
        };
        assert_eq!(shape(stored), shape(ephemeral), "{append:?}");
        taken
    }

    async fn delete(&self, id: MessageId) {
        let World { store, tenant, .. } = self.world;
        let shape = |done: Result<memory_store::Revision, StoreError>| {
            done.map(drop).map_err(|error| format!("{error:?}"))
        };
        let stored = store.delete_message(tenant, self.stored, id).await;
        let ephemeral = store.delete_message(tenant, self.ephemeral, id).await;
        assert_eq!(shape(stored), shape(ephemeral));
    }

    async fn set_head(&self, id: MessageId) {
        let World { store, tenant, .. } = self.world;
        let head = |done: Result<Thread, StoreError>| {
            done.map(|thread| thread.head)
                .map_err(|error| format!("{error:?}"))
        };
        let stored = store.set_head(tenant, self.stored, id, None).await;
        let ephemeral = store.set_head(tenant, self.ephemeral, id, None).await;
        assert_eq!(head(stored), head(ephemeral));
    }

    /// Compares all that can be read.
    async fn compare(&self, looks: &[Look]) {
        let World { store, tenant, .. } = self.world;
        let stored = store.get_thread(tenant, self.stored).await.unwrap();
        let ephemeral = store.get_thread(tenant, self.ephemeral).await.unwrap();
        assert!(ephemeral.ephemeral && !stored.ephemeral);
        assert_eq!(thread_shape(stored), thread_shape(ephemeral));

        for one in looks {
            let here = look(store, tenant, self.stored, one, &self.ids).await;
            let there = look(store, tenant, self.ephemeral, one, &self.ids).await;
            assert_eq!(answer_shape(here), answer_shape(there), "{one:?}");
        }
        for id in &self.ids {
            let here = store.get_message(tenant, self.stored, *id).await;
            let there = store.get_message(tenant, self.ephemeral, *id).await;
            let shape = |found: Result<Message, StoreError>| {
                found.map(shape).map_err(|error| format!("{error:?}"))
            };
            assert_eq!(shape(here), shape(there));
        }
        for (after, limit) in [(0, 100), (0, 1), (1, 2), (7, 100)] {
            let here = store.list_branches(tenant, self.stored, after, limit).await;
            let there = store
                .list_branches(tenant, self.ephemeral, after, limit)
                .await;
            let (here, there) = (here.unwrap(), there.unwrap());
            assert_eq!(here.next, there.next);
            let shape = |branches: Vec<Branch>| -> Vec<Branch> {
                let created = OffsetDateTime::UNIX_EPOCH;
                let timeless = |branch| Branch { created, ..branch };
                branches.into_iter().map(timeless).collect()
            };
            assert_eq!(shape(here.items), shape(there.items));
        }
        let scope = Scope::Thread;
        let here = store
            .hydrate(tenant, &scope(self.stored), None, &self.ids)
            .await;
        let there = store
            .hydrate(tenant, &scope(self.ephemeral), None, &self.ids)
            .await;
        assert_eq!(
            hydrated_shape(here.unwrap()),
            hydrated_shape(there.unwrap())
        );
        for (before, after) in [(0, 0), (2, 0), (0, 2), (3, 3)] {
            let mut found = Vec::new();
            for thread in [self.stored, self.ephemeral] {
                let beside = store
                    .neighbors(tenant, &scope(thread), None, &self.ids, before, after)
                    .await;
                found.push(neighbors_shape(beside.unwrap()));
            }
            assert_eq!(found[0], found[1]);
        }
    }

    /// Pages with filters, in both orders, bounded by rows and by bytes.
    async fn compare_lists(&self) {
        let World { store, tenant, .. } = self.world;
        let day = |days: i64| {
            let start = OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap();
            start + time::Duration::days(days)
        };
        let filters = [
            MessageFilter::default(),
            MessageFilter {
                roles: vec![Role::User, Role::Tool],
                ..Default::default()
            },
            MessageFilter {
                names: vec!["name 1".to_owned(), "name 3".to_owned()],
                ..Default::default()
            },
            MessageFilter {
                start: Some(day(1)),
                end: Some(day(3)),
                ..Default::default()
            },
            MessageFilter {
                metadata: json!({"day": 2}).as_object().unwrap().clone(),
                ..Default::default()
            },
        ];
        for filter in filters {
            for order in [Order::Ascending, Order::Descending] {
                for (limit, max_bytes) in [(100, u32::MAX), (2, u32::MAX), (100, 150), (3, 90)] {
                    let mut pages = Vec::new();
                    for thread in [self.stored, self.ephemeral] {
                        let mut query = MessageQuery {
                            thread,
                            filter: filter.clone(),
                            order,
                            after: None,
                            limit,
                            max_bytes,
                        };
                        let mut read = Vec::new();
                        loop {
                            let page = store.list_messages(tenant, &query).await.unwrap();
                            let items: Vec<_> = page.items.into_iter().map(shape).collect();
                            read.push((items, page.next));
                            query.after = page.next;
                            if page.next.is_none() {
                                break;
                            }
                        }
                        pages.push(read);
                    }
                    assert_eq!(
                        pages[0], pages[1],
                        "{filter:?} {order:?} {limit} {max_bytes}"
                    );
                }
            }
        }
    }
}

/// Another id that is the same each time.
fn other(id: uuid::Uuid) -> uuid::Uuid {
    uuid::Uuid::from_u128(!id.as_u128())
}

fn count(erased: Erased) -> i64 {
    erased.message_count
}

fn thread_shape(thread: Thread) -> impl PartialEq + std::fmt::Debug {
    let Thread {
        id: _,
        session: _,
        title,
        metadata,
        last_seq,
        head,
        message_count,
        created,
        updated,
        expires,
        policy,
        ephemeral: _,
    } = thread;
    assert!(updated >= created);
    let lives = expires.is_some();
    (
        title,
        metadata,
        last_seq,
        head,
        message_count,
        policy,
        lives,
    )
}

/// A message without its thread, and without a time that the store gave it.
fn shape(message: Message) -> Message {
    let told = message.created.year() == 2023;
    Message {
        thread: uuid::Uuid::nil().into(),
        created: if told {
            message.created
        } else {
            OffsetDateTime::UNIX_EPOCH
        },
        ..message
    }
}

fn answer_shape(answer: Answer) -> Answer {
    answer.map(|(messages, older)| (messages.into_iter().map(shape).collect(), older))
}

fn hydrated_shape(mut found: Vec<Hydrated>) -> Vec<(Message, bool)> {
    found.sort_by_key(|one| one.message.seq);
    let shape = |one: Hydrated| (shape(one.message), one.active);
    found.into_iter().map(shape).collect()
}

fn neighbors_shape(found: Vec<Neighbor>) -> Vec<(MessageId, i32, Message)> {
    let mut found: Vec<_> = found
        .into_iter()
        .map(|one| (one.anchor, one.offset, shape(one.message)))
        .collect();
    found.sort_by_key(|(anchor, offset, _)| (*anchor, *offset));
    found
}

async fn ephemeral(
    store: &Store,
    world: &World,
    ttl: Option<Duration>,
) -> Result<Thread, StoreError> {
    let new = NewThread {
        ephemeral: true,
        ttl,
        ..new_thread("app", "ada", &format!("session:{}", ThreadId::new()))
    };
    store.create_thread(&world.tenant, &new).await
}

#[test]
fn an_ephemeral_thread_answers_as_a_stored_one_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new());
    let config = ProptestConfig {
        cases: 40,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = prop::collection::vec(step(), 1..25);
    proptest!(config, |(steps in steps, looks in looks())| {
        runtime.block_on(async {
            let mut pair = Pair::new(&world).await;
            for (number, step) in steps.iter().enumerate() {
                pair.play(step).await;
                if number % 4 == 0 {
                    pair.compare(&looks[..2]).await;
                }
            }
            pair.compare(&looks).await;
            pair.compare_lists().await;
            for thread in [pair.stored, pair.ephemeral] {
                world.store.delete_thread(&world.tenant, thread).await.unwrap();
                let gone = world.store.get_thread(&world.tenant, thread).await;
                prop_assert!(matches!(gone, Err(StoreError::ThreadNotFound)));
            }
            Ok(())
        })?;
    });
}

fn bounded(world: &World, max_bytes: u64, max_threads: usize, idle: u64) -> Store {
    world.store.clone().with_ephemeral(&EphemeralConfig {
        max_bytes,
        max_threads,
        idle_ttl: Duration::from_millis(idle),
    })
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_nothing_is_half_stored() {
    let world = World::new().await;
    let store = bounded(&world, 40_000, 10, 3_600_000);
    let thread = ephemeral(&store, &world, None).await.unwrap().id;
    let append = |text: &str, request_id| Append {
        thread,
        messages: vec![said(Role::User, "small"), said(Role::User, text)],
        request_id,
        expected_head: None,
    };
    let request = Some(RequestId::new());
    let first = store
        .append(&world.tenant, &append("fits", request))
        .await
        .unwrap();
    let before = store.get_thread(&world.tenant, thread).await.unwrap();
    let large = "word ".repeat(10_000);
    let refused = store.append(&world.tenant, &append(&large, None)).await;
    assert!(matches!(refused, Err(StoreError::EphemeralFull)));
    let after = store.get_thread(&world.tenant, thread).await.unwrap();
    assert_eq!(before, after);

    // Little by little it fills up, and what is cleared is free again.
    let mut rounds = Vec::new();
    for _ in 0..3 {
        let mut stored = 0;
        while store
            .append(&world.tenant, &append("a line of text", None))
            .await
            .is_ok()
        {
            stored += 1;
            assert!(stored < 1_000, "it never fills up");
        }
        rounds.push(stored);
        store.clear_thread(&world.tenant, thread).await.unwrap();
    }
    assert!(rounds[0] > 5 && rounds[1] == rounds[2], "{rounds:?}");
    assert!(
        rounds[1] == rounds[0] || rounds[1] == rounds[0] + 1,
        "{rounds:?}"
    );

    // A retry of what was stored needs no room.
    while store
        .append(&world.tenant, &append("a line of text", None))
        .await
        .is_ok()
    {}
    let mut again = append("fits", request);
    again.messages = vec![said(Role::User, "small"), said(Role::User, "fits")];
    let again = store.append(&world.tenant, &again).await.unwrap();
    assert!(again.replayed);
    assert_eq!(again.messages, first.messages);

    let wide = ThreadChange {
        title: Some("t".repeat(50_000)),
        ..Default::default()
    };
    let refused = store.update_thread(&world.tenant, thread, &wide).await;
    assert!(matches!(refused, Err(StoreError::EphemeralFull)));
    store.delete_thread(&world.tenant, thread).await.unwrap();
    assert!(!store.is_ephemeral(&world.tenant, thread));
    for _ in 0..3 {
        // Each gives its bytes back.
        let thread = ephemeral(&store, &world, None).await.unwrap().id;
        store.delete_thread(&world.tenant, thread).await.unwrap();
    }
}

#[tokio::test]
async fn only_so_many_threads_fit_and_idle_ones_make_room() {
    let world = World::new().await;
    let store = bounded(&world, 1 << 20, 2, 300);
    let first = ephemeral(&store, &world, None).await.unwrap();
    let second = ephemeral(&store, &world, None).await.unwrap();
    let third = ephemeral(&store, &world, None).await;
    assert!(matches!(third, Err(StoreError::EphemeralFull)));
    // The second is used again and again; the first is not.
    let start = std::time::Instant::now();
    let third = loop {
        store.get_thread(&world.tenant, second.id).await.unwrap();
        match ephemeral(&store, &world, None).await {
            Ok(thread) => break thread,
            Err(StoreError::EphemeralFull) => {}
            Err(other) => panic!("{other:?}"),
        }
        assert!(start.elapsed() < Duration::from_secs(10), "nothing is idle");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(start.elapsed() >= Duration::from_millis(250));
    let gone = store.get_thread(&world.tenant, first.id).await;
    assert!(matches!(gone, Err(StoreError::ThreadNotFound)));
    store.get_thread(&world.tenant, second.id).await.unwrap();
    store.get_thread(&world.tenant, third.id).await.unwrap();
}

#[tokio::test]
async fn a_session_has_one_thread_wherever_it_lives() {
    let world = World::new().await;
    let store = &world.store;
    let kept = new_thread("app", "ada", "one");
    let brief = NewThread {
        ephemeral: true,
        ..kept.clone()
    };
    let found = store.resolve_thread(&world.tenant, &brief).await.unwrap();
    assert!(found.created && found.thread.ephemeral);
    for new in [&kept, &brief] {
        let again = store.resolve_thread(&world.tenant, new).await.unwrap();
        assert_eq!((again.created, again.thread.id), (false, found.thread.id));
        let exists = store.create_thread(&world.tenant, new).await;
        assert!(matches!(exists, Err(StoreError::ThreadExists)));
    }
    let by_session = store.find_thread(&world.tenant, &kept.session).await;
    assert_eq!(by_session.unwrap().id, found.thread.id);
    let other = tenant("b");
    let foreign = store.get_thread(&other, found.thread.id).await;
    assert!(matches!(foreign, Err(StoreError::ThreadNotFound)));
    assert!(!store.is_ephemeral(&other, found.thread.id));

    store
        .delete_thread(&world.tenant, found.thread.id)
        .await
        .unwrap();
    let stored = store.resolve_thread(&world.tenant, &kept).await.unwrap();
    assert!(stored.created && !stored.thread.ephemeral);
    let again = store.resolve_thread(&world.tenant, &brief).await.unwrap();
    assert_eq!((again.created, again.thread.id), (false, stored.thread.id));
}

#[tokio::test]
async fn a_ttl_ends_an_ephemeral_thread_too() {
    let world = World::new().await;
    let ttl = Some(Duration::from_millis(200));
    let thread = ephemeral(&world.store, &world, ttl).await.unwrap();
    assert!(thread.expires.is_some());
    let start = std::time::Instant::now();
    while world
        .store
        .get_thread(&world.tenant, thread.id)
        .await
        .is_ok()
    {
        assert!(start.elapsed() < Duration::from_secs(10), "it never ends");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!world.store.is_ephemeral(&world.tenant, thread.id));
}
