//! Plants one fault in a correct history, to show that the check finds it.

use std::collections::{HashMap, HashSet};

use clap::ValueEnum;
use fastrand::Rng;
use uuid::Uuid;

use super::evidence::{Context, all_of, messages_of, places};
use super::history::{Answer, Call, Operation, Outcome, Stored};

/// A fault of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Plant {
    /// An acknowledged append is in no later read.
    Lost,
    /// A message is stored twice.
    Duplicate,
    /// A read has two messages in the wrong order.
    Swapped,
    /// A read has a request without its last message.
    Torn,
    /// A read lacks the newest request, which later reads have.
    StaleRead,
    /// A read of the head returns one that was replaced before.
    StaleHead,
    /// A read has a message that was deleted before.
    Resurrected,
    /// A read has a version that was replaced before.
    OldVersion,
    /// A seq is left out.
    Gap,
    /// A read has a message of a request that was refused.
    Aborted,
}

/// Plants a fault where it contradicts the rest of the history. False: the history has no such
/// place, for example no read after a deletion.
pub fn plant(history: &mut [Operation], fault: Plant, rng: &mut Rng) -> bool {
    let mut places: Vec<usize> = (0..history.len()).collect();
    rng.shuffle(&mut places);
    let context = Context::of(history);
    let try_at: fn(&mut [Operation], &Context, usize) -> Option<()> = match fault {
        Plant::Lost => lose,
        Plant::Duplicate => duplicate,
        Plant::Swapped => swap,
        Plant::Torn => tear,
        Plant::StaleRead => make_stale,
        Plant::StaleHead => return stale_head(history, &context, &places),
        Plant::Resurrected => resurrect,
        Plant::OldVersion => age,
        Plant::Gap => leave_gap,
        Plant::Aborted => show_refused,
    };
    places
        .into_iter()
        .any(|place| try_at(history, &context, place).is_some())
}

/// The messages of a read of all branches that began after a time.
fn read_after(history: &mut [Operation], thread: u32, after: u64) -> Option<&mut Vec<Stored>> {
    let later = history
        .iter_mut()
        .filter(|other| other.thread == thread && other.invoked > after);
    { later }.find_map(all_of)
}

fn lose(history: &mut [Operation], context: &Context, at: usize) -> Option<()> {
    let append = &history[at];
    let lost: HashSet<Uuid> = places(append)?.iter().map(|place| place.id).collect();
    let (thread, end) = (append.thread, append.end());
    if !context.deleting.is_disjoint(&lost) {
        return None;
    }
    let later = history.iter_mut();
    let later = later.filter(|other| other.thread == thread && other.invoked > end);
    let mut removed = false;
    for read in later {
        let is_all = read.call == Call::ReadAll;
        let Some(messages) = messages_of(read) else {
            continue;
        };
        let before = messages.len();
        messages.retain(|stored| !lost.contains(&stored.id));
        removed |= is_all && messages.len() < before;
    }
    removed.then_some(())
}

fn duplicate(history: &mut [Operation], _context: &Context, at: usize) -> Option<()> {
    let messages = all_of(&mut history[at])?;
    let (first, last) = (*messages.first()?, *messages.last()?);
    messages.push(Stored {
        id: Uuid::from_u128(!first.id.as_u128()),
        seq: last.seq + 1,
        ..first
    });
    Some(())
}

fn swap(history: &mut [Operation], _context: &Context, at: usize) -> Option<()> {
    let messages = messages_of(&mut history[at])?;
    let place = messages.len().checked_sub(2)? / 2;
    messages.swap(place, place + 1);
    Some(())
}

fn tear(history: &mut [Operation], context: &Context, at: usize) -> Option<()> {
    let messages = all_of(&mut history[at])?;
    let place = messages.windows(2).position(|two| {
        let request = |stored: &Stored| context.requests.get(&stored.value).map(|known| known.0);
        request(&two[0]) == request(&two[1]) && !context.may_be_deleted(&two[1])
    })?;
    messages.remove(place + 1);
    Some(())
}

