//! Fits the weights of recall's ranking to questions with known evidence.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use memory_contract::{AppId, Message, MessageId, NewMessage, Role, ThreadId, UserId};
use memory_recall::{Corpus, Embedder, EmbedderConfig, FEATURES, SearchConfig, Weights};
use memory_store::IndexRecord;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;

use crate::conversation::{self, Conversation, DIA_ID};
use crate::quality::{Method, Tally, header, rows};
use crate::{Failure, progress, table::table};

/// What to fit to.
#[derive(Args)]
pub struct Options {
    /// Directory of conversations in the LoCoMo or REALTALK format (*.json) to fit to.
    dir: PathBuf,
    /// Directory of further conversations that the weights are tried on.
    #[arg(long)]
    check: Option<PathBuf>,
    /// File to write the weights to.
    #[arg(long)]
    output: Option<PathBuf>,
}

const COUNT: usize = FEATURES.len();
/// Messages before each one whose words it is indexed with.
const CONTEXT: usize = 3;
/// Evidence among so many candidates counts as found: being better than all others matters
/// less.
const DEPTH: f64 = 10.0;
/// Weight of the sum of the squared weights of normalized features, per question.
const PENALTY: f64 = 10.0;
/// Steps of Adam (Kingma and Ba, 2015) and the length of the first one; the last one is 0.
const STEPS: usize = 600;
const STEP: f64 = 0.05;
/// Two features of the same score: the share of a message's own words, which weighs at least
/// as much as the share of the words of the messages before it. Otherwise what
/// follows a message that says little, such as a captioned picture, would be found before it.
const OWN_AND_CONTEXT: [&str; 2] = ["lexical_own", "lexical_context"];
/// Features by which a candidate matches better. Their weights are not negative, so that of two
/// messages that differ only in them the better match comes first.
const MATCHES: [&str; 8] = [
    "sum",
    "dense",
    "dense_rank",
    "lexical",
    "lexical_own",
    "lexical_context",
    "lexical_coverage",
    "dense_lexical",
];
/// Best candidates of each question by which the scale of the score is chosen.
const SCALED: usize = 20;

/// A question with the features of its candidates.
struct Sample<'a> {
    conversation: usize,
    question: &'a conversation::Question,
    candidates: Vec<Candidate>,
}

struct Candidate {
    dia_id: String,
    is_evidence: bool,
    features: [f64; COUNT],
}

/// Fits, and prints how well the weights rank.
pub async fn run(options: &Options, json: bool) -> Result<(), Failure> {
    let embedder = tokio::task::spawn_blocking(|| Embedder::start(&EmbedderConfig::default()));
    let embedder = embedder
        .await??
        .ok_or("fitting needs the embedding model")?;
    let conversations = conversation::read_all(&options.dir)?;
    let samples = samples(&embedder, &conversations).await?;
    let weights = fit(samples.iter());
    let mut tables = vec![
        ("weighted sum", ranked(&samples, |one, _| one.features[0])),
        (
            "fitted to the same",
            ranked(&samples, |one, _| weights.score(&one.features)),
        ),
    ];
    if conversations.len() > 1 {
        let folds: Vec<Weights> = (0..conversations.len())
            .map(|left_out| fit(samples.iter().filter(|one| one.conversation != left_out)))
            .collect();
        let score = |one: &Candidate, fold: usize| folds[fold].score(&one.features);
        tables.push(("fitted to the other conversations", ranked(&samples, score)));
    }
    if let Some(dir) = &options.check {
        let others = conversation::read_all(dir)?;
        let others = self::samples(&embedder, &others).await?;
        tables.push((
            "check: weighted sum",
            ranked(&others, |one, _| one.features[0]),
        ));
        tables.push((
            "check: fitted",
            ranked(&others, |one, _| weights.score(&one.features)),
        ));
    }
    if let Some(path) = &options.output {
        write(path, &weights)?;
    }
    print(&tables, json)
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
                let dia_id = ids.get(&id)?.clone();
                Some(Candidate {
                    is_evidence: question.evidence.contains(&dia_id),
                    dia_id,
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

/// The messages of a conversation as they would be stored, and their `dia_id`s.
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
            if let Some(dia_id) = message.metadata.get(DIA_ID).and_then(Value::as_str) {
                ids.insert(message.id, dia_id.to_owned());
            }
            records.push(IndexRecord {
                message: message.clone(),
                previous: previous.clone(),
                app: AppId::default(),
                user: UserId::default(),
                thread_ordinal: 1,
            });
            previous.insert(0, message);
            previous.truncate(CONTEXT);
        }
    }
    Ok((records, ids))
}

