use memory_store::{DistillKind, Generations, Place, Raw};
use proptest::prelude::*;
use time::OffsetDateTime;

use super::*;

const LIMITS: Limits = Limits {
    observer: 1_000,
    reflector: 400,
};

/// A thread as the store would report it. Depths are places in `messages`, from 1.
#[derive(Default)]
struct Model {
    messages: Vec<i64>,
    texts: Vec<Distillate>,
}

impl Model {
    fn saying(messages: &[i64]) -> Self {
        Self {
            messages: messages.to_vec(),
            texts: Vec::new(),
        }
    }

    fn size(&self, after: i32, to: i32) -> i64 {
        let place = |depth: i32| usize::try_from(depth).unwrap();
        self.messages[place(after)..place(to)].iter().sum()
    }

    fn state(&self) -> DistillState {
        let head = i32::try_from(self.messages.len()).unwrap();
        let mut after = 0;
        let mut unobserved = Vec::new();
        let mut raw = |after_depth, to_depth| {
            unobserved.push(Raw {
                after_depth,
                to_depth,
                message_count: i64::from(to_depth - after_depth),
                message_tokens: self.size(after_depth, to_depth),
            });
        };
        let mut active: Vec<&Distillate> = self.texts.iter().collect();
        active.retain(|one| one.active && !one.is_reflection());
        active.sort_by_key(|one| one.after_depth);
        for one in active {
            if after < one.after_depth {
                raw(after, one.after_depth);
            }
            after = one.end.depth;
        }
        if after < head {
            raw(after, head);
        }
        let hidden: Vec<i64> = self
            .texts
            .iter()
            .filter(|one| one.active)
            .flat_map(|one| one.reflects.clone())
            .collect();
        let reported = self.texts.iter().map(|one| Distillate {
            standing: match (one.active, hidden.contains(&one.number)) {
                (_, true) => Standing::Replaced,
                (true, false) => Standing::Holds,
                (false, false) => Standing::Ready,
            },
            ..one.clone()
        });
        DistillState {
            expired: false,
            generations: Generations::default(),
            head: None,
            path: vec![Place {
                branch: 1,
                depth: head,
            }],
            path_tokens: self.size(0, head),
            summaries: Vec::new(),
            summarized_count: 0,
            set_aside_count: 0,
            unsummarized: Raw::default(),
            observations: reported
                .filter(|one| one.standing != Standing::Replaced)
                .collect(),
            unobserved,
            distill_at: 0,
            last_seq: 0,
            last_error: String::new(),
        }
    }

    fn text(&mut self, after_depth: i32, to_depth: i32, tokens: i64, active: bool) {
        self.texts.push(Distillate {
            kind: DistillKind::Observation,
            number: i64::try_from(self.texts.len()).unwrap() + 1,
            standing: Standing::Ready,
            end: Place {
                branch: 1,
                depth: to_depth,
            },
            after_depth,
            text: String::new(),
            tokens: i32::try_from(tokens).unwrap(),
            made_by: String::new(),
            based_on: None,
            own_text: false,
            sets_aside: false,
            active,
            reflects: Vec::new(),
            message_count: i64::from(to_depth - after_depth),
            message_tokens: self.size(after_depth, to_depth),
            first: None,
            last: None,
            created: OffsetDateTime::UNIX_EPOCH,
        });
    }

    /// Does one step as a worker would; whether there was one.
    fn step(&mut self) -> Option<Due> {
        let state = self.state();
        match LIMITS.next(&state, &HashSet::new(), true) {
            Step::Wait(due) => return Some(due),
            Step::Observe(range) => {
                let mut to = range.after_depth + 1;
                while to < range.to_depth && self.size(range.after_depth, to) < range.tokens {
                    to += 1;
                }
                let size = (self.size(range.after_depth, to) / 8).max(1);
                self.text(range.after_depth, to, size, range.active);
            }
            Step::Activate(numbers) => {
                for one in &mut self.texts {
                    one.active |= numbers.contains(&one.number);
                }
            }
            Step::Reflect { active } => {
                let held = held(&state);
                let last = held.last().unwrap().end.depth;
                let numbers = held.iter().flat_map(|one| {
                    let below = one.reflects.iter().copied();
                    below.chain([one.number]).collect::<Vec<_>>()
                });
                let numbers: Vec<i64> = numbers.collect();
                self.text(last, last, i64::from(LIMITS.reflection()), active);
                self.texts.last_mut().unwrap().reflects = numbers;
            }
        }
        None
    }

