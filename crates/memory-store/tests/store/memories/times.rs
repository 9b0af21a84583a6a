//! After any changes: the memories that were true at one time, as they were known at another.

use memory_contract::{
    MemoryId, MessageId, ThreadId,
    memory::{Memory, MemoryChange, MemoryFilter, MemoryTimes, NewMemory},
    message::Role,
    precondition::Precondition,
};
use memory_store::{Fact, MemoryError, MemoryOwners, MemoryStore, StoreError};
use proptest::{prelude::*, sample::Index};
use time::{Duration, OffsetDateTime};

use super::{fact, id, memory, owner};
use crate::world::{World, said};

const TEXTS: [&str; 5] = [
    "Moors in the harbor of Oslo",
    "Moors in the harbor of Rome",
    "Moors in the harbor of Lima",
    "Moors in the harbor of Bergen",
    "Moors in the harbor of Turku",
];
/// The number of messages of each user.
const MESSAGES: usize = 4;

/// One change. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    /// A caller says a text, perhaps again.
    Add {
        text: usize,
    },
    /// A message says a text that contradicts some memories.
    Extract {
        text: usize,
        message: usize,
        contradicts: Vec<usize>,
    },
    Supersede {
        which: usize,
        text: usize,
        message: Option<usize>,
    },
    Update {
        which: usize,
        text: usize,
    },
    Delete {
        which: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (text, message) = (|| 0..TEXTS.len(), || 0..MESSAGES);
    let contradicts = prop::collection::vec(any::<usize>(), 0..4);
    prop_oneof![
        3 => text().prop_map(|text| Step::Add { text }),
        6 => (text(), message(), contradicts).prop_map(|(text, message, contradicts)| {
            Step::Extract { text, message, contradicts }
        }),
        3 => (any::<usize>(), text(), prop::option::of(message())).prop_map(|(which, text, message)| {
            Step::Supersede { which, text, message }
        }),
        1 => (any::<usize>(), text()).prop_map(|(which, text)| Step::Update { which, text }),
        1 => any::<usize>().prop_map(|which| Step::Delete { which }),
    ]
}

/// A memory as the model knows it.
#[derive(Clone, Debug)]
struct Known {
    id: MemoryId,
    text: usize,
    from: OffsetDateTime,
    until: Option<OffsetDateTime>,
}

struct History<'a> {
    world: &'a World,
    user: String,
    thread: ThreadId,
    /// The messages, and when each was said.
    messages: Vec<(MessageId, OffsetDateTime)>,
    memories: Vec<Known>,
    /// A time before each change, and the memories then.
    times: Vec<OffsetDateTime>,
    before: Vec<Vec<Known>>,
}

impl<'a> History<'a> {
    /// Of a new user whose messages were said on these days.
    async fn new(world: &'a World, days: &[i64]) -> Self {
        let user = ThreadId::new().to_string();
        let thread = world.thread_of("app", &user, "session").await.id;
        let times = days
            .iter()
            .map(|day| OffsetDateTime::UNIX_EPOCH + Duration::days(*day));
        let times: Vec<OffsetDateTime> = times.collect();
        let messages = times.iter().map(|time| {
            let mut new = said(Role::User, "I am at sea.");
            new.message.created = Some(*time);
            new
        });
        let appended = world.append(thread, messages.collect()).await.unwrap();
        let ids = appended.messages.iter().map(|message| message.id);
        Self {
            world,
            user,
            thread,
            messages: ids.zip(times).collect(),
            memories: Vec::new(),
            times: Vec::new(),
            before: Vec::new(),
        }
    }

