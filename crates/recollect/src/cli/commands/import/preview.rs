//! Reads a file and counts what an import of it would store.

use std::time::Instant;

use memory_checksum::{ExportChecksum, check_summary};
use memory_contract::message::NewMessage;
use memory_contract::proto::{MessageInput, Role, record::Kind};
use memory_import::{Placed, Source, Unit, named_session, thread_key};
use tokio::sync::mpsc;

use super::records::{BROKEN_OFF, session_of};
use super::summary::{Summary, WHOLE_FILE};

/// Units that may wait to be counted.
const WAITING: usize = 64;

/// Reads a file to its end. No server is asked, so everything counts as new.
pub(super) async fn preview(source: Source) -> Summary {
    let begin = Instant::now();
    let mut summary = Summary {
        file: source.file.display().to_string(),
        dry_run: true,
        ..Default::default()
    };
    let mut seen = ExportSoFar::default();
    let (units, mut incoming) = mpsc::channel(WAITING);
    let reader = std::thread::spawn(move || source.read(|unit| units.blocking_send(unit).is_ok()));
    while let Some(unit) = incoming.recv().await {
        count(&mut summary, unit, &mut seen);
    }
    if seen.open {
        summary.problem(seen.place, BROKEN_OFF.to_owned());
    }
    if let Ok(Err(problem)) = reader.join() {
        summary.unread = true;
        summary.problem(WHOLE_FILE.to_owned(), problem);
    }
    summary.took = begin.elapsed();
    summary
}

fn count(summary: &mut Summary, Placed { place, value }: Placed<Unit>, seen: &mut ExportSoFar) {
    match value {
        Unit::Exported(kind) => {
            if let Err(problem) = seen.see(&kind, summary) {
                summary.problem(place.clone(), problem);
            }
            seen.place = place;
        }
        Unit::Thread(request) => {
            let session = request.session.as_ref();
            summary.threads.extend(session.map(thread_key));
        }
        Unit::Batch(batch) => {
            let session = named_session(batch.value.thread.as_ref());
            summary.threads.extend(session.map(thread_key));
            summary.stored += batch.value.messages.len() as u64;
        }
        Unit::Head(_) => {}
        Unit::Memory(_) => summary.besides.memories += 1,
        Unit::WorkingMemory(request) => {
            let session = named_session(request.thread.as_ref());
            summary.threads.extend(session.map(thread_key));
            summary.besides.working_memories += 1;
            summary.stored += request.messages.len() as u64;
        }
        Unit::LeftOut(what, count) => *summary.left_out.entry(what).or_default() += count,
        Unit::Problem(problem) => summary.problem(place, problem),
    }
}

/// The records of an export so far.
#[derive(Default)]
struct ExportSoFar {
    checksum: ExportChecksum,
    /// Where the last one is that no summary has ended yet.
    place: String,
    open: bool,
}

impl ExportSoFar {
    fn see(&mut self, kind: &Kind, summary: &mut Summary) -> Result<(), String> {
        self.checksum.see(kind);
        self.open = !matches!(kind, Kind::Summary(_));
        let besides = &mut summary.besides;
        match kind {
            Kind::AppPolicy(_) => besides.app_policies += 1,
            Kind::File(_) => besides.files += 1,
            Kind::Thread(thread) => {
                summary.threads.insert(thread_key(&session_of(thread)));
            }
            Kind::Message(message) => {
                // What else would keep it out, the server says.
                let read = NewMessage::try_from(MessageInput::from(message.clone()));
                read.map_err(|invalid| invalid.to_string())?;
                summary.stored += 1;
            }
            Kind::NodeMessage(message) => {
                besides.node_turns += u64::from(message.role() == Role::Assistant);
            }
            Kind::Plan(_) => besides.plans += 1,
            Kind::Attempt(_) => besides.attempts += 1,
            Kind::Event(_) => besides.events += 1,
            Kind::Checkpoint(_) => besides.checkpoints += 1,
            Kind::Memory(_) => besides.memories += 1,
            Kind::Document(_) => besides.documents += 1,
            Kind::Node(_) | Kind::CheckpointValue(_) | Kind::CheckpointWrite(_) => {}
            Kind::Summary(said) => {
                let seen = std::mem::take(&mut self.checksum).summary();
                check_summary(said, &seen)?;
                summary.checksum = Some(seen.checksum);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::{Message, Part, part::Content};

    use super::*;

    #[test]
    fn a_message_that_is_refused_does_not_count_as_one_to_store() {
        let mut summary = Summary::default();
        let mut seen = ExportSoFar::default();
        let mut see = |parts| {
            let message = Message {
                role: Role::User.into(),
                parts,
                ..Default::default()
            };
            let result = seen.see(&Kind::Message(message), &mut summary);
            (result.is_ok(), summary.stored)
        };
        let text = Part::from(Content::Text("Hi.".to_owned()));
        assert_eq!(see(vec![text]), (true, 1));
        assert_eq!(see(Vec::new()), (false, 1));
    }
}
