//! Long-term memories.

use time::OffsetDateTime;
use unicode_normalization::UnicodeNormalization as _;

use crate::{AppId, ExtractionStrategy, MemoryId, MessageId, Session, ThreadId, UserId};

/// Whose memories: never those of another user, and an empty user is one of its
/// own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemoryOwner {
    /// The app.
    pub app: AppId,
    /// The user whom they are about; empty: they belong to the app.
    pub user: UserId,
}

/// What kind of thing is remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemoryType {
    /// Something that holds.
    #[default]
    Semantic,
    /// Something that happened.
    Episodic,
}

/// Where a memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryOrigin {
    /// A caller added it.
    Caller,
    /// It was promoted from a working memory.
    WorkingMemory,
    /// It was extracted from messages.
    Extracted,
}

/// Something worth knowing beyond one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Its id.
    pub id: MemoryId,
    /// Whose it is.
    pub owner: MemoryOwner,
    /// What is remembered.
    pub text: String,
    /// What kind of thing it is.
    pub kind: MemoryType,
    /// What it is about.
    pub topics: Vec<String>,
    /// Whom and what it names.
    pub entities: Vec<String>,
    /// When it happened, where that is known.
    pub event: Option<OffsetDateTime>,
    /// Where it comes from.
    pub origin: MemoryOrigin,
    /// The caller's own id; may be empty.
    pub record: String,
    /// The thread that it came from.
    pub thread: Option<ThreadId>,
    /// The messages that it was made of, those that are left.
    pub sources: Vec<MessageId>,
    /// Whether it is never forgotten by policy.
    pub pinned: bool,
    /// When it began to hold, as far as is known.
    pub valid_from: OffsetDateTime,
    /// When a newer one took its place; `None`: it holds.
    pub valid_until: Option<OffsetDateTime>,
    /// The one that took its place.
    pub superseded_by: Option<MemoryId>,
    /// What extracted it; empty: nothing did.
    pub made_by: String,
    /// By which strategy; `None`: it was not extracted, or nobody knows.
    pub strategy: Option<ExtractionStrategy>,
    /// The number of its state; a change gives it another.
    pub version: i64,
    /// When it was stored.
    pub created: OffsetDateTime,
    /// When it was last changed.
    pub updated: OffsetDateTime,
    /// When the index had learnt it.
    pub persisted: Option<OffsetDateTime>,
    /// The day on which it was last returned.
    pub last_used: Option<OffsetDateTime>,
    /// Its place in the order of creation.
    pub ordinal: i64,
}

/// A memory to store. Every limit has been checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewMemory {
    /// The caller's own id; may be empty.
    pub record: String,
    /// What is to be remembered.
    pub text: String,
    /// What kind of thing it is.
    pub kind: MemoryType,
    /// What it is about.
    pub topics: Vec<String>,
    /// Whom and what it names.
    pub entities: Vec<String>,
    /// When it happened, where that is known.
    pub event: Option<OffsetDateTime>,
    /// The messages that it was made of.
    pub sources: Vec<MessageId>,
    /// Whether it is never forgotten by policy.
    pub pinned: bool,
}

/// New values for some fields of a memory; `None` leaves a field as it is. Every
/// limit has been checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryChange {
    /// What is remembered.
    pub text: Option<String>,
    /// What kind of thing it is.
    pub kind: Option<MemoryType>,
    /// What it is about.
    pub topics: Option<Vec<String>>,
    /// Whom and what it names.
    pub entities: Option<Vec<String>>,
    /// When it happened; `Some(None)`: that is not known any more.
    pub event: Option<Option<OffsetDateTime>>,
    /// Whether it is never forgotten by policy.
    pub pinned: Option<bool>,
}

/// Keeps the memories that meet all of its conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryFilter {
    /// One kind; `None` for both.
    pub kind: Option<MemoryType>,
    /// Any of these topics; empty for all.
    pub topics: Vec<String>,
    /// Any of these entities; empty for all.
    pub entities: Vec<String>,
    /// The thread that they came from.
    pub thread: Option<ThreadId>,
    /// Where they come from; empty for all.
    pub origins: Vec<MemoryOrigin>,
    /// Stored at this time or later.
    pub after: Option<OffsetDateTime>,
    /// Stored before this time.
    pub before: Option<OffsetDateTime>,
    /// Also those that hold no more.
    pub superseded: bool,
}

impl MemoryOwner {
    /// The one whose session it is.
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

    /// The name that is stored.
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

    /// The name that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::WorkingMemory => "working_memory",
            Self::Extracted => "extracted",
        }
    }
}

impl Memory {
    /// Whether nothing has taken its place.
    pub fn holds(&self) -> bool {
        self.valid_until.is_none()
    }

    /// The name of its state.
    pub fn etag(&self) -> String {
        format!("m{:x}", self.version)
    }
}

/// The form of a text in which two that say the same are the same: compatible
/// characters made one (Unicode NFKC), lower case, single spaces, no final
/// punctuation. Text of nothing but punctuation keeps it.
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
