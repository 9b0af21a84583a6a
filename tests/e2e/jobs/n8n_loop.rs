//! A user of a long-running agent in the manner of n8n: a loop of 300 steps.

use std::collections::HashSet;

use memory_contract::proto::{
    AppendMessagesRequest, AppendMessagesResponse, BuildContextRequest, BuildContextResponse,
    ContextBlockKind as Kind, GetObservationsRequest, GetObservationsResponse, MemoryMode,
    MessageInput, PolicyLevel, ProviderFormat, RecallRequest, RecalledMessage,
    ResolveThreadRequest, Role, SearchRequest, SessionRef,
};
use recollect_tests::{
    Client, Options, SOON, Server, app, apply, block, block_texts, body, by_session, check_context,
    context_request, cut, eventually, fresh_from, long_trial_with_own_server, mode, records, say,
    session, target_session,
};

use super::tool_outputs::{Agent, code};
use crate::distill::ledger::verify;

/// Steps of the agent.
const STEPS: usize = 300;
/// The default thresholds of observations and of reflections.
const OBSERVER_TOKENS: i64 = 30_000;
/// What the agent gives its model.
const FORMAT: ProviderFormat = ProviderFormat::OpenaiChat;

async fn append(
    client: &Client,
    run: &SessionRef,
    messages: Vec<MessageInput>,
) -> AppendMessagesResponse {
    let request = AppendMessagesRequest {
        thread: by_session(run.clone()),
        messages,
        ..Default::default()
    };
    client.call(request).await
}

async fn observations(client: &Client, run: &SessionRef) -> GetObservationsResponse {
    let request = GetObservationsRequest {
        thread: by_session(run.clone()),
        ..Default::default()
    };
    client.call(request).await
}

fn ids_of(stored: &AppendMessagesResponse) -> Vec<String> {
    let messages = stored.messages.iter();
    messages.map(|one| one.message_id.clone()).collect()
}

/// What the agent gives its model; it sets no budget.
async fn context(client: &Client, run: &SessionRef) -> BuildContextResponse {
    let request = BuildContextRequest {
        thread: by_session(run.clone()),
        system_prompt: "You keep the nightly build green. Work step by step.".to_owned(),
        max_tokens: None,
        formats: vec![FORMAT.into()],
        ..context_request("", "")
    };
    client.context(request).await
}

fn tokens_of(context: &BuildContextResponse, kind: Kind) -> i32 {
    block(context, kind).map_or(0, |block| block.token_count)
}

fn hash_of(context: &BuildContextResponse, kind: Kind) -> &str {
    block(context, kind).map_or("", |block| &block.hash)
}

/// Checks that each message is in the context or before its newest steps, that the task is in it in
/// full, and that nothing was cut. Returns how many are before: observations have to cover them.
fn check_whole(context: &BuildContextResponse, ids: &[String]) -> usize {
    let recent = block(context, Kind::Recent).unwrap();
    let shown: Vec<&String> = recent.messages.iter().map(|one| &one.message_id).collect();
    assert_eq!(shown[0], &ids[0]);
    let steps = match block(context, Kind::Distilled) {
        Some(_) => &shown[1..],
        None => &shown[..],
    };
    let covered = ids.len() - steps.len();
    assert_eq!(steps, ids[covered..].iter().collect::<Vec<_>>());
    assert_eq!(cut(context, Kind::Recent).item_count, 0);
    assert_eq!(cut(context, Kind::Distilled).item_count, 0);
    covered
}

/// How much of a request a provider's prompt cache finds again.
#[derive(Default)]
struct Prefix {
    former_bytes: usize,
    bytes: usize,
    same_bytes: usize,
}

impl Prefix {
    fn add(&mut self, former: &str, now: &str) {
        let pairs = former.bytes().zip(now.bytes());
        self.same_bytes += pairs.take_while(|(former, now)| former == now).count();
        self.former_bytes += former.len();
        self.bytes += now.len();
    }

    /// The percentage of the former requests that the next ones begin with.
    fn kept(&self) -> f64 {
        100.0 * self.same_bytes as f64 / self.former_bytes as f64
    }

    /// The percentage of the requests that the former ones began with.
    fn cached(&self) -> f64 {
        100.0 * self.same_bytes as f64 / self.bytes as f64
    }
}

/// Whether the messages in full are those of the former context and further ones.
fn continues(former: &BuildContextResponse, now: &BuildContextResponse) -> bool {
    let ids = |context| {
        let recent = block(context, Kind::Recent).unwrap();
        let ids = recent.messages.iter().map(|one| one.message_id.clone());
        ids.collect::<Vec<_>>()
    };
    ids(now).starts_with(&ids(former))
        && block_texts(now, Kind::Recent).starts_with(&block_texts(former, Kind::Recent))
        && hash_of(now, Kind::System) == hash_of(former, Kind::System)
}

