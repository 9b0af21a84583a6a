use std::time::Duration;

use memory_contract::{
    MessageId, ThreadId,
    message::{Parent, Role},
};
use memory_store::{
    Caller, Commit, Committed, DistillKind, DistillStats, Distillate, Generations, LedgerState,
    MessageRange, NewObservation, NewReflection, NewSummary, Place, RangeQuery, Standing,
    StoreError, TransactionQuery,
};

use crate::world::{World, after, caller, said};

const MINUTE: Duration = Duration::from_secs(60);

/// A summary on the first branch.
fn summary(generation: i64, (after_depth, depth): (i32, i32), based_on: Option<i64>) -> NewSummary {
    NewSummary {
        generation,
        end: place(1, depth),
        after_depth,
        text: format!("summary to {depth}"),
        tokens: 5,
        made_by: "extractive".to_owned(),
        based_on,
        own_text: false,
        sets_aside: false,
    }
}

/// An observation on the first branch.
fn observation(generation: i64, (after_depth, depth): (i32, i32), active: bool) -> NewObservation {
    NewObservation {
        generation,
        end: place(1, depth),
        after_depth,
        text: format!("observation to {depth}"),
        tokens: 3,
        made_by: "extractive".to_owned(),
        active,
    }
}

fn place(branch: i32, depth: i32) -> Place {
    Place { branch, depth }
}

fn done(commit: Result<Commit, StoreError>) -> Committed {
    match commit.unwrap() {
        Commit::Done(done) => done,
        Commit::Stale => panic!("it is stale"),
    }
}

impl World {
    async fn conversation(&self, length: usize) -> (ThreadId, Vec<MessageId>) {
        let thread = self.thread().await.id;
        let messages = (0..length).map(|_| said(Role::User, "said")).collect();
        let stored = self.append(thread, messages).await.unwrap();
        (thread, stored.messages.iter().map(|one| one.id).collect())
    }

    async fn generations(&self, thread: ThreadId) -> Generations {
        let state = self
            .store
            .distillates(&self.caller)
            .distill_state(thread, None, false);
        state.await.unwrap().generations
    }

    async fn summarize(&self, thread: ThreadId, new: &NewSummary) -> Committed {
        done(
            self.store
                .distillates(&self.caller)
                .commit_summary(thread, new)
                .await,
        )
    }

    async fn observe(&self, thread: ThreadId, new: &NewObservation) -> Committed {
        let commit = self
            .store
            .distillates(&self.caller)
            .commit_observation(thread, new);
        done(commit.await)
    }

    async fn erase(&self, thread: ThreadId, message: MessageId) {
        let erased = self
            .store
            .messages(&self.caller)
            .delete_message(thread, message);
        erased.await.unwrap();
    }

    /// The summary that holds, and the tokens of the working set.
    async fn context(&self, thread: ThreadId) -> (Option<Distillate>, i64) {
        let state = self
            .store
            .distillates(&self.caller)
            .distill_state(thread, None, false);
        let state = state.await.unwrap();
        let raw = state.unsummarized.message_tokens;
        (state.summary().cloned(), raw)
    }
}

