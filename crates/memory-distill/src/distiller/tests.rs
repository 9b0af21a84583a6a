use memory_contract::message::{Message, Part, Role};
use time::macros::datetime;

use crate::SourceMessage;

/// A message of a user.
pub(super) fn source(text: &str) -> SourceMessage {
    SourceMessage::new(Message {
        name: "Ada".to_owned(),
        tokens: 1,
        created: datetime!(2023-05-08 13:56 UTC),
        ..Message::new(Role::User, vec![Part::text(text)])
    })
}