fn stored(new: NewMessage, thread: ThreadId, number: i32) -> Message {
    Message {
        id: MessageId::new(),
        external_id: String::new(),
        thread,
        parent: None,
        seq: number.into(),
        branch: 1,
        depth: number,
        role: Role::User,
        name: new.name,
        parts: new.parts,
        metadata: new.metadata,
        tokens: 0,
        created: new.created.unwrap_or(OffsetDateTime::UNIX_EPOCH),
    }
}

/// Minimizes the softmax loss of each piece of evidence against all candidates that are none
/// (Cao et al., "Learning to Rank", 2007), with evidence counted [`DEPTH`] times in the sum.
fn fit<'a>(samples: impl Iterator<Item = &'a Sample<'a>>) -> Weights {
    let samples: Vec<&Sample<'_>> = samples
        .filter(|one| one.candidates.iter().any(|one| one.is_evidence))
        .collect();
    let (mean, deviation) = moments(&samples);
    let normal: Vec<Vec<([f64; COUNT], bool)>> = samples
        .iter()
        .map(|sample| {
            let candidates = sample.candidates.iter();
            let normal = candidates.map(|one| {
                let value = |at: usize| (one.features[at] - mean[at]) / deviation[at];
                (std::array::from_fn(value), one.is_evidence)
            });
            normal.collect()
        })
        .collect();
    let mut weights = [0.0; COUNT];
    let (mut first, mut second) = ([0.0; COUNT], [0.0; COUNT]);
    for step in 0..STEPS {
        let slope = slope(&normal, &weights);
        let rate = STEP * (1.0 - step as f64 / STEPS as f64);
        let age = i32::try_from(step + 1).unwrap_or(i32::MAX);
        for at in 0..COUNT {
            first[at] = 0.9 * first[at] + 0.1 * slope[at];
            second[at] = 0.999 * second[at] + 0.001 * slope[at] * slope[at];
            let mean = first[at] / (1.0 - 0.9_f64.powi(age));
            let spread = (second[at] / (1.0 - 0.999_f64.powi(age))).sqrt();
            weights[at] -= rate * mean / (spread + 1e-8);
        }
        bound(&mut weights, &deviation);
    }
    let of = std::array::from_fn(|at| weights[at] / deviation[at]);
    scaled(&samples, Weights { bias: 0.0, of })
}

/// Moves weights of normalized features to the nearest that are not negative for [`MATCHES`], and
/// for which the first of [`OWN_AND_CONTEXT`] is at least the second.
fn bound(weights: &mut [f64; COUNT], deviation: &[f64; COUNT]) {
    let place = |name: &str| {
        let known = FEATURES.iter().position(|known| *known == name);
        known.expect("it is one of FEATURES")
    };
    for at in MATCHES.map(place) {
        weights[at] = weights[at].max(0.0);
    }
    let [own, context] = OWN_AND_CONTEXT.map(place);
    if weights[own] / deviation[own] >= weights[context] / deviation[context] {
        return;
    }
    // The nearest point of the line on which both are equal.
    let line = (deviation[own], deviation[context]);
    let along = weights[own] * line.0 + weights[context] * line.1;
    let along = along / (line.0 * line.0 + line.1 * line.1);
    (weights[own], weights[context]) = (along * line.0, along * line.1);
}

