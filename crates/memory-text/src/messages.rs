//! Messages for the tests of this crate.

use memory_contract::{
    UserId,
    file::{FileLocation, FileRef, FileType},
    json::JsonObject,
    message::{Content, Message, Part, Role},
};
use time::macros::datetime;
use uuid::Uuid;

pub(crate) fn message(parts: Vec<Part>) -> Message {
    Message {
        id: Uuid::nil().into(),
        external_id: String::new(),
        thread: Uuid::nil().into(),
        parent: None,
        seq: 1,
        branch: 1,
        depth: 1,
        role: Role::User,
        name: "Ada".to_owned(),
        said_by: UserId::default(),
        parts,
        metadata: JsonObject::default(),
        tokens: 1,
        created: datetime!(2023-05-08 13:56 UTC),
    }
}

pub(crate) fn text(text: &str) -> Message {
    message(vec![Part::text(text)])
}

pub(crate) fn picture(caption: &str) -> Part {
    let file = FileRef {
        kind: FileType::Image,
        location: FileLocation::UploadFileId("f".to_owned()),
        name: String::new(),
        mime_type: String::new(),
        size_bytes: 0,
        caption: caption.to_owned(),
        extent: Default::default(),
    };
    Content::File(file).into()
}
