//! Running the tests: each in a thread of its own that bears its name, with a
//! runtime and a time limit.

use std::collections::HashSet;
use std::env;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Trial};
use tokio::time::{Instant, timeout_at};

use crate::data_dir::waited;
use crate::features::{self, Ending};
use crate::{BULK, PLAIN, SHARED, row_of};

/// A test that takes longer has failed. Waiting for a slot to start a server in
/// does not count.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Most tests wait for the server rather than compute.
const THREADS: usize = 6;

/// A test that could not run on this machine, and why. It is reported as
/// ignored.
#[derive(Debug)]
pub struct Skipped(pub String);

/// What a test may return.
pub trait Outcome {
    /// How it is reported.
    fn completion(self) -> Completion;
}

impl Outcome for () {
    fn completion(self) -> Completion {
        Completion::Completed
    }
}

impl Outcome for Result<(), Skipped> {
    fn completion(self) -> Completion {
        match self {
            Ok(()) => Completion::Completed,
            Err(Skipped(reason)) => {
                eprintln!("SKIPPED: {reason}");
                Completion::ignored_with(reason)
            }
        }
    }
}

/// A boxed test.
pub type BoxedTest = Pin<Box<dyn Future<Output = Completion>>>;

/// Registers the tests of a module: `trials![first_test, second_test];`. One that
/// is forgotten is dead code, which does not compile.
#[macro_export]
macro_rules! trials {
    ($($name:ident),+ $(,)?) => {
        pub fn trials() -> Vec<libtest_mimic::Trial> {
            vec![$($crate::trial(module_path!(), stringify!($name), || {
                Box::pin(async { $crate::Outcome::completion($name().await) })
            })),+]
        }
    };
}

/// Makes a test out of a function. [`trials!`] calls it.
pub fn trial(module: &str, name: &'static str, test: fn() -> BoxedTest) -> Trial {
    let module = module.trim_start_matches("e2e::").to_owned();
    Trial::ignorable_test(name, move || {
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut test = test();
                let start = Instant::now();
                loop {
                    let end = start + TIME_LIMIT + waited();
                    match timeout_at(end, &mut test).await {
                        Ok(completion) => break completion,
                        // It may have waited meanwhile.
                        Err(_) if Instant::now() < start + TIME_LIMIT + waited() => {}
                        Err(_) => panic!("took longer than {TIME_LIMIT:?}"),
                    }
                }
            })
        };
        let thread = thread::Builder::new().name(name.to_owned());
        match thread.spawn(run).unwrap().join() {
            Ok(completion) => {
                let ending = match &completion {
                    Completion::Completed => Ending::Passed,
                    Completion::Ignored { .. } => Ending::Skipped,
                };
                features::note(name, ending);
                Ok(completion)
            }
            Err(panic) => {
                features::note(name, Ending::Failed);
                resume_unwind(panic)
            }
        }
    })
    .with_kind(module)
}

/// Runs the tests that prove a row of the feature table, and prints the table.
const FEATURES: &str = "--features-table";

/// Runs the tests that the arguments choose, and stops the shared servers.
pub fn main_with(mut trials: Vec<Trial>) -> ExitCode {
    let mut names = HashSet::new();
    for trial in &trials {
        assert!(
            names.insert(trial.name().to_owned()),
            "two tests are called {}",
            trial.name()
        );
    }
    trials.push(features::completeness(names));
    let mut arguments = Arguments::from_iter(env::args().filter(|argument| argument != FEATURES));
    let table = env::args().any(|argument| argument == FEATURES);
    if table {
        trials.retain(|trial| row_of(trial.name()).is_some());
    }
    arguments.test_threads.get_or_insert(THREADS);
    let conclusion = libtest_mimic::run(&arguments, trials);
    for shared in [&SHARED, &PLAIN, &BULK] {
        if let Err(problem) = shared.stop() {
            eprintln!("a shared server did not stop as it should: {problem}");
            return ExitCode::FAILURE;
        }
    }
    if table {
        let (report, unproved) = features::report();
        println!("{report}");
        if unproved > 0 {
            return ExitCode::FAILURE;
        }
    }
    conclusion.exit_code()
}
