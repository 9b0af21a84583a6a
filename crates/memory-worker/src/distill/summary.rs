//! Summarizes older turns when the working memory fills its share of the window.

use memory_budget::Tokenizer;
use memory_context::working::{READ_BYTES, READ_MESSAGES, WorkingSize, size_in};
use memory_contract::{message::Message, policy::ResolvedPolicy};
use memory_store::{Commit, DistillKind, DistillState, NewSummary};

use super::cut::{Keep, split_points};
use super::due::Due;
use super::failure::Failure;
use super::make::{DerivedText, MAX_COMMITS, MAX_STALE_COMMITS, place};
use super::run::DistillRun;
use super::source::sources;

/// The most tokens of messages that one summary adds to the previous summary.
/// A model with a smaller window gets them in portions.
const PIECE_TOKENS: i64 = 30_000;
/// If the newest step alone exceeds the limit, the next run is due when the messages have grown by
/// 1/GROWTH_DIVISOR, because each run costs as much as they are long.
const GROWTH_DIVISOR: i64 = 64;

/// The most tokens that another tokenizer counts where `o200k_base` counts one:
/// `cl100k_base` counts five in Gujarati (OpenAI, "Hello GPT-4o", 2024), older ones more.
const MAX_DENSITY: i64 = 8;

pub(super) async fn step(run: &DistillRun<'_>, mut state: DistillState) -> Result<Due, Failure> {
    let policy = run.policy;
    if !policy.summarize {
        return Ok(Due::NEVER);
    }
    let window = Window::read(run, policy).await?;
    let (mut stale, mut pieces) = (0, 0);
    loop {
        let limits = window.limits(run, &state).await?;
        let missing = limits.missing(&state);
        if missing > 0 {
            let missing = (missing / limits.density).max(1);
            return Ok(Due::at(state.path_tokens.saturating_add(missing)));
        }
        if pieces == MAX_COMMITS {
            return Ok(Due::NOW);
        }
        let committed = match oldest(run, &state, &limits).await? {
            SummaryInput::Messages(messages) => summarize(run, &state, messages, &limits).await?,
            SummaryInput::Nothing => {
                let size = limits.limit.max(state.unsummarized.message_tokens);
                let growth = (size / GROWTH_DIVISOR).max(1);
                return Ok(Due::at(state.path_tokens.saturating_add(growth)));
            }
            SummaryInput::Stale => Commit::Stale,
        };
        match committed {
            Commit::Done(_) => pieces += 1,
            Commit::Stale if stale == MAX_STALE_COMMITS => return Ok(Due::SOON),
            Commit::Stale => stale += 1,
        }
        state = run.state().await?;
    }
}

/// The window of the model that a call named last, or else of the policy.
struct Window {
    /// The limits in tokens of `o200k_base`, which are the stored counts.
    limits: Limits,
    /// The model's tokenizer.
    tokenizer: Tokenizer,
}

impl Window {
    async fn read(run: &DistillRun<'_>, policy: &ResolvedPolicy) -> Result<Self, Failure> {
        let store = &run.with.store;
        let (model, window) = store
            .working_memories(run.caller)
            .working_model(run.thread.id)
            .await?;
        let window = window
            .and_then(|window| u32::try_from(window).ok())
            .unwrap_or(policy.context_window);
        let (tokenizer, _) = Tokenizer::for_model(&model);
        Ok(Self {
            limits: Limits::in_window(window, policy),
            tokenizer,
        })
    }

    /// The limits in stored tokens, for the working memory as it is now.
    async fn limits(&self, run: &DistillRun<'_>, state: &DistillState) -> Result<Limits, Failure> {
        let Self { limits, tokenizer } = *self;
        if tokenizer.counts_texts_as_stored() {
            return Ok(limits);
        }
        let dense = Limits {
            limit: limits.limit / MAX_DENSITY,
            ..limits
        };
        // Not full by any tokenizer's count.
        if dense.missing(state) > 0 {
            return Ok(dense);
        }
        let store = &run.with.store;
        let memory = store.working_memories(run.caller).peek_working_memory(
            run.thread.id,
            READ_MESSAGES,
            READ_BYTES,
        );
        let mut memory = memory.await?;
        let stored = WorkingSize::stored(&memory).total();
        let counted = size_in(tokenizer, &mut memory).await?.total();
        Ok(limits.for_tokenizer(stored, counted))
    }
}

/// How large the working memory may be, in stored tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limits {
    /// Tokens of context and messages in full at which older turns are summarized.
    limit: i64,
    /// The most tokens of a summary.
    summary: i32,
    /// The most tokens of the model for one stored token of future messages.
    density: i64,
}

