//! `recollect import`.

mod answers;
mod check;
mod job;
mod memories;
mod preview;
mod records;
mod store;
mod summary;
mod units;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memory_import::{Defaults, Format, Source, System};

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
    if args.session.is_none() {
        refuse_same_name(&args.files, format)?;
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
        return refusal(&summaries, format).map_or(Ok(()), Err);
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
    refusal(&summaries, format).map_or(Ok(()), Err)
}

/// Refuses two files with the same name: conversations that name no session get theirs from it,
/// and would become one. Folders, archives and exports of other products name their sessions.
fn refuse_same_name(files: &[PathBuf], format: Format) -> Result<(), Failure> {
    let names_them = |file: &Path| match format {
        Format::System(System::Langchain) | Format::Jsonl | Format::Provider(_) => true,
        Format::System(_) => false,
        Format::Auto => !file.is_dir() && file.extension().is_none_or(|ending| ending != "zip"),
    };
    let mut stems: HashMap<&OsStr, &Path> = HashMap::new();
    for file in files.iter().filter(|file| names_them(file)) {
        let Some(stem) = file.file_stem() else {
            continue;
        };
        if let Some(other) = stems.insert(stem, file) {
            return Err(Failure::Usage(format!(
                "{} and {} have the same name, from which conversations without a session get \
                 theirs: rename one of them or give --session; for files of another product \
                 give --from",
                other.display(),
                file.display()
            )));
        }
    }
    Ok(())
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

/// What to say where something was not imported. Exports of other products, which `auto` may
/// have found, are never stored as new.
fn refusal(summaries: &[Summary], format: Format) -> Option<Failure> {
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
             skipped.",
        ),
    };
    let again = match format {
        Format::Jsonl | Format::Provider(_) if files < problems => {
            " With --again everything is stored as new."
        }
        _ => "",
    };
    let verb = if problems == 1 { "was" } else { "were" };
    Some(Failure::Refused {
        message: format!("{counted} {verb} not imported"),
        next_step: format!("{next_step}{again}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_same_name_are_refused_where_the_name_is_that_of_the_session() {
        let check = |files: &[&str], format| {
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            match refuse_same_name(&files, format) {
                Ok(()) => String::new(),
                Err(Failure::Usage(problem)) => problem,
                Err(other) => panic!("{other:?}"),
            }
        };
        let same = ["a/chat.jsonl", "b/other.jsonl", "b/chat.json"];
        for format in [Format::Auto, Format::Jsonl] {
            let problem = check(&same, format);
            let begin = "a/chat.jsonl and b/chat.json have the same name";
            assert!(problem.starts_with(begin), "{problem}");
        }
        assert_eq!(check(&same[..2], Format::Auto), "");
        let days = ["general/2025-03-01.json", "random/2025-03-01.json"];
        assert_eq!(check(&days, Format::System(System::Slack)), "");
        assert_eq!(check(&["a/export.zip", "b/export.zip"], Format::Auto), "");
    }
}
