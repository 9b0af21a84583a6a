//! A long loop of an agent with tools: the size of its observations, the facts that they
//! keep, and the part of each context that a prompt cache can reuse.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, GetObservationsRequest, GetObservationsResponse,
    MemoryMode, MemoryPolicy, MessageInput, ProviderFormat,
};
use serde::Serialize;

use super::tool_log::{self, Step};
use crate::{
    Failure,
    clients::{Clients, new_app},
    progress,
    service::Service,
    stats::rounded,
};

/// The pause between two steps, in which an agent waits for its model.
const PAUSE: Duration = Duration::from_millis(250);
/// The time limit of the last observations.
const SETTLE: Duration = Duration::from_secs(120);
/// The budget of a context: larger than observations and messages together.
const BUDGET: i32 = 200_000;
/// The observer's threshold, which bounds the messages in full.
const OBSERVER_TOKENS: i64 = 30_000;

/// The results for the log.
#[derive(Serialize)]
pub struct ObservationFigures {
    steps: usize,
    observations: usize,
    /// Messages that observations replace, and their tokens.
    observed_messages: i64,
    observed_tokens: i64,
    /// Tokens of these observations.
    distilled_tokens: i64,
    /// Facts planted in the observed messages, and those that observations contain.
    planted: usize,
    found: usize,
    /// Bytes of all contexts but the last, and of the prefixes that they share with the next
    /// one.
    context_bytes: usize,
    same_bytes: usize,
}

impl ObservationFigures {
    /// The ratio of the observed messages' tokens to the observations' tokens.
    pub fn compression(&self) -> f64 {
        rounded(
            self.observed_tokens as f64 / (self.distilled_tokens as f64).max(1.0),
            1,
        )
    }

    /// Percent of the planted facts that observations contain.
    pub fn answerable(&self) -> f64 {
        percent(self.found, self.planted)
    }

    /// Percent of each context that the next one begins with.
    pub fn same_prefix(&self) -> f64 {
        percent(self.same_bytes, self.context_bytes)
    }

    /// A summary in one line.
    pub fn line(&self) -> String {
        format!(
            "{} steps: {} tokens of {} messages condensed to {} in {} observations; {} of {} facts kept; {} of {} KiB of contexts reused",
            self.steps,
            self.observed_tokens,
            self.observed_messages,
            self.distilled_tokens,
            self.observations,
            self.found,
            self.planted,
            self.same_bytes / 1024,
            self.context_bytes / 1024,
        )
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    rounded(100.0 * part as f64 / (whole as f64).max(1.0), 1)
}

/// Runs a loop of so many steps, and asks for the context after each.
pub async fn measure(service: &Service, steps: usize) -> Result<ObservationFigures, Failure> {
    let mut clients = service.connect().await?;
    let thread_id = thread(&mut clients).await?;
    let bar = progress::count("running a long loop", steps as u64);
    append(&mut clients, &thread_id, vec![tool_log::task()]).await?;
    let mut facts: Vec<Option<String>> = vec![None];
    let mut before = context(&mut clients, &thread_id).await?;
    let (mut context_bytes, mut same_bytes) = (0, 0);
    for number in 0..steps {
        let Step { messages, fact } = tool_log::step(number);
        facts.extend(messages.iter().skip(1).map(|_| None));
        facts.push(Some(fact));
        append(&mut clients, &thread_id, messages).await?;
        tokio::time::sleep(PAUSE).await;
        let now = context(&mut clients, &thread_id).await?;
        context_bytes += before.len();
        same_bytes += before.iter().zip(&now).take_while(|(a, b)| a == b).count();
        before = now;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let observed = settled(&mut clients, &thread_id).await?;
    let all: Vec<_> = observed.observations.iter().collect();
    let observed_messages: i64 = all.iter().map(|one| one.message_count).sum();
    // Facts are compared without case.
    let texts: Vec<String> = all.iter().map(|one| one.text.to_lowercase()).collect();
    let there = usize::try_from(observed_messages)?.min(facts.len());
    let planted: Vec<&String> = facts[..there].iter().flatten().collect();
    let kept = |fact: &&&String| texts.iter().any(|text| text.contains(fact.as_str()));
    Ok(ObservationFigures {
        steps,
        observations: all.len(),
        observed_messages,
        observed_tokens: all.iter().map(|one| one.message_tokens).sum(),
        distilled_tokens: all.iter().map(|one| i64::from(one.token_count)).sum(),
        planted: planted.len(),
        found: planted.iter().filter(kept).count(),
        context_bytes,
        same_bytes,
    })
}

async fn thread(clients: &mut Clients) -> Result<String, Failure> {
    let policy = MemoryPolicy {
        mode: MemoryMode::Observational.into(),
        observer_tokens: Some(i32::try_from(OBSERVER_TOKENS)?),
        ..Default::default()
    };
    clients
        .thread_with_policy(&new_app(), "bench", "session:loop", policy)
        .await
}

async fn append(
    clients: &mut Clients,
    thread_id: &str,
    messages: Vec<MessageInput>,
) -> Result<(), Failure> {
    let request = AppendMessagesRequest {
        thread: Some(thread_id.to_owned().into()),
        messages,
        ..Default::default()
    };
    clients.messages.append_messages(request).await?;
    Ok(())
}

/// The context as the bytes that a provider's cache would compare.
async fn context(clients: &mut Clients, thread_id: &str) -> Result<Vec<u8>, Failure> {
    let request = BuildContextRequest {
        thread: Some(thread_id.to_owned().into()),
        system_prompt: "You mend builds. Work step by step.".to_owned(),
        max_tokens: Some(BUDGET),
        formats: vec![ProviderFormat::Text.into()],
        ..Default::default()
    };
    let context = clients.contexts.build_context(request).await?.into_inner();
    let bodies = context.rendered.into_iter();
    Ok(bodies.flat_map(|one| one.body.into_bytes()).collect())
}

/// Waits until the messages in full are below the threshold; returns the observations.
async fn settled(
    clients: &mut Clients,
    thread_id: &str,
) -> Result<GetObservationsResponse, Failure> {
    let step = progress::step("observing");
    let begin = Instant::now();
    loop {
        let request = GetObservationsRequest {
            thread: Some(thread_id.to_owned().into()),
            ..Default::default()
        };
        let found = clients.observations.get_observations(request).await?;
        let found = found.into_inner();
        if found.raw_message_tokens <= OBSERVER_TOKENS {
            step.finish_and_clear();
            return Ok(found);
        }
        if begin.elapsed() > SETTLE {
            return Err(format!(
                "{} tokens are still in full; {}",
                found.raw_message_tokens, found.last_error
            )
            .into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
