//! Throughput and latency, compared with a floor measured in the same run.

mod append;
mod contention;
mod contexts;
mod facts;
mod floor;
mod history;
mod nodes;
mod observed;
mod pgbench;
mod profile;
mod recall;
mod report;
mod rounds;
mod tool_log;
mod unindexed;
mod window;

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use memory_contract::proto::{AddMemoriesRequest, MemoryInput, UserRef, part};

use crate::{
    Failure, Target,
    clients::{Clients, new_app},
    importing,
    machine::Machine,
    questions::Questions,
    random::Random,
    service::Service,
    stats::rounded,
};
use memory_datasets::Conversation;
use report::{Distilled, ImportFigures, Report};
use rounds::Rounds;

/// A service without an embedding model, so that embedding does not take time from appends
/// and histories.
const WITHOUT_MODEL: &str = "[embedding]\nkind = \"none\"\n";
/// The same without a cache, to measure the database.
const WITHOUT_CACHE: &str = "[embedding]\nkind = \"none\"\n[cache]\nkind = \"none\"\n";
/// The same without background flushes, to measure the calls alone.
const WITHOUT_WORKER: &str =
    "[embedding]\nkind = \"none\"\n[worker.nodes]\nflush_after = \"24h\"\ninterval = \"1h\"\n";
/// Without an embedding model and without distilling.
const WITHOUT_DISTILLING: &str =
    "[embedding]\nkind = \"none\"\n[worker.distill]\nenabled = false\n";

/// The default configuration, with each statement of Postgres and its time in the log.
const WITH_STATEMENTS: &str =
    "[database]\necho = true\n[telemetry]\nlog_format = \"json\"\nlog_level = \"info\"\n";

/// One session in so many has speakers without names.
const UNNAMED: u32 = 3;
/// Memories of each user.
const MEMORIES: usize = 100;
/// Characters of a memory.
const MEMORY_CHARS: usize = 160;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Concurrent callers of appends.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    callers: Vec<usize>,
    /// Concurrent callers of recall and of contexts.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    recall_callers: Vec<usize>,
    /// Rounds, each with one block of each kind in random order.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of a block.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// Appends per second of the arrivals at a fixed rate.
    #[arg(long, default_value_t = 200)]
    append_rate: u32,
    /// Recalls, and contexts, per second of the arrivals at a fixed rate.
    #[arg(long, default_value_t = 40)]
    recall_rate: u32,
    /// Seed of the order of blocks and questions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Measure appends, import, recall and contexts alone.
    #[arg(long)]
    short: bool,
    /// Measure one part alone.
    #[arg(long, conflicts_with = "short")]
    only: Option<Part>,
    /// Conversations in the LoCoMo or REALTALK format to import and to recall from.
    /// Default: an example.
    #[arg(long)]
    conversations: Option<PathBuf>,
    /// Also report the statements of Postgres in a recall, which the server then logs: its calls
    /// are slower.
    #[arg(long)]
    statements: bool,
    /// Questions of the comparison of unindexed with indexed messages.
    #[arg(long, default_value_t = 300)]
    queries: usize,
    /// Messages in the long thread of the history measurement.
    #[arg(long, default_value_t = 100_000)]
    long_thread: usize,
    /// Turns that 16 writers add to the memory of one node; a single writer adds
    /// a tenth of them.
    #[arg(long, default_value_t = 10_000)]
    turns: usize,
    /// Steps of the loop whose log is condensed to observations.
    #[arg(long, default_value_t = 50)]
    steps: usize,
    /// Long-term memories: half of them added by calls, and half of them extracted.
    #[arg(long, default_value_t = 2_000)]
    facts: usize,
}

/// A part that can be measured alone.
#[derive(Clone, Copy, ValueEnum)]
enum Part {
    /// Appends beside pgbench.
    Appends,
    /// Recall and contexts beside the floor of recall.
    Recall,
    /// Appends while the worker distills, and while none does.
    Distilling,
}

impl Options {
    fn rounds(&self) -> Rounds {
        Rounds {
            count: self.rounds.max(1),
            block: Duration::from_secs(self.seconds.max(1)),
        }
    }
}

