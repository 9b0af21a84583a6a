//! Reads a file on a separate thread.

use std::collections::HashMap;

use memory_contract::NewMessage;
use memory_contract::proto::message_input::Parent;
use memory_contract::proto::{
    Memory, MessageInput, PutWorkingMemoryRequest, ResolveThreadRequest, record::Kind,
};
use tokio::sync::mpsc;

use super::Job;
use crate::cli::import::{Batch, Batcher, ImportRecord, Placed, read};

/// What the reading thread hands over, with its place in the file.
pub(super) enum Unit {
    /// A record of an export.
    Exported(Box<Kind>),
    Thread(Box<ResolveThreadRequest>),
    Batch(Batch),
    Memory(Box<Memory>),
    WorkingMemory(Box<PutWorkingMemoryRequest>),
    LeftOut(&'static str, u64),
    Problem(String),
}

/// Reads the file and makes requests of it.
pub(super) fn produce(job: &Job, units: &mpsc::Sender<Placed<Unit>>) -> Result<(), String> {
    let mut batcher = Batcher::new(job.again);
    let mut refused = Refused::default();
    let send = |place: String, value: Unit| units.blocking_send(Placed { place, value }).is_ok();
    let send_batch = |batch: Option<Batch>| {
        batch.is_none_or(|batch| send(batch.place.clone(), Unit::Batch(batch)))
    };
    let result = read(
        &job.file,
        job.format,
        &job.defaults,
        job.again,
        &mut |record| {
            let Placed { place, value } = record;
            let unit = match value {
                Ok(ImportRecord::Exported(kind)) => Unit::Exported(kind),
                Ok(ImportRecord::Message { session, message }) => {
                    let message = match refused.check(*message) {
                        Ok(message) => message,
                        Err(problem) => return send(place, Unit::Problem(problem)),
                    };
                    return send_batch(batcher.push(place, session, message));
                }
                Ok(ImportRecord::Thread(thread)) => {
                    return send_batch(batcher.take()) && send(place, Unit::Thread(thread));
                }
                Ok(ImportRecord::Memory(memory)) => {
                    // Its sources have to be there before it.
                    return send_batch(batcher.take()) && send(place, Unit::Memory(memory));
                }
                Ok(ImportRecord::WorkingMemory(request)) => {
                    // A later message of the session follows those of the request.
                    return send_batch(batcher.take()) && send(place, Unit::WorkingMemory(request));
                }
                Ok(ImportRecord::LeftOut(what, count)) => Unit::LeftOut(what, count),
                Err(error) => Unit::Problem(error),
            };
            send(place, unit)
        },
    );
    send_batch(batcher.take());
    result
}

/// Messages that the server would refuse, and with them the others of their request.
#[derive(Default)]
struct Refused {
    /// The parents of refused messages, by the ids of these.
    parents: HashMap<String, Option<Parent>>,
}

impl Refused {
    /// A message that the server takes. One that follows a refused message follows the one
    /// before that.
    ///
    /// # Errors
    /// What is wrong with the message.
    fn check(&mut self, mut message: MessageInput) -> Result<MessageInput, String> {
        while let Some(Parent::ParentMessageId(id)) = &message.parent {
            match self.parents.get(id) {
                Some(parent) => message.parent.clone_from(parent),
                None => break,
            }
        }
        match NewMessage::try_from(message.clone()) {
            Ok(_) => Ok(message),
            Err(invalid) => {
                let ids = [message.message_id, message.external_id];
                for id in ids.into_iter().filter(|id| !id.is_empty()) {
                    self.parents.insert(id, message.parent.clone());
                }
                Err(invalid.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::{Role, part::Content};

    use super::*;

    fn message(id: &str, parent: &str, text: &str) -> MessageInput {
        MessageInput {
            message_id: id.to_owned(),
            parent: Some(Parent::ParentMessageId(parent.to_owned())),
            role: Role::User.into(),
            parts: vec![Content::Text(text.to_owned()).into()],
            ..Default::default()
        }
    }

    #[test]
    fn the_followers_of_a_refused_message_follow_its_parent() {
        let id = |number: u8| format!("00000000-0000-0000-0000-00000000000{number}");
        let mut refused = Refused::default();
        let long = "x".repeat(256 * 1024 + 1);
        for number in [2, 3] {
            let broken = message(&id(number), &id(number - 1), &long);
            let problem = refused.check(broken).unwrap_err();
            assert!(problem.contains("parts[0].text"), "{problem}");
        }
        let kept = refused.check(message(&id(4), &id(3), "Hi.")).unwrap();
        assert_eq!(kept.parent, Some(Parent::ParentMessageId(id(1))));
    }
}