#[tokio::test]
async fn text_made_of_an_older_state_cannot_be_stored() {
    let world = World::new().await;
    let World { store, caller, .. } = &world;
    let (thread, ids) = world.conversation(6).await;
    let first = world.summarize(thread, &summary(0, (0, 2), None)).await;
    assert_eq!((first.number, first.generation), (1, 1));
    // Another worker's, which has read the same.
    let late = summary(0, (0, 2), None);
    let late = store.distillates(caller).commit_summary(thread, &late);
    assert_eq!(late.await.unwrap(), Commit::Stale);
    // A summary that does not begin where the first ends is refused.
    for wrong in [
        summary(1, (0, 2), None),
        summary(1, (0, 4), Some(1)),
        summary(1, (3, 4), Some(1)),
        summary(1, (2, 7), Some(1)),
        summary(1, (2, 1), Some(1)),
        NewSummary {
            text: String::new(),
            ..summary(1, (2, 4), Some(1))
        },
    ] {
        let refused = store
            .distillates(caller)
            .commit_summary(thread, &wrong)
            .await;
        assert!(matches!(refused, Err(StoreError::Misplaced)), "{wrong:?}");
    }
    // Work in progress of the other kind can still be committed.
    let other = world.observe(thread, &observation(0, (0, 2), true)).await;
    assert_eq!((other.number, other.generation), (1, 1));
    // An erasure of any message makes work in progress stale, an append does not.
    world.say(thread, Role::User, "more").await;
    let generations = Generations {
        summaries: 1,
        observations: 1,
    };
    assert_eq!(world.generations(thread).await, generations);
    world.erase(thread, ids[4]).await;
    for commit in [
        store
            .distillates(caller)
            .commit_summary(thread, &summary(1, (2, 4), Some(1)))
            .await,
        store
            .distillates(caller)
            .commit_observation(thread, &observation(1, (2, 4), true))
            .await,
        store
            .distillates(caller)
            .activate_observations(thread, 1, &[1])
            .await,
    ] {
        assert_eq!(commit.unwrap(), Commit::Stale);
    }
    let second = world.summarize(thread, &summary(2, (2, 4), Some(1))).await;
    store.threads(caller).clear_thread(thread).await.unwrap();
    let late = summary(second.generation, (0, 1), None);
    let late = store.distillates(caller).commit_summary(thread, &late);
    assert_eq!(late.await.unwrap(), Commit::Stale);
    store.threads(caller).delete_thread(thread).await.unwrap();
    let late = store
        .distillates(caller)
        .commit_summary(thread, &summary(9, (0, 1), None))
        .await;
    assert!(matches!(late, Err(StoreError::ThreadNotFound)));
}

