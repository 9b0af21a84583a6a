//! Compares derived text with a model in memory: after each step both have the same
//! state, and the ledger has no fault. The model has sets of messages and parents
//! instead of ranges of depths.

use std::collections::{BTreeMap, BTreeSet};

use memory_contract::{
    MessageId, MessageName, ThreadId,
    message::{Parent, Role},
};
use memory_store::{
    Commit, DistillKind, DistillState, Generations, LedgerState, NewObservation, NewReflection,
    NewSummary, Place, Standing, StoreError,
};
use proptest::prelude::*;
use tokio_postgres::{Transaction, types::ToSql};

use crate::world::{World, after};

/// One step. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    /// Appends messages of these tokens to the head.
    Append(Vec<i32>),
    /// Answers an old message once more.
    Reply(usize, i32),
    /// Appends another root.
    Root(i32),
    SetHead(usize),
    Delete(usize),
    DeleteHead,
    Clear,
    /// Summarizes some of the working set; the text may be the caller's own.
    Summarize(usize, bool),
    /// Sets a part of the working set aside; likewise.
    SetAside(usize, bool),
    /// Replaces the context and covers nothing.
    Context,
    Observe {
        from: usize,
        count: usize,
        active: bool,
    },
    /// Puts everything into use that is ready, or one reflection.
    Activate(usize),
    Reflect {
        count: usize,
        active: bool,
    },
    /// Changes in a transaction that never ends.
    Crash(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let tokens = 1..50_i32;
    prop_oneof![
        8 => prop::collection::vec(tokens.clone(), 1..6).prop_map(Step::Append),
        3 => (any::<usize>(), tokens.clone()).prop_map(|(to, tokens)| Step::Reply(to, tokens)),
        1 => tokens.prop_map(Step::Root),
        4 => any::<usize>().prop_map(Step::SetHead),
        3 => any::<usize>().prop_map(Step::Delete),
        2 => Just(Step::DeleteHead),
        1 => Just(Step::Clear),
        7 => (any::<usize>(), prop::bool::weighted(0.3)).prop_map(|(end, own)| Step::Summarize(end, own)),
        3 => (any::<usize>(), any::<bool>()).prop_map(|(end, own)| Step::SetAside(end, own)),
        2 => Just(Step::Context),
        8 => (any::<usize>(), 1..6_usize, any::<bool>())
            .prop_map(|(from, count, active)| Step::Observe { from, count, active }),
        3 => any::<usize>().prop_map(Step::Activate),
        4 => (1..4_usize, any::<bool>()).prop_map(|(count, active)| Step::Reflect { count, active }),
        3 => any::<usize>().prop_map(Step::Crash),
    ]
}

#[derive(Clone, Debug)]
struct Message {
    id: MessageId,
    parent: Option<usize>,
    place: Place,
    tokens: i64,
    alive: bool,
}

#[derive(Clone, Debug)]
struct Summary {
    /// `None` before the first message.
    end: Option<usize>,
    covered: BTreeSet<usize>,
    based_on: Option<i64>,
    own: bool,
    aside: bool,
}

#[derive(Clone, Debug)]
struct Observation {
    end: usize,
    covered: BTreeSet<usize>,
    active: bool,
    reflects: BTreeSet<i64>,
}

struct Model<'a> {
    world: &'a World,
    thread: ThreadId,
    messages: Vec<Message>,
    summaries: BTreeMap<i64, Summary>,
    observations: BTreeMap<i64, Observation>,
    /// All numbers ever given out are lower.
    next: [i64; 2],
    generations: Generations,
}

/// The texts that count on a path.
#[derive(Debug, Default, PartialEq)]
struct View {
    tip: Option<i64>,
    chain: BTreeSet<i64>,
    /// The state of each readable message of the path.
    summarized: BTreeMap<usize, (LedgerState, i64)>,
    observed: BTreeMap<usize, (LedgerState, i64)>,
    holding: BTreeSet<i64>,
    replaced: BTreeSet<i64>,
    ready: BTreeSet<i64>,
    shadowed: BTreeSet<i64>,
    /// Covered, in use or not.
    taken: BTreeSet<usize>,
}

