//! Measures how many facts survive compression without a model.
//!
//! ```text
//! cargo run --release -p ranking --bin compression -- DIR
//! ```
//!
//! DIR has conversations of the LoCoMo format (`*.json`): sessions of turns, and
//! questions with the turns that answer them.
//!
//! **Facts of conversations.** A fact is a question and one of the turns that
//! answer it (category 5, which has no answer, left out). It survives when a line
//! of the compressed text quotes a sentence of that turn, and what is quoted of
//! the turn holds at least four fifths of those content words of the answer that
//! the turn has. Where the turn has none of them, because the answer has to be
//! worked out, at least half of the turn's own content words have to be quoted.
//! A sentence counts as quoted if the text contains it word for word. A fact is
//! found if it survives in the ten best sentences of the compressed text for its
//! question by BM25.
//!
//! **Weights.** The conversations 26, 30 and 50 are each compressed with weights
//! that were fitted to the other two (`fitted.rs`), others with the defaults. The
//! features, and the weight of sentences of an earlier summary, were chosen with
//! all three in view.
//!
//! **Oracle.** The sentences that keep the most facts, chosen with the questions
//! known: about what the best selection of whole sentences can reach.
//!
//! **Planted facts of a log.** A generated log of an agent's work has identifiers,
//! error codes, causes and decisions. One survives if the text contains it word for word.
//!
//! With `--dump FILE` the sentences that would be embedded are written, a JSON
//! string a line; with `--vectors FILE` (a JSON list of a sentence and its vector a
//! line) they are compared by these vectors.
//!
//! With `--facts` the facts that are extracted without a model are printed instead,
//! for a person to judge.
//!
//! The floors are the first and the last whole messages of the same size, with
//! their speakers, and messages spread evenly.
#![allow(clippy::print_stdout, reason = "a measuring program prints")]

mod conversation;
mod fitted;
mod log;
mod oracle;
mod search;
mod words;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::{env, fs, path::Path, time::Instant};

use async_trait::async_trait;
use memory_budget::Tokenizer;
use memory_contract::policy::ExtractionStrategy;
use memory_distill::{Extractive, SentenceVectors, SourceMessage};

const TOKENIZER: Tokenizer = Tokenizer::O200kBase;
/// Compression factors.
const TIMES: [i32; 4] = [5, 10, 20, 40];

