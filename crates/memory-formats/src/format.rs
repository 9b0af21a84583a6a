//! Messages to write, how they are written, and the result.

use memory_contract::proto::{self, ProviderFormat};
use memory_contract::{
    file::ImageDetail,
    message::{Part, Provider, Role},
    policy::ResolvedPolicy,
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
    pub fn from_policy(policy: &ResolvedPolicy) -> Self {
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
pub(crate) struct Body {
    pub(crate) body: String,
    /// Reasoning and opaque parts in the body.
    pub(crate) provider_parts: usize,
}

impl From<Rendered> for proto::RenderedContext {
    fn from(rendered: Rendered) -> Self {
        let Rendered {
            format,
            body,
            dropped_parts,
        } = rendered;
        let format = match format {
            Format::Provider(provider) => provider.into(),
            Format::Text => ProviderFormat::Text,
        };
        Self {
            format: format.into(),
            body,
            dropped_part_count: i32::try_from(dropped_parts).unwrap_or(i32::MAX),
        }
    }
}