impl<'a> Model<'a> {
    async fn new(world: &'a World) -> Self {
        Self {
            world,
            thread: world.thread().await.id,
            messages: Vec::new(),
            summaries: BTreeMap::new(),
            observations: BTreeMap::new(),
            next: [1, 1],
            generations: Generations::default(),
        }
    }

    /// From the root to a message.
    fn path(&self, head: Option<usize>) -> Vec<usize> {
        let mut path: Vec<usize> =
            std::iter::successors(head, |at| self.messages[*at].parent).collect();
        path.reverse();
        path
    }

    fn depth(&self, at: Option<usize>) -> i32 {
        at.map_or(0, |at| self.messages[at].place.depth)
    }

    fn place(&self, at: Option<usize>) -> Place {
        let root = Place {
            branch: 0,
            depth: 0,
        };
        at.map_or(root, |at| self.messages[at].place)
    }

    fn view(&self, path: &[usize]) -> View {
        let mut view = View::default();
        let on_path = |end: Option<usize>| end.is_none_or(|end| path.contains(&end));
        view.tip = self
            .summaries
            .iter()
            .filter(|(_, one)| on_path(one.end))
            .max_by_key(|(number, one)| (self.depth(one.end), **number))
            .map(|(number, _)| *number);
        let readable = path.iter().filter(|at| self.messages[**at].alive);
        for at in readable {
            view.summarized.insert(*at, (LedgerState::Raw, 0));
            view.observed.insert(*at, (LedgerState::Raw, 0));
        }
        let mut next = view.tip;
        while let Some(number) = next {
            let one = &self.summaries[&number];
            view.chain.insert(number);
            let state = match one.aside {
                true => LedgerState::SetAside,
                false => LedgerState::Summarized,
            };
            for at in &one.covered {
                let before = view.summarized.insert(*at, (state, number));
                assert_eq!(before, Some((LedgerState::Raw, 0)), "covered once");
            }
            next = one.based_on;
        }

        let mut valid: Vec<_> = self
            .observations
            .iter()
            .filter(|(_, one)| path.contains(&one.end))
            .collect();
        valid.sort_by_key(|(number, one)| {
            std::cmp::Reverse((one.active, self.depth(Some(one.end)), **number))
        });
        let reflections: Vec<_> = valid
            .extract_if(.., |(_, one)| !one.reflects.is_empty())
            .collect();
        valid.sort_by_key(|(number, one)| std::cmp::Reverse((self.depth(Some(one.end)), **number)));
        for (number, one) in valid {
            if !one.covered.is_disjoint(&view.taken) {
                view.shadowed.insert(*number);
                continue;
            }
            view.taken.extend(&one.covered);
            if !one.active {
                view.ready.insert(*number);
                continue;
            }
            view.holding.insert(*number);
            for at in &one.covered {
                view.observed.insert(*at, (LedgerState::Observed, *number));
            }
        }
        let counting = view.holding.clone();
        for (number, one) in reflections {
            let founded = one
                .reflects
                .iter()
                .filter(|number| self.observations[*number].reflects.is_empty())
                .all(|number| counting.contains(number));
            if view.replaced.contains(number) {
                continue;
            }
            if !founded || !one.reflects.is_disjoint(&view.replaced) {
                view.shadowed.insert(*number);
            } else if one.active {
                view.replaced.extend(&one.reflects);
                view.holding.insert(*number);
            } else {
                view.ready.insert(*number);
            }
        }
        let replaced = view.replaced.clone();
        view.holding.retain(|number| !replaced.contains(number));
        view.shadowed.retain(|number| !replaced.contains(number));
        view
    }

    async fn head(&self) -> Option<usize> {
        let thread = self
            .world
            .store
            .threads(&self.world.caller)
            .get_thread(self.thread)
            .await;
        thread.unwrap().head.map(|id| self.at(id))
    }

    fn at(&self, id: MessageId) -> usize {
        let found = self.messages.iter().position(|one| one.id == id);
        found.unwrap()
    }

