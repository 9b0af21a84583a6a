//! One task with one model: splits the input into portions that fit the model's window,
//! and checks the answers.

use memory_budget::Tokenizer;

use super::speakers::Speakers;
use super::{Distilled, DistilledBy, Extracted, Extraction, answer, material};
use crate::model::{Account, Prompt, Reliable};
use crate::prompt::{Wanted, again, extract, observe, reflect};
use crate::{DistillError, ModelError, SourceMessage, SummaryPrompt};

/// The smallest token budget of a text.
pub(super) const LEAST_TOKENS: i32 = 32;

/// The tokenizer of budgets, for all models.
const BUDGET: Tokenizer = Tokenizer::O200kBase;
/// The fraction 1/SPARE of a window is left free, because token counts are estimates for
/// models that are not OpenAI's.
const SPARE: i32 = 10;
/// The smallest portion, in tokens. Models with smaller windows are refused when they are
/// opened.
const LEAST_PORTION: i32 = 512;

pub(super) struct ModelTask<'a> {
    model: &'a Reliable,
    account: Account<'a>,
}

impl<'a> ModelTask<'a> {
    pub(super) fn new(model: &'a Reliable, account: Account<'a>) -> Self {
        Self { model, account }
    }

    pub(super) async fn summary(
        self,
        template: &SummaryPrompt,
        previous: &str,
        messages: &[SourceMessage],
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        let frame = template.prompt(previous, "", max_tokens);
        let room = self.room(&frame, max_tokens);
        let mut summary = previous.to_owned();
        let speakers = Speakers::default();
        for portion in material::portions(messages, &speakers, room, self.tokenizer()) {
            let prompt = template.prompt(&summary, &portion.text, max_tokens);
            summary = self.text(self.full(prompt), max_tokens).await?;
        }
        Ok(self.done(summary))
    }

    pub(super) async fn observations(
        self,
        messages: &[SourceMessage],
        max_tokens: i32,
    ) -> Result<Distilled<String>, DistillError> {
        let room = self.room(&observe("", max_tokens), 0);
        let speakers = Speakers::default();
        let portions = material::portions(messages, &speakers, room, self.tokenizer());
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
        // A line break takes more tokens in a quotation than in plain text.
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
            kinds,
            never_keep,
            owner,
            messages,
            known,
        } = extraction;
        let most = self.model.info().max_output_tokens;
        let said = messages.iter().filter(|source| !source.injected);
        let speakers = Speakers::of(said.clone());
        let speaker = speakers.label(owner);
        let wanted = Wanted {
            strategy,
            instructions,
            kinds,
            never_keep,
            speaker: &speaker,
        };
        let ask = |known: &str, messages: &str| extract(wanted, known, messages, most);
        let room = self.room(&ask("", ""), 0);
        let (quoted, shown) = material::facts(known, room / 4, self.tokenizer());
        // The model can refer only to the facts in the prompt.
        let known = &known[..shown];
        let mut extracted = Extracted::default();
        for portion in material::portions(said, &speakers, room - room / 4, self.tokenizer()) {
            // Nothing in it can prove a fact of the owner.
            if !portion
                .sources
                .iter()
                .any(|source| source.is_said_by(owner))
            {
                continue;
            }
            let prompt = ask(&quoted, &portion.text);
            let read = |answer: &str| answer::read(answer, owner, &portion.sources, known, kinds);
            let first = self.ask(&prompt).await?;
            let read = match read(&first) {
                Ok(first) => match first.problem() {
                    None => first,
                    Some(problem) => match self.ask(&again(&prompt, problem)).await {
                        Ok(second) => match read(&second) {
                            Ok(second) => second.after(first),
                            Err(_) => first,
                        },
                        // What fits in the first answer is kept.
                        Err(_) => first,
                    },
                },
                Err(problem) => {
                    let second = self.ask(&again(&prompt, &problem)).await?;
                    read(&second).map_err(|problem| DistillError::Malformed {
                        model: self.name(),
                        problem,
                    })?
                }
            };
            extracted.add(read.extracted);
        }
        Ok(self.done(extracted))
    }

    /// A text within its budget. A longer answer is requested once more; if that is too long
    /// as well, it is cut after a whole sentence.
    async fn text(&self, prompt: Prompt, max_tokens: i32) -> Result<String, DistillError> {
        let first = self.ask(&prompt).await?;
        if BUDGET.count(&first) <= max_tokens {
            return Ok(first);
        }
        let second = match self.ask(&again(&prompt, "it was too long")).await {
            Ok(second) => second,
            // The first answer can still be cut.
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
        // Postgres cannot store NUL in a text.
        let text = text.replace('\0', "");
        if !text.chars().any(char::is_alphanumeric) {
            return Err(self.failed(ModelError::Empty));
        }
        Ok(text)
    }

    /// Tokens left for material, besides the frame of a prompt and `other` tokens that may
    /// appear twice: in the prompt and in the answer.
    fn room(&self, frame: &Prompt, other: i32) -> i32 {
        let info = self.model.info();
        let window = info.context_window - info.context_window / SPARE;
        (window - info.max_output_tokens - frame.tokens(info.tokenizer) - 2 * other)
            .max(LEAST_PORTION)
    }

    /// The prompt with the model's full `max_output_tokens`: reasoning counts too, and the
    /// length of the text itself is requested in words.
    fn full(&self, prompt: Prompt) -> Prompt {
        Prompt {
            max_output_tokens: self.model.info().max_output_tokens,
            ..prompt
        }
    }

    fn tokenizer(&self) -> Tokenizer {
        self.model.info().tokenizer
    }

    fn name(&self) -> String {
        self.model.info().name.clone()
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
            by: DistilledBy::Model(self.name()),
        }
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// Divides a budget in proportion to the sizes of the portions.
fn shares(sizes: impl Iterator<Item = i32>, max_tokens: i32) -> Vec<i32> {
    let sizes: Vec<i64> = sizes.map(|size| i64::from(size.max(1))).collect();
    let all: i64 = sizes.iter().sum();
    sizes
        .iter()
        .map(|size| i32::try_from(i64::from(max_tokens) * size / all.max(1)).unwrap_or(max_tokens))
        .map(|share| share.max(LEAST_TOKENS))
        .collect()
}

/// Whether a short text is a refusal, which must not replace a summary.
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
