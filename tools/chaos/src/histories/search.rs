//! The search for an order of steps.
//!
//! It is the search of Wing and Gong with Lowe's memory of configurations ("Testing for
//! linearizability", 2017), as in Porcupine (<https://github.com/anishathalye/porcupine>). It is
//! narrowed without loss: an operation that only shows the head comes as soon as it can; appends
//! come in the order of their seqs; a change of the head without an answer, which may never have
//! happened, comes directly before an operation that depends on it; and the deletion of another
//! message than the head comes as late as it can, or before the deletion of a head.

use std::collections::HashSet;

use super::facts::Facts;
use super::messages::{Index, Message};
use super::steps::{Kind, Step};

/// Configurations after which a search is given up.
const MOST_CONFIGURATIONS: usize = 300_000;

/// What a configuration is known by: the steps taken, as the first that is not and those after
/// it that are, the optional ones taken, the head, and the parents that only the search knows.
type Configuration = (usize, Box<[u32]>, Option<Index>, bool, Box<[Option<Index>]>);

/// A search and its configuration.
pub(super) struct Search<'f> {
    facts: &'f Facts<'f>,
    pub(super) steps: Vec<Step>,
    /// Indices of the steps that have to be taken, and of the others.
    needed: Vec<usize>,
    optional: Vec<usize>,
    pub(super) required: usize,
    /// Whether the optional ones may be taken again and again.
    again: bool,
    taken: Vec<bool>,
    count: usize,
    /// The first of `needed` that is not taken.
    base: usize,
    head: Option<Index>,
    last_seq: i64,
    deleted: Vec<bool>,
    stored: Vec<bool>,
    parents: Vec<Option<Index>>,
    /// Messages whose parents no read shows: the head when they were appended.
    orphans: Vec<Index>,
    /// Whether the next step has to depend on the head, which an optional one has set.
    owed: bool,
    seen: HashSet<Configuration>,
    /// The step that could not come next where the most were taken, and how many were.
    pub(super) deepest: (usize, usize),
}

/// A choice, and what there was before it.
struct Frame {
    choices: Vec<usize>,
    next: usize,
    trail: usize,
    head: Option<Index>,
    last_seq: i64,
    owed: bool,
    base: usize,
}

impl<'f> Search<'f> {
    /// A search over steps, in which the optional ones may be taken again and again, or once.
    pub(super) fn new(facts: &'f Facts<'_>, steps: Vec<Step>, again: bool) -> Self {
        let is_needed = |&index: &usize| steps[index].until < u64::MAX;
        let (needed, optional): (Vec<_>, Vec<_>) = (0..steps.len()).partition(is_needed);
        let of_message = |message: &Message| message.parent.flatten();
        let orphans = (0..)
            .zip(&facts.messages)
            .filter(|(_, one)| one.parent.is_none());
        Self {
            facts,
            parents: facts.messages.iter().map(of_message).collect(),
            orphans: orphans.map(|(index, _)| index).collect(),
            required: needed.len(),
            again,
            taken: vec![false; steps.len()],
            count: 0,
            base: 0,
            head: None,
            last_seq: 0,
            deleted: vec![false; facts.messages.len()],
            stored: vec![false; facts.messages.len()],
            owed: false,
            seen: HashSet::new(),
            deepest: (0, 0),
            steps,
            needed,
            optional,
        }
    }

    /// Whether an order exists; none if the search was given up.
    pub(super) fn run(&mut self) -> Option<bool> {
        let mut trail: Vec<usize> = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        loop {
            self.absorb(&mut trail);
            if self.count == self.required {
                return Some(true);
            }
            let new = self.seen.insert(self.configuration());
            if self.seen.len() > MOST_CONFIGURATIONS {
                return None;
            }
            let choices = if new { self.choices() } else { Vec::new() };
            frames.push(Frame {
                choices,
                next: 0,
                trail: trail.len(),
                head: self.head,
                last_seq: self.last_seq,
                owed: self.owed,
                base: self.base,
            });
            // Go on with the newest choice that is left.
            loop {
                let Some(frame) = frames.last_mut() else {
                    return Some(false);
                };
                for step in trail.drain(frame.trail..) {
                    self.untake(step);
                }
                let frame = frames.last_mut()?;
                (self.head, self.last_seq) = (frame.head, frame.last_seq);
                (self.owed, self.base) = (frame.owed, frame.base);
                if let Some(&step) = frame.choices.get(frame.next) {
                    frame.next += 1;
                    self.take(step);
                    trail.push(step);
                    break;
                }
                frames.pop();
            }
        }
    }

    fn configuration(&self) -> Configuration {
        let after = self.needed[self.base..].iter();
        // Beyond the steps that the first one left allows, none is taken.
        let limit = self.limit();
        let after = after.take_while(|&&step| self.steps[step].from <= limit);
        let all = after
            .chain(&self.optional)
            .filter(|&&step| self.taken[step]);
        let all = all.map(|&step| u32::try_from(step).unwrap_or(u32::MAX));
        let orphans = self
            .orphans
            .iter()
            .filter(|&&one| self.stored[one as usize]);
        let parents = orphans.map(|&one| self.parents[one as usize]).collect();
        (self.base, all.collect(), self.head, self.owed, parents)
    }

    /// No step that begins after this time can have been taken: the first step that is left was
    /// over by then.
    fn limit(&self) -> u64 {
        self.needed
            .get(self.base)
            .map_or(u64::MAX, |&step| self.steps[step].until)
    }