    fn pick(&self, number: usize) -> Option<usize> {
        let alive: Vec<usize> = (0..self.messages.len())
            .filter(|at| self.messages[*at].alive)
            .collect();
        (!alive.is_empty()).then(|| alive[number % alive.len()])
    }

    async fn append(&mut self, parent: Parent, from: Option<usize>, tokens: &[i32]) {
        let messages = tokens
            .iter()
            .enumerate()
            .map(|(place, tokens)| {
                let parent = match place {
                    0 => parent.clone(),
                    _ => Parent::Previous,
                };
                let mut counted = after(parent, Role::User, "said");
                counted.tokens = *tokens;
                counted
            })
            .collect();
        let done = self.world.append(self.thread, messages).await.unwrap();
        let mut parent = from;
        for message in &done.messages {
            let depth = self.depth(parent) + 1;
            self.messages.push(Message {
                id: message.id,
                parent,
                place: Place {
                    branch: message.branch,
                    depth,
                },
                tokens: i64::from(message.tokens),
                alive: true,
            });
            parent = Some(self.messages.len() - 1);
        }
    }

    async fn play(&mut self, step: &Step) {
        let World { store, caller, .. } = self.world;
        let head = self.head().await;
        let path = self.path(head);
        let view = self.view(&path);
        match step {
            Step::Append(tokens) => self.append(Parent::Previous, head, tokens).await,
            Step::Reply(to, tokens) => {
                if let Some(to) = self.pick(*to) {
                    let parent = Parent::Message(self.messages[to].id.into());
                    self.append(parent, Some(to), &[*tokens]).await;
                }
            }
            Step::Root(tokens) => self.append(Parent::Root, None, &[*tokens]).await,
            Step::SetHead(to) => {
                if let Some(to) = self.pick(*to) {
                    let id = self.messages[to].id;
                    store
                        .threads(caller)
                        .set_head(self.thread, id, None)
                        .await
                        .unwrap();
                }
            }
            Step::Delete(number) => {
                if let Some(at) = self.pick(*number) {
                    self.delete(at).await;
                }
            }
            Step::DeleteHead => {
                if let Some(at) = head {
                    self.delete(at).await;
                }
            }
            Step::Clear => {
                store
                    .threads(caller)
                    .clear_thread(self.thread)
                    .await
                    .unwrap();
                self.messages.clear();
                self.summaries.clear();
                self.observations.clear();
                self.erased();
            }
            Step::Summarize(end, own) => {
                let raw = raw(&view.summarized);
                if !raw.is_empty() {
                    let covered = raw[..=end % raw.len()].iter().copied().collect();
                    self.summarize(&view, covered, *own, false).await;
                }
            }
            Step::SetAside(end, own) => {
                let raw = raw(&view.summarized);
                if !raw.is_empty() {
                    let covered = raw[..=end % raw.len()].iter().copied().collect();
                    self.summarize(&view, covered, *own, true).await;
                }
            }
            Step::Context => self.summarize(&view, BTreeSet::new(), true, false).await,
            Step::Observe {
                from,
                count,
                active,
            } => {
                if let Some(covered) = self.free(&view, *from, *count) {
                    self.observe(&view, covered, *active).await;
                }
            }
            Step::Activate(number) => {
                let chosen = self.ready(&view, *number);
                self.activate(&chosen).await;
            }
            Step::Reflect { count, active } => {
                let chosen: Vec<i64> = view.holding.iter().copied().take(*count).collect();
                self.reflect(&chosen, *active).await;
            }
            Step::Crash(number) => self.crash(*number, &view).await,
        }
    }

    /// Neighbors that nothing covers.
    fn free(&self, view: &View, from: usize, count: usize) -> Option<BTreeSet<usize>> {
        let order: Vec<usize> = view.observed.keys().copied().collect();
        let mut free: Vec<Vec<usize>> = vec![Vec::new()];
        for at in in_order(&self.messages, order) {
            match view.taken.contains(&at) {
                true => free.push(Vec::new()),
                false => free.last_mut().unwrap().push(at),
            }
        }
        free.retain(|run| !run.is_empty());
        let run = free.get(from.checked_rem(free.len())?)?;
        let first = (from / free.len()) % run.len();
        Some(run[first..].iter().copied().take(count).collect())
    }

