//! Histories of a correct service have no anomaly, and each fault is found.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod simulator;

use clap::ValueEnum as _;
use fastrand::Rng;
use proptest::prelude::*;
use recollect_chaos::histories::{Plant, What, check, plant, read_lines, write_lines};
use simulator::{Fault, Options, simulate};

/// The seed's own numbers of clients, threads and operations.
fn options(seed: u64) -> Options {
    let mut rng = Rng::with_seed(!seed);
    Options {
        seed,
        clients: rng.u32(1..=16),
        threads: rng.u32(1..=3),
        operations: rng.usize(20..600),
        unknown: [0.0, 0.02, 0.1, 0.3][rng.usize(0..4)],
        ..Options::default()
    }
}

#[test]
fn a_correct_service_has_no_anomaly() {
    for seed in 0..150 {
        let options = options(seed);
        let report = check(&simulate(options));
        let first: Vec<String> = report.anomalies.iter().map(ToString::to_string).collect();
        assert!(first.is_empty(), "{options:?}: {first:#?}");
        assert!(report.undecided.is_empty(), "{options:?}: {report:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(80) })]

    #[test]
    fn any_correct_history_has_no_anomaly(
        seed: u64,
        clients in 1..=32_u32,
        threads in 1..=4_u32,
        operations in 0..400_usize,
        unknown in 0.0..0.5,
    ) {
        let options = Options { seed, clients, threads, operations, unknown, ..Options::default() };
        let report = check(&simulate(options));
        prop_assert!(report.anomalies.is_empty() && report.undecided.is_empty(), "{report:?}");
    }

    #[test]
    fn a_history_survives_its_file(seed: u64) {
        let history = simulate(Options { seed, ..Options::default() });
        let mut lines = Vec::new();
        write_lines(&mut lines, &history).unwrap();
        prop_assert_eq!(read_lines(lines.as_slice()).unwrap(), history);
    }
}

#[test]
fn each_planted_fault_is_found() {
    for &fault in Plant::value_variants() {
        let (mut planted, mut found, mut missed) = (0, 0, Vec::new());
        for seed in 0..50 {
            let mut history = simulate(options(seed));
            if !plant(&mut history, fault, &mut Rng::with_seed(seed)) {
                continue;
            }
            planted += 1;
            let report = check(&history);
            match report
                .anomalies
                .iter()
                .any(|anomaly| tells(fault, &anomaly.what))
            {
                true => found += 1,
                false => missed.push((seed, report)),
            }
        }
        println!("{fault:?}: found {found} of {planted}; missed {missed:?}");
        assert!(planted >= 30, "{fault:?} was planted {planted} times");
        assert!(found * 100 >= planted * 99, "{fault:?}: missed {missed:?}");
    }
}

#[test]
fn each_fault_of_a_service_is_found() {
    let faults = [
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
        let found = (0..20).filter(|&seed| {
            let history = simulate(Options {
                operations: 1_000,
                unknown: 0.1,
                fault,
                seed,
                ..options(seed)
            });
            !check(&history).anomalies.is_empty()
        });
        let found = found.count();
        println!("{fault:?}: found in {found} of 20 histories");
        assert!(found >= 18, "{fault:?}: found in {found} of 20 histories");
    }
}

/// Whether an anomaly is what a fault leads to.
fn tells(fault: Plant, what: &What) -> bool {
    match fault {
        Plant::Lost => matches!(what, What::Lost { .. }),
        Plant::Duplicate => matches!(what, What::Duplicate { .. }),
        Plant::Swapped => matches!(what, What::Reordered { .. }),
        Plant::Torn => matches!(what, What::Torn { .. }),
        Plant::StaleRead => matches!(what, What::Stale { .. }),
        Plant::StaleHead => matches!(what, What::Head { .. }),
        Plant::Resurrected => matches!(what, What::Resurrected { .. }),
        Plant::OldVersion => matches!(what, What::OldVersion { .. }),
        Plant::Gap => matches!(what, What::Gap { .. }),
        Plant::Aborted => matches!(what, What::Aborted { .. }),
    }
}