impl Limits {
    /// The limits of a policy in a window.
    fn in_window(window: u32, policy: &ResolvedPolicy) -> Self {
        let share = f64::from(policy.summarization_threshold);
        let limit = (f64::from(window) * share).ceil() as i64;
        Self {
            limit,
            summary: i32::try_from(window / 20)
                .unwrap_or(i32::MAX)
                .clamp(64, 2_000),
            density: 1,
        }
    }

    /// The same limits for a model that counts `counted` tokens where `stored` are stored.
    fn for_tokenizer(self, stored: i64, counted: i64) -> Self {
        let limit = match counted {
            0 => self.limit,
            // Rounded up, so that it is reached when the model's own count is.
            counted => (self.limit.saturating_mul(stored) + counted - 1) / counted,
        };
        Self {
            limit,
            density: MAX_DENSITY,
            ..self
        }
    }

    /// Tokens left before older turns are summarized; 0 or less: they are due.
    fn missing(&self, state: &DistillState) -> i64 {
        let context = state.summary().map_or(0, |summary| summary.tokens);
        self.limit - i64::from(context) - state.unsummarized.message_tokens
    }
}

/// The oldest uncovered messages, to be summarized together.
enum SummaryInput {
    Messages(Vec<Message>),
    /// All of them stay in full.
    Nothing,
    /// The state that was read is outdated.
    Stale,
}

async fn oldest(
    run: &DistillRun<'_>,
    state: &DistillState,
    limits: &Limits,
) -> Result<SummaryInput, Failure> {
    let keep = Keep {
        limit: limits.limit,
    };
    let raw = state.unsummarized;
    if keep.keeps(raw.message_tokens) {
        return Ok(SummaryInput::Nothing);
    }
    // More is read if a piece ends within the first step.
    for most in [PIECE_TOKENS, i64::MAX] {
        let read = run.read(state, DistillKind::Summary, raw.after_depth, i32::MAX, most);
        let Some(mut range) = read.await? else {
            return Ok(SummaryInput::Stale);
        };
        let (mut messages, more) = (std::mem::take(&mut range.messages), range.more);
        let mut count = keep.cut(&messages, more, raw.message_tokens);
        if count == 0 && more && most == i64::MAX {
            // A step too large to be read whole.
            count = split_points(&messages)
                .last()
                .copied()
                .unwrap_or(messages.len());
        }
        messages.truncate(count);
        if count > 0 {
            return Ok(SummaryInput::Messages(messages));
        }
        if !more {
            break;
        }
    }
    Ok(SummaryInput::Nothing)
}

async fn summarize(
    run: &DistillRun<'_>,
    state: &DistillState,
    messages: Vec<Message>,
    limits: &Limits,
) -> Result<Commit, Failure> {
    let Some(end) = messages.last().map(place) else {
        return Ok(Commit::Stale);
    };
    let before = state.summary();
    let previous = before.map_or("", |summary| summary.text.as_str());
    let messages = sources(messages);
    let DerivedText { text, tokens, by } =
        run.summarize(previous, &messages, limits.summary).await?;
    let new = NewSummary {
        generation: state.generations.summaries,
        end,
        after_depth: state.unsummarized.after_depth,
        text,
        tokens,
        made_by: by.clone(),
        based_on: before.map(|summary| summary.number),
        own_text: false,
        sets_aside: false,
    };
    let store = &run.with.store;
    let committed = store
        .distillates(run.caller)
        .commit_summary(run.thread.id, &new)
        .await?;
    if let Commit::Done(_) = committed {
        run.stored("summary", &by);
    }
    Ok(committed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_shares_of_the_window() {
        let limits = |window, share| {
            let policy = ResolvedPolicy {
                summarization_threshold: share,
                ..ResolvedPolicy::default()
            };
            Limits::in_window(window, &policy)
        };
        for (window, share, limit, summary) in [
            (128_000, 0.7, 89_600, 2_000),
            (1_000, 0.7, 700, 64),
            (8_192, 0.5, 4_096, 409),
            (10_000_000, 0.95, 9_500_000, 2_000),
        ] {
            let density = 1;
            let expected = Limits {
                limit,
                summary,
                density,
            };
            assert_eq!(limits(window, share), expected);
        }
        // What counts double fills the window with half of the stored tokens.
        let double = limits(1_000, 0.7).for_tokenizer(300, 600);
        assert_eq!((double.limit, double.density), (350, MAX_DENSITY));
        assert_eq!(limits(1_000, 0.7).for_tokenizer(0, 0).limit, 700);
    }
}
