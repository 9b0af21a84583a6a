//! The message formats of providers, read and written: one module a format.
//!
//! A format is read into messages whose parts keep call ids, arguments, signatures and
//! encrypted reasoning byte for byte. What has no variant in [`Content`](crate::Content)
//! becomes an opaque part, which keeps its JSON. Written, messages satisfy the rules of
//! the provider whichever provider they are from: reasoning and opaque parts are only
//! written in the format that they were read from, results follow their calls, and calls
//! and results without the other become text. `docs/formats.md` has the table.

mod anthropic;
mod gemini;
mod json;
mod openai_chat;
mod openai_responses;
mod steps;
mod text;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use json::Node;

use crate::{
    Content, ImageDetail, InlineContent, Invalid, Part, Provider, ResolvedPolicy, Role, is_inline,
    limits, proto,
};

/// A format in which messages are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// That of a provider's API.
    Provider(Provider),
    /// Plain text for completion models.
    Text,
}

/// A message to write.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The speaker's role.
    pub role: Role,
    /// The speaker's name; may be empty.
    pub name: &'a str,
    /// The content.
    pub parts: &'a [Part],
    /// Whether it is the system prompt of the request, not a message of the conversation.
    pub is_prompt: bool,
}

/// What a policy says about the rendering: the names of the roles where a conversation is
/// written as text, and the detail of images.
#[derive(Clone, Debug)]
pub struct Labels {
    /// The user's label.
    pub user: String,
    /// The model's label.
    pub assistant: String,
    /// In how much detail the model looks at images.
    pub image_detail: ImageDetail,
}

impl Labels {
    /// The labels of a policy.
    pub fn of(policy: &ResolvedPolicy) -> Self {
        Self {
            user: policy.user_label.clone(),
            assistant: policy.assistant_label.clone(),
            image_detail: policy.image_detail,
        }
    }

    /// The label of a role. Policies label two roles; the others have fixed names.
    pub fn role(&self, role: Role) -> &str {
        match role {
            Role::User => &self.user,
            Role::Assistant => &self.assistant,
            Role::System => "System",
            Role::Tool => "Tool",
        }
    }
}

/// Messages in a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The format.
    pub format: Format,
    /// The fields of a request to the provider's API as JSON of an object, or plain text.
    pub body: String,
    /// Reasoning and opaque parts that the format cannot contain.
    pub dropped_parts: usize,
}

/// What a provider's module writes.
#[derive(Debug, Default)]
struct Written {
    body: String,
    /// Reasoning and opaque parts in the body.
    provider_parts: usize,
}

/// Writes messages. Equal messages give equal bytes.
pub fn render(format: Format, messages: &[Said<'_>], labels: &Labels) -> Rendered {
    let written = match format {
        Format::Provider(Provider::OpenaiChat) => openai_chat::write(messages, labels.image_detail),
        Format::Provider(Provider::OpenaiResponses) => {
            openai_responses::write(messages, labels.image_detail)
        }
        Format::Provider(Provider::AnthropicMessages) => anthropic::write(messages, labels),
        Format::Provider(Provider::Gemini) => gemini::write(messages, labels),
        Format::Text => Written {
            body: text::write(messages, labels),
            provider_parts: 0,
        },
    };
    Rendered {
        format,
        body: written.body,
        dropped_parts: steps::provider_parts(messages).saturating_sub(written.provider_parts),
    }
}

/// A conversation for a provider that takes the system prompt apart and begins with the
/// user.
struct UserFirst<'a> {
    /// All system messages, with an empty line between two.
    system: String,
    /// The messages before the user's first, each after its speaker's label.
    before: Vec<String>,
    /// The user's first message that is not blank, and those after it.
    rest: Vec<Said<'a>>,
}

impl<'a> UserFirst<'a> {
    fn of(messages: &[Said<'a>], provider: Provider, labels: &Labels) -> Self {
        let text_of = |said: &Said<'_>| {
            let text = crate::text::of_parts(said.parts);
            (!text.trim().is_empty()).then_some(text)
        };
        let (system, mut before): (Vec<Said<'_>>, Vec<Said<'_>>) =
            messages.iter().partition(|said| said.role == Role::System);
        let speaks = |said: &Said<'_>| said.role == Role::User && has_content(said, provider);
        let begun = before.iter().position(speaks).unwrap_or(before.len());
        let rest = before.split_off(begun);
        let system: Vec<String> = system.iter().filter_map(text_of).collect();
        let labeled =
            |said: &Said<'_>| Some(format!("{}: {}", labels.role(said.role), text_of(said)?));
        Self {
            system: system.join("\n\n"),
            before: before.iter().filter_map(labeled).collect(),
            rest,
        }
    }
}

/// Whether a message has a part that the provider is sent.
fn has_content(said: &Said<'_>, provider: Provider) -> bool {
    said.parts.iter().any(|part| match &part.content {
        Content::Text(text) => !text.trim().is_empty(),
        Content::Opaque(opaque) => opaque.provider == provider,
        Content::Reasoning(_) => false,
        Content::Json(_) | Content::ToolCall(_) | Content::ToolResult(_) | Content::File(_) => true,
    })
}

