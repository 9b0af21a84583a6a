//! Templates with placeholders.

/// A prompt that lacks a placeholder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt lacks {}, which every such prompt must contain",
    placeholders(missing)
)]
pub struct PromptError {
    /// The names of the missing placeholders.
    pub missing: Vec<&'static str>,
}

fn placeholders(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
    names.join(" and ")
}

/// A text with placeholders such as `{messages_joined}`. Other braces are plain text, so
/// that a prompt may show JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    Slot(&'static str),
}

impl Template {
    /// Parses a text. Each of `slots` must occur at least once.
    ///
    /// # Errors
    /// [`PromptError`] with the missing ones.
    pub fn new(text: &str, slots: &[&'static str]) -> Result<Self, PromptError> {
        let template = Self::parse(text, slots);
        let missing: Vec<&'static str> = slots
            .iter()
            .copied()
            .filter(|slot| !template.segments.contains(&Segment::Slot(slot)))
            .collect();
        if missing.is_empty() {
            Ok(template)
        } else {
            Err(PromptError { missing })
        }
    }

    /// Parses a built-in text, which a test has checked.
    pub(super) fn parse(text: &str, slots: &[&'static str]) -> Self {
        let mut segments = Vec::new();
        let mut rest = text;
        while let Some((start, slot)) = first_slot(rest, slots) {
            segments.push(Segment::Text(rest[..start].to_owned()));
            segments.push(Segment::Slot(slot));
            rest = &rest[start + slot.len() + 2..];
        }
        segments.push(Segment::Text(rest.to_owned()));
        Self { segments }
    }

    /// Replaces the placeholders in one pass: placeholders inside values are not expanded. A
    /// placeholder without a value becomes empty.
    pub fn render(&self, values: &[(&str, &str)]) -> String {
        let mut text = String::new();
        for segment in &self.segments {
            match segment {
                Segment::Text(segment) => text.push_str(segment),
                Segment::Slot(slot) => {
                    let value = values.iter().find(|(name, _)| name == slot);
                    text.push_str(value.map_or("", |(_, value)| value));
                }
            }
        }
        text
    }
}

fn first_slot(text: &str, slots: &[&'static str]) -> Option<(usize, &'static str)> {
    text.match_indices('{').find_map(|(start, _)| {
        let after = &text[start + 1..];
        slots.iter().find_map(|slot| {
            let end = after.strip_prefix(slot)?;
            end.starts_with('}').then_some((start, *slot))
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOTS: [&str; 2] = ["prev_summary", "messages_joined"];

    #[test]
    fn a_prompt_without_its_placeholders_is_refused_by_name() {
        let missing = |text| Template::new(text, &SLOTS).unwrap_err();
        assert_eq!(missing("Summarize.").missing, SLOTS);
        assert_eq!(missing("{prev_summary}").missing, ["messages_joined"]);
        let message = missing("{ messages_joined } {prev_summary").to_string();
        assert!(
            message.contains("{prev_summary} and {messages_joined}"),
            "{message}"
        );
    }

    #[test]
    fn other_braces_are_text() {
        let text = r#"{"a": {prev_summary}} {{messages_joined}} {x}"#;
        let template = Template::new(text, &SLOTS).unwrap();
        let rendered = template.render(&[("prev_summary", "1"), ("messages_joined", "2")]);
        assert_eq!(rendered, r#"{"a": 1} {2} {x}"#);
    }

    proptest! {
        #[test]
        fn values_are_never_expanded(
            summary in "[{}a-z_]{0,20}|\\{messages_joined\\}|\\{prev_summary\\}",
            messages in "[{}a-z_]{0,20}|\\{messages_joined\\}|\\{prev_summary\\}",
        ) {
            let template = Template::new("<{prev_summary}|{messages_joined}>", &SLOTS).unwrap();
            let values = [
                ("prev_summary", summary.as_str()),
                ("messages_joined", messages.as_str()),
            ];
            prop_assert_eq!(template.render(&values), format!("<{summary}|{messages}>"));
        }
    }
}
