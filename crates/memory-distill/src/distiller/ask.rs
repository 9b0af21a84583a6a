//! One task with one model: portions that fit, and answers that are looked at.

use memory_budget::Tokenizer;

use super::{By, Distilled, Extracted, Extraction, answer, material};
use crate::model::{Account, Prompt, Reliable};
use crate::prompt::{again, extract, observe, reflect};
use crate::{DistillError, ModelError, Source, SummaryPrompt};

/// Stored counts are of this encoding, whatever the model counts.
const BUDGET: Tokenizer = Tokenizer::O200kBase;
/// Tokens that are left free in a window, because counts for models that are not
/// OpenAI's are estimates: one in ten.
const SPARE: i32 = 10;
/// The least material of a portion, in tokens; smaller windows are refused when a
/// model is opened.
const LEAST_PORTION: i32 = 512;

pub(super) struct Asking<'a> {
    model: &'a Reliable,
    account: Account<'a>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(model: &'a Reliable, account: Account<'a>) -> Self {
        Self { model, account }
    }

    pub(super) async fn summary(
        self,
        template: &SummaryPrompt,
        previous: &str,
        messages: &[Source],
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        let frame = template.prompt(previous, "", max_tokens);
        let room = self.room(&frame, max_tokens);
        let mut summary = previous.to_owned();
        for portion in material::portions(messages, room, self.tokenizer()) {
            let prompt = template.prompt(&summary, &portion.text, max_tokens);
            summary = self.text(self.full(prompt), max_tokens).await?;
        }
        Ok(self.done(summary))
    }

    pub(super) async fn observations(
        self,
        messages: &[Source],
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        let room = self.room(&observe("", max_tokens), 0);
        let portions = material::portions(messages, room, self.tokenizer());
        let shares = shares(portions.iter().map(|portion| portion.tokens), max_tokens);
        let mut text = String::new();
        for (portion, share) in portions.iter().zip(shares) {
            let prompt = observe(&portion.text, share);
            let seen = self.text(self.full(prompt), share).await?;
            append(&mut text, &seen);
        }
        Ok(self.done(material::cut(&text, max_tokens, BUDGET).to_owned()))
    }

    pub(super) async fn reflection(
        self,
        observations: &str,
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        // A line break costs more in a quotation than in a text.
        let room = self.room(&reflect("", max_tokens), 0) / 2;
        let portions = material::lines(observations, room, self.tokenizer());
        let shares = shares(portions.iter().map(|(_, tokens)| *tokens), max_tokens);
        let mut text = String::new();
        for ((portion, _), share) in portions.iter().zip(shares) {
            let seen = self.text(self.full(reflect(portion, share)), share).await?;
            append(&mut text, &seen);
        }
        Ok(self.done(material::cut(&text, max_tokens, BUDGET).to_owned()))
    }

    pub(super) async fn facts(
        self,
        extraction: Extraction<'_>,
    ) -> Result<Distilled<Extracted>, DistillError> {
        let Extraction {
            strategy,
            instructions,
            messages,
            known,
        } = extraction;
        let most = self.model.about().max_output_tokens;
        let ask =
            |known: &str, messages: &str| extract(strategy, instructions, known, messages, most);
        let room = self.room(&ask("", ""), 0);
        let (quoted, shown) = material::facts(known, room / 4, self.tokenizer());
        // It can speak of no other.
        let known = &known[..shown];
        let said = messages.iter().filter(|source| !source.injected);
        let mut extracted = Extracted::default();
        for portion in material::portions(said, room - room / 4, self.tokenizer()) {
            let prompt = ask(&quoted, &portion.text);
            let first = self.ask(&prompt).await?;
            let facts = match answer::read(&first, &portion.sources, known) {
                Ok(facts) => facts,
                Err(problem) => {
                    let second = self.ask(&again(&prompt, &problem)).await?;
                    answer::read(&second, &portion.sources, known).map_err(|problem| {
                        DistillError::Malformed {
                            model: self.name(),
                            problem,
                        }
                    })?
                }
            };
            extracted.add(facts);
        }
        Ok(self.done(extracted))
    }

    /// A text within its budget. One that is longer is asked for once more; one
    /// that is too long again is cut after a whole sentence.
    async fn text(&self, prompt: Prompt, max_tokens: i32) -> Result<String, DistillError> {
        let first = self.ask(&prompt).await?;
        if BUDGET.count(&first) <= max_tokens {
            return Ok(first);
        }
        let second = match self.ask(&again(&prompt, "it was too long")).await {
            Ok(second) => second,
            // The first one is still good, but for its end.
            Err(_) => first,
        };
        let kept = material::cut(&second, max_tokens, BUDGET);
        if kept.is_empty() {
            return Err(self.failed(ModelError::Empty));
        }
        Ok(kept.to_owned())
    }

    async fn ask(&self, prompt: &Prompt) -> Result<String, DistillError> {
        let asked = self.model.ask(self.account, prompt).await;
        let answer = asked.map_err(|error| self.failed(error))?;
        let text = answer.text().map_err(|error| self.failed(error))?;
        if !prompt.json && is_refusal(text) {
            return Err(self.failed(ModelError::Refused));
        }
        // No text that is kept may have one.
        let text = text.replace('\0', "");
        if !text.chars().any(char::is_alphanumeric) {
            return Err(self.failed(ModelError::Empty));
        }
        Ok(text)
    }

    /// Tokens that are left for material beside a prompt's frame and what else
    /// may stand in it.
    fn room(&self, frame: &Prompt, beside: i32) -> i32 {
        let about = self.model.about();
        let window = about.context_window - about.context_window / SPARE;
        (window - about.max_output_tokens - frame.tokens(about.tokenizer) - 2 * beside)
            .max(LEAST_PORTION)
    }

    /// The prompt with all the room that the model has for an answer: what it
    /// thinks counts too, and its length is asked for in words.
    fn full(&self, prompt: Prompt) -> Prompt {
        Prompt {
            max_output_tokens: self.model.about().max_output_tokens,
            ..prompt
        }
    }

    fn tokenizer(&self) -> Tokenizer {
        self.model.about().tokenizer
    }

    fn name(&self) -> String {
        self.model.about().name.clone()
    }

    fn failed(&self, source: ModelError) -> DistillError {
        DistillError::Model {
            model: self.name(),
            source,
        }
    }

    fn done<T>(self, value: T) -> Distilled<T> {
        Distilled {
            value,
            by: By::Model(self.name()),
        }
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// The budget, shared out by the sizes of what is to be told.
fn shares(sizes: impl Iterator<Item = i32>, max_tokens: i32) -> Vec<i32> {
    let sizes: Vec<i64> = sizes.map(|size| i64::from(size.max(1))).collect();
    let all: i64 = sizes.iter().sum();
    sizes
        .iter()
        .map(|size| i32::try_from(i64::from(max_tokens) * size / all.max(1)).unwrap_or(max_tokens))
        .map(|share| share.max(super::LEAST_TOKENS))
        .collect()
}

/// Whether a short text says in words that the model does not want to answer.
/// Such an answer must not take the place of a summary.
fn is_refusal(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "i'm sorry",
        "i am sorry",
        "sorry, ",
        "i can't",
        "i cannot",
        "i can not",
        "i won't",
        "i'm unable",
        "i am unable",
        "as an ai",
        "i apologi",
        "i must decline",
        "i'm not able",
        "i am not able",
        "unfortunately, i",
    ];
    let text = text.trim_start_matches(['"', '*', ' ']).replace('’', "'");
    let start: String = text.chars().take(20).collect();
    let start = start.to_lowercase();
    text.chars().count() < 300
        && text.lines().count() <= 3
        && WORDS.iter().any(|words| start.starts_with(words))
}