#[tokio::test]
async fn erasing_a_message_erases_its_texts_and_those_that_continue_them() {
    let world = World::new().await;
    let (thread, ids) = world.conversation(8).await;
    let mut generation = 0;
    for (between, based_on) in [((0, 2), None), ((2, 4), Some(1)), ((4, 6), Some(2))] {
        let new = summary(generation, between, based_on);
        generation = world.summarize(thread, &new).await.generation;
    }
    let owner = world.owner().await;
    let texts = async || -> Vec<String> {
        let sql = "SELECT text FROM recollect.distillates ORDER BY number";
        let rows = owner.query(sql, &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    world
        .workers
        .distillates(&world.store)
        .claim_distill(10, MINUTE)
        .await
        .unwrap();
    world.erase(thread, ids[2]).await;
    assert_eq!(texts().await, ["summary to 2"]);
    let (context, raw) = world.context(thread).await;
    assert_eq!((context.unwrap().number, raw), (1, 50));
    // Numbers are not given out again, and somebody is to look at the thread.
    let again = world
        .summarize(thread, &summary(generation + 1, (2, 4), Some(1)))
        .await;
    assert_eq!(again.number, 4);
    let wanted = "SELECT wanted FROM recollect.distill_jobs";
    assert_eq!(
        owner.query_one(wanted, &[]).await.unwrap().get::<_, i64>(0),
        2
    );
    world
        .store
        .threads(&world.caller)
        .delete_thread(thread)
        .await
        .unwrap();
    assert!(texts().await.is_empty());
    assert!(owner.query(wanted, &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_context_written_by_the_caller_survives_the_erasure_of_older_messages() {
    let world = World::new().await;
    let (thread, ids) = world.conversation(8).await;
    let first = world.summarize(thread, &summary(0, (0, 2), None)).await;
    let second = world
        .summarize(thread, &summary(first.generation, (2, 4), Some(1)))
        .await;
    let own = NewSummary {
        text: "the caller's".to_owned(),
        made_by: "caller".to_owned(),
        own_text: true,
        ..summary(second.generation, (4, 4), Some(2))
    };
    let own = world.summarize(thread, &own).await;
    let after_it = world
        .summarize(thread, &summary(own.generation, (4, 6), Some(3)))
        .await;
    // A message before its end, and then the message at its end.
    for (erased, end) in [(ids[0], 4), (ids[3], 3)] {
        world.erase(thread, erased).await;
        let state = world
            .store
            .distillates(&world.caller)
            .distill_state(thread, None, true);
        let state = state.await.unwrap();
        let found: Vec<_> = state
            .summaries
            .iter()
            .map(|one| (one.number, one.based_on, one.text.clone()))
            .collect();
        assert_eq!(
            found,
            [
                (3, None, "the caller's".to_owned()),
                (4, Some(3), "summary to 6".to_owned())
            ]
        );
        let own = &state.summaries[0];
        assert!(own.sets_aside && own.after_depth == 0 && own.end == place(1, end));
        assert_eq!(state.unsummarized.message_count, 2);
    }
    assert!(after_it.number == 4);
    let ledger = world
        .store
        .distillates(&world.caller)
        .ledger(thread, None)
        .await
        .unwrap();
    assert_eq!(ledger.faults(10), []);
    let states: Vec<_> = ledger
        .ranges(DistillKind::Summary)
        .iter()
        .map(|one| (one.state, one.number, one.messages))
        .collect();
    assert_eq!(
        states,
        [
            (LedgerState::Erased, 0, 1),
            (LedgerState::SetAside, 3, 2),
            (LedgerState::Erased, 0, 1),
            (LedgerState::Summarized, 4, 2),
            (LedgerState::Raw, 0, 2)
        ]
    );
}

#[tokio::test]
async fn messages_set_aside_stay_so_and_later_ones_are_not_covered() {
    let world = World::new().await;
    let (thread, ids) = world.conversation(4).await;
    let aside = NewSummary {
        text: String::new(),
        sets_aside: true,
        own_text: true,
        ..summary(0, (0, 4), None)
    };
    world.summarize(thread, &aside).await;
    assert_eq!(world.context(thread).await.1, 0);
    world.erase(thread, ids[1]).await;
    assert_eq!(world.context(thread).await.1, 0);
    // The last one too: its place is free for the next message.
    world.erase(thread, ids[3]).await;
    assert_eq!(world.context(thread).await.1, 0);
    world.say(thread, Role::User, "new").await;
    let (context, raw) = world.context(thread).await;
    let context = context.unwrap();
    assert_eq!(
        (context.end, context.message_count, raw),
        (place(1, 3), 2, 10)
    );
    assert_eq!(context.last, Some(ids[2]));
    for erased in [ids[0], ids[2]] {
        world.erase(thread, erased).await;
    }
    let (context, raw) = world.context(thread).await;
    assert_eq!((context.unwrap().end, raw), (place(0, 0), 10));
}

#[tokio::test]
async fn a_path_keeps_its_texts_while_the_head_is_elsewhere() {
    let world = World::new().await;
    let World { store, caller, .. } = &world;
    let (thread, ids) = world.conversation(10).await;
    world.summarize(thread, &summary(0, (0, 8), None)).await;
    world.observe(thread, &observation(0, (0, 8), true)).await;
    let (before, raw) = world.context(thread).await;
    assert_eq!((before.as_ref().unwrap().number, raw), (1, 20));

    // From the fifth message another way is taken, which shares nothing that is
    // covered. What is made for it ends before it turns off.
    world
        .append(
            thread,
            vec![after(Parent::Message(ids[4].into()), Role::User, "anew")],
        )
        .await
        .unwrap();
    assert_eq!(world.context(thread).await, (None, 60));
    world.summarize(thread, &summary(1, (0, 3), None)).await;
    world.observe(thread, &observation(1, (1, 4), true)).await;
    let (context, raw) = world.context(thread).await;
    assert_eq!((context.unwrap().number, raw), (2, 30));

    store
        .threads(caller)
        .set_head(thread, ids[9], None)
        .await
        .unwrap();
    assert_eq!(world.context(thread).await, (before, 20));
    let state = store
        .distillates(caller)
        .distill_state(thread, None, true)
        .await
        .unwrap();
    let numbers = |standing| -> Vec<i64> {
        let those = state.observations_that(standing);
        those.iter().map(|one| one.number).collect()
    };
    assert_eq!(
        (numbers(Standing::Holds), numbers(Standing::Shadowed)),
        (vec![1], vec![2])
    );
    let ledger = store
        .distillates(caller)
        .ledger(thread, None)
        .await
        .unwrap();
    assert_eq!(ledger.faults(10), []);
    // When the deeper one goes, the other one counts.
    world.erase(thread, ids[7]).await;
    let (context, raw) = world.context(thread).await;
    assert_eq!((context.unwrap().number, raw), (2, 60));
}

#[tokio::test]
async fn a_reflection_replaces_observations_until_one_of_them_is_erased() {
    let world = World::new().await;
    let World { store, caller, .. } = &world;
    let (thread, ids) = world.conversation(10).await;
    let mut generation = 0;
    for (between, active) in [
        ((0, 2), true),
        ((2, 4), true),
        ((4, 6), false),
        ((6, 8), false),
    ] {
        let new = observation(generation, between, active);
        generation = world.observe(thread, &new).await.generation;
    }
    let reflection = |generation, reflects: &[i64], active| NewReflection {
        generation,
        reflects: reflects.to_vec(),
        text: "condensed".to_owned(),
        tokens: 1,
        made_by: "extractive".to_owned(),
        active,
    };
    // Only of what is in use.
    for wrong in [&[][..], &[3], &[1, 9]] {
        let new = reflection(generation, wrong, true);
        let refused = store
            .distillates(caller)
            .commit_reflection(thread, &new)
            .await;
        assert!(matches!(refused, Err(StoreError::Misplaced)), "{wrong:?}");
    }
    let mut reflect = async |reflects: &[i64], active| {
        let new = reflection(generation, reflects, active);
        let committed = done(
            store
                .distillates(caller)
                .commit_reflection(thread, &new)
                .await,
        );
        generation = committed.generation;
        committed.number
    };
    assert_eq!(reflect(&[1, 2], false).await, 5);
    assert_eq!(reflect(&[1], false).await, 6);
    let standing = async |which| -> Vec<i64> {
        let state = store
            .distillates(caller)
            .distill_state(thread, None, true)
            .await
            .unwrap();
        let found = state.observations_that(which);
        found.iter().map(|one| one.number).collect()
    };
    assert_eq!(standing(Standing::Holds).await, [1, 2]);
    assert_eq!(standing(Standing::Ready).await, [6, 5, 3, 4]);
    // Two for the same cannot both be put into use.
    let both = store
        .distillates(caller)
        .activate_observations(thread, generation, &[5, 6])
        .await;
    assert!(matches!(both, Err(StoreError::Misplaced)));
    let state = store
        .distillates(caller)
        .distill_state(thread, None, false)
        .await
        .unwrap();
    assert_eq!(state.unobserved.len(), 1);
    assert_eq!(state.unobserved[0].message_count, 6);
    let swapped = store
        .distillates(caller)
        .activate_observations(thread, generation, &[3, 5])
        .await;
    generation = done(swapped).generation;
    assert_eq!(standing(Standing::Holds).await, [5, 3]);
    assert_eq!(standing(Standing::Replaced).await, [1, 2]);
    // The other one was dropped.
    assert_eq!(standing(Standing::Ready).await, [4]);
    let again = store
        .distillates(caller)
        .activate_observations(thread, generation, &[5])
        .await;
    assert!(matches!(again, Err(StoreError::Misplaced)));

    // A reflection may condense reflections and what these condense.
    let new = reflection(generation, &[5, 3], true);
    let top = done(
        store
            .distillates(caller)
            .commit_reflection(thread, &new)
            .await,
    )
    .number;
    let state = store
        .distillates(caller)
        .distill_state(thread, None, true)
        .await
        .unwrap();
    let held = state.observations_that(Standing::Holds);
    assert_eq!(held.len(), 1);
    assert_eq!(
        (held[0].number, &held[0].reflects),
        (top, &vec![1, 2, 3, 5])
    );
    assert_eq!((held[0].message_count, held[0].message_tokens), (6, 60));
    assert_eq!((held[0].first, held[0].last), (Some(ids[0]), Some(ids[5])));
    world.erase(thread, ids[1]).await;
    assert_eq!(standing(Standing::Holds).await, [2, 3]);
    let state = store
        .distillates(caller)
        .distill_state(thread, None, true)
        .await
        .unwrap();
    let gaps: Vec<_> = state
        .unobserved
        .iter()
        .map(|raw| (raw.after_depth, raw.to_depth, raw.message_tokens))
        .collect();
    assert_eq!(gaps, [(0, 2, 10), (6, 10, 40)]);
    // Freed messages are observed again.
    world
        .observe(
            thread,
            &observation(state.generations.observations, (0, 1), true),
        )
        .await;
    assert_eq!(standing(Standing::Holds).await, [8, 2, 3]);
}

#[tokio::test]
async fn a_stretch_is_read_in_order_and_within_its_bounds() {
    let world = World::new().await;
    let World { store, caller, .. } = &world;
    let (thread, mut ids) = world.conversation(4).await;
    let forked = world
        .append(
            thread,
            vec![
                after(Parent::Message(ids[1].into()), Role::User, "anew"),
                said(Role::User, "on"),
            ],
        )
        .await
        .unwrap();
    ids.extend(forked.messages.iter().map(|one| one.id));
    let query = RangeQuery {
        thread,
        head: None,
        after_depth: 0,
        to_depth: i32::MAX,
        max_messages: 100,
        max_tokens: i64::MAX,
        max_bytes: i64::MAX,
    };
    let read = async |query: RangeQuery| {
        let MessageRange {
            messages,
            imported,
            more,
            generations,
        } = store.distillates(caller).read_range(&query).await.unwrap();
        assert_eq!(
            (generations, imported),
            (Generations::default(), Vec::new())
        );
        let found: Vec<usize> = messages
            .iter()
            .map(|one| ids.iter().position(|id| *id == one.id).unwrap())
            .collect();
        (found, more)
    };
    assert_eq!(read(query).await, (vec![0, 1, 4, 5], false));
    assert_eq!(
        read(RangeQuery {
            after_depth: 1,
            ..query
        })
        .await,
        (vec![1, 4, 5], false)
    );
    assert_eq!(
        read(RangeQuery {
            after_depth: 2,
            ..query
        })
        .await,
        (vec![4, 5], false)
    );
    assert_eq!(
        read(RangeQuery {
            after_depth: 4,
            ..query
        })
        .await,
        (vec![], false)
    );
    assert_eq!(
        read(RangeQuery {
            to_depth: 3,
            ..query
        })
        .await,
        (vec![0, 1, 4], false)
    );
    assert_eq!(
        read(RangeQuery {
            max_messages: 3,
            ..query
        })
        .await,
        (vec![0, 1, 4], true)
    );
    assert_eq!(
        read(RangeQuery {
            max_messages: 4,
            ..query
        })
        .await,
        (vec![0, 1, 4, 5], false)
    );
    assert_eq!(
        read(RangeQuery {
            max_tokens: 25,
            ..query
        })
        .await,
        (vec![0, 1], true)
    );
    assert_eq!(
        read(RangeQuery {
            max_tokens: 1,
            ..query
        })
        .await,
        (vec![0], true)
    );
    assert_eq!(
        read(RangeQuery {
            max_bytes: 1,
            ..query
        })
        .await,
        (vec![0], true)
    );
    assert_eq!(
        read(RangeQuery {
            head: Some(ids[3]),
            ..query
        })
        .await,
        (vec![0, 1, 2, 3], false)
    );
    let unknown = RangeQuery {
        head: Some(MessageId::new()),
        ..query
    };
    let refused = store.distillates(caller).read_range(&unknown).await;
    assert!(matches!(refused, Err(StoreError::MessageNotFound)));
}

#[tokio::test]
async fn messages_that_arrive_during_a_run_are_not_lost() {
    let world = World::new().await;
    let World {
        store,
        caller,
        workers,
        ..
    } = &world;
    let queue = workers.distillates(store);
    let (thread, ids) = world.conversation(3).await;
    let claim = queue.claim_distill(10, MINUTE).await.unwrap();
    assert_eq!(claim.jobs.len(), 1);
    let job = &claim.jobs[0];
    assert_eq!(
        (&job.caller.tenant, job.thread, job.attempts),
        (&caller.tenant, thread, 1)
    );
    assert!(
        queue
            .claim_distill(10, MINUTE)
            .await
            .unwrap()
            .jobs
            .is_empty()
    );
    // Between the look and its end.
    world.say(thread, Role::User, "more").await;
    assert!(!queue.distill_done(claim.lease, job, 1_000).await.unwrap());
    let claim = queue.claim_distill(10, MINUTE).await.unwrap();
    assert_eq!(claim.jobs.len(), 1);
    assert!(
        queue
            .distill_done(claim.lease, &claim.jobs[0], 60)
            .await
            .unwrap()
    );
    // Nothing is due before the path has 60 tokens.
    let claims = async || queue.claim_distill(10, MINUTE).await.unwrap();
    world.say(thread, Role::User, "fifty").await;
    assert!(claims().await.jobs.is_empty());
    world.say(thread, Role::User, "sixty").await;
    let claim = claims().await;
    assert_eq!(claim.jobs.len(), 1);
    // The path is as long as what is to be due already.
    assert!(
        !queue
            .distill_done(claim.lease, &claim.jobs[0], 60)
            .await
            .unwrap()
    );
    let claim = claims().await;
    // The head moves while somebody looks: what they have seen is another path.
    store
        .threads(caller)
        .set_head(thread, ids[0], None)
        .await
        .unwrap();
    assert!(
        !queue
            .distill_done(claim.lease, &claim.jobs[0], 1_000)
            .await
            .unwrap()
    );
    let claim = claims().await;
    assert!(
        queue
            .distill_done(claim.lease, &claim.jobs[0], 1_000)
            .await
            .unwrap()
    );
    // Another path is looked at, however short.
    world.say(thread, Role::User, "another way").await;
    let claim = claims().await;
    assert!(
        queue
            .distill_done(claim.lease, &claim.jobs[0], 1_000)
            .await
            .unwrap()
    );
    store
        .threads(caller)
        .set_head(thread, ids[2], None)
        .await
        .unwrap();
    world.say(thread, Role::User, "back").await;
    let claim = claims().await;
    assert!(
        queue
            .distill_done(claim.lease, &claim.jobs[0], 1_000)
            .await
            .unwrap()
    );
    store
        .distillates(caller)
        .enqueue_distill(thread)
        .await
        .unwrap();
    store
        .distillates(caller)
        .enqueue_distill(ThreadId::new())
        .await
        .unwrap();
    assert_eq!(claims().await.jobs.len(), 1);
}

#[tokio::test]
async fn a_look_that_is_put_off_comes_when_it_is_due_or_wanted() {
    let world = World::new().await;
    let World {
        store,
        caller,
        workers,
        ..
    } = &world;
    let queue = workers.distillates(store);
    let (thread, _) = world.conversation(1).await;
    let claims = async || queue.claim_distill(10, MINUTE).await.unwrap();
    let put_off = async |next, after| {
        let claim = claims().await;
        let postponed = queue.distill_postpone(claim.lease, &claim.jobs[0], next, after);
        assert!(postponed.await.unwrap());
    };
    // After its time, and not as a failure.
    let claim = claims().await;
    let why = queue.retry_distill(claim.lease, &claim.jobs[0], "no luck", Duration::ZERO);
    assert!(why.await.unwrap());
    put_off(1_000, Duration::ZERO).await;
    assert_eq!(queue.distill_stats().await.unwrap().failing, 0);
    let claim = claims().await;
    assert_eq!(claim.jobs[0].attempts, 1);
    assert!(
        queue
            .release_distill(claim.lease, &claim.jobs[0])
            .await
            .unwrap()
    );
    // Not before; it does not count as late.
    put_off(1_000, MINUTE).await;
    assert!(claims().await.jobs.is_empty());
    assert_eq!(queue.distill_stats().await.unwrap().lag, Duration::ZERO);
    world.say(thread, Role::User, "not enough").await;
    assert!(claims().await.jobs.is_empty());
    // Somebody wants it, or the path is long enough.
    store
        .distillates(caller)
        .enqueue_distill(thread)
        .await
        .unwrap();
    put_off(30, MINUTE * 60).await;
    world.say(thread, Role::User, "more").await;
    // Messages that arrived during a run are due at once.
    let claim = claims().await;
    world.say(thread, Role::User, "more").await;
    let postponed = queue.distill_postpone(claim.lease, &claim.jobs[0], 1_000, MINUTE);
    assert!(!postponed.await.unwrap());
    let claim = claims().await;
    // A failure keeps its pause.
    let retry = queue.retry_distill(claim.lease, &claim.jobs[0], "no luck", MINUTE);
    assert!(retry.await.unwrap());
    store
        .distillates(caller)
        .enqueue_distill(thread)
        .await
        .unwrap();
    assert!(claims().await.jobs.is_empty());
    // A deleted thread leaves the queue.
    let other = world.conversation(1).await.0;
    let claim = claims().await;
    store.threads(caller).delete_thread(other).await.unwrap();
    let postponed = queue.distill_postpone(claim.lease, &claim.jobs[0], 1_000, MINUTE);
    assert!(!postponed.await.unwrap());
}

#[tokio::test]
async fn a_thread_that_fails_stays_in_the_queue_with_its_reason() {
    let world = World::new().await;
    let World {
        store,
        caller: us,
        workers,
        ..
    } = &world;
    let queue = workers.distillates(store);
    let (thread, _) = world.conversation(1).await;
    for attempt in 1..=20 {
        let claim = queue.claim_distill(10, MINUTE).await.unwrap();
        let job = &claim.jobs[0];
        assert_eq!(job.attempts, attempt);
        let why = format!("no\0 luck {attempt}");
        assert!(
            queue
                .retry_distill(claim.lease, job, &why, Duration::ZERO)
                .await
                .unwrap()
        );
        // Once given back it is somebody else's.
        assert!(
            !queue
                .retry_distill(claim.lease, job, "late", Duration::ZERO)
                .await
                .unwrap()
        );
    }
    let stats = store.distillates(us).distill_stats().await.unwrap();
    assert_eq!(
        (stats.waiting, stats.failing, stats.last_error.as_str()),
        (1, 1, "no luck 20")
    );
    assert_eq!(
        store
            .distillates(&caller("b"))
            .distill_stats()
            .await
            .unwrap(),
        DistillStats::default()
    );
    assert_eq!(queue.distill_stats().await.unwrap().failing, 1);
    let state = store
        .distillates(us)
        .distill_state(thread, None, false)
        .await
        .unwrap();
    assert_eq!(state.last_error, "no luck 20");

    let claim = queue.claim_distill(10, MINUTE).await.unwrap();
    assert!(
        queue
            .release_distill(claim.lease, &claim.jobs[0])
            .await
            .unwrap()
    );
    let claim = queue.claim_distill(10, MINUTE).await.unwrap();
    assert_eq!(claim.jobs[0].attempts, 21);
    assert!(
        queue
            .extend_distill(claim.lease, &claim.jobs[0], MINUTE)
            .await
            .unwrap()
    );
    // A worker that is gone: what it had is given out again, and it ends nothing.
    assert_eq!(queue.end_distill_leases().await.unwrap(), 1);
    let next = queue.claim_distill(10, MINUTE).await.unwrap();
    assert!(
        !queue
            .distill_done(claim.lease, &claim.jobs[0], 1_000)
            .await
            .unwrap()
    );
    assert!(
        !queue
            .extend_distill(claim.lease, &claim.jobs[0], MINUTE)
            .await
            .unwrap()
    );
    assert!(
        queue
            .distill_done(next.lease, &next.jobs[0], 1_000)
            .await
            .unwrap()
    );
    let stats = store.distillates(us).distill_stats().await.unwrap();
    assert_eq!(stats, DistillStats::default());
    let state = store
        .distillates(us)
        .distill_state(thread, None, false)
        .await
        .unwrap();
    assert_eq!((state.distill_at, state.last_error.as_str()), (1_000, ""));
}

#[tokio::test]
async fn each_commit_is_noted_with_its_number() {
    let world = World::new().await;
    let World { store, caller, .. } = &world;
    let (thread, _) = world.conversation(6).await;
    world.summarize(thread, &summary(0, (0, 2), None)).await;
    let next = world.observe(thread, &observation(0, (0, 2), false)).await;
    let next = world
        .observe(thread, &observation(next.generation, (2, 5), false))
        .await;
    let next = done(
        store
            .distillates(caller)
            .activate_observations(thread, next.generation, &[2, 1])
            .await,
    );
    let new = NewReflection {
        generation: next.generation,
        reflects: vec![1, 2],
        text: "condensed".to_owned(),
        tokens: 1,
        made_by: "extractive".to_owned(),
        active: true,
    };
    let ada = Caller {
        actor: "ada".to_owned(),
        ..caller.clone()
    };
    let reflected = store.distillates(&ada).commit_reflection(thread, &new);
    reflected.await.unwrap();
    let query = TransactionQuery {
        thread: Some(thread),
        limit: 5,
        ..Default::default()
    };
    let noted = store
        .audit(caller)
        .list_transactions(&query)
        .await
        .unwrap()
        .items;
    let noted: Vec<_> = noted
        .iter()
        .map(|one| {
            (
                one.actor.as_str(),
                one.action.as_str(),
                one.subject.as_str(),
                one.item_count,
            )
        })
        .collect();
    assert_eq!(
        noted,
        [
            ("ada", "reflect", "3", 2),
            ("worker", "activate_observations", "1,2", 2),
            ("worker", "observe", "2", 3),
            ("worker", "observe", "1", 2),
            ("worker", "summarize", "1", 2)
        ]
    );
}

#[tokio::test]
async fn other_tenants_do_not_see_it() {
    let world = World::new().await;
    let (thread, _) = world.conversation(4).await;
    let store = &world.store;
    world.summarize(thread, &summary(0, (0, 2), None)).await;
    let query = |thread| RangeQuery {
        thread,
        head: None,
        after_depth: 0,
        to_depth: i32::MAX,
        max_messages: 10,
        max_tokens: 10,
        max_bytes: 10,
    };
    let caller = caller("b");
    let refused = |error: StoreError| {
        assert!(matches!(error, StoreError::ThreadNotFound), "{error:?}");
    };
    refused(
        store
            .distillates(&caller)
            .distill_state(thread, None, true)
            .await
            .unwrap_err(),
    );
    refused(
        store
            .distillates(&caller)
            .ledger(thread, None)
            .await
            .unwrap_err(),
    );
    refused(
        store
            .distillates(&caller)
            .read_range(&query(thread))
            .await
            .unwrap_err(),
    );
    let new = summary(1, (2, 4), Some(1));
    refused(
        store
            .distillates(&caller)
            .commit_summary(thread, &new)
            .await
            .unwrap_err(),
    );
    let new = observation(1, (0, 2), true);
    refused(
        store
            .distillates(&caller)
            .commit_observation(thread, &new)
            .await
            .unwrap_err(),
    );
    refused(
        store
            .distillates(&caller)
            .activate_observations(thread, 1, &[1])
            .await
            .unwrap_err(),
    );
}

#[tokio::test]
async fn the_ledger_of_a_long_thread_is_read_in_pages() {
    let world = World::new().await;
    let World { store, caller, .. } = &world;
    let (thread, ids) = world.conversation(256).await;
    for _ in 0..42 {
        let messages = (0..256).map(|_| said(Role::User, "said")).collect();
        world.append(thread, messages).await.unwrap();
    }
    world.erase(thread, ids[99]).await;
    let new = summary(1, (0, 9_000), None);
    world.summarize(thread, &new).await;
    let ledger = store
        .distillates(caller)
        .ledger(thread, None)
        .await
        .unwrap();
    assert_eq!(ledger.faults(10), []);
    let counts = ledger.counts(10);
    let summaries = &counts[0];
    assert_eq!((summaries.messages, summaries.erased), (11_008, 1));
    assert_eq!((summaries.summarized, summaries.raw), (8_999, 2_008));
    let states: Vec<_> = ledger
        .ranges(DistillKind::Summary)
        .iter()
        .map(|one| (one.state, one.messages, one.tokens))
        .collect();
    assert_eq!(
        states,
        [
            (LedgerState::Summarized, 99, 990),
            (LedgerState::Erased, 1, 0),
            (LedgerState::Summarized, 8_900, 89_000),
            (LedgerState::Raw, 2_008, 20_080)
        ]
    );
}
