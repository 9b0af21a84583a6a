//! The command line: commands and output.

mod client;
mod commands;
mod confirm;
mod failure;
mod output;

use std::env;
use std::process::exit;

use clap::{CommandFactory as _, Parser as _};

pub use failure::{Failure, report};
use memory_flags as args;
pub use memory_flags::{Cli, Command};

/// Reads the command line. One that is wrong ends the process with the code 2; as a hook with the
/// code 1, because an agent that gets a 2 from a hook removes the prompt
/// (<https://code.claude.com/docs/en/hooks>: "Exit code output").
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| {
        let is_hook = env::args_os()
            .nth(1)
            .is_some_and(|command| command == "hook");
        if is_hook && error.use_stderr() {
            let _ = error.print();
            exit(1);
        }
        error.exit()
    })
}

/// Carries out one command.
///
/// # Errors
/// [`Failure`], which knows its exit code and the next step.
pub async fn run(cli: Cli) -> Result<(), Failure> {
    let config = cli.config;
    match cli.command {
        Command::Dev(args) => commands::dev::run(config, args).await,
        Command::Serve(args) => commands::serve::serve(config, args).await,
        Command::Worker => commands::serve::worker(config).await,
        Command::Migrate => commands::migrate::run(config).await,
        Command::Keys(args) => commands::keys::run(config, args).await,
        Command::Index(args) => commands::index::run(config, args).await,
        Command::Append(args) => commands::append::run(args).await,
        Command::Import(args) => commands::import::run(args).await,
        Command::Export(args) => commands::export::run(args).await,
        Command::Recall(args) => commands::recall::run(args).await,
        Command::Context(args) => commands::context::run(args).await,
        Command::Mcp(args) => commands::mcp::run(args).await,
        Command::Connect(args) => commands::connect::connect(args),
        Command::Disconnect(args) => commands::connect::disconnect(args),
        Command::Hook(args) => commands::hook::run(args).await,
        Command::Proxy(args) => commands::proxy::run(args).await,
        Command::Memory(args) => commands::memory::run(args).await,
        Command::Files(args) => commands::files::run(args).await,
        Command::Apps(args) => commands::owners::apps(args).await,
        Command::Users(args) => commands::owners::users(args).await,
        Command::Threads(args) => commands::threads::run(args).await,
        Command::Thread(args) => commands::thread::run(args).await,
        Command::History(args) => commands::history::run(args).await,
        Command::Plan(args) => commands::plan::run(args).await,
        Command::Watch(args) => commands::watch::run(args).await,
        Command::Subscription(args) => commands::subscription::run(args).await,
        Command::Observations(args) => commands::observations::run(args).await,
        Command::WorkingMemory(args) => commands::working_memory::run(args).await,
        Command::Summary(args) => commands::summary::run(args).await,
        Command::Verify(args) => commands::verify::run(args).await,
        Command::Deletion(args) => commands::deletion::run(args).await,
        Command::Health(args) => commands::health::run(args).await,
        Command::Status(args) => commands::status::run(args).await,
        Command::Usage(args) => commands::usage::run(args).await,
        Command::Doctor(args) => commands::doctor::run(config, args).await,
        Command::Config(args) => commands::config::run(config, args),
        Command::Demo(args) => commands::demo::run(config, args).await,
        Command::Completions { shell } => {
            clap_complete::generate(
                shell,
                &mut Cli::command(),
                "recollect",
                &mut std::io::stdout().lock(),
            );
            Ok(())
        }
    }
}
