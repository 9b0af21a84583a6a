//! Recall while the index is behind: of a language that is new to a tenant, and after a burst
//! of messages.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use memory_contract::proto::{DegradationReason, SearchMethod};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::{
    Failure, Target, asking,
    clients::{Clients, new_app},
    importing,
    indexed::indexed,
    machine::Machine,
    progress,
    service::Service,
    stats::{Latencies, Quantiles, rounded},
    table::table,
    tally::share,
};
use memory_datasets::{Conversation, Question};

/// Matches of each question, as `quality` counts.
const TOP_K: i32 = 10;
/// The language that a tenant has messages in before it gets those of another.
const FIRST_LANGUAGE: &str = "en";
/// The name of the user of a burst.
const BURST_USER: &str = "burst";
/// For how long the usual latency is measured.
const USUAL: Duration = Duration::from_secs(5);
/// The longest time until an answer is whole.
const WHOLE: Duration = Duration::from_secs(300);

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Directory in the XQuAD format, for a new language.
    #[arg(long)]
    languages: Option<PathBuf>,
    /// Questions of each language.
    #[arg(long, default_value_t = 100)]
    questions: usize,
    /// Directory of conversations, for a burst.
    #[arg(long)]
    conversations: Option<PathBuf>,
    /// Messages of the burst.
    #[arg(long, default_value_t = 2_000)]
    burst: usize,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    new_languages: Vec<NewLanguage>,
    bursts: Vec<Burst>,
}

/// Percent of questions whose paragraph is among the first ten, and of answers that say that
/// the index is behind.
#[derive(Serialize)]
struct NewLanguage {
    language: String,
    recall_at_10: f64,
    lagging: f64,
    recall_at_10_indexed: f64,
}

/// What a caller sees while a burst is indexed.
#[derive(Serialize)]
struct Burst {
    caller: &'static str,
    messages: usize,
    whole_after_s: f64,
    during: Quantiles,
    usual: Quantiles,
}

/// Measures, and prints the report.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    if options.languages.is_none() && options.conversations.is_none() {
        return Err("name what to measure with --languages, --conversations, or both".into());
    }
    let mut new_languages = Vec::new();
    if let Some(dir) = &options.languages {
        let mut all: BTreeMap<String, Conversation> = memory_datasets::read_all(dir)?
            .into_iter()
            .map(|one| (one.language.clone(), one))
            .collect();
        let first = all.remove(FIRST_LANGUAGE);
        let first = first.ok_or("--languages has no file en.json")?;
        for second in all.values() {
            // A service of its own: the language is new to the tenant.
            let service = Service::attach_or_start(target).await?;
            new_languages.push(new_language(&service, &first, second, options.questions).await?);
            service.stop().await?;
        }
    }
    let mut bursts = Vec::new();
    if let Some(dir) = &options.conversations {
        let conversation = burst_of(memory_datasets::read_all(dir)?, options.burst)?;
        for (caller, pause) in [
            ("20 a second", Some(Duration::from_millis(50))),
            ("one after another", None),
        ] {
            let service = Service::attach_or_start(target).await?;
            bursts.push(burst(&service, &conversation, caller, pause).await?);
            service.stop().await?;
        }
    }
    let report = Report {
        machine: Machine::here(),
        new_languages,
        bursts,
    };
    match json {
        true => println!("{}", serde_json::to_string(&report)?),
        false => print_tables(&report),
    }
    Ok(())
}

async fn new_language(
    service: &Service,
    first: &Conversation,
    second: &Conversation,
    count: usize,
) -> Result<NewLanguage, Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    importing::conversations(&mut clients, &app, [first]).await?;
    importing::unindexed(&mut clients, &app, second).await?;
    let own: Vec<&Question> = second
        .questions
        .iter()
        .filter(|question| question.user == second.name)
        .collect();
    let step = (own.len() / count.max(1)).max(1);
    let asked: Vec<&Question> = own.into_iter().step_by(step).take(count).collect();
    let at_once = ask_all(&mut clients, &app, &asked).await?;
    indexed(&mut clients).await?;
    let later = ask_all(&mut clients, &app, &asked).await?;
    Ok(NewLanguage {
        language: second.language.clone(),
        recall_at_10: at_once.0,
        lagging: at_once.1,
        recall_at_10_indexed: later.0,
    })
}