#[apply(long_trial_with_own_server)]
async fn j13_an_agent_of_300_steps_loses_nothing_and_keeps_its_prefix() {
    // Codes are found by word, and to embed two million tokens takes minutes.
    let by_word = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, _server, client) = Server::start_own(&by_word).await;
    let run = session(&app(), "", "run:nightly");
    let request = ResolveThreadRequest {
        session: Some(run.clone()),
        policy: Some(mode(MemoryMode::Observational)),
        ..Default::default()
    };
    let thread_id = client.call(request).await.thread.unwrap().thread_id;
    let task = "Find out why the nightly build fails, and mend it.";
    let stored = append(&client, &run, vec![say(Role::User, task)]).await;
    let mut ids = ids_of(&stored);
    let mut revision = stored.revision;
    let mut former = context(&client, &run).await;
    let policy = former.effective_policy.clone().unwrap();
    // Nothing but the mode is set.
    assert_eq!(policy.origins.len(), 1);
    assert_eq!(policy.origins[0].level(), PolicyLevel::Thread);

    let agent = Agent::new();
    let (mut all, mut steady) = (Prefix::default(), Prefix::default());
    let (mut covered, mut swaps, mut reflections) = (0, 0, 0);
    // The steps whose error was in the observations of a context.
    let mut told = HashSet::new();
    let (mut most_derived, mut said_tokens) = (0, 0_i64);
    for number in 0..STEPS {
        let stored = append(&client, &run, agent.step(number).into()).await;
        ids.extend(ids_of(&stored));
        let size = stored.messages[1].token_count;
        assert!((3_000..=12_500).contains(&size), "step {number}: {size}");
        said_tokens += i64::from(size);
        revision = stored.revision;
        let now = context(&client, &run).await;
        let covers = check_whole(&now, &ids);
        assert!(covers >= covered, "{covers}, {covered}");
        if number % 50 == 0 {
            check_context(&now, i32::MAX);
        }
        all.add(body(&former, FORMAT), body(&now, FORMAT));
        let derived = hash_of(&now, Kind::Distilled);
        if derived == hash_of(&former, Kind::Distilled) {
            assert!(continues(&former, &now), "step {number}");
            steady.add(body(&former, FORMAT), body(&now, FORMAT));
        } else {
            swaps += 1;
            let (before, after) = (records(&former), records(&now));
            // Only a reflection replaces observations.
            let reflected = !after.starts_with(&before);
            assert!(!reflected || after[0]["record"] == "reflection");
            reflections += usize::from(reflected);
            // Coverage only grows, so a later answer covers no less.
            let found = observations(&client, &run).await.observations;
            let observed: i64 = found.iter().map(|one| one.message_count).sum();
            assert!(observed >= covers as i64, "{observed} of {covers}");
            let text = block_texts(&now, Kind::Distilled).concat();
            told.extend((0..number).filter(|step| text.contains(&code(*step))));
        }
        most_derived = most_derived.max(tokens_of(&now, Kind::Distilled));
        covered = covers;
        let raw_tokens = tokens_of(&now, Kind::Recent);
        if i64::from(raw_tokens) > OBSERVER_TOKENS {
            // The model takes its time, in which observations are activated.
            eventually("observations keep up", SOON, async || {
                let found = observations(&client, &run).await;
                found.raw_message_tokens <= OBSERVER_TOKENS
            })
            .await;
        }
        former = now;
    }
    println!(
        "{said_tokens} tokens of outputs; {covered} messages observed in {swaps} swaps, \
         {reflections} of them reflections, with at most {most_derived} tokens; kept {:.1} % \
         between swaps, {:.1} % of all; cached {:.1} %",
        steady.kept(),
        all.kept(),
        all.cached()
    );
    assert_eq!(ids.len(), 1 + 2 * STEPS);
    assert!(covered > ids.len() * 9 / 10, "{covered}");
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
    // Observations grew to their own threshold, and were condensed.
    assert!(reflections > 0);
    assert!(most_derived > 37_000, "{most_derived}");
    // A swap replaces all messages in full, and with outputs of this size one in four steps
    // has a swap.
    assert!(steady.kept() > 90.0, "{:.1} %", steady.kept());
    assert!(all.kept() > 75.0, "{:.1} %", all.kept());
    assert!(all.cached() > 75.0, "{:.1} %", all.cached());

    // What a tool said is in the observation of its step, ...
    let steps = (covered - 1) / 2;
    let told = told.len();
    assert!(told * 10 >= steps * 9, "{told} of {steps}");
    // ... and is found by asking for it.
    let asked: Vec<usize> = (0..steps).step_by(9).collect();
    let found = found(&client, &run, &ids, &revision, &asked).await;
    println!("{told} of {steps} observed; of {} {found:?}", asked.len());
    assert!(found.best * 10 >= asked.len() * 9, "{found:?}");
    assert!(found.recalled * 4 >= asked.len() * 3, "{found:?}");
    assert!(found.quoted * 4 >= asked.len() * 3, "{found:?}");
}

/// For how many steps the error of its tool is found.
#[derive(Debug, Default)]
struct Found {
    /// It is the best match of a search for its code.
    best: usize,
    /// It is recalled by a question about its code.
    recalled: usize,
    /// The context of that question contains its code.
    quoted: usize,
}

async fn found(
    client: &Client,
    run: &SessionRef,
    ids: &[String],
    revision: &str,
    steps: &[usize],
) -> Found {
    let mut found = Found::default();
    for &step in steps {
        let id = &ids[2 + 2 * step];
        let question = format!("Which error was {}?", code(step));
        let request = SearchRequest {
            target: target_session(run.clone()),
            query: code(step),
            freshness: fresh_from(revision),
            ..Default::default()
        };
        let matches = client.search(request).await.matches;
        let of = |one: &RecalledMessage| one.message.as_ref().unwrap().message_id == *id;
        found.best += usize::from(matches.first().is_some_and(of));
        let request = RecallRequest {
            target: target_session(run.clone()),
            query: question.clone(),
            ..Default::default()
        };
        let recalled = client.recall(request).await.messages;
        found.recalled += usize::from(recalled.iter().any(of));
        let request = BuildContextRequest {
            thread: by_session(run.clone()),
            max_tokens: None,
            ..context_request("", &question)
        };
        let context = client.context(request).await;
        let texts = [Kind::Distilled, Kind::Recalled].map(|kind| block_texts(&context, kind));
        let texts = texts.concat().concat();
        found.quoted += usize::from(texts.contains(&code(step)));
    }
    found
}
