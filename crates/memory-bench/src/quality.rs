//! Evidence recall: the share of a question's evidence that recall finds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use memory_contract::proto::SearchMethod;
use memory_embed::Embedder;
use prost_types::Timestamp;
use serde::Serialize;

use crate::{
    Failure, Target, asking,
    clients::{Clients, new_app},
    embedding::embedding,
    importing,
    machine::Machine,
    plain::Plain,
    progress,
    service::Service,
    table::table,
    tally::{Method, Tally, header, rows, share},
};
use memory_datasets::{Conversation, Question};

/// Messages asked for: enough that twenty sessions are among them.
const TOP_K: i32 = 100;

/// The ways to search, in the order of the report.
const METHODS: [&str; 5] = ["hybrid", "dense", "lexical", "plain dense", "plain BM25"];

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Directories of conversations (*.json) in the format of LoCoMo, REALTALK, BEAM, RealMem
    /// or XQuAD.
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
    /// Ask at most so many questions of each conversation and category, evenly spread.
    #[arg(long)]
    sample: Option<usize>,
    /// Also print each question whose evidence was not all among the first 10.
    #[arg(long)]
    misses: bool,
}

#[derive(Serialize)]
struct Report {
    unit: &'static str,
    machine: Machine,
    sets: Vec<SetReport>,
}

/// How much of the evidence of a data set's questions was found, in percent.
#[derive(Serialize)]
pub struct SetReport {
    set: String,
    conversations: usize,
    messages: usize,
    questions_without_evidence: usize,
    methods: BTreeMap<&'static str, Method>,
}

/// Measures, and prints the report.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    let service = Service::attach_or_start(target).await?;
    let clients = service.connect().await?;
    let sets = sets(&clients, &options.dirs, options.sample, options.misses).await?;
    service.stop().await?;
    let report = Report {
        unit: "percent",
        machine: Machine::here(),
        sets,
    };
    if json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        println!("{}", report.machine.line());
        print_sets(&report.sets);
    }
    Ok(())
}

/// Imports the data sets of directories, each into an app of its own, and asks their questions: at most
/// `sample` of each conversation and category. `misses` prints those whose evidence was not all found.
pub async fn sets(
    clients: &Clients,
    dirs: &[PathBuf],
    sample: Option<usize>,
    misses: bool,
) -> Result<Vec<SetReport>, Failure> {
    let embedder = tokio::task::spawn_blocking(|| Embedder::start(&embedding())).await??;
    let mut sets = Vec::new();
    for dir in dirs {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let mut conversations = memory_datasets::read_all(dir)?;
        if let Some(sample) = sample {
            for conversation in &mut conversations {
                reduce(&mut conversation.questions, sample);
            }
        }
        let mut set = Set {
            clients: clients.clone(),
            app: new_app(),
            plain: BTreeMap::new(),
            tallies: METHODS.map(|_| Tally::default()),
            misses,
        };
        for conversation in &conversations {
            let plain = Plain::new(conversation, embedder.clone()).await?;
            set.plain.insert(conversation.name.clone(), plain);
        }
        set.measure(&conversations).await?;
        sets.push(SetReport {
            set: name.into_owned(),
            conversations: conversations.len(),
            messages: conversations.iter().map(Conversation::message_count).sum(),
            questions_without_evidence: conversations.iter().map(|c| c.without_evidence).sum(),
            methods: METHODS
                .into_iter()
                .zip(set.tallies.iter().map(Tally::method))
                .filter(|(_, method)| !method.is_empty())
                .collect(),
        });
    }
    Ok(sets)
}

/// Keeps at most `sample` questions of each category, evenly spread.
fn reduce(questions: &mut Vec<Question>, sample: usize) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for question in questions.iter() {
        *counts.entry(question.category.clone()).or_default() += 1;
    }
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    questions.retain(|question| {
        let count = counts[&question.category];
        let place = places.entry(question.category.clone()).or_default();
        *place += 1;
        // One of each `count / sample` questions, without rounding.
        count <= sample || (*place * sample) / count > ((*place - 1) * sample) / count
    });
}

/// The measurement of one data set.
struct Set {
    clients: Clients,
    app: String,
    plain: BTreeMap<String, Plain>,
    tallies: [Tally; METHODS.len()],
    misses: bool,
}

