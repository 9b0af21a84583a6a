//! `text_template` of ListMessages: one text for each message.

use memory_budget::Tokenizer;
use memory_contract::{Invalid, Message, limits, text_of_parts};
use minijinja::context;
use time::format_description::well_known::Rfc3339;

use super::sandbox::Sandbox;
use crate::counting::{counting, size_of};
use crate::error::ContextError;

/// The values that a template can use.
const VALUES: [&str; 5] = ["create_time", "name", "role", "seq", "text"];

/// A `text_template` that compiled and rendered test values.
#[derive(Clone, Debug)]
pub struct MessageTemplate(Sandbox);

impl MessageTemplate {
    /// Compiles a template; `None` for an empty one.
    ///
    /// # Errors
    /// A template that does not compile, or fails with test values.
    pub fn compile(source: String) -> Result<Option<Self>, Invalid> {
        if source.is_empty() {
            return Ok(None);
        }
        let template = Self(Sandbox::compile("text_template", source, &VALUES)?);
        for text in ["text", ""] {
            template.render_one("user", text, text, 1, "1970-01-01T00:00:00Z")?;
        }
        Ok(Some(template))
    }

    /// Renders messages in their order, and stops when the texts exceed a page
    /// ([`limits::PAGE_BYTES`]). Returns the texts and all of the messages.
    ///
    /// # Errors
    /// A text that exceeds [`RENDERED_BYTES`](super::RENDERED_BYTES).
    pub async fn render(
        self,
        messages: Vec<Message>,
    ) -> Result<(Vec<String>, Vec<Message>), ContextError> {
        let bytes = messages.iter().map(|message| size_of(&message.parts)).sum();
        let render = move || (self.render_all(&messages), messages);
        let (texts, messages) = counting(bytes, Tokenizer::O200kBase, render).await?;
        Ok((texts?, messages))
    }

    fn render_all(&self, messages: &[Message]) -> Result<Vec<String>, Invalid> {
        let mut texts = Vec::with_capacity(messages.len());
        let mut bytes = 0;
        for message in messages {
            let text = self.render_one(
                message.role.as_str(),
                &message.name,
                &text_of_parts(&message.parts),
                message.seq,
                &message.created.format(&Rfc3339).unwrap_or_default(),
            )?;
            bytes += text.len();
            texts.push(text);
            if bytes > limits::PAGE_BYTES {
                break;
            }
        }
        Ok(texts)
    }

    fn render_one(
        &self,
        role: &str,
        name: &str,
        text: &str,
        seq: i64,
        create_time: &str,
    ) -> Result<String, Invalid> {
        self.0
            .render(context! { role, name, text, seq, create_time })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sandbox::RENDERED_BYTES;
    use super::*;

    fn render(template: &str, name: &str, text: &str) -> Result<String, Invalid> {
        let template = MessageTemplate::compile(template.to_owned())?.unwrap();
        template.render_one("user", name, text, 7, "2024-05-06T07:08:09Z")
    }

    #[test]
    fn a_template_prints_and_chooses() {
        let check = |template: &str, expected: &str| {
            assert_eq!(
                render(template, "Ada", "<b> {{ x }}").as_deref(),
                Ok(expected),
                "{template}"
            );
        };
        check("{{ name }}: {{ text }}", "Ada: <b> {{ x }}");
        check(
            "{{ seq }} {{ role | upper }} {{ create_time }}\n",
            "7 USER 2024-05-06T07:08:09Z\n",
        );
        check(
            "{% if name == 'Ada' %}me{% else %}{{ name }}{% endif %}",
            "me",
        );
        check("{{ name | default('nobody') | truncate(2) }}", "Ad");
        check("1 + 1 ~ [2] * 3", "1 + 1 ~ [2] * 3");
        check("{{- ' ~+*[ }} ' -}}", " ~+*[ }} ");
        check("{# {{ no }} #}x", "x");
    }

    #[test]
    fn an_invalid_template_is_refused_before_anything_is_rendered() {
        let long = "x".repeat(limits::TEMPLATE_BYTES + 1);
        for template in [
            "{{ name",
            "{{ }}",
            "{{ nobody }}",
            "{% if nobody %}{% endif %}",
            "{{ text | nothing }}",
            "{{ text.x.y }}",
            "{{ range(9) }}",
            "{% if %}",
            "{% if text %}",
            long.as_str(),
        ] {
            let invalid = render(template, "Ada", "hello").unwrap_err();
            assert_eq!(invalid.field, "text_template", "{template}");
        }
    }

    #[test]
    fn nothing_that_grows_is_allowed() {
        for template in [
            "{% set a = text %}",
            "{% for c in text %}{% endfor %}",
            "{%- macro m() %}{% endmacro %}",
            "{%+ set a = 1 %}",
            "{% filter upper %}{% endfilter %}",
            "{{ text ~ text }}",
            "{{ text * 9 }}",
            "{{ text + text }}",
            "{{ text[::1] }}",
            "{{ '}}' ~ text }}",
            "{% if text ~ text %}{% endif %}",
            "{{ [text, text] }}",
            "{# {{ #}{% set a = 1 %}",
            "{% raw %}{{ {% endraw %}{% set a = 1 %}",
            "{{ {'a': {}} ~ text }}",
            "{{ '\\'' ~ text }}",
            "{% call x() %}{% endcall %}",
            "{% with a = text %}{% endwith %}",
        ] {
            assert!(
                MessageTemplate::compile(template.to_owned()).is_err(),
                "{template}"
            );
        }
    }

    #[test]
    fn a_rendered_text_has_a_largest_size() {
        let text = "x".repeat(RENDERED_BYTES);
        assert_eq!(
            render("{{ text }}", "", &text).map(|text| text.len()),
            Ok(RENDERED_BYTES)
        );
        let invalid = render("{{ text }}!", "", &text).unwrap_err();
        assert!(invalid.problem.contains("bytes"), "{invalid}");
    }

    #[test]
    fn steps_are_limited() {
        let many = format!("{{{{ text{} }}}}", "|trim".repeat(700));
        assert!(MessageTemplate::compile(many).is_err());
    }

    #[test]
    fn an_empty_template_counts_as_missing() {
        assert!(MessageTemplate::compile(String::new()).is_ok_and(|template| template.is_none()));
    }
}