/// Runs all measurements and prints the report.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    if let Some(part) = options.only {
        return only(part, target, options, json).await;
    }
    let conversations = conversations(options)?;
    let mut random = Random::new(options.seed);
    let rounds = options.rounds();
    let own = target.addr.is_none();
    let Found {
        import,
        recall,
        rss_mb,
        cold_start,
        warm_start,
    } = found(target, options, &conversations, &rounds, &mut random).await?;
    let append = appends(target, options, &rounds, &mut random).await?;

    let (mut history, mut window, mut unindexed) = (None, None, None);
    let (mut nodes, mut distilled) = (None, None);
    if !options.short {
        let service = if own {
            Service::start(target, WITHOUT_CACHE).await?
        } else {
            Service::attach_or_start(target).await?
        };
        history = Some(history::measure(&service, options.long_thread).await?);
        if own {
            let cached = Service::start(target, WITHOUT_MODEL).await?;
            window = Some(window::measure(&cached, &service).await?);
            cached.stop().await?;
        }
        service.stop().await?;
    }
    if !options.short && own {
        let queries = options.queries;
        let measured = unindexed::measure(target, &conversations, queries, &mut random).await?;
        unindexed = Some(measured);
        let service = Service::start(target, WITHOUT_WORKER).await?;
        nodes = Some(nodes::measure(&service, options.turns).await?);
        service.stop().await?;
        distilled = Some(self::distilled(target, options, &rounds, &mut random).await?);
    }

    let seconds = |start: Duration| rounded(start.as_secs_f64(), 2);
    let report = Report {
        machine: Machine::here(),
        index: target.index(),
        workers_apart: target.workers_apart(),
        rounds: rounds.count,
        block_s: rounds.block.as_secs(),
        recall_p50_ratio_with_20_unindexed: unindexed
            .as_ref()
            .map(unindexed::UnindexedFigures::ratio),
        history_ratio_100k_to_100: history.as_ref().map(history::HistoryFigures::ratio),
        window_ratio_cached_to_uncached: window.as_ref().map(window::WindowFigures::ratio),
        context_long: distilled
            .as_ref()
            .map_or_else(contexts::Ratios::default, |one| one.contexts.ratios()),
        rss_mb: rss_mb.map(|mib| rounded(mib, 0)),
        cold_start_s: cold_start.map(seconds),
        warm_start_s: warm_start.map(seconds),
        append,
        import,
        recall,
        unindexed,
        history,
        window,
        nodes,
        distilled,
    };
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        report::print(&report);
    }
    Ok(())
}

/// The conversations to recall from, a part of them with speakers without names.
fn conversations(options: &Options) -> Result<Vec<Conversation>, Failure> {
    let dir = memory_datasets::dir_or_example(options.conversations.as_ref())?;
    let mut conversations = memory_datasets::read_all(&dir)?;
    conversations.iter_mut().for_each(unname);
    Ok(conversations)
}

/// What was measured of a service that imports conversations and recalls from them.
struct Found {
    import: ImportFigures,
    recall: recall::RecallFigures,
    rss_mb: Option<f64>,
    cold_start: Option<Duration>,
    warm_start: Option<Duration>,
}

/// Measures import and recall, on a service with the default configuration.
async fn found(
    target: &Target,
    options: &Options,
    conversations: &[Conversation],
    rounds: &Rounds,
    random: &mut Random,
) -> Result<Found, Failure> {
    let service = match target.addr {
        None if options.statements => Service::start(target, WITH_STATEMENTS).await?,
        _ => Service::attach_or_start(target).await?,
    };
    let cold_start = service.start_time();
    let mut clients = service.connect().await?;
    let app = new_app();
    let imported = importing::conversations(&mut clients, &app, conversations).await?;
    remember(&mut clients, &app, conversations).await?;
    service.drained().await?;
    let rss_mb = service.processes().resident_mib();
    drop(clients);
    let (service, index) = if target.addr.is_none() {
        let (service, index) = service.restart_with_copy(target).await?;
        (service, Some(index))
    } else {
        (service, None)
    };
    let warm_start = service.start_time();
    let mut clients = service.connect().await?;
    let questions = Questions::new(&mut clients, &app, conversations, random).await?;
    let recall = recall::measure(
        &service,
        index.as_ref().map(|index| &index.config),
        &app,
        &questions,
        (options.recall_callers.as_slice(), options.recall_rate),
        rounds,
        random,
    )
    .await?;
    service.stop().await?;
    let rate = |time: Duration| rounded(imported.messages as f64 / time.as_secs_f64().max(1e-9), 0);
    let import = ImportFigures {
        messages: imported.messages,
        durable_messages_per_s: rate(imported.durable),
        searchable_messages_per_s: rate(imported.searchable),
    };
    Ok(Found {
        import,
        recall,
        rss_mb,
        cold_start,
        warm_start,
    })
}