    /// Everything that is ready, or one reflection.
    fn ready(&self, view: &View, number: usize) -> Vec<i64> {
        let (alone, plain): (Vec<i64>, Vec<i64>) = view
            .ready
            .iter()
            .partition(|number| !self.observations[*number].reflects.is_empty());
        match alone.get(number % (alone.len() + 1)) {
            Some(reflection) => vec![*reflection],
            None => plain,
        }
    }

    /// Makes every state that was read before stale.
    fn erased(&mut self) {
        self.generations.summaries += 1;
        self.generations.observations += 1;
    }

    async fn delete(&mut self, at: usize) {
        let id = self.messages[at].id;
        let World { store, caller, .. } = self.world;
        store
            .messages(caller)
            .delete_message(self.thread, id)
            .await
            .unwrap();
        self.erased();
        self.messages[at].alive = false;

        let gone: BTreeSet<i64> = self
            .observations
            .iter()
            .filter(|(_, one)| one.covered.contains(&at))
            .map(|(number, _)| *number)
            .collect();
        self.observations
            .retain(|number, one| !gone.contains(number) && one.reflects.is_disjoint(&gone));

        // Those whose text was made of it; what set messages aside stays without it.
        let (mut touched, mut gone) = (BTreeSet::<i64>::new(), BTreeSet::<i64>::new());
        for (number, one) in &self.summaries {
            let made_of_it = one.covered.contains(&at) && !one.aside;
            let goes_on = !one.own && one.based_on.is_some_and(|base| touched.contains(&base));
            if made_of_it || goes_on {
                touched.insert(*number);
                if !one.aside {
                    gone.insert(*number);
                }
            }
        }
        let before = self.summaries.clone();
        self.summaries.retain(|number, _| !gone.contains(number));
        for one in self.summaries.values_mut() {
            while let Some(base) = one.based_on.filter(|base| gone.contains(base)) {
                let base = &before[&base];
                one.aside |= one.covered.is_empty();
                one.covered.extend(&base.covered);
                one.based_on = base.based_on;
            }
        }
        let numbers: Vec<i64> = self.summaries.keys().copied().collect();
        for number in numbers {
            let mut one = self.summaries[&number].clone();
            one.covered.remove(&at);
            if one.end == Some(at) {
                let depth = |at: &usize| self.messages[*at].place.depth;
                let deepest = one.covered.iter().copied().max_by_key(depth);
                let base = one.based_on.map(|base| self.summaries[&base].end);
                one.end = deepest.or(base.flatten());
            }
            self.summaries.insert(number, one);
        }
    }

    /// Where a summary of the messages ends, and what follows that of the path.
    fn new_summary(
        &self,
        view: &View,
        covered: &BTreeSet<usize>,
        own: bool,
        aside: bool,
    ) -> (Option<usize>, NewSummary) {
        let before = view.tip.and_then(|tip| self.summaries[&tip].end);
        let depth = |at: &usize| self.messages[*at].place.depth;
        let end = covered.iter().copied().max_by_key(depth).or(before);
        let new = NewSummary {
            generation: self.generations.summaries,
            end: self.place(end),
            after_depth: self.depth(before),
            text: format!("summary {}", self.next[0]),
            tokens: 7,
            made_by: "extractive".to_owned(),
            based_on: view.tip,
            own_text: own,
            sets_aside: aside,
        };
        (end, new)
    }

    /// Where an observation of the messages begins and ends, and the observation.
    fn new_observation(
        &self,
        covered: &BTreeSet<usize>,
        active: bool,
    ) -> (usize, usize, NewObservation) {
        let covered = in_order(&self.messages, covered.iter().copied().collect());
        let (first, last) = (covered[0], *covered.last().unwrap());
        let new = NewObservation {
            generation: self.generations.observations,
            end: self.place(Some(last)),
            after_depth: self.depth(Some(first)) - 1,
            text: format!("observation {}", self.next[1]),
            tokens: 3,
            made_by: "extractive".to_owned(),
            active,
        };
        (first, last, new)
    }