    /// The steps not taken that no other step not taken has to precede.
    fn open(&self) -> Vec<usize> {
        let mut limit = u64::MAX;
        let mut open = Vec::new();
        for &step in &self.needed[self.base..] {
            if self.taken[step] {
                continue;
            }
            if self.steps[step].from > limit {
                break;
            }
            limit = limit.min(self.steps[step].until);
            open.push(step);
        }
        open.retain(|&step| self.steps[step].from <= limit);
        let optional = self.optional.iter().copied();
        open.extend(optional.take_while(|&step| self.steps[step].from <= limit));
        open.retain(|&step| !self.taken[step]);
        open
    }

    /// Takes all steps that only show what is so.
    fn absorb(&mut self, trail: &mut Vec<usize>) {
        loop {
            let before = self.count;
            for step in self.open() {
                if self.steps[step].shows() && self.is_possible(step) {
                    self.take(step);
                    trail.push(step);
                    self.owed = false;
                }
            }
            if self.count == before {
                return;
            }
        }
    }

    /// The steps that may come next, the most urgent first.
    fn choices(&mut self) -> Vec<usize> {
        let open = self.open();
        if self.count >= self.deepest.1 {
            let urgent = open.iter().min_by_key(|&&step| self.steps[step].until);
            self.deepest = (urgent.copied().unwrap_or(0), self.count);
        }
        let urgent = open.iter().map(|&step| self.steps[step].until).min();
        let falls = self.may_fall(&open);
        let possible = open.into_iter().filter(|&step| {
            let Step { until, kind, .. } = self.steps[step];
            let early = match kind {
                Kind::Delete { message } => Some(message) != self.head && Some(until) != urgent,
                _ => false,
            };
            !self.steps[step].shows()
                && self.is_possible(step)
                && (!early || falls)
                && (!self.owed || self.depends(step))
        });
        let mut choices: Vec<usize> = possible.collect();
        choices.sort_by_key(|&step| self.steps[step].until);
        choices
    }

    /// Whether one of the next steps may delete a message while it is the head.
    fn may_fall(&self, open: &[usize]) -> bool {
        let kinds = || open.iter().map(|&step| self.steps[step]);
        kinds().any(|step| match step.kind {
            Kind::Delete { message } => {
                let set = |step: Step| match step.kind {
                    Kind::Set { to, .. } => step.until == u64::MAX && to == message,
                    _ => false,
                };
                Some(message) == self.head || kinds().any(set)
            }
            _ => false,
        })
    }

    fn is_possible(&self, step: usize) -> bool {
        match self.steps[step].kind {
            Kind::Append {
                first_seq, after, ..
            } => self.last_seq < first_seq && after.is_none_or(|after| after == self.head),
            Kind::Set { to, after } => {
                self.stored[to as usize]
                    && !self.deleted[to as usize]
                    && after.is_none_or(|after| Some(after) == self.head)
            }
            Kind::Delete { message } => {
                self.stored[message as usize] && !self.deleted[message as usize]
            }
            Kind::See { head } => head == self.head,
            Kind::SeeOther { head, missing } => {
                Some(head) != self.head && missing.is_none_or(|one| !self.stored[one as usize])
            }
        }
    }

    /// Whether what a step does depends on the head.
    fn depends(&self, step: usize) -> bool {
        match self.steps[step].kind {
            Kind::Append { after, .. } => after.is_some(),
            Kind::Set { after, .. } => after.is_some(),
            Kind::Delete { message } => Some(message) == self.head,
            Kind::See { .. } | Kind::SeeOther { .. } => true,
        }
    }

    fn take(&mut self, step: usize) {
        let Step { until, kind, .. } = self.steps[step];
        let optional = until == u64::MAX;
        self.taken[step] = !(optional && self.again);
        self.count += usize::from(!optional);
        match kind {
            Kind::Append {
                last, first_seq, ..
            } => {
                let messages = &self.facts.append_of(last).messages;
                for &message in messages {
                    self.stored[message as usize] = true;
                }
                let first = messages[0];
                if self.facts.message(first).parent.is_none() {
                    self.parents[first as usize] = self.head;
                }
                self.head = Some(last);
                self.last_seq = first_seq - 1 + messages.len() as i64;
            }
            Kind::Set { to, .. } => self.head = Some(to),
            Kind::Delete { message } => {
                self.deleted[message as usize] = true;
                if self.head == Some(message) {
                    self.head = self.head_without(message);
                }
            }
            Kind::See { .. } | Kind::SeeOther { .. } => {}
        }
        // One with an expected head may have to come earlier than directly before.
        self.owed = optional && matches!(kind, Kind::Set { after: None, .. });
        while let Some(&first) = self.needed.get(self.base)
            && self.taken[first]
        {
            self.base += 1;
        }
    }

    /// Forgets a step; the frame has the rest of what there was.
    fn untake(&mut self, step: usize) {
        self.taken[step] = false;
        self.count -= usize::from(self.steps[step].until < u64::MAX);
        match self.steps[step].kind {
            Kind::Append { last, .. } => {
                for &message in &self.facts.append_of(last).messages {
                    self.stored[message as usize] = false;
                }
            }
            Kind::Delete { message } => self.deleted[message as usize] = false,
            Kind::Set { .. } | Kind::See { .. } | Kind::SeeOther { .. } => {}
        }
    }

    /// The head after the deletion of a head: the nearest message before it that is left, or
    /// else the newest of the thread.
    fn head_without(&self, message: Index) -> Option<Index> {
        let is_left = |index: Index| self.stored[index as usize] && !self.deleted[index as usize];
        let mut before = self.parents[message as usize];
        while let Some(index) = before {
            if is_left(index) {
                return before;
            }
            before = self.parents[index as usize];
        }
        (0..)
            .take(self.stored.len())
            .filter(|&index| is_left(index))
            .max_by_key(|&index| self.facts.message(index).seq)
    }
}