/// Measures one part and prints it.
async fn only(part: Part, target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    let (rounds, mut random) = (options.rounds(), Random::new(options.seed));
    match part {
        Part::Appends => {
            let append = appends(target, options, &rounds, &mut random).await?;
            match json {
                true => println!("{}", serde_json::to_string(&append)?),
                false => report::print_appends(&append),
            }
        }
        Part::Recall => {
            let conversations = conversations(options)?;
            let found = found(target, options, &conversations, &rounds, &mut random).await?;
            match json {
                true => println!("{}", serde_json::to_string(&found.recall)?),
                false => report::print_recall(&found.recall),
            }
        }
        Part::Distilling => {
            let distilling = Service::start(target, WITHOUT_MODEL).await?;
            let contention = contention(target, &distilling, &rounds, &mut random).await?;
            distilling.stop().await?;
            match json {
                true => println!("{}", serde_json::to_string(&contention)?),
                false => println!(
                    "append p95, while distilling / while not: {}\n{}",
                    contention.p95_ratio,
                    contention.line()
                ),
            }
        }
    }
    Ok(())
}

/// Measures appends to a service that distills, and to one that does not.
async fn contention(
    target: &Target,
    distilling: &Service,
    rounds: &Rounds,
    random: &mut Random,
) -> Result<contention::ContentionFigures, Failure> {
    let idle = Service::start(target, WITHOUT_DISTILLING).await?;
    let measured = contention::measure(distilling, &idle, rounds, random).await?;
    idle.stop().await?;
    Ok(measured)
}

/// Measures appends without a summary every few messages, as its cost is measured apart.
async fn appends(
    target: &Target,
    options: &Options,
    rounds: &Rounds,
    random: &mut Random,
) -> Result<append::AppendFigures, Failure> {
    let service = match target.addr {
        None => Service::start(target, WITHOUT_DISTILLING).await?,
        Some(_) => Service::attach_or_start(target).await?,
    };
    let rate = options.append_rate;
    let append = append::measure(&service, &options.callers, rate, rounds, random).await?;
    service.stop().await?;
    Ok(append)
}

/// Removes the speakers' names of some sessions.
fn unname(conversation: &mut Conversation) {
    let sessions = conversation.sessions.iter_mut();
    for (_, messages) in sessions.filter(|(number, _)| number.is_multiple_of(UNNAMED)) {
        for message in messages {
            message.name.clear();
        }
    }
}

/// Adds memories of each user: the beginnings of messages.
async fn remember(
    clients: &mut Clients,
    app: &str,
    conversations: &[Conversation],
) -> Result<(), Failure> {
    for conversation in conversations {
        let messages = conversation.sessions.values().flatten();
        let texts = messages.filter_map(|message| match &message.parts.first()?.content {
            Some(part::Content::Text(text)) => Some((&message.name, text)),
            _ => None,
        });
        // Every few messages, so that all sessions have some.
        let step = conversation.message_count().div_ceil(MEMORIES).max(1);
        let memories = texts.step_by(step).take(MEMORIES).map(|(name, text)| {
            let said: String = text.chars().take(MEMORY_CHARS).collect();
            MemoryInput {
                text: format!("{name} said: {said}"),
                ..Default::default()
            }
        });
        let request = AddMemoriesRequest {
            user: Some(UserRef {
                app_id: app.to_owned(),
                user_id: conversation.name.clone(),
            }),
            memories: memories.collect(),
        };
        clients.memories.add_memories(request).await?;
    }
    Ok(())
}

async fn distilled(
    target: &Target,
    options: &Options,
    rounds: &Rounds,
    random: &mut Random,
) -> Result<Distilled, Failure> {
    let distilling = Service::start(target, WITHOUT_MODEL).await?;
    let observed = observed::measure(&distilling, options.steps).await?;
    let contexts = contexts::measure(&distilling).await?;
    let contention = contention(target, &distilling, rounds, random).await?;
    distilling.stop().await?;
    // With the embedding model, as by default.
    let service = Service::start(target, "").await?;
    let facts = facts::measure(&service, options.facts).await?;
    service.stop().await?;
    Ok(Distilled {
        compression: observed.compression(),
        answerable_percent: observed.answerable(),
        same_prefix_percent: observed.same_prefix(),
        append_p95_ratio: contention.p95_ratio,
        observed,
        contexts,
        contention,
        facts,
    })
}
