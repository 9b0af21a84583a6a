//! Domain types of long-term memories.

mod kind;
mod space;

use time::OffsetDateTime;
use unicode_normalization::UnicodeNormalization as _;

use crate::json::JsonObject;
use crate::policy::ExtractionStrategy;
use crate::thread::Session;
use crate::{AppId, MemoryId, MessageId, ThreadId, UserId};

pub use kind::{KindExample, MemoryKind};
pub use space::MemorySpace;

/// The owner of memories: one user of one app, or the app itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemoryOwner {
    /// The app that remembers.
    pub app: AppId,
    /// The user; empty for memories of the app itself.
    pub user: UserId,
}

/// Whether a memory is a fact or an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemoryType {
    /// Something that stays true, such as a preference.
    #[default]
    Semantic,
    /// Something that happened at a time.
    Episodic,
}

/// How a memory was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryOrigin {
    /// Added by a caller.
    Caller,
    /// Promoted from a working memory.
    WorkingMemory,
    /// Extracted from messages.
    Extracted,
}

/// A long-term memory: a fact or event that outlives its session.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// The id, a UUID.
    pub id: MemoryId,
    /// The user or app that it belongs to.
    pub owner: MemoryOwner,
    /// The remembered text.
    pub text: String,
    /// Whether it is a lasting fact or an event.
    pub kind: MemoryType,
    /// Topics; at most 16.
    pub topics: Vec<String>,
    /// People, places and things that the text names; at most 16.
    pub entities: Vec<String>,
    /// Time of the event, if known.
    pub event: Option<OffsetDateTime>,
    /// The caller's own data.
    pub metadata: JsonObject,
    /// The name of the app's own kind that it is of; empty for none.
    pub own_kind: String,
    /// The values of that kind.
    pub attributes: JsonObject,
    /// How it was created.
    pub origin: MemoryOrigin,
    /// The caller's own id; may be empty.
    pub record: String,
    /// The thread that it was made from, if any.
    pub thread: Option<ThreadId>,
    /// The messages that prove it and are not deleted.
    pub sources: Vec<MessageId>,
    /// The memories that it was built on, at most 1,000; only exports and imports have them.
    pub built_on: Vec<MemoryId>,
    /// Whether policies never forget it.
    pub pinned: bool,
    /// Time from which it holds, as far as known.
    pub valid_from: OffsetDateTime,
    /// Time until which it was true, as far as known; `None` while it holds.
    pub valid_until: Option<OffsetDateTime>,
    /// Time at which `valid_until` was recorded; `None` while it holds.
    pub ended: Option<OffsetDateTime>,
    /// The newer memory that superseded it, if that still exists.
    pub superseded_by: Option<MemoryId>,
    /// The model that extracted it, or the extractive distiller; empty if not extracted.
    pub made_by: String,
    /// The strategy that extracted it; `None` if not extracted or unknown.
    pub strategy: Option<ExtractionStrategy>,
    /// The version; each change increases it.
    pub version: i64,
    /// Creation time.
    pub created: OffsetDateTime,
    /// Time of the last change.
    pub updated: OffsetDateTime,
    /// Time at which it was indexed; `None` until then.
    pub persisted: Option<OffsetDateTime>,
    /// The day on which it was last returned; `None` for never.
    pub last_used: Option<OffsetDateTime>,
    /// The position in the order of creation.
    pub ordinal: i64,
}

/// A memory to store. Every value is within its limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewMemory {
    /// The caller's own id; may be empty.
    pub record: String,
    /// The text to remember.
    pub text: String,
    /// Whether it is a lasting fact or an event.
    pub kind: MemoryType,
    /// Topics; at most 16.
    pub topics: Vec<String>,
    /// People, places and things that the text names; at most 16.
    pub entities: Vec<String>,
    /// Time of the event, if known.
    pub event: Option<OffsetDateTime>,
    /// The caller's own data.
    pub metadata: JsonObject,
    /// The name of the app's own kind that it is of; empty for none.
    pub own_kind: String,
    /// The values of that kind.
    pub attributes: JsonObject,
    /// The messages that prove it.
    pub sources: Vec<MessageId>,
    /// Whether policies never forget it.
    pub pinned: bool,
}

/// A memory to list in a working memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedMemory {
    /// The stored memory that the caller sends back; `None` for a new one.
    pub id: Option<MemoryId>,
    /// Its content.
    pub content: NewMemory,
}

/// New values for some fields of a memory; `None` leaves a field as it is. Every value
/// is within its limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryChange {
    /// The remembered text.
    pub text: Option<String>,
    /// Whether it is a lasting fact or an event.
    pub kind: Option<MemoryType>,
    /// Topics; at most 16.
    pub topics: Option<Vec<String>>,
    /// People, places and things that the text names; at most 16.
    pub entities: Option<Vec<String>>,
    /// Time of the event; `Some(None)` clears it.
    pub event: Option<Option<OffsetDateTime>>,
    /// The caller's own data, which replaces all of the former.
    pub metadata: Option<JsonObject>,
    /// The name of the app's own kind; empty for none.
    pub own_kind: Option<String>,
    /// The values of that kind, which replace all of the former.
    pub attributes: Option<JsonObject>,
    /// Whether policies never forget it.
    pub pinned: Option<bool>,
}

