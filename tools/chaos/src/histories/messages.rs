//! A message of a thread and a request to append, as operations tell about them.

use uuid::Uuid;

use super::anomaly::Which;
use super::history::Parent;

/// Index of a message of a thread.
pub(super) type Index = u32;

/// A time with the operation that shows it; the time is `u64::MAX` if none does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: u64,
    pub(super) by: Which,
}

impl Moment {
    pub(super) const NEVER: Self = Self {
        at: u64::MAX,
        by: Which {
            index: usize::MAX,
            process: u32::MAX,
        },
    };

    /// Keeps the earlier one.
    pub(super) fn lower(&mut self, at: u64, by: Which) {
        if at < self.at {
            *self = Self { at, by };
        }
    }
}

/// A message.
pub(super) struct Message {
    pub(super) value: u64,
    pub(super) id: Option<Uuid>,
    pub(super) seq: Option<i64>,
    /// None: not known. `Some(None)`: it is a root.
    pub(super) parent: Option<Option<Index>>,
    /// What told the first of these about it.
    pub(super) known_by: Which,
    /// Index of its request.
    pub(super) append: usize,
    /// From this time on it has been stored.
    pub(super) stored: Moment,
    /// From this time on it has been deleted.
    pub(super) gone: Moment,
    /// No deletion of it began before.
    pub(super) deleting: u64,
}

/// The attempts of one request to append.
pub(super) struct Append {
    pub(super) request: Uuid,
    pub(super) first: Which,
    /// When the first attempt began, or the attempt that was answered as the one that stored it.
    pub(super) from: u64,
    /// Whether all attempts were refused.
    pub(super) refused: bool,
    /// The first answer that it is stored.
    pub(super) acknowledged: Moment,
    pub(super) parent: Parent,
    pub(super) expected_head: Option<Uuid>,
    /// Its messages, in order.
    pub(super) messages: Vec<Index>,
}