    async fn summarize(&mut self, view: &View, covered: BTreeSet<usize>, own: bool, aside: bool) {
        let World { store, caller, .. } = self.world;
        let (end, new) = self.new_summary(view, &covered, own, aside);
        let stale = NewSummary {
            generation: self.generations.summaries - 1,
            ..new.clone()
        };
        let refused = store
            .distillates(caller)
            .commit_summary(self.thread, &stale)
            .await;
        assert_eq!(refused.unwrap(), Commit::Stale);
        let done = store
            .distillates(caller)
            .commit_summary(self.thread, &new)
            .await;
        let number = self.committed(done, 0);
        self.summaries.insert(
            number,
            Summary {
                end,
                covered,
                based_on: view.tip,
                own,
                aside,
            },
        );
    }

    async fn observe(&mut self, view: &View, covered: BTreeSet<usize>, active: bool) {
        let World { store, caller, .. } = self.world;
        let (first, last, new) = self.new_observation(&covered, active);
        // Messages that another text covers are not covered again.
        let above = self.path(Some(first));
        if above.iter().any(|at| view.taken.contains(at)) {
            let greedy = NewObservation {
                after_depth: 0,
                ..new.clone()
            };
            let refused = store
                .distillates(caller)
                .commit_observation(self.thread, &greedy)
                .await;
            assert!(matches!(refused, Err(StoreError::Misplaced)), "{refused:?}");
        }
        let done = store
            .distillates(caller)
            .commit_observation(self.thread, &new)
            .await;
        let number = self.committed(done, 1);
        self.observations.insert(
            number,
            Observation {
                end: last,
                covered,
                active,
                reflects: BTreeSet::new(),
            },
        );
    }

    async fn activate(&mut self, numbers: &[i64]) {
        let World { store, caller, .. } = self.world;
        let done = store
            .distillates(caller)
            .activate_observations(self.thread, self.generations.observations, numbers)
            .await;
        let Some(last) = numbers.iter().max() else {
            assert!(matches!(done, Err(StoreError::Misplaced)));
            return;
        };
        let Commit::Done(done) = done.unwrap() else {
            panic!("it is stale");
        };
        assert_eq!(done.number, *last);
        self.generations.observations += 1;
        assert_eq!(done.generation, self.generations.observations);
        for number in numbers {
            self.observations.get_mut(number).unwrap().active = true;
            let reflects = self.observations[number].reflects.clone();
            self.drop_rivals(&reflects, *number);
        }
    }

    fn drop_rivals(&mut self, reflects: &BTreeSet<i64>, but: i64) {
        self.observations.retain(|number, one| {
            one.active || *number == but || one.reflects.is_disjoint(reflects)
        });
    }

    async fn reflect(&mut self, chosen: &[i64], active: bool) {
        let World { store, caller, .. } = self.world;
        let new = NewReflection {
            generation: self.generations.observations,
            reflects: chosen.to_vec(),
            text: format!("reflection {}", self.next[1]),
            tokens: 2,
            made_by: "extractive".to_owned(),
            active,
        };
        let done = store
            .distillates(caller)
            .commit_reflection(self.thread, &new)
            .await;
        if chosen.is_empty() {
            assert!(matches!(done, Err(StoreError::Misplaced)));
            return;
        }
        let number = self.committed(done, 1);
        let mut reflects: BTreeSet<i64> = chosen.iter().copied().collect();
        for one in chosen {
            reflects.extend(&self.observations[one].reflects);
        }
        let ends = reflects.iter().map(|one| self.observations[one].end);
        let end = ends.max_by_key(|end| self.depth(Some(*end))).unwrap();
        if active {
            self.drop_rivals(&reflects, number);
        }
        self.observations.insert(
            number,
            Observation {
                end,
                covered: BTreeSet::new(),
                active,
                reflects,
            },
        );
    }

    fn committed(&mut self, done: Result<Commit, StoreError>, kind: usize) -> i64 {
        let Commit::Done(done) = done.unwrap() else {
            panic!("it is stale");
        };
        assert_eq!(done.number, self.next[kind]);
        self.next[kind] += 1;
        let generation = match kind {
            0 => &mut self.generations.summaries,
            _ => &mut self.generations.observations,
        };
        *generation += 1;
        assert_eq!(done.generation, *generation);
        done.number
    }

