//! Registers tests and runs each on a thread with its name, a runtime and a time limit.

use std::collections::HashSet;
use std::env;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Trial};
use tokio::time::{Instant, timeout_at};

use crate::features::{self, Ending};
use crate::skipped::Skipped;
use crate::{BULK, PLAIN, SHARED, clusters, durations, row_of, scratch, slots};

/// A test that takes longer has failed. Time spent waiting for a slot for a server
/// does not count.
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// That of a long test, such as all tests of a client: the tests beside it may leave it a sixth of the
/// machine.
const LONG_TIME_LIMIT: Duration = Duration::from_secs(600);

/// Most tests wait for the server rather than compute.
const THREADS: usize = 6;

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

pub type BoxedTest = Pin<Box<dyn Future<Output = Completion>>>;

/// A registered test. `#[apply(trial)]` and `#[apply(trial_with_own_server)]` make one.
pub struct Registered {
    /// The path of the module that has the test.
    pub module: &'static str,
    /// The function's name.
    pub name: &'static str,
    /// Whether the test starts its own servers.
    pub own_server: bool,
    /// Whether only `make test-all` runs the test.
    pub long: bool,
    /// The function.
    pub test: fn() -> BoxedTest,
}

inventory::collect!(Registered);

/// Registers an async function as a test that uses only the shared servers:
/// `#[apply(trial)]`. A test without it is dead code, which does not compile.
#[macro_export]
macro_rules! trial {
    ($($test:tt)*) => { $crate::register_trial!(false, false, $($test)*); };
}

/// The same for a test that takes long or needs the tools of another language: only
/// `make test-all` runs it.
#[macro_export]
macro_rules! long_trial {
    ($($test:tt)*) => { $crate::register_trial!(false, true, $($test)*); };
}

/// Registers an async function as a test that starts its own servers, which takes
/// longer: `#[apply(trial_with_own_server)]`. The runner starts these tests first.
#[macro_export]
macro_rules! trial_with_own_server {
    ($($test:tt)*) => { $crate::register_trial!(true, false, $($test)*); };
}

/// The same for a test that only `make test-all` runs.
#[macro_export]
macro_rules! long_trial_with_own_server {
    ($($test:tt)*) => { $crate::register_trial!(true, true, $($test)*); };
}

#[doc(hidden)]
#[macro_export]
macro_rules! register_trial {
    ($own_server:literal, $long:literal, $(#[$attribute:meta])* async fn $name:ident $($rest:tt)*) => {
        $(#[$attribute])*
        async fn $name $($rest)*

        $crate::inventory::submit! {
            $crate::Registered {
                module: module_path!(),
                name: stringify!($name),
                own_server: $own_server,
                long: $long,
                test: || Box::pin(async { $crate::Outcome::completion($name().await) }),
            }
        }
    };
}

impl Registered {
    fn trial(&'static self) -> Trial {
        let test = move || {
            if self.long && !run_long_tests() {
                features::note(self.name, Ending::Skipped);
                return Ok(Completion::ignored_with(
                    "takes long; `make test-all` runs it",
                ));
            }
            let thread = thread::Builder::new().name(self.name.to_owned());
            match thread.spawn(|| self.run()).unwrap().join() {
                Ok(completion) => {
                    let ending = match &completion {
                        Completion::Completed => Ending::Passed,
                        Completion::Ignored { .. } => Ending::Skipped,
                    };
                    features::note(self.name, ending);
                    Ok(completion)
                }
                Err(panic) => {
                    features::note(self.name, Ending::Failed);
                    resume_unwind(panic)
                }
            }
        };
        Trial::ignorable_test(self.name, test).with_kind(self.module.trim_start_matches("e2e::"))
    }

    fn run(&self) -> Completion {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        slots::allow(self.own_server);
        let start = Instant::now();
        let limit = if self.long {
            LONG_TIME_LIMIT
        } else {
            TIME_LIMIT
        };
        let completion = runtime.block_on(async {
            let mut test = (self.test)();
            loop {
                let end = start + limit + slots::waited();
                match timeout_at(end, &mut test).await {
                    Ok(completion) => break completion,
                    // It may have waited for a slot meanwhile.
                    Err(_) if Instant::now() < start + limit + slots::waited() => {}
                    Err(_) => panic!("took longer than {limit:?}"),
                }
            }
        });
        durations::note(self.name, start.elapsed().saturating_sub(slots::waited()));
        assert!(
            !self.own_server || slots::taken() || matches!(completion, Completion::Ignored { .. }),
            "the test starts no server: mark it with #[apply(trial)]"
        );
        completion
    }
}

/// Set for the run that includes the long tests.
const LONG_TESTS: &str = "RECOLLECT_LONG_TESTS";

fn run_long_tests() -> bool {
    env::var_os(LONG_TESTS).is_some()
}

/// Runs the tests that prove a row of the feature table, and prints the table.
const FEATURES: &str = "--features-table";

/// Set while another process runs the end-to-end tests beside those of the crates.
const SKIP: &str = "RECOLLECT_SKIP_END_TO_END_TESTS";

/// Runs the registered tests that the arguments choose, and stops the shared servers.
pub fn run_trials() -> ExitCode {
    if env::var_os(SKIP).is_some() {
        println!("Skipped: the end-to-end tests ({SKIP} is set)");
        return ExitCode::SUCCESS;
    }
    scratch::use_memory();
    let mut tests: Vec<_> = inventory::iter::<Registered>().collect();
    // Tests that start servers take longest, so they come first.
    tests.sort_by_key(|test| (!test.own_server, test.module, test.name));
    let mut names = HashSet::new();
    for test in &tests {
        assert!(
            names.insert(test.name),
            "two tests are called {}",
            test.name
        );
    }
    let mut trials: Vec<Trial> = tests.into_iter().map(Registered::trial).collect();
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
    clusters::remove_all();
    println!("{}", durations::slowest());
    if table {
        let (report, unproved) = features::report_of_run();
        println!("{report}");
        if unproved > 0 {
            return ExitCode::FAILURE;
        }
    }
    conclusion.exit_code()
}
