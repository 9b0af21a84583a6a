//! Reads a file and counts what an import of it would store.

use std::time::Instant;

use memory_contract::proto::SessionRef;
use tokio::sync::mpsc;

use super::Job;
use super::read::{Unit, produce};
use super::summary::{Summary, WHOLE_FILE};
use crate::cli::import::{Placed, named_session, thread_key};

/// Units that may wait to be counted.
const WAITING: usize = 64;

/// Reads a file to its end. No server is asked, so everything counts as new.
pub(super) async fn preview(job: Job) -> Summary {
    let begin = Instant::now();
    let mut summary = Summary {
        file: job.file.display().to_string(),
        dry_run: true,
        ..Default::default()
    };
    let (units, mut incoming) = mpsc::channel(WAITING);
    let reader = std::thread::spawn(move || produce(&job, &units));
    while let Some(unit) = incoming.recv().await {
        count(&mut summary, unit);
    }
    if let Ok(Err(problem)) = reader.join() {
        summary.unread = true;
        summary.problem(WHOLE_FILE.to_owned(), problem);
    }
    summary.took = begin.elapsed();
    summary
}

fn count(summary: &mut Summary, Placed { place, value }: Placed<Unit>) {
    let mut session_of = |session: Option<&SessionRef>| {
        summary.threads.extend(session.map(thread_key));
    };
    let besides = &mut summary.besides;
    match value {
        Unit::AppPolicy(_) => besides.app_policies += 1,
        Unit::File(_) => besides.files += 1,
        Unit::Thread(request) => session_of(request.session.as_ref()),
        Unit::Batch(batch) => {
            session_of(named_session(batch.value.thread.as_ref()));
            summary.stored += batch.value.messages.len() as u64;
        }
        Unit::NodeTurn(_) => besides.node_turns += 1,
        Unit::Plan(_) => besides.plans += 1,
        Unit::Attempt(_) => besides.attempts += 1,
        Unit::Event(_) => besides.events += 1,
        Unit::Memory(_) => besides.memories += 1,
        Unit::WorkingMemory(request) => {
            session_of(named_session(request.thread.as_ref()));
            besides.working_memories += 1;
            summary.stored += request.messages.len() as u64;
        }
        Unit::LeftOut(what, count) => *summary.left_out.entry(what).or_default() += count,
        Unit::Checksum(checksum) => summary.checksum = Some(checksum),
        Unit::Problem(problem) => summary.problem(place, problem),
        Unit::NodeEnd | Unit::ThreadEnd(_) | Unit::Head(_) => {}
    }
}