fn make_stale(history: &mut [Operation], context: &Context, at: usize) -> Option<()> {
    let (thread, begin) = (history[at].thread, history[at].invoked);
    let newest = *all_of(&mut history[at])?.last()?;
    let (request, acknowledged) = *context.requests.get(&newest.value)?;
    let request = context.values.get(&request)?;
    let later = history.iter().any(|other| {
        let found = other.messages().unwrap_or_default();
        other.thread == thread
            && other.invoked > begin
            && found.iter().any(|stored| stored.value == newest.value)
    });
    if acknowledged >= begin || !later || context.may_be_deleted(&newest) {
        return None;
    }
    all_of(&mut history[at])?.retain(|stored| !request.contains(&stored.value));
    Some(())
}

fn stale_head(history: &mut [Operation], context: &Context, order: &[usize]) -> bool {
    // By thread: the ends of acknowledged appends with their beginnings and last messages.
    let mut appends: HashMap<u32, Vec<(u64, u64, Uuid)>> = HashMap::new();
    for append in history.iter() {
        if let Some(last) = places(append).and_then(|places| places.last()) {
            let all = appends.entry(append.thread).or_default();
            all.push((append.end(), append.invoked, last.id));
        }
    }
    for &at in order {
        let (thread, begin) = (history[at].thread, history[at].invoked);
        let Outcome::Done {
            answer: Answer::Head(head),
            ..
        } = &mut history[at].outcome
        else {
            continue;
        };
        let Some(appends) = appends.get(&thread) else {
            continue;
        };
        let replaced = appends.iter().find(|(end, _, last)| {
            Some(*last) != *head
                && context.stored.contains_key(last)
                && !context.chosen.contains(last)
                && !context.parents_of_deleting.contains(last)
                && appends
                    .iter()
                    .any(|(newer_end, newer, _)| end < newer && *newer_end < begin)
        });
        if let Some(&(.., last)) = replaced {
            *head = Some(last);
            return true;
        }
    }
    false
}

fn resurrect(history: &mut [Operation], context: &Context, at: usize) -> Option<()> {
    let Call::Delete { message } = history[at].call else {
        return None;
    };
    let gone = history[at].answer().map(|_| history[at].end())?;
    let stored = *context.stored.get(&message)?;
    let thread = history[at].thread;
    let messages = read_after(history, thread, gone)?;
    let place = messages.partition_point(|other| other.seq < stored.seq);
    messages.insert(place, stored);
    Some(())
}

fn age(history: &mut [Operation], _context: &Context, at: usize) -> Option<()> {
    let Call::Update { message, .. } = history[at].call else {
        return None;
    };
    history[at].answer()?;
    let (thread, begin, end) = (history[at].thread, history[at].invoked, history[at].end());
    let mut older = history.iter().filter_map(|other| match other.call {
        Call::Update {
            message: same,
            version,
        } if same == message && other.answer().is_some() && other.end() < begin => Some(version),
        _ => None,
    });
    let older = older.next_back().unwrap_or(0);
    let of_thread = history.iter_mut().filter(|other| other.thread == thread);
    let later = of_thread.filter(|other| other.invoked > end);
    let mut found = later.filter_map(messages_of).flatten();
    found.find(|stored| stored.id == message)?.version = older;
    Some(())
}

fn leave_gap(history: &mut [Operation], _context: &Context, at: usize) -> Option<()> {
    let from = places(&history[at])?.first()?.seq;
    let thread = history[at].thread;
    for other in history.iter_mut().filter(|other| other.thread == thread) {
        let Outcome::Done { answer, .. } = &mut other.outcome else {
            continue;
        };
        match answer {
            Answer::Appended { places, .. } => {
                let later = places.iter_mut().filter(|place| place.seq >= from);
                later.for_each(|place| place.seq += 1);
            }
            Answer::Messages(messages) => {
                let later = messages.iter_mut().filter(|stored| stored.seq >= from);
                later.for_each(|stored| stored.seq += 1);
            }
            _ => {}
        }
    }
    Some(())
}

fn show_refused(history: &mut [Operation], context: &Context, at: usize) -> Option<()> {
    let Call::Append {
        request, values, ..
    } = &history[at].call
    else {
        return None;
    };
    if context.sent.contains(request) {
        return None;
    }
    let (thread, value, end) = (history[at].thread, *values.first()?, history[at].end());
    let messages = read_after(history, thread, end)?;
    let last = *messages.last()?;
    messages.push(Stored {
        value,
        id: Uuid::from_u128(!last.id.as_u128()),
        seq: last.seq + 1,
        parent: last.id,
        version: 0,
    });
    Some(())
}