#[tokio::main]
async fn main() {
    let dir = env::args()
        .nth(1)
        .expect("give the directory of the conversations");
    let option = |name: &str| env::args().skip_while(|arg| arg != name).nth(1);
    let dump = Arc::new(Dump::default());
    let extractive = match (option("--vectors"), option("--dump")) {
        (Some(file), _) => Extractive::new().with_vectors(Arc::new(Vectors::read(&file))),
        (None, Some(_)) => Extractive::new().with_vectors(dump.clone()),
        (None, None) => Extractive::new(),
    };
    if env::args().any(|arg| arg == "--facts") {
        for conversation in conversation::read_all(Path::new(&dir)) {
            for fact in extractive.facts(&conversation.sources, ExtractionStrategy::Discrete) {
                println!("{:?} {:?} {}", fact.kind, fact.event_date, fact.text);
            }
        }
        return;
    }
    println!("conversations: share of facts that survive, and that search finds, percent");
    println!(
        "{:>6} {:>14} {:>14} {:>14} {:>14} {:>14} {:>14}",
        "times", "extractive", "rolling", "first", "last", "spread", "oracle"
    );
    let conversations = conversation::read_all(Path::new(&dir));
    let mut oracles = Vec::new();
    for conversation in &conversations {
        let tokens = TOKENIZER.count(&whole(&conversation.sources));
        let budgets = TIMES.map(|times| tokens / times);
        oracles.push(oracle::oracle(conversation, TOKENIZER, &budgets).await);
    }
    for (column, times) in TIMES.into_iter().enumerate() {
        let mut survive = [0.0; 6];
        let mut found = [0.0; 6];
        let mut facts = 0.0;
        for (conversation, oracle) in conversations.iter().zip(&oracles) {
            let all = whole(&conversation.sources);
            let budget = TOKENIZER.count(&all) / times;
            let extractive = extractive
                .clone()
                .with_weights(fitted::without(&conversation.name));
            let texts = [
                extractive.summary("", &conversation.sources, budget).await,
                rolling(&extractive, &conversation.sources, budget).await,
                first(conversation.sources.iter(), budget),
                first(conversation.sources.iter().rev(), budget),
                spread(&conversation.sources, budget),
                oracle[column].clone(),
            ];
            if env::args().any(|arg| arg == "--show") && times == 10 {
                println!("{}", texts[0]);
            }
            facts += conversation.facts.len() as f64;
            for (nth, text) in texts.iter().enumerate() {
                assert!(TOKENIZER.count(text) <= budget, "over the budget");
                survive[nth] += conversation.surviving(text) as f64;
                found[nth] += search::found(conversation, text) as f64;
            }
        }
        print!("{times:>6}");
        for (survive, found) in survive.iter().zip(&found) {
            print!(
                " {:>7.1} {:>6.1}",
                100.0 * survive / facts,
                100.0 * found / facts
            );
        }
        println!();
    }

    println!("\nlogs of 50 steps: compression, and share of planted facts found, percent");
    println!(
        "{:>6} {:>10} {:>10} {:>6} {:>6} {:>6}",
        "budget", "times", "extractive", "first", "last", "spread"
    );
    for budget in [500, 1_000, 2_000, 4_000, 8_000] {
        let (mut before, mut after, mut planted) = (0.0, 0.0, 0.0);
        let mut sums = [0.0; 4];
        for seed in 1..=10 {
            let log = log::generate(seed, 50);
            let text = extractive.observations(&log.sources, budget).await;
            before += f64::from(TOKENIZER.count(&whole(&log.sources)));
            after += f64::from(TOKENIZER.count(&text));
            planted += log.planted.len() as f64;
            let size = TOKENIZER.count(&text);
            let texts = [
                text,
                first(log.sources.iter(), size),
                first(log.sources.iter().rev(), size),
                spread(&log.sources, size),
            ];
            if env::args().any(|arg| arg == "--show-log") && seed == 1 && budget == 2_000 {
                println!("{}", texts[0]);
                println!(
                    "MISSING {:?}",
                    log.planted
                        .iter()
                        .filter(|f| !texts[0].contains(f.as_str()))
                        .collect::<Vec<_>>()
                );
            }
            for (sum, text) in sums.iter_mut().zip(&texts) {
                *sum += log
                    .planted
                    .iter()
                    .filter(|fact| text.contains(fact.as_str()))
                    .count() as f64;
            }
        }
        let [extractive, first, last, spread] = sums.map(|sum| 100.0 * sum / planted);
        println!(
            "{budget:>6} {:>10.1} {extractive:>10.1} {first:>6.1} {last:>6.1} {spread:>6.1}",
            before / after
        );
    }

    if let Some(file) = option("--dump") {
        let lines: Vec<String> = dump
            .0
            .lock()
            .expect("no thread panics")
            .iter()
            .map(|text| serde_json::json!(text).to_string())
            .collect();
        fs::write(file, lines.join("\n")).expect("the file can be written");
    }

    let many: Vec<SourceMessage> = conversations
        .iter()
        .flat_map(|conversation| &conversation.sources)
        .cycle()
        .take(10_000)
        .cloned()
        .collect();
    let start = Instant::now();
    let text = extractive.summary("", &many, 8_000).await;
    println!(
        "\n10000 messages to {} tokens: {:.1} s",
        TOKENIZER.count(&text),
        start.elapsed().as_secs_f64()
    );
}

/// A summary that is continued every 50 messages, as by the worker.
async fn rolling(extractive: &Extractive, sources: &[SourceMessage], budget: i32) -> String {
    let mut summary = String::new();
    for some in sources.chunks(50) {
        summary = extractive.summary(&summary, some, budget).await;
    }
    summary
}

fn line(source: &SourceMessage) -> String {
    let said = memory_contract::text::bare_text(&source.message.parts);
    format!("{}: {said}\n", source.message.name)
}

fn whole(sources: &[SourceMessage]) -> String {
    sources.iter().map(line).collect()
}

/// Whole messages, one after the other, while they fit.
fn first<'a>(sources: impl Iterator<Item = &'a SourceMessage>, budget: i32) -> String {
    let mut text = String::new();
    let mut left = budget;
    for source in sources {
        let line = line(source);
        left -= TOKENIZER.count(&line) + 1;
        if left < 0 {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// Whole messages at even distances.
fn spread(sources: &[SourceMessage], budget: i32) -> String {
    let step = (TOKENIZER.count(&whole(sources)) / budget.max(1)).max(1);
    first(sources.iter().step_by(step.unsigned_abs() as usize), budget)
}

/// Records the sentences that would be embedded.
#[derive(Default)]
struct Dump(Mutex<BTreeSet<String>>);

#[async_trait]
impl SentenceVectors for Dump {
    async fn embed(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        self.0.lock().expect("no thread panics").extend(texts);
        None
    }
}

/// Reads vectors from a file.
struct Vectors(HashMap<String, Vec<f32>>);

impl Vectors {
    fn read(file: &str) -> Self {
        let text = fs::read_to_string(file).expect("the file can be read");
        let lines = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("it is JSON"));
        Self(lines.collect())
    }
}

#[async_trait]
impl SentenceVectors for Vectors {
    async fn embed(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        texts.iter().map(|text| self.0.get(text).cloned()).collect()
    }
}