    /// A worker that dies, or a connection that breaks, after it has changed
    /// something and before it commits.
    async fn crash(&self, number: usize, view: &View) {
        let mut service = self.world.role("recollect_service").await;
        let transaction = service.transaction().await.unwrap();
        let status = self.change(&transaction, number, view).await;
        assert_eq!(status, "ok");
        transaction.rollback().await.unwrap();
    }

    /// Changes something in a transaction: what the number chooses, or else appends.
    async fn change(&self, transaction: &Transaction<'_>, number: usize, view: &View) -> String {
        let thread = self.thread.uuid();
        let (kind, number) = (number % 6, number / 6);
        let is_even = number % 2 == 0;
        let raw = raw(&view.summarized);
        let holding: Vec<i64> = view.holding.iter().copied().take(1 + number % 3).collect();
        let ready = self.ready(view, number);
        let generation = self.generations.observations;
        let row = match kind {
            0 if let Some(at) = self.pick(number) => {
                let delete =
                    "SELECT status FROM recollect.delete_message('a', 'x', $1, $2::uuid::text)";
                let id = self.messages[at].id.uuid();
                transaction.query_one(delete, &[&thread, &id]).await
            }
            1 if !raw.is_empty() => {
                let covered = raw[..=number % raw.len()].iter().copied().collect();
                let (_, new) = self.new_summary(view, &covered, is_even, false);
                let commit = "SELECT status FROM recollect.commit_summary(
                    'a', 'x', $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
                let NewSummary {
                    generation,
                    end: Place { branch, depth },
                    after_depth,
                    text,
                    tokens,
                    made_by,
                    based_on,
                    own_text,
                    sets_aside,
                } = &new;
                let params: &[&(dyn ToSql + Sync)] = &[
                    &thread,
                    generation,
                    branch,
                    after_depth,
                    depth,
                    text,
                    tokens,
                    made_by,
                    based_on,
                    own_text,
                    sets_aside,
                ];
                transaction.query_one(commit, params).await
            }
            2 if let Some(covered) = self.free(view, number, 3) => {
                let (_, _, new) = self.new_observation(&covered, is_even);
                let commit = "SELECT status FROM recollect.commit_observation(
                    'a', 'x', $1, $2, $3, $4, $5, $6, $7, $8, $9)";
                let NewObservation {
                    generation,
                    end: Place { branch, depth },
                    after_depth,
                    text,
                    tokens,
                    made_by,
                    active,
                } = &new;
                let params: &[&(dyn ToSql + Sync)] = &[
                    &thread,
                    generation,
                    branch,
                    after_depth,
                    depth,
                    text,
                    tokens,
                    made_by,
                    active,
                ];
                transaction.query_one(commit, params).await
            }
            3 if !holding.is_empty() => {
                let commit = "SELECT status FROM recollect.commit_reflection(
                    'a', 'x', $1, $2, $3, 'reflection', 2, 'extractive', $4)";
                let params: &[&(dyn ToSql + Sync)] = &[&thread, &generation, &holding, &is_even];
                transaction.query_one(commit, params).await
            }
            4 if !ready.is_empty() => {
                let activate = "SELECT status
                    FROM recollect.activate_observations('a', 'x', $1, $2, $3)";
                let params: &[&(dyn ToSql + Sync)] = &[&thread, &generation, &ready];
                transaction.query_one(activate, params).await
            }
            _ => {
                let append = "SELECT status FROM recollect.append(
                    'a', 'x', $1, json_build_array(json_build_object(
                        'message_id', $2::uuid, 'chosen', false, 'role', 'user', 'name', '',
                        'metadata', '{}'::json, 'tokens', 10)),
                    ARRAY['[{\"text\": \"said\"}]']::json[], ARRAY['said'],
                    NULL, NULL, false, NULL, false)";
                let id = MessageId::new().uuid();
                transaction.query_one(append, &[&thread, &id]).await
            }
        };
        row.unwrap().get(0)
    }

    /// Compares all that can be seen with the model.
    async fn compare(&self, look: usize) {
        let World { store, caller, .. } = self.world;
        let head = self.head().await;
        let state = store
            .distillates(caller)
            .distill_state(self.thread, None, false)
            .await;
        self.compare_path(head, &state.unwrap(), false);
        let ledger = store
            .distillates(caller)
            .ledger(self.thread, None)
            .await
            .unwrap();
        assert_eq!(ledger.faults(100), []);
        self.compare_stretches(head, &ledger);
        if let Some(other) = self.pick(look) {
            let name = MessageName::from(self.messages[other].id);
            let state = store
                .distillates(caller)
                .distill_state(self.thread, Some(&name), true)
                .await;
            self.compare_path(Some(other), &state.unwrap(), true);
            let ledger = store
                .distillates(caller)
                .ledger(self.thread, Some(&name))
                .await
                .unwrap();
            self.compare_stretches(Some(other), &ledger);
        }
        let branches: BTreeSet<i32> = self.messages.iter().map(|one| one.place.branch).collect();
        let counts = ledger.counts(1_000);
        assert_eq!(counts.len(), branches.len() * 2);
        for count in counts {
            let on_branch = (0..self.messages.len())
                .filter(|at| self.messages[*at].place.branch == count.branch);
            let end = on_branch.max_by_key(|at| self.messages[*at].place.depth);
            let path = self.path(end);
            let places: Vec<Place> = path.iter().map(|at| self.messages[*at].place).collect();
            let rows: Vec<usize> = (0..self.messages.len())
                .filter(|at| places.contains(&self.messages[*at].place))
                .collect();
            let alive: Vec<usize> = rows
                .iter()
                .copied()
                .filter(|at| self.messages[*at].alive)
                .collect();
            // An end that was erased may have a message in its place.
            let path: Vec<usize> = in_order(&self.messages, alive.clone());
            let view = self.view(&path);
            let states = match count.kind {
                DistillKind::Summary => &view.summarized,
                DistillKind::Observation => &view.observed,
            };
            let of = |state| states.values().filter(|(is, _)| *is == state).count() as i64;
            assert_eq!(count.messages, rows.len() as i64);
            assert_eq!(count.erased, (rows.len() - alive.len()) as i64);
            assert_eq!(count.raw, of(LedgerState::Raw), "{count:?}");
            assert_eq!(count.summarized, of(LedgerState::Summarized));
            assert_eq!(count.observed, of(LedgerState::Observed));
            assert_eq!(count.set_aside, of(LedgerState::SetAside));
            let sum = count.raw + count.summarized + count.observed + count.erased;
            assert_eq!(sum + count.set_aside, count.messages);
            assert_eq!(count.active, self.place(head).branch == count.branch);
        }
    }

    fn compare_path(&self, head: Option<usize>, state: &DistillState, replaced: bool) {
        let view = self.view(&self.path(head));
        assert_eq!(state.generations, self.generations);
        assert_eq!(state.head, head.map(|at| self.messages[at].id));
        assert_eq!(state.summary().map(|one| one.number), view.tip);
        let chain: BTreeSet<i64> = state
            .summaries
            .iter()
            .filter(|one| matches!(one.standing, Standing::Holds | Standing::Replaced))
            .map(|one| one.number)
            .collect();
        if replaced {
            assert_eq!(chain, view.chain);
        }
        let of = |state| {
            let states = view.summarized.values();
            states.filter(|(is, _)| *is == state).count() as i64
        };
        assert_eq!(state.summarized_count, of(LedgerState::Summarized));
        assert_eq!(state.set_aside_count, of(LedgerState::SetAside));
        for (standing, numbers) in [
            (Standing::Holds, &view.holding),
            (Standing::Replaced, &view.replaced),
            (Standing::Ready, &view.ready),
            (Standing::Shadowed, &view.shadowed),
        ] {
            let found: BTreeSet<i64> = state
                .observations_that(standing)
                .iter()
                .map(|one| one.number)
                .collect();
            let returned = replaced || matches!(standing, Standing::Holds | Standing::Ready);
            match returned {
                true => assert_eq!(&found, numbers, "{standing:?}"),
                false => assert!(found.is_empty()),
            }
        }
        let size = |states: &BTreeMap<usize, (LedgerState, i64)>| {
            let raw = raw(states);
            let tokens: i64 = raw.iter().map(|at| self.messages[*at].tokens).sum();
            (raw.len() as i64, tokens)
        };
        let raw = state.unsummarized;
        assert_eq!(
            (raw.message_count, raw.message_tokens),
            size(&view.summarized)
        );
        let counts = state.unobserved.iter().map(|raw| raw.message_count).sum();
        let tokens = state.unobserved.iter().map(|raw| raw.message_tokens).sum();
        assert_eq!((counts, tokens), size(&view.observed));
        for one in state.summaries.iter().chain(&state.observations) {
            let covered: BTreeSet<usize> = match one.kind {
                DistillKind::Summary => self.summaries[&one.number].covered.clone(),
                DistillKind::Observation => {
                    let known = &self.observations[&one.number];
                    let reflected = known.reflects.iter();
                    let below = reflected.flat_map(|number| &self.observations[number].covered);
                    known.covered.iter().chain(below).copied().collect()
                }
            };
            let order = in_order(&self.messages, covered.into_iter().collect());
            let tokens: i64 = order.iter().map(|at| self.messages[*at].tokens).sum();
            assert_eq!(one.message_count, order.len() as i64, "{one:?}");
            assert_eq!(one.message_tokens, tokens, "{one:?}");
            let id = |at: Option<&usize>| at.map(|at| self.messages[*at].id);
            assert_eq!((one.first, one.last), (id(order.first()), id(order.last())));
        }
    }

    fn compare_stretches(&self, head: Option<usize>, ledger: &memory_store::Ledger) {
        let path = self.path(head);
        let view = self.view(&path);
        for (kind, states) in [
            (DistillKind::Summary, &view.summarized),
            (DistillKind::Observation, &view.observed),
        ] {
            let mut expected = Vec::<(LedgerState, i64, MessageId, i64, i64)>::new();
            for at in in_order(&self.messages, states.keys().copied().collect()) {
                let (state, number) = states[&at];
                let one = &self.messages[at];
                match expected.last_mut() {
                    Some(last) if (last.0, last.1) == (state, number) => {
                        last.2 = one.id;
                        last.3 += 1;
                        last.4 += one.tokens;
                    }
                    _ => expected.push((state, number, one.id, 1, one.tokens)),
                }
            }
            // Erased messages separate what is one stretch otherwise.
            let mut found = Vec::<(LedgerState, i64, MessageId, i64, i64)>::new();
            for one in ledger.ranges(kind) {
                if one.state == LedgerState::Erased {
                    continue;
                }
                match found.last_mut() {
                    Some(last) if (last.0, last.1) == (one.state, one.number) => {
                        last.2 = one.last;
                        last.3 += one.messages;
                        last.4 += one.tokens;
                    }
                    _ => found.push((one.state, one.number, one.last, one.messages, one.tokens)),
                }
            }
            assert_eq!(found, expected, "{kind:?}");
        }
    }
}

/// The messages in full. On a path, numbers increase.
fn raw(states: &BTreeMap<usize, (LedgerState, i64)>) -> Vec<usize> {
    let raw = states
        .iter()
        .filter(|(_, (state, _))| *state == LedgerState::Raw);
    raw.map(|(at, _)| *at).collect()
}

fn in_order(messages: &[Message], mut some: Vec<usize>) -> Vec<usize> {
    some.sort_by_key(|at| messages[*at].place.depth);
    some
}

#[test]
fn no_sequence_of_steps_loses_a_message_or_covers_one_twice() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let world = runtime.block_on(World::new());
    let config = ProptestConfig {
        cases: std::env::var("PROPTEST_CASES")
            .ok()
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(20),
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = prop::collection::vec(step(), 1..40);
    proptest!(config, |(steps in steps)| {
        runtime.block_on(async {
            let mut model = Model::new(&world).await;
            for (number, step) in steps.iter().enumerate() {
                model.play(step).await;
                model.compare(number.wrapping_mul(7919)).await;
            }
        });
    });
}
