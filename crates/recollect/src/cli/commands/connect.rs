//! `recollect connect` and `recollect disconnect`.

use std::env;
use std::io::{self, IsTerminal as _};

use clap::ValueEnum as _;
use memory_connect::{Agent, Change, ConnectError, Server};

use crate::cli::args::{AgentArg, ConnectArgs, DisconnectArgs, FilesArgs};
use crate::cli::confirm::is_confirmed;
use crate::cli::failure::{Failure, chain};
use crate::cli::output::Table;

/// The program in files that several people share.
const PROGRAM: &str = "recollect";

/// Writes Recollect into an agent's configuration.
///
/// # Errors
/// When a file cannot be used; then no file was changed.
pub fn connect(args: ConnectArgs) -> Result<(), Failure> {
    let Some(agent) = args.agent else {
        return list(&args.files);
    };
    let agent = agent.agent();
    let user = user(args.user, args.default_user, &args.files)?;
    let server = Server {
        command: program(&args.files)?,
        addr: args.server.addr,
        app: args.app,
        user,
        key: args.server.api_key,
        hooks: !args.no_hooks,
    };
    let place = args.files.place();
    let changes = memory_connect::connect(agent, &place, &server).map_err(failure)?;
    if changes.is_empty() {
        println!("{} is connected already.", agent.name());
        return Ok(());
    }
    if !write(&changes, &args.files)? {
        return Ok(());
    }
    println!("{} is connected. Start it anew.", agent.name());
    if agent.has_hooks(&place) && server.hooks {
        println!("Prompts and answers are stored, and what is remembered comes with each prompt.");
        if agent == Agent::Codex {
            println!("Codex runs the hooks once you have trusted them: type /hooks in it.");
        }
    } else {
        println!("It remembers and recalls when the model calls the tools of Recollect.");
    }
    if server.key.is_some() && agent.refers_to_environment() {
        println!("RECOLLECT_API_KEY must be set in the environment in which it is started.");
    }
    if server.user.is_none() {
        println!("Each person sets RECOLLECT_USER in the environment in which it is started.");
    }
    Ok(())
}

/// The user that is written into the files; `None` in those of a project.
fn user(
    given: Option<String>,
    default: Option<String>,
    files: &FilesArgs,
) -> Result<Option<String>, Failure> {
    match (given, &files.project) {
        (Some(_), Some(_)) => Err(Failure::Usage(
            "the files of a project are for all who work on it and name no user: leave --user \
             out; each person sets RECOLLECT_USER"
                .to_owned(),
        )),
        (None, Some(_)) => Ok(None),
        (given, None) => match given.or(default) {
            Some(user) if !user.is_empty() => Ok(Some(user)),
            _ => Err(Failure::Usage(
                "name the user with --user or RECOLLECT_USER".to_owned(),
            )),
        },
    }
}

/// Takes Recollect out of an agent's configuration.
///
/// # Errors
/// As [`connect`].
pub fn disconnect(args: DisconnectArgs) -> Result<(), Failure> {
    let agent = args.agent.agent();
    let changes = memory_connect::disconnect(agent, &args.files.place()).map_err(failure)?;
    if changes.is_empty() {
        println!("{} is not connected.", agent.name());
        return Ok(());
    }
    if write(&changes, &args.files)? {
        println!(
            "{} is disconnected. What was stored is still there.",
            agent.name()
        );
    }
    Ok(())
}

fn list(files: &FilesArgs) -> Result<(), Failure> {
    let mut table = Table::new(&["Agent!", "Name", "Found", "Connected"]);
    let place = files.place();
    for arg in AgentArg::value_variants() {
        let agent = arg.agent();
        let connected = match memory_connect::disconnect(agent, &place) {
            Ok(changes) => yes(!changes.is_empty()),
            Err(ConnectError::NoProject(_)) => "-",
            Err(_) => "unreadable",
        };
        let name = arg.to_possible_value();
        table.row([
            name.map(|name| name.get_name().to_owned())
                .unwrap_or_default(),
            Agent::name(agent).to_owned(),
            yes(agent.is_found(&place).map_err(failure)?).to_owned(),
            connected.to_owned(),
        ]);
    }
    table.print()
}

fn yes(is_so: bool) -> &'static str {
    match is_so {
        true => "yes",
        false => "no",
    }
}

/// Shows the changes, asks, and writes them. Returns whether they were written.
fn write(changes: &[Change], files: &FilesArgs) -> Result<bool, Failure> {
    for change in changes {
        println!("{}", change.path().display());
        print!("{}", change.diff());
        if change.is_secret() {
            println!("(It has the API key: only you may read it afterwards.)");
        }
        println!();
    }
    if files.dry_run {
        println!("Nothing was written.");
        return Ok(false);
    }
    if !files.yes && !may_write()? {
        println!("Nothing was written.");
        return Ok(false);
    }
    // All of them or none.
    for change in changes {
        change.check().map_err(failure)?;
    }
    for change in changes {
        change.write().map_err(failure)?;
    }
    Ok(true)
}

fn may_write() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "there is no terminal to ask on; give --yes to write the changes".to_owned(),
        ));
    }
    is_confirmed("Write this?")
}

/// How the agent starts this program: by its path, because many agents have another `PATH`.
/// A project's files name it alone, because others have it elsewhere.
fn program(files: &FilesArgs) -> Result<String, Failure> {
    if files.project.is_some() {
        return Ok(PROGRAM.to_owned());
    }
    let path = env::current_exe().map_err(|error| {
        Failure::machine(format!("cannot find this program: {}", chain(&error)), "")
    })?;
    Ok(path.to_string_lossy().into_owned())
}

fn failure(error: ConnectError) -> Failure {
    match error {
        ConnectError::NoProject(_) => Failure::Usage(error.to_string()),
        ConnectError::Malformed { .. } => {
            Failure::machine(error.to_string(), "Mend the file, then try again.")
        }
        ConnectError::Read { .. }
        | ConnectError::Write { .. }
        | ConnectError::Changed(_)
        | ConnectError::Dangling(_)
        | ConnectError::NoHome => Failure::machine(error.to_string(), ""),
    }
}
