//! What the operations on one thread say about its messages, read in one pass.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::anomaly::{Anomaly, What, Which};
use super::history::{Answer, Call, Operation, Parent, ROOT, Stored};
use super::messages::{Append, Index, Message, Moment};

/// The operations on one thread, and what they say.
pub(super) struct Facts<'a> {
    pub(super) thread: u32,
    pub(super) operations: Vec<(Which, &'a Operation)>,
    pub(super) messages: Vec<Message>,
    pub(super) appends: Vec<Append>,
    by_value: HashMap<u64, Index>,
    by_id: HashMap<Uuid, Index>,
    pub(super) anomalies: Vec<Anomaly>,
    /// Kinds and messages of the anomalies so far: each is reported once.
    reported: HashSet<(&'static str, u64)>,
}

impl<'a> Facts<'a> {
    /// Reads the operations of one thread.
    pub(super) fn new(thread: u32, operations: Vec<(Which, &'a Operation)>) -> Self {
        let mut facts = Self {
            thread,
            operations,
            messages: Vec::new(),
            appends: Vec::new(),
            by_value: HashMap::new(),
            by_id: HashMap::new(),
            anomalies: Vec::new(),
            reported: HashSet::new(),
        };
        facts.read_requests();
        facts.read_places();
        facts.read_messages();
        facts.read_parents();
        facts.read_deletions();
        facts
    }

    /// Adds an anomaly unless one of this kind was reported for this message.
    pub(super) fn report(&mut self, kind: &'static str, message: u64, what: What) {
        if self.reported.insert((kind, message)) {
            let thread = self.thread;
            self.anomalies.push(Anomaly { thread, what });
        }
    }

    /// The message with an id.
    pub(super) fn named(&self, id: Uuid) -> Option<Index> {
        self.by_id.get(&id).copied()
    }

    /// The first message of a request.
    pub(super) fn first_of(&self, values: &[u64]) -> Option<Index> {
        self.by_value.get(values.first()?).copied()
    }

    /// The message that a read returned; none if no client sent it.
    pub(super) fn returned(&self, stored: &Stored) -> Option<Index> {
        self.by_value.get(&stored.value).copied()
    }

    pub(super) fn message(&self, index: Index) -> &Message {
        &self.messages[index as usize]
    }

    pub(super) fn append_of(&self, index: Index) -> &Append {
        &self.appends[self.message(index).append]
    }

    /// Whether a deletion may have taken effect by a time.
    pub(super) fn may_be_gone(&self, index: Index, by: u64) -> bool {
        self.message(index).deleting < by
    }

    fn read_requests(&mut self) {
        let mut by_request: HashMap<Uuid, usize> = HashMap::new();
        for &(which, operation) in &self.operations {
            let Call::Append {
                request,
                values,
                parent,
                expected_head,
            } = &operation.call
            else {
                continue;
            };
            let append = *by_request.entry(*request).or_insert_with(|| {
                let append = self.appends.len();
                let messages = values.iter().map(|&value| {
                    let index = Index::try_from(self.messages.len()).unwrap_or(Index::MAX);
                    self.messages.push(Message {
                        value,
                        id: None,
                        seq: None,
                        parent: None,
                        known_by: which,
                        append,
                        stored: Moment::NEVER,
                        gone: Moment::NEVER,
                        deleting: u64::MAX,
                    });
                    self.by_value.insert(value, index);
                    index
                });
                self.appends.push(Append {
                    request: *request,
                    first: which,
                    from: operation.invoked,
                    refused: true,
                    acknowledged: Moment::NEVER,
                    parent: *parent,
                    expected_head: *expected_head,
                    messages: messages.collect(),
                });
                append
            });
            let append = &mut self.appends[append];
            append.from = append.from.min(operation.invoked);
            append.refused &= !operation.may_have_happened();
        }
    }

    /// Takes ids and seqs from the answers to appends, and compares repeated answers.
    fn read_places(&mut self) {
        let mut new: HashMap<Uuid, Which> = HashMap::new();
        let mut by_request: HashMap<Uuid, usize> = HashMap::new();
        for (number, append) in self.appends.iter().enumerate() {
            by_request.insert(append.request, number);
        }
        for number in 0..self.operations.len() {
            let (which, operation) = self.operations[number];
            let (Call::Append { request, .. }, Some(Answer::Appended { places, replayed })) =
                (&operation.call, operation.answer())
            else {
                continue;
            };
            let append = by_request[request];
            if !replayed && let Some(first) = new.insert(*request, which) {
                let second = which;
                let value = self.message(self.appends[append].messages[0]).value;
                self.report("stored again", value, What::StoredAgain { first, second });
            }
            if !replayed {
                // It was this attempt that stored it.
                let from = &mut self.appends[append].from;
                *from = operation.invoked.max(*from);
            }
            let acknowledged = self.appends[append].acknowledged;
            self.appends[append]
                .acknowledged
                .lower(operation.end(), which);
            let messages = self.appends[append].messages.clone();
            let consecutive = places.windows(2).all(|two| two[1].seq == two[0].seq + 1);
            if places.len() != messages.len() || !consecutive {
                let value = self.message(messages[0]).value;
                self.report("apart", value, What::Apart { request: which });
            }
            for (&index, place) in messages.iter().zip(places) {
                let same = self.settle(index, place.id, place.seq, which);
                self.messages[index as usize]
                    .stored
                    .lower(operation.end(), which);
                if !same {
                    let first = acknowledged.by;
                    let value = self.message(index).value;
                    let what = What::OtherReplay {
                        first,
                        second: which,
                    };
                    self.report("other replay", value, what);
                }
            }
        }
    }

    /// Takes ids, seqs and times from reads, and finds messages that cannot be there.
    fn read_messages(&mut self) {
        for number in 0..self.operations.len() {
            let (read, operation) = self.operations[number];
            for stored in operation.messages().unwrap_or_default() {
                let message = stored.value;
                let Some(index) = self.returned(stored) else {
                    self.report("phantom", message, What::Phantom { message, read });
                    continue;
                };
                let other_id = self.message(index).id.is_some_and(|id| id != stored.id);
                if other_id {
                    self.report("duplicate", message, What::Duplicate { message, read });
                } else if !self.settle(index, stored.id, stored.seq, read) {
                    let by = self.message(index).known_by;
                    self.report("changed", message, What::Changed { message, by, read });
                }
                let end = operation.end();
                let append = self.append_of(index);
                let (from, refused, append) = (append.from, append.refused, append.first);
                if refused {
                    self.report(
                        "aborted",
                        message,
                        What::Aborted {
                            message,
                            append,
                            read,
                        },
                    );
                } else if end < from {
                    self.report(
                        "early",
                        message,
                        What::Early {
                            message,
                            append,
                            read,
                        },
                    );
                }
                self.messages[index as usize].stored.lower(end, read);
            }
        }
    }

    /// Gives a message its id and seq; false if it has others.
    fn settle(&mut self, index: Index, id: Uuid, seq: i64, by: Which) -> bool {
        let other = *self.by_id.entry(id).or_insert(index) != index;
        let message = &mut self.messages[index as usize];
        if message.id.is_none() {
            message.known_by = by;
        }
        !other && *message.id.get_or_insert(id) == id && *message.seq.get_or_insert(seq) == seq
    }

    /// Takes parents from requests and reads. A request names its first message's parent, and
    /// each further message follows the one before it.
    fn read_parents(&mut self) {
        for append in 0..self.appends.len() {
            let append = &self.appends[append];
            let first = match append.parent {
                Parent::Head => None,
                Parent::Root => Some(None),
                Parent::Message(id) => self.named(id).map(Some),
            };
            let mut parent = first;
            for &index in &append.messages {
                self.messages[index as usize].parent = parent;
                parent = Some(Some(index));
            }
        }
        for number in 0..self.operations.len() {
            let (read, operation) = self.operations[number];
            for stored in operation.messages().unwrap_or_default() {
                let Some(index) = self.returned(stored) else {
                    continue;
                };
                let parent = match stored.parent {
                    ROOT => Some(None),
                    id => self.named(id).map(Some),
                };
                let known = &mut self.messages[index as usize].parent;
                let Some(parent) = parent else { continue };
                if *known.get_or_insert(parent) != parent {
                    let (by, message) = (self.message(index).known_by, stored.value);
                    self.report("changed", message, What::Changed { message, by, read });
                }
            }
        }
    }

    fn read_deletions(&mut self) {
        let mut done: HashMap<Index, Which> = HashMap::new();
        for number in 0..self.operations.len() {
            let (second, operation) = self.operations[number];
            let Call::Delete { message } = operation.call else {
                continue;
            };
            let Some(index) = self.named(message) else {
                continue;
            };
            let deleted = match operation.answer() {
                Some(Answer::Deleted { deleted }) => *deleted,
                _ => false,
            };
            let message = &mut self.messages[index as usize];
            if operation.answer().is_some() {
                message.gone.lower(operation.end(), second);
            }
            if deleted || (operation.answer().is_none() && operation.may_have_happened()) {
                message.deleting = message.deleting.min(operation.invoked);
            }
            let value = message.value;
            if deleted && let Some(first) = done.insert(index, second) {
                let what = What::DeletedTwice {
                    message: value,
                    first,
                    second,
                };
                self.report("deleted twice", value, what);
            }
        }
    }
}
