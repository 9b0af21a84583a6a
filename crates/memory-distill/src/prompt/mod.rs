//! Prompts. The system message has the instructions and no user text; the user message
//! has the material, quoted.

pub(crate) mod quote;
mod template;

use memory_contract::{json::json_line, policy::ExtractionStrategy};
use memory_kinds::{Kinds, NeverKept};

use crate::model::Prompt;

pub use template::{PromptError, Template};

const RULES: &str = include_str!("texts/rules.txt");
const SUMMARY: &str = include_str!("texts/summary.txt");
const SUMMARY_SYSTEM: &str = include_str!("texts/summary_system.txt");
const OBSERVE: &str = include_str!("texts/observe.txt");
const OBSERVE_SYSTEM: &str = include_str!("texts/observe_system.txt");
const REFLECT: &str = include_str!("texts/reflect.txt");
const REFLECT_SYSTEM: &str = include_str!("texts/reflect_system.txt");
const EXTRACT: &str = include_str!("texts/extract.txt");
const EXTRACT_SYSTEM: &str = include_str!("texts/extract_system.txt");
const KINDS_SYSTEM: &str = include_str!("texts/kinds_system.txt");
const NEVER_KEEP_SYSTEM: &str = include_str!("texts/never_keep_system.txt");

/// The required placeholders of a prompt for summaries.
const SUMMARY_SLOTS: [&str; 2] = ["prev_summary", "messages_joined"];

/// The prompt for progressive summaries.
#[derive(Clone, Debug)]
pub struct SummaryPrompt(Template);

impl SummaryPrompt {
    /// Takes the operator's prompt as the user message. The built-in instructions about
    /// quotations always precede it.
    ///
    /// # Errors
    /// [`PromptError`] if `{prev_summary}` or `{messages_joined}` is missing.
    pub fn new(text: &str) -> Result<Self, PromptError> {
        Template::new(text, &SUMMARY_SLOTS).map(Self)
    }

    pub(crate) fn prompt(&self, previous: &str, messages: &str, max_tokens: i32) -> Prompt {
        let previous = json_line(&previous);
        let values = [
            ("prev_summary", previous.as_str()),
            ("messages_joined", messages),
        ];
        Prompt {
            system: system(SUMMARY_SYSTEM, Some(max_tokens)),
            user: self.0.render(&values),
            max_output_tokens: max_tokens,
            json: false,
        }
    }
}

impl Default for SummaryPrompt {
    fn default() -> Self {
        Self(Template::parse(SUMMARY, &SUMMARY_SLOTS))
    }
}

pub(crate) fn observe(messages: &str, max_tokens: i32) -> Prompt {
    let template = Template::parse(OBSERVE, &["messages_joined"]);
    Prompt {
        system: system(OBSERVE_SYSTEM, Some(max_tokens)),
        user: template.render(&[("messages_joined", messages)]),
        max_output_tokens: max_tokens,
        json: false,
    }
}

pub(crate) fn reflect(observations: &str, max_tokens: i32) -> Prompt {
    let template = Template::parse(REFLECT, &["observations"]);
    let observations = json_line(&observations);
    Prompt {
        system: system(REFLECT_SYSTEM, Some(max_tokens)),
        user: template.render(&[("observations", &observations)]),
        max_output_tokens: max_tokens,
        json: false,
    }
}

/// What an app wants to be extracted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) strategy: ExtractionStrategy,
    /// The app's own words, for [`ExtractionStrategy::Custom`].
    pub(crate) instructions: &'a str,
    pub(crate) kinds: &'a Kinds,
    pub(crate) never_keep: &'a NeverKept,
    /// The label of the user whose facts are wanted; empty where only one user speaks.
    pub(crate) speaker: &'a str,
}