/// The gradient of the mean loss.
fn slope(samples: &[Vec<([f64; COUNT], bool)>], weights: &[f64; COUNT]) -> [f64; COUNT] {
    let mut slope = [0.0; COUNT];
    for candidates in samples {
        let score = |features: &[f64; COUNT]| -> f64 {
            features
                .iter()
                .zip(weights)
                .map(|(one, weight)| one * weight)
                .sum()
        };
        let scores: Vec<f64> = candidates
            .iter()
            .map(|(features, _)| score(features))
            .collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let both = || candidates.iter().zip(&shares);
        let others: f64 = both()
            .filter(|((_, is_evidence), _)| !is_evidence)
            .map(|(_, share)| share)
            .sum();
        let evidence = both().filter(|((_, is_evidence), _)| *is_evidence);
        let sums: Vec<f64> = evidence.map(|(_, share)| DEPTH * share + others).collect();
        let weight = 1.0 / sums.len() as f64;
        let pull: f64 = sums.iter().map(|sum| weight / sum).sum();
        for ((features, is_evidence), share) in both() {
            let factor = match is_evidence {
                true => -weight * (1.0 - DEPTH * share / (DEPTH * share + others)),
                false => share * pull,
            };
            for (sum, feature) in slope.iter_mut().zip(features) {
                *sum += factor * feature;
            }
        }
    }
    let count = samples.len() as f64;
    std::array::from_fn(|at| (slope[at] + 2.0 * PENALTY * weights[at]) / count)
}

/// Mean and standard deviation of each feature.
fn moments(samples: &[&Sample<'_>]) -> ([f64; COUNT], [f64; COUNT]) {
    let all = || samples.iter().flat_map(|sample| &sample.candidates);
    let count = all().count().max(1) as f64;
    let mean: [f64; COUNT] =
        std::array::from_fn(|at| all().map(|one| one.features[at]).sum::<f64>() / count);
    let deviation = std::array::from_fn(|at| {
        let squares = all().map(|one| (one.features[at] - mean[at]).powi(2));
        (squares.sum::<f64>() / count).sqrt().max(1e-6)
    });
    (mean, deviation)
}

/// Moves and stretches the score so that it is nearest to the weighted sum, by least squares
/// over the best candidates: thresholds keep about their meaning.
fn scaled(samples: &[&Sample<'_>], weights: Weights) -> Weights {
    let mut points = Vec::new();
    for sample in samples {
        let mut scores: Vec<(f64, f64)> = sample
            .candidates
            .iter()
            .map(|one| (weights.score(&one.features), one.features[0]))
            .collect();
        scores.sort_by(|one, other| other.0.total_cmp(&one.0));
        points.extend(scores.into_iter().take(SCALED));
    }
    let count = points.len().max(1) as f64;
    let x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let both: f64 = points.iter().map(|(px, py)| (px - x) * (py - y)).sum();
    let squares: f64 = points.iter().map(|(px, _)| (px - x).powi(2)).sum();
    let factor = (both / squares.max(f64::MIN_POSITIVE)).max(f64::MIN_POSITIVE);
    Weights {
        bias: y - factor * x,
        of: weights.of.map(|weight| weight * factor),
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
            .map(|one| (score(one, sample.conversation), &one.dia_id))
            .collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        let found: Vec<String> = found.into_iter().map(|(_, id)| id.clone()).collect();
        tally.add(sample.question, &found);
    }
    tally.method()
}

fn write(path: &Path, weights: &Weights) -> Result<(), Failure> {
    let head = "# Weights of the ranking's features (src/rank/features.rs), written by `memory-bench fit`.\n";
    fs::write(path, head.to_owned() + &weights.to_text())
        .map_err(|error| format!("{}: {error}", path.display()).into())
}

#[derive(Serialize)]
struct Report<'a> {
    unit: &'static str,
    rankings: BTreeMap<&'a str, &'a Method>,
}

fn print(tables: &[(&str, Method)], json: bool) -> Result<(), Failure> {
    if json {
        let rankings = tables
            .iter()
            .map(|(name, method)| (*name, method))
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
