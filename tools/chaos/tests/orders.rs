//! The check agrees with a trial of all orders on short histories of correct and faulty services.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod simulator;

use fastrand::Rng;
use recollect_chaos::histories::{Operation, Outcome, Refusal, check};
use simulator::{Fault, Options, Thread, simulate};

/// Whether the operations on one thread have an order that explains every answer.
fn has_order(thread: &Thread, left: &[&Operation]) -> bool {
    let needed = left.iter().filter(|one| one.outcome != Outcome::Unknown);
    let Some(limit) = needed.map(|one| one.end()).min() else {
        return true;
    };
    (0..left.len()).any(|place| {
        let operation = left[place];
        if operation.invoked > limit {
            return false;
        }
        let mut thread = thread.clone();
        let result = thread.apply(&operation.call, Fault::None, &mut Rng::with_seed(0));
        let explains = match &operation.outcome {
            Outcome::Done { answer, .. } => result.as_ref() == Ok(answer),
            Outcome::Refused { reason, .. } => result.as_ref() == Err(reason),
            Outcome::Unknown => true,
        };
        let mut rest = left.to_vec();
        rest.remove(place);
        explains && has_order(&thread, &rest)
    })
}

#[test]
fn the_check_agrees_with_a_trial_of_all_orders() {
    let faults = [
        Fault::None,
        Fault::ForgetsAppends,
        Fault::ForgetsRequests,
        Fault::StoresParts,
        Fault::ReadsLateCopy,
        Fault::ForgetsDeletions,
        Fault::ForgetsUpdates,
        Fault::ForgetsHeads,
        Fault::SkipsSeqs,
    ];
    for fault in faults {
        let (mut wrong, mut found, mut missed) = (0, 0, Vec::new());
        for seed in 0..150 {
            let history = simulate(Options {
                seed,
                clients: 3,
                threads: 1,
                operations: 14,
                unknown: 0.15,
                fault,
                ..Options::default()
            });
            let told_nothing = |one: &Operation| {
                let reason = Refusal::Other;
                matches!(one.outcome, Outcome::Refused { reason: other, .. } if other == reason)
            };
            let left = history.iter().filter(|one| !told_nothing(one));
            let left: Vec<&Operation> = left.collect();
            let report = check(&history);
            match (
                has_order(&Thread::new(0), &left),
                report.anomalies.is_empty(),
            ) {
                (true, true) => assert!(report.undecided.is_empty(), "{fault:?} {seed}"),
                (true, false) => panic!("{fault:?} {seed}: {:?}", report.anomalies),
                (false, false) => (wrong, found) = (wrong + 1, found + 1),
                (false, true) => {
                    wrong += 1;
                    missed.push(seed);
                }
            }
        }
        println!("{fault:?}: {wrong} of 150 histories are wrong, {found} found; missed {missed:?}");
        assert!(found * 100 >= wrong * 98, "{fault:?}: missed {missed:?}");
    }
}
