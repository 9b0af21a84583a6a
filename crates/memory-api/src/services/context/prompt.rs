//! What stands in a context whatever is remembered: the system prompt and the
//! current input.

use memory_budget::Tokenizer;
use memory_contract::proto::ContextBlockKind;
use memory_contract::{InputWording, Part, ResolvedPolicy, Role};

use super::block::{Block, Labels, Said};
use crate::error::ApiError;
use crate::services::query_template::QueryTemplate;

/// The two mandatory blocks; each may be absent.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub(super) system: Option<Block>,
    pub(super) input: Option<Block>,
    pub(super) tokens: i32,
}

impl Prompt {
    /// Puts the input into the policy's template, and counts.
    ///
    /// # Errors
    /// More tokens than the budget has.
    pub(super) fn new(
        system_prompt: String,
        input: Vec<Part>,
        input_name: String,
        policy: &ResolvedPolicy,
        tokenizer: Tokenizer,
        max_tokens: i32,
    ) -> Result<Self, ApiError> {
        let system = (!system_prompt.is_empty()).then(|| {
            let parts = vec![Part::Text(system_prompt)];
            let said = Said::new(Role::System, String::new(), parts, tokenizer);
            Block::of(ContextBlockKind::System, said)
        });
        let parts = templated(input, &input_name, policy)?;
        let input = (!parts.is_empty()).then(|| {
            let said = Said::new(Role::User, input_name, parts, tokenizer);
            Block::of(ContextBlockKind::Input, said)
        });
        let tokens = [&system, &input]
            .into_iter()
            .flatten()
            .fold(0_i32, |sum, block| sum.saturating_add(block.tokens()));
        if tokens > max_tokens {
            return Err(ApiError::ContextTooLarge {
                needed_tokens: tokens,
                max_tokens,
            });
        }
        Ok(Self {
            system,
            input,
            tokens,
        })
    }
}

/// The input with its texts, joined, put into the template in the place of the
/// first of them. Other parts stay as they are, and so does an input without any
/// text.
fn templated(input: Vec<Part>, name: &str, policy: &ResolvedPolicy) -> Result<Vec<Part>, ApiError> {
    let InputWording::Template(source) = &policy.query_prompt_template else {
        return Ok(input);
    };
    let texts: Vec<&str> = input
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Json(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::File(_) => None,
        })
        .collect();
    if texts.is_empty() {
        return Ok(input);
    }
    let labels = Labels::of(policy);
    let text = QueryTemplate::compile(source)
        .and_then(|template| {
            let query = texts.join("\n");
            template.render(&query, name, labels.user(), labels.assistant())
        })
        .map_err(|invalid| invalid.within("policy"))?;
    let mut text = Some(text);
    Ok(input
        .into_iter()
        .filter_map(|part| match part {
            Part::Text(_) => text.take().map(Part::Text),
            other => Some(other),
        })
        .collect())
}
