//! `recollect export`.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use memory_contract::proto::{ExportMessagesRequest, export_messages_response::Record};

use crate::cli::args::ExportArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Progress, count};

/// Writes threads with their messages, one record a line.
///
/// # Errors
/// When the server cannot be reached or refuses, or the output cannot be
/// written; then what was written is not complete.
pub async fn run(args: ExportArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.server).await?;
    let request = ExportMessagesRequest {
        app_id: args.app.unwrap_or_default(),
        user_id: args.user.unwrap_or_default(),
        thread_id: args.thread.unwrap_or_default(),
    };
    let mut records = client
        .messages()
        .export_messages(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();

    // The file gets its name when it is complete.
    let unfinished = match &args.output {
        Some(path) => {
            let mut unfinished = path.clone().into_os_string();
            unfinished.push(".part");
            Some((std::path::PathBuf::from(unfinished), path))
        }
        None => None,
    };
    let writer: Box<dyn Write> = match &unfinished {
        Some((part, _)) => Box::new(File::create(part).map_err(|error| {
            Failure::machine(
                format!("cannot write {}: {error}", part.display()),
                "See --output.",
            )
        })?),
        None => Box::new(io::stdout()),
    };
    let mut lines = JsonLines::new(BufWriter::new(writer));
    let progress = Progress::spinner(false);
    let (mut threads, mut messages) = (0_u64, 0_u64);
    while let Some(response) = records
        .message()
        .await
        .map_err(|status| client.failure(&status))?
    {
        match &response.record {
            Some(Record::Thread(_)) => threads += 1,
            Some(Record::Message(_)) => messages += 1,
            None => continue,
        }
        lines.write("ExportMessagesResponse", &response)?;
        if messages.is_multiple_of(500) {
            progress.detail(&exported(messages, threads));
        }
    }
    lines.finish()?;
    progress.finish();
    if let Some((part, path)) = unfinished {
        std::fs::rename(&part, path).map_err(Failure::output)?;
    }
    eprintln!("{}.", exported(messages, threads));
    Ok(())
}

fn exported(messages: u64, threads: u64) -> String {
    let (messages, threads) = (count(messages, "message"), count(threads, "thread"));
    format!("Exported {messages} of {threads}")
}