/// Conditions on memories; a memory must meet all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryFilter {
    /// Facts or events; `None` for both.
    pub kind: Option<MemoryType>,
    /// Any of these own kinds of apps; empty for all.
    pub own_kinds: Vec<String>,
    /// Any of these topics; empty for all.
    pub topics: Vec<String>,
    /// Any of these entities; empty for all.
    pub entities: Vec<String>,
    /// The thread that they were made from; `None` for all.
    pub thread: Option<ThreadId>,
    /// Any of these origins; empty for all.
    pub origins: Vec<MemoryOrigin>,
    /// Stored at this time or later.
    pub after: Option<OffsetDateTime>,
    /// Stored before this time.
    pub before: Option<OffsetDateTime>,
    /// Keys that the metadata has with exactly these values; empty for all.
    pub metadata: JsonObject,
    /// Happened at this time or later.
    pub event_from: Option<OffsetDateTime>,
    /// Happened before this time.
    pub event_until: Option<OffsetDateTime>,
    /// When they were true and believed.
    pub times: MemoryTimes,
    /// Whether to include superseded memories.
    pub superseded: bool,
}

/// The times as of which memories are read. Neither: those that hold now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryTimes {
    /// True at this time, whether superseded since or not.
    pub valid_at: Option<OffsetDateTime>,
    /// Believed at this time, whether superseded since or not. With `valid_at`: believed at this
    /// time to be true at that one.
    pub known_at: Option<OffsetDateTime>,
}

impl MemoryOwner {
    /// The owner of the memories of a session's user.
    pub fn of(session: &Session) -> Self {
        Self {
            app: session.app.clone(),
            user: session.user.clone(),
        }
    }
}

impl MemoryType {
    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Semantic, Self::Episodic]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }

    /// The stored name, lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Episodic => "episodic",
        }
    }
}

impl MemoryOrigin {
    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Caller, Self::WorkingMemory, Self::Extracted]
            .into_iter()
            .find(|origin| origin.as_str() == name)
    }

    /// The stored name, lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::WorkingMemory => "working_memory",
            Self::Extracted => "extracted",
        }
    }
}

impl MemoryFilter {
    /// Whether superseded memories may meet it.
    pub fn reaches_superseded(&self) -> bool {
        self.superseded || self.times != MemoryTimes::default()
    }
}

impl Memory {
    /// Whether no newer memory supersedes it.
    pub fn holds(&self) -> bool {
        self.valid_until.is_none()
    }

    /// The version as an etag.
    pub fn etag(&self) -> String {
        format!("m{:x}", self.version)
    }
}

/// The form in which two texts are compared for equality: Unicode NFKC, lower case,
/// single spaces, no final punctuation. Text that is only punctuation keeps it.
pub fn normalized(text: &str) -> String {
    let folded: String = text.nfkc().collect::<String>().to_lowercase();
    let folded: String = folded.nfkc().collect();
    let words: Vec<&str> = folded.split_whitespace().collect();
    let text = words.join(" ");
    let end = |c: char| c.is_whitespace() || ".!?,;:\u{3002}\u{3001}\u{06d4}\u{0964}".contains(c);
    match text.trim_end_matches(end) {
        "" => text,
        kept => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_that_say_the_same_are_the_same() {
        let check = |one: &str, other: &str, same: bool| {
            assert_eq!(
                normalized(one) == normalized(other),
                same,
                "{one} | {other}"
            );
        };
        check("Likes tea", "likes  TEA.", true);
        check("Likes tea", " Likes\ntea . !", true);
        check("Ｌｉｋｅｓ tea", "likes tea", true);
        check("caf\u{e9}", "cafe\u{301}", true);
        check("Straße", "strasse", false);
        check("喜欢茶。", "喜欢茶", true);
        check("Likes tea", "Likes tea not", false);
        check("Costs 1.5", "Costs 15", false);
        check("!", "?", false);
        check("İstanbul", "i\u{307}stanbul", true);
    }

    proptest! {
        #[test]
        fn the_form_is_its_own_form(text in any::<String>()) {
            let once = normalized(&text);
            prop_assert_eq!(normalized(&once), once);
        }

        #[test]
        fn spaces_and_case_do_not_count(words in prop::collection::vec("[a-z]{1,8}", 1..6)) {
            let one = words.join(" ");
            let other = format!("  {}!\n", words.join(" \t ").to_uppercase());
            prop_assert_eq!(normalized(&one), normalized(&other));
        }
    }
}
