//! `recollect thread`.

use std::io::{self, IsTerminal as _};

use memory_contract::proto::{DeleteThreadRequest, GetThreadRequest, Thread};

use crate::cli::args::{DeleteThreadArgs, ThreadArgs, ThreadCommand};
use crate::cli::client::Client;
use crate::cli::confirm::is_confirmed;
use crate::cli::failure::Failure;
use crate::cli::output::{count, exact, print_message};

/// Changes one conversation.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: ThreadArgs) -> Result<(), Failure> {
    match args.command {
        ThreadCommand::Delete(args) => delete(args).await,
    }
}

async fn delete(args: DeleteThreadArgs) -> Result<(), Failure> {
    let asks = !args.yes;
    if asks && !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "there is no terminal to ask on; give --yes to delete the conversation".to_owned(),
        ));
    }
    let client = Client::connect(&args.client.server).await?;
    let request = GetThreadRequest {
        thread: args.named.thread(),
    };
    let thread = client
        .threads()
        .get_thread(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner()
        .thread
        .unwrap_or_default();
    if asks && !may_delete(&thread)? {
        eprintln!("Nothing was deleted.");
        return Ok(());
    }
    let request = DeleteThreadRequest {
        thread: Some(thread.thread_id.clone().into()),
    };
    let deleted = client
        .threads()
        .delete_thread(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("DeleteThreadResponse", &deleted);
    }
    let messages = count(deleted.deleted_message_count, "message");
    println!("{}  deleted, with {messages}", thread.thread_id);
    Ok(())
}

fn may_delete(thread: &Thread) -> Result<bool, Failure> {
    let user = match thread.user_id.as_str() {
        "" => String::new(),
        user => format!(" of the user {}", exact(user)),
    };
    is_confirmed(&format!(
        "Delete the conversation {} in the app {}{user}, with {}? It cannot be restored.",
        exact(&thread.session_key),
        exact(&thread.app_id),
        count(thread.message_count, "message"),
    ))
}
