//! `recollect watch`.

use std::io::Write as _;

use memory_contract::convert::change_of;
use memory_contract::proto::{WatchThreadRequest, WatchThreadResponse};
use tonic::Code;

use super::signals::Stop;
use crate::cli::args::WatchArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{exact, print_message, second};

/// Prints the changes of a thread, one a line, until the thread is deleted or the command
/// is interrupted.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached, refuses or
/// stops.
pub async fn run(args: WatchArgs) -> Result<(), Failure> {
    let mut stop = Stop::listen(false)?;
    tokio::select! {
        _ = stop.wait() => Ok(()),
        done = watch(args) => done,
    }
}

async fn watch(args: WatchArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let mut request = WatchThreadRequest {
        thread: args.named.thread(),
        cursor: args.cursor.unwrap_or_default(),
        include_content: args.content,
    };
    loop {
        let begun = client.threads().watch_thread(request.clone()).await;
        let mut events = begun
            .map_err(|status| client.failure(&status))?
            .into_inner();
        loop {
            match events.message().await {
                Ok(Some(event)) => {
                    print(&event, args.client.json)?;
                    request.cursor = event.cursor;
                }
                Ok(None) => return Ok(()),
                // The server lets no stream go on for ever.
                Err(status) if status.code() == Code::DeadlineExceeded => break,
                Err(status) => return Err(client.failure(&status)),
            }
        }
    }
}

/// Prints a line, at once also where the output is a pipe.
fn print(event: &WatchThreadResponse, json: bool) -> Result<(), Failure> {
    if json {
        return print_message("WatchThreadResponse", event);
    }
    // An event that this version does not know has no words.
    let change = event.event.as_ref().map(change_of);
    let (action, count, subject) = match &change {
        Some(change) => (
            change.action.as_str(),
            change.count,
            change.subject.as_str(),
        ),
        None => ("?", 0, ""),
    };
    let line = format!(
        "{}  {action:<18} {count:>5}  {}  {}",
        second(event.create_time.as_ref()),
        exact(&event.actor),
        exact(subject),
    );
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", line.trim_end())
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}