/// A message that was read, with the places of its parts in the JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReadMessage {
    pub(crate) message: proto::MessageInput,
    /// The path of the message.
    pub(crate) path: String,
    /// The path of each part.
    pub(crate) part_paths: Vec<String>,
}

/// Reads the messages in `json`, whose path is `path`.
///
/// # Errors
/// It is not JSON, or not in the format. Limits of messages are not checked here; once all
/// of a request are read, [`complete`] finishes them.
pub(crate) fn read(
    provider: Provider,
    path: &str,
    json: &str,
) -> Result<Vec<ReadMessage>, Invalid> {
    let root = Node::parse(json, path.to_owned())?;
    let messages = match provider {
        Provider::OpenaiChat => openai_chat::read(root)?,
        Provider::OpenaiResponses => openai_responses::read(root)?,
        Provider::AnthropicMessages => anthropic::read(root)?,
        Provider::Gemini => gemini::read(root)?,
    };
    Ok(messages)
}

/// Reads messages in a provider's format for a client that sends them as messages. Their
/// limits are not checked.
///
/// # Errors
/// It is not JSON, or not in the format; the field is the place in it.
pub fn messages_in(provider: Provider, json: &str) -> Result<Vec<proto::MessageInput>, Invalid> {
    let mut read = read(provider, "", json)?;
    complete(&mut read);
    Ok(read.into_iter().map(|read| read.message).collect())
}

/// Adds what messages of one request tell about each other.
pub(crate) fn complete(read: &mut [ReadMessage]) {
    name_results(read);
    distinct_ids(read);
}

/// Gives each tool result without a name the name of its call, if that is in the same
/// request.
fn name_results(read: &mut [ReadMessage]) {
    use proto::part::Content;

    let mut names = HashMap::new();
    let messages = read.iter_mut().map(|read| &mut read.message);
    for part in messages.flat_map(|message| &mut message.parts) {
        match &mut part.content {
            Some(Content::ToolCall(call)) => {
                names.insert(call.tool_call_id.clone(), call.name.clone());
            }
            Some(Content::ToolResult(result)) if result.name.is_empty() => {
                result.name = names.get(&result.tool_call_id).cloned().unwrap_or_default();
            }
            _ => {}
        }
    }
}

/// Keeps each provider's id at the first of the messages that have it.
fn distinct_ids(read: &mut [ReadMessage]) {
    let mut taken = HashSet::new();
    for read in read {
        let id = &mut read.message.external_id;
        if !id.is_empty() && !taken.insert(id.clone()) {
            id.clear();
        }
    }
}

/// Collects the messages of one text.
#[derive(Debug, Default)]
struct Reading {
    messages: Vec<ReadMessage>,
}

impl Reading {
    /// Starts a message.
    fn message(&mut self, role: Role, node: &Node<'_>) -> &mut ReadMessage {
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
    fn same_or_new(&mut self, role: Role, node: &Node<'_>) -> &mut ReadMessage {
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

    /// Gives the first message the id of the answer that was read, if that is one.
    fn answer_id(&mut self, id: Option<Node<'_>>) {
        if let Some(read) = self.messages.first_mut() {
            let own = std::mem::take(&mut read.message.external_id);
            read.take_id(id);
            if read.message.external_id.is_empty() {
                read.message.external_id = own;
            }
        }
    }

    /// Reads each item of a list.
    fn each(
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
    fn take_id(&mut self, id: Option<Node<'_>>) {
        let id = id.and_then(|id| id.string().ok()).unwrap_or_default();
        let fits = (limits::PROVIDER_ID_MIN_CHARS..=limits::EXTERNAL_ID_CHARS)
            .contains(&id.chars().count());
        if self.message.external_id.is_empty() && fits && !id.contains(char::is_control) {
            self.message.external_id = id;
        }
    }

    fn add(&mut self, part: impl Into<proto::Part>, node: &Node<'_>) {
        self.message.parts.push(part.into());
        self.part_paths.push(node.path().to_owned());
    }
}

/// The only item of a list, such as of a response's `choices`.
fn only_item<'a>(list: &Node<'a>) -> Result<Node<'a>, Invalid> {
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
fn opaque(provider: Provider, kind: impl Into<String>, node: &Node<'_>) -> proto::OpaquePart {
    proto::OpaquePart {
        provider: proto::ProviderFormat::from(provider).into(),
        r#type: kind.into(),
        json: node.text().to_owned(),
    }
}

/// A reference to an image at a URL.
fn image(url: String) -> proto::FileRef {
    proto::FileRef {
        r#type: proto::FileType::Image.into(),
        location: Some(proto::file_ref::Location::Url(url)),
        ..Default::default()
    }
}

/// Whether a URL is one that Recollect keeps as a reference: on the web, or a `data:` URL
/// with the content itself. Others stay in opaque parts.
fn is_reference(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://") || is_inline(url)
}

/// An image in base64 as a `data:` URL; `None` for other content, and for text that is not
/// base64.
fn data_url(mime_type: &str, base64: &str) -> Option<String> {
    let url = format!("data:{mime_type};base64,{base64}");
    let is_image = mime_type.starts_with("image/") && InlineContent::from_url(&url).is_some();
    is_image.then_some(url)
}

/// Media type and base64 of a `data:` URL in base64.
fn base64_of(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?.split(';').next()?, data))
}
