//! Evidence recall: the share of a question's evidence that recall finds.

use std::path::PathBuf;

use clap::Args;
use memory_contract::proto::{MemoryPolicy, RecallRequest, RecallResponse, SearchMethod, UserRef};
use serde::Serialize;

use crate::{
    Failure, Target,
    clients::{Clients, new_app},
    conversation::{self, Conversation, Question, dia_id},
    importing,
    machine::Machine,
    progress,
    service::Service,
    table::table,
    tally::{DEEPEST, Method, Tally, header, rows, share},
};

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Directory of conversations in the LoCoMo or REALTALK format (*.json).
    dir: PathBuf,
    /// Also print each question whose evidence was not all among the first 10.
    #[arg(long)]
    misses: bool,
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