/// The percentage of evidence found, and that of answers that say that the index is behind.
async fn ask_all(
    clients: &mut Clients,
    app: &str,
    asked: &[&Question],
) -> Result<(f64, f64), Failure> {
    let bar = progress::count("asking", asked.len() as u64);
    let (mut found, mut lagging) = (0.0, 0.0);
    for question in asked {
        let (ids, lags) = ask(clients, app, question).await?;
        found += share(question, &ids, 10);
        lagging += f64::from(u8::from(lags));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let percent = |sum: f64| rounded(100.0 * sum / asked.len().max(1) as f64, 1);
    Ok((percent(found), percent(lagging)))
}

/// The ids found, and whether the answer says that the index is behind.
async fn ask(
    clients: &mut Clients,
    app: &str,
    question: &Question,
) -> Result<(Vec<String>, bool), Failure> {
    let request = asking::request(app, question, None, SearchMethod::Hybrid, TOP_K);
    let response = clients.recall.recall(request).await?.into_inner();
    let mut lags = false;
    for degradation in &response.degradations {
        match degradation.reason() {
            DegradationReason::IndexLagging => lags = true,
            _ => return Err(format!("recall was degraded: {}", degradation.message).into()),
        }
    }
    Ok((asking::ranked(response), lags))
}

/// One user's conversation of so many messages, with all questions.
fn burst_of(conversations: Vec<Conversation>, count: usize) -> Result<Conversation, Failure> {
    let mut burst = Conversation {
        name: BURST_USER.to_owned(),
        language: String::new(),
        sessions: BTreeMap::new(),
        questions: Vec::new(),
        without_evidence: 0,
    };
    for conversation in &conversations {
        let questions = conversation.questions.iter().cloned();
        burst.questions.extend(questions.map(|question| Question {
            user: BURST_USER.to_owned(),
            before: None,
            ..question
        }));
    }
    if burst.questions.is_empty() {
        return Err("the conversations have no questions".into());
    }
    let sessions: Vec<_> = conversations
        .into_iter()
        .flat_map(|one| one.sessions.into_values())
        .filter(|messages| !messages.is_empty())
        .collect();
    let mut left = count;
    for (messages, number) in sessions.iter().cycle().zip(1..) {
        if left == 0 {
            break;
        }
        let messages: Vec<_> = messages.iter().take(left).cloned().collect();
        left -= messages.len();
        burst.sessions.insert(number, messages);
    }
    Ok(burst)
}

async fn burst(
    service: &Service,
    conversation: &Conversation,
    caller: &'static str,
    pause: Option<Duration>,
) -> Result<Burst, Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    importing::unindexed(&mut clients, &app, conversation).await?;
    let step = progress::step("asking while the burst is indexed");
    let mut asked = conversation.questions.iter().cycle();
    let mut next = || asked.next().cloned().ok_or("no questions");
    let begin = Instant::now();
    let mut during = Latencies::new()?;
    let mut last_lag = Duration::ZERO;
    // Ten whole answers in a row: the index is no longer behind.
    let mut whole = 0;
    while whole < 10 {
        if begin.elapsed() > WHOLE {
            return Err(format!("no whole answer after {} seconds", WHOLE.as_secs()).into());
        }
        let seen = ask_for(&clients, &app, &mut next, pause, Duration::from_millis(250)).await?;
        for call in seen {
            if call.lags {
                whole = 0;
                during.add(call.took);
                last_lag = begin.elapsed();
            } else {
                whole += 1;
            }
        }
    }
    step.finish_and_clear();
    indexed(&mut clients).await?;
    let mut usual = Latencies::new()?;
    for call in ask_for(&clients, &app, &mut next, pause, USUAL).await? {
        usual.add(call.took);
    }
    Ok(Burst {
        caller,
        messages: conversation.message_count(),
        whole_after_s: rounded(last_lag.as_secs_f64(), 1),
        during: during.quantiles(),
        usual: usual.quantiles(),
    })
}

/// One call of recall.
struct Call {
    took: Duration,
    lags: bool,
}

/// Asks for a while: with a pause between the beginnings of calls, or one after another. With a
/// pause, latencies begin when a call was due.
async fn ask_for(
    clients: &Clients,
    app: &str,
    next: &mut impl FnMut() -> Result<Question, &'static str>,
    pause: Option<Duration>,
    length: Duration,
) -> Result<Vec<Call>, Failure> {
    let begin = Instant::now();
    let mut calls = Vec::new();
    let Some(pause) = pause else {
        let mut clients = clients.clone();
        while begin.elapsed() < length {
            let due = Instant::now();
            let (_, lags) = ask(&mut clients, app, &next()?).await?;
            calls.push(Call {
                took: due.elapsed(),
                lags,
            });
        }
        return Ok(calls);
    };
    let mut running = JoinSet::new();
    let mut ticks = tokio::time::interval(pause);
    while begin.elapsed() < length {
        let due = ticks.tick().await.into_std();
        let (mut clients, app, question) = (clients.clone(), app.to_owned(), next()?);
        running.spawn(async move {
            let (_, lags) = ask(&mut clients, &app, &question).await?;
            Ok::<_, Failure>(Call {
                took: due.elapsed(),
                lags,
            })
        });
    }
    while let Some(call) = running.join_next().await {
        calls.push(call??);
    }
    Ok(calls)
}

fn print_tables(report: &Report) {
    println!("{}", report.machine.line());
    if !report.new_languages.is_empty() {
        println!("\nA new language, asked at once; percent.");
        let headings = [
            "language",
            "recall@10 at once",
            "index behind",
            "recall@10 indexed",
        ];
        let mut table = table(&headings, 1);
        for one in &report.new_languages {
            table.add_row([
                one.language.clone(),
                format!("{:.1}", one.recall_at_10),
                format!("{:.1}", one.lagging),
                format!("{:.1}", one.recall_at_10_indexed),
            ]);
        }
        println!("{table}");
    }
    if !report.bursts.is_empty() {
        println!("\nA burst of messages of the user that asks.");
        let headings = [
            "caller",
            "messages",
            "whole after, s",
            "answers behind",
            "their p50, ms",
            "their p95, ms",
            "usual p50, ms",
            "usual p95, ms",
        ];
        let mut table = table(&headings, 1);
        for one in &report.bursts {
            table.add_row([
                one.caller.to_owned(),
                one.messages.to_string(),
                format!("{:.1}", one.whole_after_s),
                one.during.count.to_string(),
                format!("{:.1}", one.during.p50_ms),
                format!("{:.1}", one.during.p95_ms),
                format!("{:.1}", one.usual.p50_ms),
                format!("{:.1}", one.usual.p95_ms),
            ]);
        }
        println!("{table}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_has_so_many_messages_of_one_user() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("example");
        let all = memory_datasets::read_all(&dir).unwrap();
        let questions: usize = all.iter().map(|one| one.questions.len()).sum();
        let burst = burst_of(all, 2_000).unwrap();
        assert_eq!(burst.message_count(), 2_000);
        assert_eq!(burst.questions.len(), questions);
        assert!(burst.questions.iter().all(|one| one.user == BURST_USER));
    }
}
