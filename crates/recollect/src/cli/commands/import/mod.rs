//! `recollect import`.

mod check;
mod job;
mod memories;
mod preview;
mod records;
mod store;
mod summary;
mod units;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use memory_import::{Defaults, Format, Source};

use super::searchable::wait_until_searchable;
use crate::cli::args::ImportArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Progress, count, duration, print_json};
use preview::preview;
use summary::{Summary, print};

pub use job::Job;
pub use store::import;

/// Longest wait for the index after an import.
const INDEX_TIMEOUT: Duration = Duration::from_secs(600);

/// Imports files, prints a summary of each, and waits until the messages are searchable.
///
/// # Errors
/// When the server cannot be reached, or a part was refused.
pub async fn run(args: ImportArgs) -> Result<(), Failure> {
    let format = Format::from(args.format);
    if args.again && matches!(format, Format::System(_)) {
        return Err(Failure::Usage(
            "--again does not go with the format of another memory system".to_owned(),
        ));
    }
    let source = |file: &PathBuf| Source {
        file: file.clone(),
        format,
        again: args.again,
        defaults: Defaults {
            app: args.app.clone(),
            user: args.user.clone(),
            session: args.session.clone(),
        },
    };
    if args.dry_run {
        let mut summaries = Vec::new();
        for file in &args.files {
            summaries.push(preview(source(file)).await);
        }
        show(&summaries, args.json, false)?;
        return refusal(&summaries).map_or(Ok(()), Err);
    }
    let client = Client::connect(&args.server).await?;
    let progress = Progress::spinner(args.json);
    let mut summaries = Vec::new();
    for file in &args.files {
        let job = Job {
            source: source(file),
            replace: args.replace,
            check: !args.no_check,
        };
        summaries.push(import(&client, job, &progress).await?);
    }
    progress.finish();
    if !args.json {
        // Shown before the wait, so that it is shown even if the wait is interrupted.
        show(&summaries, false, false)?;
    }
    let searchable = searchable(&client, &summaries, args.no_wait, args.json).await;
    if args.json {
        show(&summaries, true, searchable)?;
    }
    refusal(&summaries).map_or(Ok(()), Err)
}

fn show(summaries: &[Summary], json: bool, searchable: bool) -> Result<(), Failure> {
    if !json {
        return print(summaries);
    }
    let mut summaries = summaries.iter();
    summaries.try_for_each(|summary| print_json(&summary.json(searchable)))
}

/// Waits until the stored messages can be searched, and reports the result. A failure does
/// not fail the import, because everything is stored.
async fn searchable(client: &Client, summaries: &[Summary], no_wait: bool, quiet: bool) -> bool {
    let stored = |summary: &Summary| summary.messages() + summary.besides.memories;
    if summaries.iter().map(stored).sum::<u64>() == 0 {
        return !no_wait;
    }
    if no_wait {
        if !quiet {
            println!(
                "Recall finds it once the index has it: `recollect status` shows the progress."
            );
        }
        return false;
    }
    let begin = Instant::now();
    let progress = Progress::spinner(quiet);
    let waited = wait_until_searchable(client, INDEX_TIMEOUT, &progress).await;
    progress.finish();
    match waited {
        Ok(()) => {
            if !quiet {
                println!("Searchable after another {}.", duration(begin.elapsed()));
            }
            true
        }
        Err(problem) => {
            eprintln!(
                "Everything is stored, but recall may not find all of it yet: {problem}.\n\
                 `recollect status` shows the progress of the index."
            );
            false
        }
    }
}

/// What to say where something was not imported.
fn refusal(summaries: &[Summary]) -> Option<Failure> {
    let files = summaries.iter().filter(|summary| summary.unread).count();
    let problems: usize = summaries.iter().map(|summary| summary.problems).sum();
    let (counted, next_step) = match (files, problems - files) {
        (0, 0) => return None,
        (files, 0) => (
            count(files, "file"),
            "`recollect import --help` lists the supported formats.",
        ),
        (_, parts) => (
            match files {
                0 => count(parts, "part"),
                files => format!("{} and {}", count(files, "file"), count(parts, "part")),
            },
            "Fix the problems and import the file again: messages that are already stored are \
             skipped. With --again everything is stored as new.",
        ),
    };
    let verb = if problems == 1 { "was" } else { "were" };
    Some(Failure::Refused {
        message: format!("{counted} {verb} not imported"),
        next_step: next_step.to_owned(),
    })
}
