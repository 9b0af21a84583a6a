//! Fits the weights of recall's ranking to questions with known evidence.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measuring program prints"
)]

mod network;
mod sample;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use memory_bench::table::table;
use memory_bench::tally::{Method, Tally, header, rows};
use memory_bench::{Failure, progress, report};
use memory_contract::{
    AppId, MessageId, ThreadId, UserId,
    message::{Message, NewMessage, Role},
};
use memory_datasets::{Conversation, evidence_id};
use memory_embed::{Embedder, EmbedderConfig};
use memory_recall::{Corpus, SearchConfig, Weights};
use memory_store::IndexRecord;
use serde::Serialize;
use time::OffsetDateTime;

use sample::{Candidate, Sample};

/// Fits the weights of recall's ranking to conversations with questions.
#[derive(Parser)]
#[command(version, about, max_term_width = 100)]
struct Options {
    /// Directories of conversations in the LoCoMo or REALTALK format (*.json) to fit to.
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
    /// Directory of further conversations that the weights are tried on.
    #[arg(long)]
    check: Option<PathBuf>,
    /// File to write the weights to.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Messages before each one whose words it is indexed with.
const CONTEXT: usize = 3;

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report("fit", &failure);
            ExitCode::FAILURE
        }
    }
}

/// Fits, and prints how well the weights rank.
async fn run(options: &Options) -> Result<(), Failure> {
    let embedder = tokio::task::spawn_blocking(|| Embedder::start(&EmbedderConfig::default()));
    let embedder = embedder
        .await??
        .ok_or("fitting needs the embedding model")?;
    let mut conversations = Vec::new();
    // The first conversation of each directory, and the one after its last.
    let mut ranges = Vec::new();
    for dir in &options.dirs {
        let first = conversations.len();
        conversations.extend(memory_datasets::read_all(dir)?);
        let name = dir.file_name().unwrap_or(dir.as_os_str());
        ranges.push((name.display(), first..conversations.len()));
    }
    let samples = samples(&embedder, &conversations).await?;
    let folds = match conversations.len() {
        1 => 0,
        many => many,
    };
    let bar = progress::count("fitting", folds as u64 + 1);
    let fit = |left_out: Option<usize>| {
        let others = |one: &&Sample<'_>| Some(one.conversation) != left_out;
        let weights = network::fit(samples.iter().filter(others));
        bar.inc(1);
        weights
    };
    let weights = fit(None);
    let folds: Vec<Weights> = (0..folds).map(|left_out| fit(Some(left_out))).collect();
    bar.finish_and_clear();
    let mut tables = Vec::new();
    let mut add =
        |name: String, samples: &[Sample<'_>], score: &dyn Fn(&Candidate, usize) -> f64| {
            tables.push((name, ranked(samples, score)));
        };
    for (dir, range) in ranges {
        let first = samples.partition_point(|one| one.conversation < range.start);
        let last = samples.partition_point(|one| one.conversation < range.end);
        let samples = &samples[first..last];
        add(format!("{dir}: weighted sum"), samples, &|one, _| {
            one.features[0]
        });
        add(format!("{dir}: fitted to all"), samples, &|one, _| {
            weights.score(&one.features)
        });
        if !folds.is_empty() {
            let name = format!("{dir}: fitted to the other conversations");
            add(name, samples, &|one, fold| folds[fold].score(&one.features));
        }
    }
    if let Some(dir) = &options.check {
        let others = memory_datasets::read_all(dir)?;
        let others = self::samples(&embedder, &others).await?;
        add("check: weighted sum".to_owned(), &others, &|one, _| {
            one.features[0]
        });
        add("check: fitted".to_owned(), &others, &|one, _| {
            weights.score(&one.features)
        });
    }
    if let Some(path) = &options.output {
        write(path, &weights)?;
    }
    print(&tables, options.json)
}

async fn samples<'a>(
    embedder: &Embedder,
    conversations: &'a [Conversation],
) -> Result<Vec<Sample<'a>>, Failure> {
    let total: usize = conversations.iter().map(|one| one.questions.len()).sum();
    let bar = progress::count("computing features", total as u64);
    let limit = SearchConfig::default().candidates;
    let mut samples = Vec::with_capacity(total);
    for (place, conversation) in conversations.iter().enumerate() {
        let (records, ids) = records(conversation)?;
        let corpus = Corpus::new(embedder.clone(), records).await?;
        for question in &conversation.questions {
            let found = corpus.features(&question.text, limit).await?;
            let candidates = found.into_iter().filter_map(|(id, features)| {
                let evidence_id = ids.get(&id)?.clone();
                Some(Candidate {
                    is_evidence: question.evidence.contains(&evidence_id),
                    evidence_id,
                    features,
                })
            });
            samples.push(Sample {
                conversation: place,
                question,
                candidates: candidates.collect(),
            });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(samples)
}

/// The messages of a conversation as they would be stored, and their ids as evidence.
fn records(
    conversation: &Conversation,
) -> Result<(Vec<IndexRecord>, BTreeMap<MessageId, String>), Failure> {
    let (mut records, mut ids) = (Vec::new(), BTreeMap::new());
    for inputs in conversation.sessions.values() {
        let thread = ThreadId::new();
        let mut previous: Vec<Message> = Vec::new();
        for (input, number) in inputs.iter().zip(1..) {
            let new = NewMessage::try_from(input.clone()).map_err(|error| format!("{error:?}"))?;
            let message = stored(new, thread, number);
            if let Some(id) = evidence_id(message.metadata.as_str()) {
                ids.insert(message.id, id);
            }
            records.push(IndexRecord {
                message: message.clone(),
                previous: previous.clone(),
                app: AppId::default(),
                user: UserId::default(),
                thread_ordinal: 1,
                metadata_hash: 0,
            });
            previous.insert(0, message);
            previous.truncate(CONTEXT);
        }
    }
    Ok((records, ids))
}

fn stored(new: NewMessage, thread: ThreadId, number: i32) -> Message {
    Message {
        thread,
        seq: number.into(),
        depth: number,
        name: new.name,
        metadata: new.metadata,
        created: new.created.unwrap_or(OffsetDateTime::UNIX_EPOCH),
        ..Message::new(Role::User, new.parts)
    }
}

/// How well a score ranks the evidence. It is given the candidate and the number of its
/// conversation.
fn ranked(samples: &[Sample<'_>], score: impl Fn(&Candidate, usize) -> f64) -> Method {
    let mut tally = Tally::default();
    for sample in samples {
        let mut found: Vec<(f64, &String)> = sample
            .candidates
            .iter()
            .map(|one| (score(one, sample.conversation), &one.evidence_id))
            .collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        let found: Vec<String> = found.into_iter().map(|(_, id)| id.clone()).collect();
        tally.add(sample.question, &found);
    }
    tally.method()
}

fn write(path: &Path, weights: &Weights) -> Result<(), Failure> {
    fs::write(path, weights.to_text())
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

#[derive(Serialize)]
struct Report<'a> {
    unit: &'static str,
    rankings: BTreeMap<&'a str, &'a Method>,
}

fn print(tables: &[(String, Method)], json: bool) -> Result<(), Failure> {
    if json {
        let rankings = tables
            .iter()
            .map(|(name, method)| (name.as_str(), method))
            .collect();
        let report = Report {
            unit: "percent",
            rankings,
        };
        println!("{}", serde_json::to_string(&report)?);
        return Ok(());
    }
    println!("Percent of a question's evidence among the first k candidates.\n");
    let mut table = table(&header("ranking"), 2);
    for (name, method) in tables {
        table.add_rows(rows(name, method));
    }
    println!("{table}");
    Ok(())
}
