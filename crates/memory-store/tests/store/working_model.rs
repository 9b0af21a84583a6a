//! Working memory after any sequence of changes of its thread: it has no duplicates, the
//! thread loses no message, and the ledger has no fault.

use memory_contract::{
    MessageId, ThreadId,
    json::JsonObject,
    message::{Message, NewMessage, Parent, Role},
    precondition::Precondition,
};
use memory_store::{
    CountedMessage, DistillKind, HistoryQuery, LedgerState, NewSummary, PutDone, StoreError,
    WorkingMemory, WorkingPut, WorkingTarget,
};
use proptest::prelude::*;

use crate::world::{World, after, said};

/// One step. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    /// Answers an old message once more.
    Reply(usize),
    SetHead(usize),
    Delete(usize),
    /// Summarizes some of the working set, as a worker does.
    Summarize(usize),
    /// Keeps so many of the newest, by id or by what they say, and adds new ones.
    Put {
        keep: usize,
        by_id: bool,
        new: usize,
        context: bool,
    },
    /// Gives back everything that was ever read, with a new one.
    PutAll,
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..5_usize).prop_map(Step::Append),
        2 => any::<usize>().prop_map(Step::Reply),
        2 => any::<usize>().prop_map(Step::SetHead),
        2 => any::<usize>().prop_map(Step::Delete),
        3 => any::<usize>().prop_map(Step::Summarize),
        6 => (any::<usize>(), any::<bool>(), 0..3_usize, any::<bool>())
            .prop_map(|(keep, by_id, new, context)| Step::Put { keep, by_id, new, context }),
        1 => Just(Step::PutAll),
        1 => Just(Step::Forget),
    ]
}

struct Run<'a> {
    world: &'a World,
    thread: ThreadId,
    /// All readable messages, on all branches.
    alive: Vec<MessageId>,
    said: usize,
}

