//! Collects the messages that are read from a provider's JSON.

use memory_contract::proto::part::Content;
use memory_contract::{
    Invalid, limits,
    message::{Provider, Role},
    proto,
};

use crate::json::Node;

/// A message that was read, with the places of its parts in the JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadMessage {
    pub(crate) message: proto::MessageInput,
    /// The path of the message.
    pub(crate) path: String,
    /// The path of each part.
    pub(crate) part_paths: Vec<String>,
}

/// Collects the messages of one text.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) messages: Vec<ReadMessage>,
}

impl Reading {
    /// Starts a message.
    pub(crate) fn message(&mut self, role: Role, node: &Node<'_>) -> &mut ReadMessage {
        self.messages.push(ReadMessage {
            message: proto::MessageInput {
                role: proto::Role::from(role).into(),
                ..Default::default()
            },
            path: node.path().to_owned(),
            part_paths: Vec::new(),
        });
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }

    /// The newest message if it has this role and room for a part, else a new one.
    pub(crate) fn same_or_new(&mut self, role: Role, node: &Node<'_>) -> &mut ReadMessage {
        let continues = self.messages.last().is_some_and(|last| {
            last.message.role == i32::from(proto::Role::from(role))
                && last.message.parts.len() < limits::PARTS
        });
        match continues {
            true => {
                let last = self.messages.len() - 1;
                &mut self.messages[last]
            }
            false => self.message(role, node),
        }
    }

    /// Reads the items of a message with `read`. Results of tools become messages of the tools.
    pub(crate) fn parts<P: Into<proto::Part>>(
        &mut self,
        role: Role,
        node: &Node<'_>,
        items: &Node<'_>,
        mut read: impl FnMut(&Node<'_>) -> Result<P, Invalid>,
    ) -> Result<(), Invalid> {
        let mut so_far = None;
        for item in items.items()? {
            let part = read(&item)?.into();
            let role = match part.content {
                Some(Content::ToolResult(_)) => Role::Tool,
                _ => role,
            };
            let message = match so_far == Some(role) {
                true => self.same_or_new(role, node),
                false => self.message(role, node),
            };
            so_far = Some(role);
            message.add(part, &item);
        }
        if so_far.is_none() {
            let message = self.message(role, node);
            message.add(Content::Text(String::new()), items);
        }
        Ok(())
    }

    /// Gives the first message the id of the answer that was read, if that is one.
    pub(crate) fn answer_id(&mut self, id: Option<Node<'_>>) {
        if let Some(read) = self.messages.first_mut() {
            let own = std::mem::take(&mut read.message.external_id);
            read.take_id(id);
            if read.message.external_id.is_empty() {
                read.message.external_id = own;
            }
        }
    }

    /// Reads each item of a list.
    pub(crate) fn each(
        &mut self,
        list: &Node<'_>,
        read: impl Fn(&mut Self, &Node<'_>) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        list.items()?.iter().try_for_each(|item| read(self, item))
    }
}

impl ReadMessage {
    /// Takes an id that the provider gave the message, unless it has one. Ids that are
    /// too short to be unique are left out: some servers number their answers.
    pub(crate) fn take_id(&mut self, id: Option<Node<'_>>) {
        let id = id.and_then(|id| id.string().ok()).unwrap_or_default();
        let fits = (limits::PROVIDER_ID_MIN_CHARS..=limits::EXTERNAL_ID_CHARS)
            .contains(&id.chars().count());
        if self.message.external_id.is_empty() && fits && !id.contains(char::is_control) {
            self.message.external_id = id;
        }
    }

    pub(crate) fn add(&mut self, part: impl Into<proto::Part>, node: &Node<'_>) {
        self.message.parts.push(part.into());
        self.part_paths.push(node.path().to_owned());
    }
}

/// The only item of a list, such as of a response's `choices`.
pub(crate) fn only_item<'a>(list: &Node<'a>) -> Result<Node<'a>, Invalid> {
    let mut items = list.items()?;
    match items.len() {
        1 => Ok(items.remove(0)),
        count => Err(list.invalid(format!(
            "must have exactly one entry, has {count}; send the message that the conversation \
             continues with"
        ))),
    }
}

/// A piece of a provider's format that is kept as it is.
pub(crate) fn opaque(
    provider: Provider,
    kind: impl Into<String>,
    node: &Node<'_>,
) -> proto::OpaquePart {
    proto::OpaquePart {
        provider: proto::ProviderFormat::from(provider).into(),
        r#type: kind.into(),
        json: node.text().to_owned(),
    }
}
