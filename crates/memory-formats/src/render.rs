//! Writes messages in a format.

use memory_contract::message::Provider;

use crate::format::{Body, Format, Labels, Rendered, Said};
use crate::{anthropic, gemini, openai_chat, openai_responses, steps, text};

/// Writes messages. Equal messages give equal bytes.
pub fn render(format: Format, messages: &[Said<'_>], labels: &Labels) -> Rendered {
    let written = match format {
        Format::Provider(Provider::OpenaiChat) => openai_chat::write(messages, labels.image_detail),
        Format::Provider(Provider::OpenaiResponses) => {
            openai_responses::write(messages, labels.image_detail)
        }
        Format::Provider(Provider::AnthropicMessages) => anthropic::write(messages, labels),
        Format::Provider(Provider::Gemini) => gemini::write(messages, labels),
        Format::Text => Body {
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