impl Run<'_> {
    async fn read(&self) -> WorkingMemory {
        let working = self.world.store.working_memories(&self.world.caller);
        let read = working.working_memory(self.thread, 500, 1 << 20);
        read.await.unwrap().0
    }

    /// The messages on the way to the head, the oldest first.
    async fn path(&self) -> Vec<Message> {
        let query = HistoryQuery {
            thread: self.thread,
            head: None,
            max_tokens: i64::MAX,
            limit: 1_000,
        };
        let history = self
            .world
            .store
            .messages(&self.world.caller)
            .history(&query)
            .await;
        let mut messages = history.unwrap().messages;
        messages.reverse();
        messages
    }

    fn next(&mut self) -> CountedMessage {
        self.said += 1;
        said(Role::User, &format!("said {}", self.said))
    }

    async fn append(&mut self, messages: Vec<CountedMessage>) {
        let done = self.world.append(self.thread, messages).await.unwrap();
        self.alive.extend(done.messages.iter().map(|one| one.id));
    }

    async fn put(&mut self, put: &WorkingPut<'_>) -> PutDone {
        let target = WorkingTarget::Thread(self.thread);
        let done = self
            .world
            .store
            .working_memories(&self.world.caller)
            .put_working_memory(&target, put);
        let done = done.await.unwrap();
        let messages = put.messages.as_deref().unwrap();
        let new = done.appended.iter().map(|at| messages[*at].message.id);
        self.alive.extend(new);
        done
    }

    async fn run(&mut self, step: &Step) {
        let choose = |number: usize, of: usize| number.checked_rem(of);
        match *step {
            Step::Append(count) => {
                let messages = (0..count).map(|_| self.next()).collect();
                self.append(messages).await;
            }
            Step::Reply(to) => {
                if let Some(at) = choose(to, self.alive.len()) {
                    let parent = Parent::Message(self.alive[at].into());
                    self.append(vec![after(parent, Role::Assistant, "another answer")])
                        .await;
                }
            }
            Step::SetHead(to) => {
                if let Some(at) = choose(to, self.alive.len()) {
                    let (store, head) = (&self.world.store, self.alive[at]);
                    let moved = store
                        .threads(&self.world.caller)
                        .set_head(self.thread, head, None);
                    moved.await.unwrap();
                }
            }
            Step::Delete(which) => {
                if let Some(at) = choose(which, self.alive.len()) {
                    let (store, id) = (&self.world.store, self.alive.remove(at));
                    let gone = store
                        .messages(&self.world.caller)
                        .delete_message(self.thread, id);
                    gone.await.unwrap();
                }
            }
            Step::Summarize(end) => self.summarize(end).await,
            Step::Put {
                keep,
                by_id,
                new,
                context,
            } => self.replace(keep, by_id, new, context).await,
            Step::PutAll => {
                let mut messages: Vec<_> = self.path().await.iter().map(kept).collect();
                let before = self.read().await;
                messages.push(self.next());
                let all = messages.len() - 1;
                let done = self.put(&put_of(messages)).await;
                assert_eq!(done.covered.len(), all - before.messages.len());
                assert_eq!(done.appended, [all]);
            }
            Step::Forget => {
                let (store, caller) = (&self.world.store, &self.world.caller);
                let before = self.read().await;
                let forgotten = store
                    .working_memories(caller)
                    .delete_working_memory(self.thread);
                assert_eq!(forgotten.await.unwrap(), before.anything);
                let after = self.read().await;
                assert!(!after.anything && after.messages.is_empty(), "{after:?}");
            }
        }
    }

    async fn summarize(&self, end: usize) {
        let (store, caller) = (&self.world.store, &self.world.caller);
        let memory = self.read().await;
        let Some(at) = end.checked_rem(memory.messages.len()) else {
            return;
        };
        let state = store
            .distillates(caller)
            .distill_state(self.thread, None, false)
            .await
            .unwrap();
        let last = &memory.messages[at];
        let new = NewSummary {
            generation: state.generations.summaries,
            end: memory_store::Place {
                branch: last.branch,
                depth: last.depth,
            },
            after_depth: state.unsummarized.after_depth,
            text: format!("{} and more", memory.context),
            tokens: 5,
            made_by: "extractive".to_owned(),
            based_on: state.summary().map(|one| one.number),
            own_text: false,
            sets_aside: false,
        };
        store
            .distillates(caller)
            .commit_summary(self.thread, &new)
            .await
            .unwrap();
        let after = self.read().await;
        assert_eq!(after.messages, memory.messages[at + 1..]);
        assert_ne!(after.etag, memory.etag);
    }

    async fn replace(&mut self, keep: usize, by_id: bool, new: usize, context: bool) {
        let before = self.read().await;
        let keep = keep % (before.messages.len() + 1);
        let from = before.messages.len() - keep;
        let mut messages: Vec<CountedMessage> = before.messages[from..]
            .iter()
            .map(|one| match by_id {
                true => kept(one),
                false => CountedMessage {
                    message: NewMessage {
                        parts: one.parts.clone(),
                        created: Some(one.created),
                        ..said(one.role, "").message
                    },
                    tokens: 10,
                },
            })
            .collect();
        messages.extend((0..new).map(|_| self.next()));
        let mut put = put_of(messages);
        put.precondition = Precondition::Etag(before.etag.clone());
        put.context = context.then(|| (format!("context {}", self.said), 2));
        let done = self.put(&put).await;
        assert_eq!(done.appended.len(), new);
        let after = self.read().await;
        assert_eq!(after.messages[..keep], before.messages[from..]);
        assert_eq!(after.messages.len(), keep + new);
        match &put.context {
            Some((text, _)) => assert_eq!(&after.context, text),
            None => assert_eq!(after.context, before.context),
        }
        // A put with an older etag replaces nothing.
        put.precondition = Precondition::Etag(before.etag);
        let target = WorkingTarget::Thread(self.thread);
        let stale = self
            .world
            .store
            .working_memories(&self.world.caller)
            .put_working_memory(&target, &put);
        let stale = stale.await;
        assert!(
            matches!(stale, Err(StoreError::EtagChanged { .. })),
            "{stale:?}"
        );
    }

    /// Checks the invariants.
    async fn check(&self) {
        let (store, caller) = (&self.world.store, &self.world.caller);
        let memory = self.read().await;
        let path: Vec<MessageId> = self.path().await.iter().map(|one| one.id).collect();
        let ids: Vec<MessageId> = memory.messages.iter().map(|one| one.id).collect();
        assert!(path.ends_with(&ids), "{path:?} {ids:?}");
        let tokens: i64 = memory
            .messages
            .iter()
            .map(|one| i64::from(one.tokens))
            .sum();
        assert_eq!(
            (memory.message_count, memory.message_tokens),
            (ids.len() as i64, tokens)
        );
        let ledger = store
            .distillates(caller)
            .ledger(self.thread, None)
            .await
            .unwrap();
        assert_eq!(ledger.faults(10), []);
        let stretches = ledger.ranges(DistillKind::Summary);
        let of = |state: LedgerState| -> i64 {
            let those = stretches.iter().filter(|one| one.state == state);
            those.map(|one| one.messages).sum()
        };
        assert_eq!(of(LedgerState::Raw), memory.message_count);
        let state = store
            .distillates(caller)
            .distill_state(self.thread, None, false)
            .await
            .unwrap();
        let text = state.summary().map(|one| one.text.as_str());
        assert_eq!(memory.context, text.unwrap_or_default());
        if !memory.context.is_empty() {
            assert_eq!(memory.summarized_count, state.summarized_count);
        }
        let thread = &memory.policies.thread;
        assert_eq!(thread.message_count, self.alive.len() as i64);
    }
}

fn kept(one: &Message) -> CountedMessage {
    CountedMessage {
        message: NewMessage {
            id: one.id,
            caller_chose_id: true,
            parts: one.parts.clone(),
            ..said(one.role, "").message
        },
        tokens: 10,
    }
}

fn put_of(messages: Vec<CountedMessage>) -> WorkingPut<'static> {
    WorkingPut {
        messages: Some(messages),
        contents: Vec::new(),
        context: None,
        memories: Some(Vec::new()),
        data: Some(JsonObject::default()),
        ttl: Some(None),
        ttl_erases_thread: false,
        policy: None,
        model: None,
        precondition: Default::default(),
    }
}

#[test]
fn working_memory_is_right_after_any_steps() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new());
    let config = ProptestConfig {
        cases: std::env::var("PROPTEST_CASES")
            .ok()
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(24),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..24))| {
        runtime.block_on(async {
            let thread = world.thread().await.id;
            let mut run = Run {
                world: &world,
                thread,
                alive: Vec::new(),
                said: 0,
            };
            for step in &steps {
                run.run(step).await;
                run.check().await;
            }
        });
    });
}
