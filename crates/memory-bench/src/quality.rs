//! Evidence recall: the share of a question's evidence that recall finds.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use clap::Args;
use memory_contract::proto::{MemoryPolicy, RecallRequest, RecallResponse, SearchMethod, UserRef};
use serde::Serialize;

use crate::{
    Failure, Target,
    conversation::{self, Conversation, Question, dia_id},
    importing,
    machine::Machine,
    progress,
    service::{Clients, Service, new_app},
    stats::rounded,
    table::table,
};

/// Most matches that a figure considers.
const DEEPEST: usize = 20;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Directory of conversations in the LoCoMo or REALTALK format (*.json).
    dir: PathBuf,
    /// Also print each question whose evidence was not all among the first 10.
    #[arg(long)]
    misses: bool,
}

/// Percentages over questions; each question counts once.
#[derive(Clone, Default, Serialize)]
struct Figures {
    questions: usize,
    recall_at_5: f64,
    recall_at_10: f64,
    recall_at_20: f64,
    mrr: f64,
}

/// The figures of one way to rank.
#[derive(Serialize)]
pub struct Method {
    #[serde(flatten)]
    all: Figures,
    by_category: BTreeMap<String, Figures>,
}

#[derive(Serialize)]
struct Report {
    unit: &'static str,
    machine: Machine,
    conversations: usize,
    messages: usize,
    questions_without_evidence: usize,
    #[serde(flatten)]
    hybrid: Method,
    dense: Method,
    lexical: Method,
}

/// Measures, and prints the report.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    let conversations = conversation::read_all(&options.dir)?;
    let service = Service::attach_or_start(target).await?;
    let mut clients = service.connect().await?;
    let app = new_app();
    let imported = importing::conversations(&mut clients, &app, &conversations).await?;

    let mut methods = Vec::new();
    for (method, name) in [
        (SearchMethod::Hybrid, "hybrid"),
        (SearchMethod::Dense, "dense"),
        (SearchMethod::Lexical, "lexical"),
    ] {
        let mut tally = Tally::default();
        let total: usize = conversations.iter().map(|c| c.questions.len()).sum();
        let bar = progress::count(format!("asking ({name})"), total as u64);
        for conversation in &conversations {
            for question in &conversation.questions {
                let found = ask(&mut clients, &app, conversation, question, method).await?;
                if options.misses && method == SearchMethod::Hybrid {
                    print_miss(conversation, question, &found);
                }
                tally.add(question, &found);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        methods.push(tally.method());
    }
    service.stop().await?;

    let [hybrid, dense, lexical] =
        <[Method; 3]>::try_from(methods).map_err(|_| "three methods were measured")?;
    let report = Report {
        unit: "percent",
        machine: Machine::here(),
        conversations: conversations.len(),
        messages: imported.messages,
        questions_without_evidence: conversations.iter().map(|c| c.without_evidence).sum(),
        hybrid,
        dense,
        lexical,
    };
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print_table(&report);
    }
    Ok(())
}

/// The `dia_id`s that recall returns for a question, the best first.
async fn ask(
    clients: &mut Clients,
    app: &str,
    conversation: &Conversation,
    question: &Question,
    method: SearchMethod,
) -> Result<Vec<String>, Failure> {
    let request = RecallRequest {
        target: Some(
            UserRef {
                app_id: app.to_owned(),
                user_id: conversation.name.clone(),
            }
            .into(),
        ),
        query: question.text.clone(),
        policy: Some(MemoryPolicy {
            top_k: i32::try_from(DEEPEST).ok(),
            neighbors_before: Some(0),
            neighbors_after: Some(0),
            ..Default::default()
        }),
        method: method.into(),
        ..Default::default()
    };
    let response = clients.recall.recall(request).await?.into_inner();
    if let Some(degradation) = response.degradations.first() {
        return Err(format!("recall was degraded: {}", degradation.message).into());
    }
    Ok(ranked(response))
}

fn ranked(response: RecallResponse) -> Vec<String> {
    let mut matches: Vec<_> = response
        .messages
        .into_iter()
        .filter(|recalled| recalled.rank > 0)
        .collect();
    matches.sort_by_key(|recalled| recalled.rank);
    matches
        .into_iter()
        .filter_map(|recalled| dia_id(&recalled.message?.metadata))
        .collect()
}

