//! Converts messages of a node's memory.

use memory_contract::{
    Invalid, InvalidFields, check,
    convert::{file_ref_from, timestamp, timestamp_of},
    limits,
    message::Role,
    proto::{
        self,
        add_node_turn_request::{Parent, Place},
    },
};
use uuid::Uuid;

use crate::node::{NewNodeMessage, NodeMessage, NodeParent, NodePlace};

/// Reads both sides of a turn: the fields `user` and `assistant`.
///
/// # Errors
/// A missing side, a user's side without text and files, equal ids, and values over their
/// limits.
pub fn node_turn_from(
    user: Option<proto::NodeMessageInput>,
    assistant: Option<proto::NodeMessageInput>,
) -> Result<[NewNodeMessage; 2], InvalidFields> {
    let mut invalid = Vec::new();
    let mut side = |field: &str, input: Option<proto::NodeMessageInput>| match input {
        None => {
            invalid.push(Invalid::missing(field));
            None
        }
        Some(input) => match new_node_message_from(input) {
            Ok(message) => Some(message),
            Err(problems) => {
                invalid.extend(problems.into_iter().map(|problem| problem.within(field)));
                None
            }
        },
    };
    let (user, assistant) = (side("user", user), side("assistant", assistant));
    if let Some(user) = &user
        && user.content.is_empty()
        && user.files.is_empty()
    {
        invalid.push(Invalid::new("user.content", "is required without files"));
    }
    match (user, assistant) {
        (Some(user), Some(assistant)) if user.id == assistant.id => Err(Invalid::new(
            "assistant.message_id",
            "must differ from the user's message_id",
        )
        .into()),
        (Some(user), Some(assistant)) if invalid.is_empty() => Ok([user, assistant]),
        _ => Err(InvalidFields(invalid)),
    }
}

/// Reads the position of a new turn.
///
/// # Errors
/// An id that is empty or over its limit.
pub fn node_parent_from(parent: Option<Parent>) -> Result<NodeParent, Invalid> {
    Ok(match parent {
        None => NodeParent::Follow,
        Some(Parent::Root(())) => NodeParent::Root,
        Some(Parent::ParentMessageId(id)) => NodeParent::Message(check::required_text(
            "parent_message_id",
            id,
            limits::NODE_MESSAGE_ID_CHARS,
        )?),
    })
}

/// Reads where a new turn belongs in the conversation.
///
/// # Errors
/// An id that is empty or over its limit.
pub fn node_place_from(place: Option<Place>) -> Result<NodePlace, Invalid> {
    Ok(match place {
        None => NodePlace::Head,
        Some(Place::ThreadStart(())) => NodePlace::Start,
        Some(Place::MessageId(id)) => NodePlace::Message(check::required_text(
            "message_id",
            id,
            limits::NODE_MESSAGE_ID_CHARS,
        )?),
    })
}

fn new_node_message_from(input: proto::NodeMessageInput) -> Result<NewNodeMessage, Vec<Invalid>> {
    let proto::NodeMessageInput {
        message_id,
        content,
        files,
        create_time,
    } = input;
    let mut invalid = Vec::new();
    let caller_chose_id = !message_id.is_empty();
    let id = if caller_chose_id {
        check::text("message_id", message_id, limits::NODE_MESSAGE_ID_CHARS)
    } else {
        Ok(Uuid::now_v7().to_string())
    };
    let id = id.map_err(|problem| invalid.push(problem));
    let content = check::long_text("content", content, limits::TEXT_BYTES)
        .map_err(|problem| invalid.push(problem));
    if files.len() > limits::NODE_FILES {
        invalid.push(Invalid::new(
            "files",
            format!("must have at most {} entries", limits::NODE_FILES),
        ));
        return Err(invalid);
    }
    let mut references = Vec::with_capacity(files.len());
    for (index, file) in files.into_iter().enumerate() {
        match file_ref_from(file) {
            Ok(file) => references.push(file),
            Err(problems) => invalid.extend(problems.within(format_args!("files[{index}]")).0),
        }
    }
    let created = timestamp_of("create_time", create_time).map_err(|problem| invalid.push(problem));
    match (id, content, created) {
        (Ok(id), Ok(content), Ok(created)) if invalid.is_empty() => Ok(NewNodeMessage {
            id,
            caller_chose_id,
            content,
            files: references,
            created,
        }),
        _ => Err(invalid),
    }
}

impl From<NodeMessage> for proto::NodeMessage {
    fn from(message: NodeMessage) -> Self {
        let NodeMessage {
            id,
            parent,
            role,
            content,
            files,
            tokens,
            thread_message,
            created,
        } = message;
        let role = match role {
            Role::User => proto::Role::User,
            Role::Assistant => proto::Role::Assistant,
            Role::System => proto::Role::System,
            Role::Tool => proto::Role::Tool,
        };
        Self {
            message_id: id,
            parent_message_id: parent.unwrap_or_default(),
            role: role.into(),
            content,
            files: files.into_iter().map(Into::into).collect(),
            token_count: tokens,
            create_time: Some(timestamp(created)),
            thread_message_id: thread_message.unwrap_or_default(),
        }
    }
}