impl Set {
    async fn measure(&mut self, conversations: &[Conversation]) -> Result<(), Failure> {
        let in_order = |one: &&Conversation| one.questions.iter().any(|it| it.before.is_some());
        let (ordered, whole): (Vec<&Conversation>, _) = conversations.iter().partition(in_order);
        importing::conversations(&mut self.clients, &self.app, whole.iter().copied()).await?;
        let total: usize = conversations.iter().map(|c| c.questions.len()).sum();
        let bar = progress::count("asking", total as u64);
        for conversation in whole {
            for question in &conversation.questions {
                self.ask(question, conversation.asked_at(None)).await?;
                bar.inc(1);
            }
        }
        for conversation in ordered {
            for number in conversation.sessions.keys() {
                let asked = conversation.questions.iter();
                for question in asked.filter(|it| it.before == Some(*number)) {
                    let asked = conversation.asked_at(question.before);
                    self.ask(question, asked).await?;
                    bar.inc(1);
                }
                importing::session(&mut self.clients, &self.app, conversation, *number).await?;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Asks a question in each way, and counts what is found.
    async fn ask(&mut self, question: &Question, asked: Option<Timestamp>) -> Result<(), Failure> {
        let mut found = Vec::with_capacity(METHODS.len());
        for method in [
            SearchMethod::Hybrid,
            SearchMethod::Dense,
            SearchMethod::Lexical,
        ] {
            found.push(Some(self.recall(question, asked, method).await?));
        }
        let plain = &self.plain[&question.user];
        found.push(plain.by_meaning(question).await?);
        found.push(Some(plain.by_word(question)));
        if self.misses
            && let Some(Some(hybrid)) = found.first()
        {
            print_miss(question, hybrid);
        }
        for (tally, found) in self.tallies.iter_mut().zip(found) {
            if let Some(found) = found {
                tally.add(question, &found);
            }
        }
        Ok(())
    }

    /// The ids of evidence that recall returns for a question, the best first.
    async fn recall(
        &mut self,
        question: &Question,
        asked: Option<Timestamp>,
        method: SearchMethod,
    ) -> Result<Vec<String>, Failure> {
        let request = asking::request(&self.app, question, asked, method, TOP_K);
        let response = self.clients.recall.recall(request).await?.into_inner();
        if let Some(degradation) = response.degradations.first() {
            return Err(format!("recall was degraded: {}", degradation.message).into());
        }
        Ok(asking::ranked(response))
    }
}

fn print_miss(question: &Question, found: &[String]) {
    if share(question, found, 10) < 1.0 {
        eprintln!(
            "{} [{}] {} ({}) — evidence {:?}, found {:?}",
            question.user,
            question.category,
            question.text,
            question.answer,
            question.evidence,
            &found[..found.len().min(10)]
        );
    }
}

/// Prints a table for each data set.
pub fn print_sets(sets: &[SetReport]) {
    println!("Percent of a question's evidence among the first k matches.");
    for set in sets {
        println!(
            "\n{}: {} conversations, {} messages",
            set.set, set.conversations, set.messages
        );
        if set.questions_without_evidence > 0 {
            println!(
                "{} questions have no evidence in their conversation and are left out.",
                set.questions_without_evidence
            );
        }
        let mut table = table(&header("method"), 2);
        for name in METHODS {
            if let Some(method) = set.methods.get(name) {
                table.add_rows(rows(name, method));
            }
        }
        println!("{table}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_so_many_questions_of_each_category() {
        let question = |number: usize| Question {
            text: number.to_string(),
            answer: String::new(),
            evidence: ["1".to_owned()].into(),
            category: if usize::is_multiple_of(number, 3) {
                "rare"
            } else {
                "usual"
            }
            .to_owned(),
            user: "ada".to_owned(),
            before: None,
        };
        for (total, rare, usual) in [(3, 1, 2), (30, 4, 4), (31, 4, 4), (1_000, 4, 4)] {
            let mut questions: Vec<Question> = (0..total).map(question).collect();
            reduce(&mut questions, 4);
            let count = |name: &str| questions.iter().filter(|it| it.category == name).count();
            assert_eq!((count("rare"), count("usual")), (rare, usual), "{total}");
        }
    }
}