    fn store(&self) -> MemoryStore<'a> {
        self.world.store.memories(&self.world.caller)
    }

    fn chosen(&self, number: usize) -> Option<usize> {
        number.checked_rem(self.memories.len())
    }

    /// The memory that holds with a text.
    fn holding(&self, text: usize) -> Option<usize> {
        let holds = |one: &Known| one.until.is_none() && one.text == text;
        self.memories.iter().position(holds)
    }

    /// The memory that holds with a text; otherwise a new one.
    fn put(&mut self, id: MemoryId, text: usize, from: OffsetDateTime) -> usize {
        self.holding(text).unwrap_or_else(|| {
            self.memories.push(Known {
                id,
                text,
                from,
                until: None,
            });
            self.memories.len() - 1
        })
    }

    /// Notes the present time and memories.
    fn note(&mut self) -> OffsetDateTime {
        let now = OffsetDateTime::now_utc();
        // Postgres stores microseconds.
        let now = now.replace_microsecond(now.microsecond()).unwrap();
        self.times.push(now);
        self.before.push(self.memories.clone());
        now
    }

    async fn play(&mut self, step: &Step) {
        // Within the change: after the time that is noted, and before all that are noted later.
        let during = self.note() + Duration::microseconds(1);
        match step {
            Step::Add { text } => {
                let texts = [memory(TEXTS[*text])];
                let added = self.world.remember(&self.user, &texts).await;
                assert_eq!(added.memories[0].created, self.holding(*text).is_none());
                let at = self.put(id(&added, 0), *text, during);
                assert_eq!(self.memories[at].id, id(&added, 0));
            }
            Step::Extract {
                text,
                message,
                contradicts,
            } => self.extract(*text, *message, contradicts).await,
            Step::Supersede {
                which,
                text,
                message,
            } => {
                let source = message.map(|message| self.messages[message]);
                self.supersede(*which, *text, source, during).await;
            }
            Step::Update { which, text } => self.update(*which, *text).await,
            Step::Delete { which } => {
                if let Some(at) = self.chosen(*which) {
                    let gone = self.memories.remove(at);
                    self.store().delete_memory(gone.id).await.unwrap();
                }
            }
        }
    }

    async fn extract(&mut self, text: usize, message: usize, contradicts: &[usize]) {
        let (source, said_at) = self.messages[message];
        let contradicted = contradicts.iter().filter_map(|number| self.chosen(*number));
        let contradicted: Vec<usize> = contradicted.collect();
        let new = Fact {
            supersedes: contradicted
                .iter()
                .map(|at| self.memories[*at].id)
                .collect(),
            ..fact(TEXTS[text], &[source])
        };
        let done = self.world.extract(self.thread, 0, 0, vec![new]).await;
        let done = done.unwrap();
        assert_eq!(done.stored == 1, self.holding(text).is_none());
        let newest = self.world.known(&self.user).await.remove(0);
        let at = self.put(newest.id, text, said_at);
        let from = self.memories[at].from;
        let mut ended = 0;
        for other in contradicted {
            let one = &mut self.memories[other];
            // One that became true later is newer.
            if other != at && one.until.is_none() && one.from <= from {
                one.until = Some(from);
                ended += 1;
            }
        }
        assert_eq!(done.superseded, ended);
    }

    async fn supersede(
        &mut self,
        which: usize,
        text: usize,
        source: Option<(MessageId, OffsetDateTime)>,
        during: OffsetDateTime,
    ) {
        let Some(at) = self.chosen(which) else {
            return;
        };
        let old = self.memories[at].clone();
        if old.until.is_some() || old.text == text {
            return;
        }
        let replacement = NewMemory {
            sources: source.map(|(id, _)| id).into_iter().collect(),
            ..memory(TEXTS[text])
        };
        let done = self.store().supersede_memory(old.id, &replacement).await;
        let done = done.unwrap();
        let from = source.map_or(during, |(_, said_at)| said_at);
        let new = self.put(done.memory.id, text, from);
        assert_eq!(self.memories[new].id, done.memory.id);
        // It was never true if the new one became true before it.
        self.memories[at].until = Some(self.memories[new].from.max(old.from));
    }

    async fn update(&mut self, which: usize, text: usize) {
        let Some(at) = self.chosen(which) else {
            return;
        };
        let one = &self.memories[at];
        let other = self.holding(text).filter(|other| *other != at);
        let is_taken = one.until.is_none() && other.is_some();
        let change = MemoryChange {
            text: Some(TEXTS[text].to_owned()),
            ..MemoryChange::default()
        };
        let memories = self.store();
        match memories
            .update_memory(one.id, &Precondition::Unchecked, &change)
            .await
        {
            Ok(_) => {
                assert!(!is_taken);
                self.memories[at].text = text;
            }
            Err(StoreError::Memory(MemoryError::Known { .. })) => assert!(is_taken),
            Err(error) => panic!("{error:?}"),
        }
    }

    /// The present texts of the memories that were believed at one time to be true at another;
    /// `None` stands for now.
    fn expected(
        &self,
        as_of: Option<OffsetDateTime>,
        known_at: Option<OffsetDateTime>,
    ) -> Vec<&'static str> {
        let believed: &[Known] = match known_at {
            None => &self.memories,
            Some(known_at) => match self.times.partition_point(|time| *time <= known_at) {
                0 => &[],
                noted => &self.before[noted - 1],
            },
        };
        let is_true = |one: &&Known| match as_of {
            None => one.until.is_none(),
            Some(as_of) => one.from <= as_of && one.until.is_none_or(|until| until > as_of),
        };
        self.texts_of(believed.iter().filter(is_true).map(|one| one.id))
    }

    fn texts_of(&self, ids: impl Iterator<Item = MemoryId>) -> Vec<&'static str> {
        let text = |id: MemoryId| {
            self.memories
                .iter()
                .find(|one| one.id == id)
                .map(|one| TEXTS[one.text])
        };
        let mut texts: Vec<&str> = ids.filter_map(text).collect();
        texts.sort_unstable();
        texts
    }

    /// Compares what each read finds. Each index chooses one of the times that matter.
    async fn check(&self, as_of: Option<Index>, known_at: Option<Index>) {
        let hour = Duration::hours(1);
        let said = self
            .messages
            .iter()
            .flat_map(|(_, said)| [*said, *said - hour]);
        let times: Vec<OffsetDateTime> = self.times.iter().copied().chain(said).collect();
        let [as_of, known_at] =
            [as_of, known_at].map(|index| index.map(|index| *index.get(&times)));
        let expected = self.expected(as_of, known_at);
        let times = MemoryTimes {
            valid_at: as_of,
            known_at,
        };
        let filter = MemoryFilter {
            times,
            ..MemoryFilter::default()
        };
        let (memories, owner) = (self.store(), owner(&self.user));
        let listed = memories.list_memories(&owner.app, Some(&owner.user), &filter, None, 500);
        let listed = listed.await.unwrap().items;
        assert_eq!(
            texts(&listed),
            expected,
            "as of {as_of:?}, known at {known_at:?}"
        );

        let owners = MemoryOwners::User(owner);
        let ids: Vec<MemoryId> = self.memories.iter().map(|one| one.id).collect();
        let read = memories.hydrate_memories(&owners, &filter, &ids).await;
        assert_eq!(texts(&read.unwrap()), expected, "read again");
        let found = memories
            .search_memories(&owners, "harbor", &filter, 100)
            .await;
        let found = found.unwrap().into_iter().map(|found| found.id);
        assert_eq!(self.texts_of(found), expected, "found by word");
        let held = memories.held_memories(&owners, times, 500).await.unwrap();
        let held = held.memories.into_iter().map(|held| held.id);
        assert_eq!(self.texts_of(held), expected, "on the page of the profile");
    }
}

fn texts(memories: &[Memory]) -> Vec<&str> {
    let mut texts: Vec<&str> = memories.iter().map(|memory| &*memory.text).collect();
    texts.sort_unstable();
    texts
}

#[test]
fn memories_are_found_as_they_were_true_and_known_at_any_times() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new());
    let config = ProptestConfig {
        cases: std::env::var("PROPTEST_CASES")
            .ok()
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(200),
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let time = || prop::option::weighted(0.7, any::<Index>());
    let days = prop::collection::vec(1..8_i64, MESSAGES);
    let steps = prop::collection::vec(step(), 1..12);
    let questions = prop::collection::vec((time(), time()), 4_usize);
    proptest!(config, |(days in days, steps in steps, questions in questions)| {
        runtime.block_on(async {
            let mut history = History::new(&world, &days).await;
            for step in &steps {
                history.play(step).await;
            }
            history.note();
            for (as_of, known_at) in questions {
                history.check(as_of, known_at).await;
            }
        });
    });
}
