//! A caller's template: one text for each message. The template comes from
//! outside, so what it can do is small: print, choose, and a few filters on
//! values. It has no loops, no variables of its own and no operator that makes
//! texts longer, so what it costs is bounded by its length.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use memory_contract::{Invalid, Message, limits, text_of_parts};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, context};
use time::format_description::well_known::Rfc3339;

use super::messages::PAGE_BYTES;
use super::tokens::INLINE_BYTES;
use crate::error::ApiError;

const FIELD: &str = "text_template";
const NAME: &str = "text_template";
/// What a template may name.
const VALUES: [&str; 5] = ["create_time", "name", "role", "seq", "text"];
/// What a block may be.
const BLOCKS: [&str; 4] = ["if", "elif", "else", "endif"];
/// Steps of one rendering; each value printed or filtered takes two or three.
const FUEL: u64 = 500;
/// The longest text of one message, in bytes.
const RENDERED_BYTES: usize = 1024 * 1024;

/// A template that has been checked.
#[derive(Clone, Debug)]
pub(super) struct Template(Arc<Environment<'static>>);

impl Template {
    /// Checks a template; an empty one is none.
    ///
    /// # Errors
    /// Anything that could fail while rendering, whatever the message.
    pub(super) fn compile(source: String) -> Result<Option<Self>, Invalid> {
        if source.is_empty() {
            return Ok(None);
        }
        if source.len() > limits::TEMPLATE_BYTES {
            return Err(Invalid::new(
                FIELD,
                format!(
                    "must have at most {} bytes, has {}",
                    limits::TEMPLATE_BYTES,
                    source.len()
                ),
            ));
        }
        let mut environment = sandbox();
        environment
            .add_template_owned(NAME, source.clone())
            .map_err(|error| invalid(&error))?;
        only_plain_syntax(&source)?;
        let template = Self(Arc::new(environment));
        template.check_names()?;
        // Unknown filters and wrong types only show while rendering.
        for text in ["text", ""] {
            template.render_one("user", text, text, 1, "1970-01-01T00:00:00Z")?;
        }
        Ok(Some(template))
    }

    /// Renders messages in their order, and stops when the texts are more than a
    /// page can hold. Returns the texts and all of the messages.
    pub(super) async fn render(
        self,
        messages: Vec<Message>,
    ) -> Result<(Vec<String>, Vec<Message>), ApiError> {
        let bytes: usize = messages
            .iter()
            .map(|message| super::tokens::size_of(&message.parts))
            .sum();
        if bytes <= INLINE_BYTES {
            return Ok((self.render_all(&messages)?, messages));
        }
        let rendering = tokio::task::spawn_blocking(move || (self.render_all(&messages), messages));
        let (texts, messages) = rendering.await?;
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
            if bytes > PAGE_BYTES {
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
        let template = self.0.get_template(NAME).map_err(|error| invalid(&error))?;
        let mut output = Bounded(Vec::new());
        let values = context! { role, name, text, seq, create_time };
        template
            .render_captured_to(values, &mut output)
            .map_err(|error| invalid(&error))?;
        String::from_utf8(output.0).map_err(|_| Invalid::new(FIELD, "does not render UTF-8"))
    }

    fn check_names(&self) -> Result<(), Invalid> {
        let template = self.0.get_template(NAME).map_err(|error| invalid(&error))?;
        let names: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
        match names
            .into_iter()
            .find(|name| !VALUES.contains(&name.as_str()))
        {
            Some(name) => Err(Invalid::new(
                FIELD,
                format!("names {name:?}; there are {}", VALUES.join(", ")),
            )),
            None => Ok(()),
        }
    }
}

/// An environment in which a template can print, choose and filter.
pub(super) fn sandbox() -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_keep_trailing_newline(true);
    environment.add_filter("upper", |text: String| text.to_uppercase());
    environment.add_filter("lower", |text: String| text.to_lowercase());
    environment.add_filter("trim", |text: String| text.trim().to_owned());
    environment.add_filter("truncate", |text: String, chars: usize| -> String {
        text.chars().take(chars).collect()
    });
    environment.add_filter(
        "default",
        |text: String, other: String| {
            if text.is_empty() { other } else { text }
        },
    );
    environment
}

/// A template without loops, assignments, macros, and without operators that
/// build longer texts. What stands between quotes inside a tag is not looked at.
/// Braces inside a tag are refused too: with them, and with raw blocks, it could
/// not be told this simply where a tag ends.
pub(super) fn only_plain_syntax(source: &str) -> Result<(), Invalid> {
    let mut rest = source;
    while let Some(start) = ["{%", "{{", "{#"]
        .iter()
        .filter_map(|open| rest.find(open))
        .min()
    {
        let (open, inside) = rest[start..].split_at(2);
        if open == "{#" {
            rest = inside.split_once("#}").map_or("", |(_, after)| after);
            continue;
        }
        let block = open == "{%";
        let end = if block { "%}" } else { "}}" };
        let (tag, after) = split_tag(inside, end);
        if block {
            let word: String = tag
                .trim_start_matches(['-', '+'])
                .trim_start()
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .collect();
            if !BLOCKS.contains(&word.as_str()) {
                return Err(Invalid::new(
                    FIELD,
                    format!(
                        "may have no block {word:?}; there are {}",
                        BLOCKS.join(", ")
                    ),
                ));
            }
        }
        let body = tag
            .trim_start_matches(['-', '+'])
            .trim_end_matches(['-', '+']);
        if let Some(operator) = outside_quotes(body).find(|c| "~+*[{}".contains(*c)) {
            return Err(Invalid::new(
                FIELD,
                format!(
                    "may not use `{operator}` in a tag; texts beside one another are joined anyway"
                ),
            ));
        }
        rest = after;
    }
    Ok(())
}

/// A tag and what comes after it. Its end does not count between quotes.
fn split_tag<'a>(inside: &'a str, end: &str) -> (&'a str, &'a str) {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if inside[at..].starts_with(end) => {
                return (&inside[..at], &inside[at + end.len()..]);
            }
            None => {}
        }
    }
    (inside, "")
}

fn outside_quotes(tag: &str) -> impl Iterator<Item = char> + '_ {
    let mut quote = None;
    let mut escaped = false;
    tag.chars().filter(move |&c| match quote {
        Some(_) if escaped => {
            escaped = false;
            false
        }
        Some(_) if c == '\\' => {
            escaped = true;
            false
        }
        Some(open) if c == open => {
            quote = None;
            false
        }
        Some(_) => false,
        None if c == '"' || c == '\'' => {
            quote = Some(c);
            false
        }
        None => true,
    })
}

/// Refuses to become too long, however the template does it.
pub(super) struct Bounded(pub(super) Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > RENDERED_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn invalid(error: &minijinja::Error) -> Invalid {
    let problem = match error.kind() {
        ErrorKind::WriteFailure => {
            format!("renders a message to more than {RENDERED_BYTES} bytes")
        }
        ErrorKind::OutOfFuel => "takes too many steps for one message".to_owned(),
        kind => match error.detail() {
            Some(detail) => format!("is no template: {kind}: {detail}"),
            None => format!("is no template: {kind}"),
        },
    };
    Invalid::new(FIELD, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(template: &str, name: &str, text: &str) -> Result<String, Invalid> {
        let template = Template::compile(template.to_owned())?.unwrap();
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
                Template::compile(template.to_owned()).is_err(),
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
        assert!(Template::compile(many).is_err());
    }

    #[test]
    fn an_empty_template_is_none() {
        assert!(Template::compile(String::new()).is_ok_and(|template| template.is_none()));
    }
}
