//! A model of the service, correct or with a fault.

use std::collections::HashMap;

use fastrand::Rng;
use recollect_chaos::histories::{Answer, Call, Parent, Place, ROOT, Refusal, Stored};
use uuid::Uuid;

/// What the service does wrong now and then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It acknowledges an append and does not store it.
    ForgetsAppends,
    /// It does not know requests again.
    ForgetsRequests,
    /// It stores an append in part.
    StoresParts,
    /// It reads from a copy that lags behind.
    ReadsLateCopy,
    /// It acknowledges a deletion and does not delete.
    ForgetsDeletions,
    /// It acknowledges an update and does not store it.
    ForgetsUpdates,
    /// It acknowledges a new head and keeps the old one.
    ForgetsHeads,
    /// It gives a seq to no message.
    SkipsSeqs,
}

/// Share of the calls that a fault concerns.
const SHARE: f64 = 0.2;

#[derive(Clone)]
struct Message {
    stored: Stored,
    parent: Option<usize>,
    deleted: bool,
}

/// A thread.
#[derive(Clone, Default)]
pub struct Thread {
    number: u64,
    messages: Vec<Message>,
    skipped: i64,
    head: Option<usize>,
    requests: HashMap<Uuid, Vec<Place>>,
    /// An older state, of a service that has copies.
    copy: Option<Box<Thread>>,
}

impl Thread {
    pub fn new(number: u64) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// Does what a call asks for.
    pub fn apply(&mut self, call: &Call, fault: Fault, rng: &mut Rng) -> Result<Answer, Refusal> {
        let chance = rng.f64();
        let wrong = |one| fault == one && chance < SHARE;
        if wrong(Fault::ReadsLateCopy) {
            let copy = Self {
                copy: None,
                ..self.clone()
            };
            self.copy = Some(Box::new(copy));
        }
        match call {
            Call::Append {
                request,
                values,
                parent,
                expected_head,
            } => {
                let forgets = fault == Fault::ForgetsRequests;
                if let Some(places) = self.requests.get(request).filter(|_| !forgets) {
                    let places = places.clone();
                    let replayed = true;
                    return Ok(Answer::Appended { places, replayed });
                }
                self.expect(*expected_head)?;
                let parent = match parent {
                    Parent::Head => self.head,
                    Parent::Root => None,
                    Parent::Message(id) => Some(self.named(*id)?),
                };
                self.skipped += i64::from(wrong(Fault::SkipsSeqs));
                let before = (self.messages.len(), self.head);
                let places = self.store(values, parent);
                if wrong(Fault::ForgetsAppends) {
                    self.messages.truncate(before.0);
                    self.skipped += values.len() as i64;
                    self.head = before.1;
                }
                if wrong(Fault::StoresParts) && values.len() > 1 {
                    self.messages.pop();
                    self.skipped += 1;
                    self.head = self.messages.len().checked_sub(1);
                }
                self.requests.insert(*request, places.clone());
                let replayed = false;
                Ok(Answer::Appended { places, replayed })
            }
            Call::ReadPath { .. } | Call::ReadAll | Call::GetHead
                if fault == Fault::ReadsLateCopy && self.copy.is_some() && rng.bool() =>
            {
                let mut copy = self.copy.clone().unwrap();
                copy.apply(call, Fault::None, rng)
            }
            Call::ReadPath { head } => {
                let head = match head {
                    Some(id) => Some(self.named(*id)?),
                    None => self.head,
                };
                let mut path = Vec::new();
                let mut next = head;
                while let Some(index) = next {
                    path.push(index);
                    next = self.messages[index].parent;
                }
                path.reverse();
                Ok(self.readable(path.into_iter()))
            }
            Call::ReadAll => Ok(self.readable(0..self.messages.len())),
            Call::Update { message, version } => {
                let index = self.named(*message)?;
                if !wrong(Fault::ForgetsUpdates) {
                    self.messages[index].stored.version = *version;
                }
                Ok(Answer::Updated)
            }
            Call::Delete { message } => {
                let Ok(index) = self.named(*message) else {
                    return Ok(Answer::Deleted { deleted: false });
                };
                if !wrong(Fault::ForgetsDeletions) {
                    self.delete(index);
                }
                Ok(Answer::Deleted { deleted: true })
            }
            Call::SetHead {
                message,
                expected_head,
            } => {
                self.expect(*expected_head)?;
                let index = self.named(*message)?;
                if !wrong(Fault::ForgetsHeads) {
                    self.head = Some(index);
                }
                Ok(Answer::HeadSet)
            }
            Call::GetHead => Ok(Answer::Head(
                self.head.map(|head| self.messages[head].stored.id),
            )),
        }
    }

    fn store(&mut self, values: &[u64], mut parent: Option<usize>) -> Vec<Place> {
        let mut places = Vec::new();
        for &value in values {
            let index = self.messages.len();
            let seq = index as i64 + 1 + self.skipped;
            let id = Uuid::from_u64_pair(self.number + 1, seq as u64);
            self.messages.push(Message {
                stored: Stored {
                    value,
                    id,
                    seq,
                    parent: parent.map_or(ROOT, |parent| self.messages[parent].stored.id),
                    version: 0,
                },
                parent,
                deleted: false,
            });
            places.push(Place { id, seq });
            parent = Some(index);
        }
        self.head = parent;
        places
    }

    fn delete(&mut self, index: usize) {
        self.messages[index].deleted = true;
        if self.head != Some(index) {
            return;
        }
        let mut next = self.messages[index].parent;
        while next.is_some_and(|next| self.messages[next].deleted) {
            next = self.messages[next.unwrap()].parent;
        }
        self.head = next.or_else(|| self.messages.iter().rposition(|message| !message.deleted));
    }

    fn readable(&self, indices: impl Iterator<Item = usize>) -> Answer {
        let found = indices.map(|index| &self.messages[index]);
        let found = found.filter(|message| !message.deleted);
        Answer::Messages(found.map(|message| message.stored).collect())
    }

    fn named(&self, id: Uuid) -> Result<usize, Refusal> {
        let found = self
            .messages
            .iter()
            .rposition(|message| message.stored.id == id && !message.deleted);
        found.ok_or(Refusal::NotFound)
    }

    fn expect(&self, head: Option<Uuid>) -> Result<(), Refusal> {
        let Some(expected) = head else { return Ok(()) };
        let same = self
            .named(expected)
            .ok()
            .is_some_and(|index| self.head == Some(index));
        if same {
            Ok(())
        } else {
            Err(Refusal::HeadMoved)
        }
    }
}
