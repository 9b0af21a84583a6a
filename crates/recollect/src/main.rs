//! The `recollect` program: the server, its background jobs, and the command
//! line.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line prints"
)]

mod cli;

use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    // Before anything else: this process is about to become Postgres.
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    if let [command, guarded @ ..] = args.as_slice()
        && command == memory_embedded::GUARD_COMMAND
    {
        let error = memory_embedded::exec_guarded(guarded);
        eprintln!("recollect: cannot start Postgres: {error}");
        return ExitCode::from(6);
    }

    let cli = cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("recollect: cannot start: {error}");
            return ExitCode::from(6);
        }
    };
    let result = runtime.block_on(cli::run(cli));
    runtime.shutdown_timeout(Duration::from_secs(5));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => cli::report(&failure),
    }
}