/// Sums over questions, in all and by category.
#[derive(Default)]
pub struct Tally {
    all: Sums,
    by_category: BTreeMap<u32, Sums>,
}

#[derive(Default)]
struct Sums {
    questions: usize,
    at: [f64; 3],
    reciprocal_rank: f64,
}

const DEPTHS: [usize; 3] = [5, 10, DEEPEST];

impl Tally {
    /// Adds what was found for a question, the best first.
    pub fn add(&mut self, question: &Question, found: &[String]) {
        let category = self.by_category.entry(question.category).or_default();
        for sums in [&mut self.all, category] {
            sums.questions += 1;
            for (sum, depth) in sums.at.iter_mut().zip(DEPTHS) {
                *sum += share(question, found, depth);
            }
            let first = found.iter().position(|id| question.evidence.contains(id));
            sums.reciprocal_rank += first.map_or(0.0, |place| 1.0 / (place + 1) as f64);
        }
    }

    /// The figures.
    pub fn method(&self) -> Method {
        Method {
            all: self.all.figures(),
            by_category: self
                .by_category
                .iter()
                .map(|(category, sums)| (category.to_string(), sums.figures()))
                .collect(),
        }
    }
}

impl Sums {
    fn figures(&self) -> Figures {
        let percent = |sum: f64| rounded(100.0 * sum / self.questions.max(1) as f64, 2);
        Figures {
            questions: self.questions,
            recall_at_5: percent(self.at[0]),
            recall_at_10: percent(self.at[1]),
            recall_at_20: percent(self.at[2]),
            mrr: percent(self.reciprocal_rank),
        }
    }
}

/// The share of a question's evidence among the first `depth` matches.
fn share(question: &Question, found: &[String], depth: usize) -> f64 {
    let first: BTreeSet<&String> = found.iter().take(depth).collect();
    let hits = question
        .evidence
        .iter()
        .filter(|id| first.contains(id))
        .count();
    hits as f64 / question.evidence.len() as f64
}

fn print_miss(conversation: &Conversation, question: &Question, found: &[String]) {
    if share(question, found, 10) < 1.0 {
        eprintln!(
            "{} [{}] {} ({}) — evidence {:?}, found {:?}",
            conversation.name,
            question.category,
            question.text,
            question.answer,
            question.evidence,
            &found[..found.len().min(10)]
        );
    }
}

fn category_name(category: &str) -> String {
    let name = match category {
        "1" => "multi-hop",
        "2" => "temporal",
        "3" => "open domain",
        "4" => "single-hop",
        "5" => "adversarial",
        other => other,
    };
    format!("{category} {name}")
}

fn print_table(report: &Report) {
    println!(
        "Evidence recall over {} conversations, {} messages; percent of a question's evidence among the first k matches.",
        report.conversations, report.messages
    );
    if report.questions_without_evidence > 0 {
        println!(
            "{} questions have no evidence in their conversation and are left out.",
            report.questions_without_evidence
        );
    }
    println!("{}\n", report.machine.line());
    let mut table = table(&header("method"), 2);
    for (name, method) in [
        ("hybrid", &report.hybrid),
        ("dense", &report.dense),
        ("lexical", &report.lexical),
    ] {
        table.add_rows(rows(name, method));
    }
    println!("{table}");
}

/// The headings of a table of [`rows`].
pub fn header(first: &str) -> [&str; 7] {
    [
        first,
        "category",
        "questions",
        "recall@5",
        "recall@10",
        "recall@20",
        "MRR",
    ]
}

/// The rows of a way to rank: all questions, and those of each category.
pub fn rows(name: &str, method: &Method) -> Vec<Vec<String>> {
    let by_category = method.by_category.iter();
    let by_category =
        by_category.map(|(category, figures)| row("", category_name(category), figures));
    std::iter::once(row(name, "all".to_owned(), &method.all))
        .chain(by_category)
        .collect()
}

fn row(method: &str, category: String, figures: &Figures) -> Vec<String> {
    let percent = |value: f64| format!("{value:.1}");
    vec![
        method.to_owned(),
        category,
        figures.questions.to_string(),
        percent(figures.recall_at_5),
        percent(figures.recall_at_10),
        percent(figures.recall_at_20),
        percent(figures.mrr),
    ]
}
