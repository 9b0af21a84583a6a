use memory_contract::{JsonObject, Message, MessageId, Part, Role, ThreadId};
use time::macros::datetime;

use crate::SourceMessage;

/// A message of a user.
pub(super) fn source(text: &str) -> SourceMessage {
    SourceMessage::new(Message {
        id: MessageId::new(),
        external_id: String::new(),
        thread: ThreadId::new(),
        parent: None,
        seq: 1,
        branch: 1,
        depth: 1,
        role: Role::User,
        name: "Ada".to_owned(),
        parts: vec![Part::text(text)],
        metadata: JsonObject::default(),
        tokens: 1,
        created: datetime!(2023-05-08 13:56 UTC),
    })
}
