//! The registry of typed names and ids, so that a user cannot be passed as a tenant.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(String);

        impl $name {
            /// Takes a name within its limits.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether the name is empty.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    )*};
}

/// What a request names a message of a thread by: its id, or else the caller's own id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageName(String);

impl MessageName {
    /// Takes a name of 1 to 128 characters.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as the caller wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The message id that it is; `None` where it can only be the caller's own id.
    pub fn id(&self) -> Option<MessageId> {
        Uuid::try_parse(&self.0).ok().map(MessageId::from)
    }
}

impl From<MessageId> for MessageName {
    fn from(id: MessageId) -> Self {
        Self(id.to_string())
    }
}

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(Uuid);

        impl $name {
            /// A new UUIDv7, so that ids of the same time are close in an index. Nothing may
            /// be ordered by it.
            #[expect(clippy::new_without_default, reason = "a random default would surprise")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The UUID without its type.
            pub fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    )*};
}

text_ids! {
    /// The customer that data belongs to. It comes from the API key, never from a request.
    TenantId
    /// A bot, flow or workflow: 1 to 128 characters.
    AppId
    /// The person that the app talks to: at most 256 characters, empty if unknown.
    UserId
    /// The caller's own name for a conversation: 1 to 512 characters.
    SessionKey
}

uuid_ids! {
    /// A conversation.
    ThreadId
    /// A message; unique within the tenant.
    MessageId
    /// A long-term memory.
    MemoryId
    /// A caller's name for one write, which makes its retry safe.
    RequestId
}