    /// Does all that is due.
    fn settle(&mut self) -> Due {
        for _ in 0..1_000 {
            if let Some(due) = self.step() {
                return due;
            }
        }
        panic!("it never ends");
    }

    fn block(&self) -> Vec<i64> {
        held(&self.state()).iter().map(|one| one.number).collect()
    }

    fn erase(&mut self, number: i64) {
        self.texts
            .retain(|one| one.number != number && !one.reflects.contains(&number));
    }
}

#[test]
fn a_range_is_observed_ahead_and_activated_when_too_much_is_in_full() {
    let mut model = Model::saying(&[100, 99]);
    assert_eq!(model.settle(), Due::at(200));
    model.messages.push(1);
    let due = model.settle();
    assert_eq!((model.texts.len(), model.block().len()), (1, 0));
    assert_eq!(due, Due::at(400));
    model.messages.extend([200, 200, 200, 200]);
    assert_eq!(model.settle(), Due::at(1_001));
    assert_eq!((model.texts.len(), model.block().len()), (5, 0));
    model.messages.push(1);
    model.settle();
    // A range stays in full at least.
    assert_eq!(model.block().len(), 4);
    assert_eq!(in_full(&model.state()), 201);
}

#[test]
fn messages_freed_by_an_erasure_are_observed_first_and_in_place() {
    let mut model = Model::saying(&[100; 11]);
    model.settle();
    assert_eq!(model.block(), [1, 2, 3, 4]);
    model.erase(2);
    let range = |state| match LIMITS.next(&state, &HashSet::new(), true) {
        Step::Observe(range) => range,
        other => panic!("{other:?}"),
    };
    let freed = range(model.state());
    assert_eq!((freed.after_depth, freed.to_depth), (2, 4));
    assert!(freed.freed && freed.active);
    // One that is ready is made again as well, and stays ready.
    model.settle();
    model.erase(5);
    model.messages.push(100);
    model.settle();
    let passed = HashSet::from([8]);
    model.erase(1);
    assert_eq!(range(model.state()).after_depth, 0);
    model.settle();
    assert!(matches!(
        LIMITS.next(&model.state(), &passed, true),
        Step::Wait(_)
    ));
}

#[test]
fn a_worker_that_has_made_enough_comes_back_at_once() {
    let mut model = Model::saying(&[100; 4]);
    let state = model.state();
    let wait = LIMITS.next(&state, &HashSet::new(), false);
    assert_eq!(wait, Step::Wait(Due::NOW));
    // A range that cannot be split yet does not make the next run due.
    let passed = HashSet::from([0]);
    let later = Step::Wait(Due::at(412));
    assert_eq!(LIMITS.next(&state, &passed, true), later);
    model.settle();
    assert_eq!(model.texts.len(), 2);
}

proptest! {
    #[test]
    fn the_limits_hold_for_any_conversation(said in prop::collection::vec(1..250_i64, 1..150)) {
        let mut model = Model::default();
        let mut before: Vec<i64> = Vec::new();
        for tokens in said {
            model.messages.push(tokens);
            let due = model.settle();
            let state = model.state();
            prop_assert!(due.path_tokens > state.path_tokens, "{due:?}");
            prop_assert!(in_full(&state) <= LIMITS.observer);
            let tokens: i64 = held(&state).iter().map(|one| i64::from(one.tokens)).sum();
            prop_assert!(tokens < LIMITS.reflector);
            let block = model.block();
            if !block.is_empty() {
                prop_assert!(in_full(&state) >= LIMITS.observer / RANGES);
            }
            // It only grows at its end, until a reflection takes its place.
            let reflected = || model.texts.iter().any(|one| {
                one.is_reflection() && one.number == block[0] && !before.contains(&one.number)
            });
            prop_assert!(block.starts_with(&before) || reflected());
            before = block;
        }
    }
}
