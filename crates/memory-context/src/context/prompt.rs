//! The blocks that every context has: the system prompt and the current input.

use memory_budget::Tokenizer;
use memory_contract::{
    message::{Content, Part, Role},
    policy::{InputWording, ResolvedPolicy},
};
use memory_formats::Labels;

use super::block::{Block, BlockKind, ContextMessage};
use crate::error::ContextError;
use crate::template::QueryTemplate;

/// The two blocks; `None` for one that the request leaves empty.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub(super) system: Option<Block>,
    pub(super) input: Option<Block>,
    pub(super) tokens: i32,
}

impl Prompt {
    /// Renders the input with the template of the policy, and counts.
    ///
    /// # Errors
    /// The template fails with this input.
    pub(super) fn new(
        system_prompt: String,
        input: Vec<Part>,
        input_name: String,
        policy: &ResolvedPolicy,
        tokenizer: Tokenizer,
    ) -> Result<Self, ContextError> {
        let system = (!system_prompt.is_empty()).then(|| {
            let parts = vec![Part::text(system_prompt)];
            let message = ContextMessage::new(Role::System, String::new(), parts, tokenizer);
            Block::of(BlockKind::System, message)
        });
        let parts = templated(input, &input_name, policy)?;
        let input = (!parts.is_empty()).then(|| {
            let message = ContextMessage::new(Role::User, input_name, parts, tokenizer);
            Block::of(BlockKind::Input, message)
        });
        let tokens = [&system, &input]
            .into_iter()
            .flatten()
            .fold(0_i32, |sum, block| sum.saturating_add(block.tokens()));
        Ok(Self {
            system,
            input,
            tokens,
        })
    }

    /// # Errors
    /// It needs more tokens than the budget has.
    pub(super) fn check(&self, max_tokens: i32) -> Result<(), ContextError> {
        match self.tokens > max_tokens {
            true => Err(ContextError::PromptTooLarge {
                needed_tokens: self.tokens,
                max_tokens,
            }),
            false => Ok(()),
        }
    }
}

/// The input with its texts replaced by the rendered template, which stands in the place
/// of the first text and gets all of them, joined. Other parts stay as they are. An input
/// without text is not rendered.
fn templated(
    input: Vec<Part>,
    name: &str,
    policy: &ResolvedPolicy,
) -> Result<Vec<Part>, ContextError> {
    let InputWording::Template(source) = &policy.query_prompt_template else {
        return Ok(input);
    };
    let texts: Vec<&str> = input
        .iter()
        .filter_map(|part| match &part.content {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if texts.is_empty() {
        return Ok(input);
    }
    let labels = Labels::from_policy(policy);
    let text = QueryTemplate::compile(source)
        .and_then(|template| {
            let query = texts.join("\n");
            template.render(&query, name, &labels.user, &labels.assistant)
        })
        .map_err(|invalid| invalid.within("policy"))?;
    let mut text = Some(text);
    Ok(input
        .into_iter()
        .filter_map(|part| match part.content {
            Content::Text(_) => text.take().map(Part::text),
            _ => Some(part),
        })
        .collect())
}