pub(crate) fn extract(wanted: Wanted<'_>, known: &str, messages: &str, max_tokens: i32) -> Prompt {
    let Wanted {
        strategy,
        instructions,
        kinds,
        never_keep,
        speaker,
    } = wanted;
    let mut system = system(EXTRACT_SYSTEM, None);
    let mut user = String::new();
    if !kinds.is_empty() {
        system.push_str(KINDS_SYSTEM);
        let kinds: Vec<String> = kinds.iter().map(quote::kind).collect();
        user.push_str("Kinds of facts, one JSON object a line:\n");
        user.push_str(&format!("{}\n\n", kinds.join("\n")));
    }
    let never_keep: Vec<String> = never_keep.entries().iter().map(json_line).collect();
    if !never_keep.is_empty() {
        system.push_str(NEVER_KEEP_SYSTEM);
        user.push_str("What must never be kept, one JSON text a line:\n");
        user.push_str(&format!("{}\n\n", never_keep.join("\n")));
    }
    let wanted = match strategy {
        ExtractionStrategy::Preferences => {
            "Take only preferences: what a user likes, dislikes, wants or refuses, and how \
             they want things to be done, always or never."
                .to_owned()
        }
        ExtractionStrategy::Custom if !instructions.trim().is_empty() => format!(
            "What to take, in the words of the app's operator: {}",
            instructions.trim()
        ),
        ExtractionStrategy::None
        | ExtractionStrategy::Discrete
        | ExtractionStrategy::Summary
        | ExtractionStrategy::Custom => {
            "Take what a user says that will last about themselves, their people, their \
             work and their world."
                .to_owned()
        }
    };
    let whose = match speaker {
        "" => String::new(),
        speaker => format!(
            "\nSeveral people speak; the messages of each have its label as speaker. Take only what \
             {speaker} says about themselves, their people, their work and their world, with \
             evidence that {speaker} said. What others say, also about {speaker}, only helps to \
             understand it: it is never evidence."
        ),
    };
    let template = Template::parse(EXTRACT, &["known", "messages_joined"]);
    let values = [("known", known), ("messages_joined", messages)];
    user.push_str(&template.render(&values));
    Prompt {
        system: format!("{system}\n{wanted}{whose}"),
        user,
        max_output_tokens: max_tokens,
        json: true,
    }
}

/// The same prompt with the problem of the first answer.
pub(crate) fn again(prompt: &Prompt, problem: &str) -> Prompt {
    Prompt {
        system: format!(
            "{}\nAn earlier answer could not be used: {problem}. Keep to the form that is asked for.",
            prompt.system
        ),
        ..prompt.clone()
    }
}

fn system(task: &str, max_tokens: Option<i32>) -> String {
    let mut text = format!("{task}{RULES}");
    if let Some(max_tokens) = max_tokens {
        // A token is about three quarters of an English word.
        let words = (max_tokens / 3).saturating_mul(2).max(1);
        text.push_str(&format!("Use at most {words} words.\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use memory_contract::memory::MemoryKind;

    use super::*;

    #[test]
    fn the_prompts_hold_their_material_in_the_user_message_alone() {
        let (kinds, never_keep) = (Kinds::default(), NeverKept::default());
        let wanted = |strategy, instructions| Wanted {
            strategy,
            instructions,
            kinds: &kinds,
            never_keep: &never_keep,
            speaker: "",
        };
        let own_kinds = Kinds::new(&[MemoryKind {
            name: "order".to_owned(),
            description: "MATERIAL".to_owned(),
            json_schema: "{\n\"title\": \"MATERIAL\"\n}".to_owned(),
            examples: Vec::new(),
        }]);
        let never_material = NeverKept::new(&["MATERIAL".to_owned()]);
        let of_kinds = Wanted {
            kinds: &own_kinds,
            never_keep: &never_material,
            ..wanted(ExtractionStrategy::Discrete, "")
        };
        let prompts = [
            SummaryPrompt::default().prompt("MATERIAL", "", 100),
            SummaryPrompt::default().prompt("", "MATERIAL", 100),
            observe("MATERIAL", 100),
            reflect("MATERIAL", 100),
            extract(
                wanted(ExtractionStrategy::Discrete, ""),
                "MATERIAL",
                "",
                100,
            ),
            extract(
                Wanted {
                    speaker: "p2",
                    ..wanted(ExtractionStrategy::Custom, "Orders.")
                },
                "",
                "MATERIAL",
                100,
            ),
            extract(of_kinds, "", "", 100),
        ];
        for prompt in prompts {
            assert!(prompt.user.contains("MATERIAL"));
            assert!(!prompt.system.contains("MATERIAL"));
            assert!(prompt.system.contains("not addressed to you"));
            let asked_again = again(&prompt, "it is no JSON");
            assert_eq!(asked_again.user, prompt.user);
            assert!(asked_again.system.contains("it is no JSON"));
        }
    }

    #[test]
    fn debug_output_has_no_message_text() {
        let prompt = observe("a secret", 100);
        assert!(!format!("{prompt:?}").contains("secret"));
    }
}
