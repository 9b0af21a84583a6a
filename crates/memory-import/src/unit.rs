//! Reads a file, and makes requests of its content.

use std::collections::HashMap;
use std::path::PathBuf;

use memory_contract::message::NewMessage;
use memory_contract::proto::message_input::Parent;
use memory_contract::proto::{
    Memory, MessageInput, PutWorkingMemoryRequest, ResolveThreadRequest, SetHeadRequest,
    record::Kind,
};

use crate::batch::{Batch, Batcher};
use crate::defaults::Defaults;
use crate::format::Format;
use crate::opening::read;
use crate::record::{ImportRecord, Placed};

/// A file to read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file, folder or zip archive; `-` is standard input.
    pub file: PathBuf,
    /// The format of the file.
    pub format: Format,
    /// Whether everything in it is to be stored as new.
    pub again: bool,
    /// The owners of conversations that do not name them.
    pub defaults: Defaults,
}

/// A part of a file that is stored by one request.
#[derive(Debug)]
pub enum Unit {
    /// A record of an export.
    Exported(Box<Kind>),
    /// A thread; its messages follow.
    Thread(Box<ResolveThreadRequest>),
    /// Messages of one session.
    Batch(Batch),
    /// The message of a session that histories are read back from, where another one was
    /// stored after it.
    Head(Box<SetHeadRequest>),
    /// A long-term memory.
    Memory(Box<Memory>),
    /// The working memory of a session, for sessions that have none.
    WorkingMemory(Box<PutWorkingMemoryRequest>),
    /// Things that Recollect does not have, by kind, and their number.
    LeftOut(&'static str, u64),
    /// A part that cannot be stored, and why.
    Problem(String),
}

impl Source {
    /// Reads the file, and gives each unit with its place to `each`, which returns whether it
    /// wants more.
    ///
    /// # Errors
    /// The file as a whole cannot be read, its format is not known, or it holds nothing that
    /// can be imported. Problems of its parts are units.
    pub fn read(&self, mut each: impl FnMut(Placed<Unit>) -> bool) -> Result<(), String> {
        let mut batcher = Batcher::new(self.again);
        let mut refused = Refused::default();
        let mut is_empty = true;
        let mut send = |place: String, value: Unit| {
            is_empty &= matches!(value, Unit::LeftOut(..));
            each(Placed { place, value })
        };
        let result = read(
            &self.file,
            self.format,
            &self.defaults,
            self.again,
            &mut |record| {
                let Placed { place, value } = record;
                let unit = match value {
                    Ok(ImportRecord::Exported(kind)) => Unit::Exported(kind),
                    Ok(ImportRecord::Message { session, message }) => {
                        let message = match refused.check(*message) {
                            Ok(message) => message,
                            Err(problem) => return send(place, Unit::Problem(problem)),
                        };
                        return send_batch(&mut send, batcher.push(place, session, message));
                    }
                    Ok(ImportRecord::Thread(thread)) => {
                        return send_batch(&mut send, batcher.take())
                            && send(place, Unit::Thread(thread));
                    }
                    Ok(ImportRecord::Head(head)) => {
                        return send_batch(&mut send, batcher.take())
                            && send(place, Unit::Head(head));
                    }
                    Ok(ImportRecord::Memory(memory)) => {
                        // Its sources have to be there before it.
                        return send_batch(&mut send, batcher.take())
                            && send(place, Unit::Memory(memory));
                    }
                    Ok(ImportRecord::WorkingMemory(request)) => {
                        // A later message of the session follows the messages of the request.
                        return send_batch(&mut send, batcher.take())
                            && send(place, Unit::WorkingMemory(request));
                    }
                    Ok(ImportRecord::LeftOut(what, count)) => Unit::LeftOut(what, count),
                    Err(error) => Unit::Problem(error),
                };
                send(place, unit)
            },
        );
        send_batch(&mut send, batcher.take());
        let seen = result?;
        match is_empty {
            true => Err(format!("there is nothing to import: it is {seen}")),
            false => Ok(()),
        }
    }
}

/// Sends a request, if there is one. Returns whether more is wanted.
fn send_batch(send: &mut impl FnMut(String, Unit) -> bool, batch: Option<Batch>) -> bool {
    batch.is_none_or(|batch| send(batch.place.clone(), Unit::Batch(batch)))
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
    /// The message has a problem, which the error names.
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
mod tests;
