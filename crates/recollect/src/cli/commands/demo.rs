//! `recollect demo`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memory_config::{Config, Sources};
use memory_contract::proto::{RecallReason, RecallRequest, RecalledMessage, UserRef};
use memory_import::{Defaults, Format, Source};
use memory_process::init_telemetry;
use memory_server::Readiness;
use serde::Deserialize;
use serde_json::{Value, json};

use super::import::{Job, import};
use super::recall::{scores, who};
use super::searchable::wait_until_searchable;
use super::signals::Stop;
use super::startup::Embedded;
use crate::cli::args::{DemoArgs, ServerArgs};
use crate::cli::client::Client;
use crate::cli::failure::{Failure, chain};
use crate::cli::output::{Progress, Table, clock, count, duration, one_line, text_of};

/// The conversation of a demo without `--file`.
const CONVERSATION: &str = include_str!("../../../../../examples/conversation.jsonl");
/// Questions about it.
const QUESTIONS: &str = include_str!("../../../../../examples/questions.json");
/// The kinds of the questions that are asked, in this order: one turn answers
/// it, several turns do, it is about time, and so on.
const CATEGORIES: [u8; 5] = [4, 1, 2, 4, 3];
/// How long indexing may take.
const INDEX_TIMEOUT: Duration = Duration::from_secs(300);
const APP: &str = "demo";

/// Shows what it is all about, and leaves nothing behind.
///
/// # Errors
/// When the server does not start, or a call fails.
pub async fn run(file: Option<PathBuf>, args: DemoArgs) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut stop = Stop::listen(false)?;
    let dir = tempfile::Builder::new()
        .prefix("recollect-demo-")
        .tempdir()
        .map_err(|error| {
            Failure::machine(format!("cannot make a directory: {error}"), "Check TMPDIR.")
        })?;
    let (path, questions) = material(&args, dir.path())?;

    let mut sources = Sources {
        file,
        ..Default::default()
    };
    sources.env.remove("DATABASE_URL");
    for (key, value) in [
        ("server.listen", json!("127.0.0.1:0")),
        ("telemetry.metrics_listen", json!("127.0.0.1:0")),
        ("telemetry.log_level", json!("error")),
        ("database.url", json!("")),
        ("database.chat_url", json!("")),
    ] {
        sources
            .flags
            .push(("demo".to_owned(), key.to_owned(), value));
    }
    let mut loaded = Config::load(&sources)?;
    // All state of the demo is temporary, and no configured service is used.
    loaded.config.index.url = None;
    loaded.config.index.path = None;
    loaded.config.auth.keys.clear();
    let _telemetry = init_telemetry(&loaded.config.telemetry)
        .map_err(|error| Failure::machine(chain(&error), ""))?;

    println!("Starts a temporary server, imports a long conversation and asks questions about it.");
    println!("This takes about 20 seconds; all data is deleted at the end.\n");
    let progress = Progress::spinner(false);
    let data_dir = dir.path().join("data");
    let start = Embedded::start(
        loaded,
        &data_dir,
        args.postgres_bin.clone(),
        begin,
        &progress,
    );
    let server = tokio::select! {
        server = start => server?,
        _ = stop.wait() => return interrupted(),
    };
    progress.finish();
    println!(
        "The server is ready after {}.",
        duration(server.times.total)
    );
    if let Readiness::Degraded(reasons) | Readiness::Unavailable(reasons) = &server.readiness {
        println!("Degraded: {}", reasons.join("; "));
    }

    let result = tokio::select! {
        result = show(&server, &path, &questions) => result,
        failure = server.failed() => Err(failure),
        _ = stop.wait() => interrupted(),
    };
    server.stop(|_| {}).await;
    drop(dir);
    println!("The server has stopped; its database and index are deleted.");
    result
}

fn interrupted() -> Result<(), Failure> {
    Err(Failure::Refused {
        message: "interrupted".to_owned(),
        next_step: String::new(),
    })
}

/// A question about the conversation.
#[derive(Clone, Deserialize)]
struct Question {
    question: String,
    /// The expected answer; empty if unknown.
    answer: String,
    /// The metadata `turn` of the messages that answer it.
    evidence: Vec<String>,
    /// 1 several turns together, 2 about time, 3 with general knowledge, 4 one turn.
    category: u8,
}

/// The file to import, and the questions to ask.
fn material(args: &DemoArgs, dir: &Path) -> Result<(PathBuf, Vec<Question>), Failure> {
    let asked = args.ask.iter().map(|question| Question {
        question: question.clone(),
        answer: String::new(),
        evidence: Vec::new(),
        category: 0,
    });
    let asked: Vec<Question> = asked.collect();
    if let Some(file) = &args.file {
        return Ok((file.clone(), asked));
    }
    let file = dir.join("conversation.jsonl");
    std::fs::write(&file, CONVERSATION).map_err(Failure::output)?;
    if !asked.is_empty() {
        return Ok((file, asked));
    }
    let shipped = serde_json::from_str::<Vec<Question>>(QUESTIONS);
    let shipped = shipped.map_err(|error| Failure::machine(error.to_string(), ""))?;
    Ok((file, choose(&shipped)))
}

async fn show(server: &Embedded, path: &Path, questions: &[Question]) -> Result<(), Failure> {
    let addr = format!("http://{}", server.addr());
    let client = Client::connect(&ServerArgs {
        addr,
        api_key: None,
    })
    .await?;
    let progress = Progress::spinner(false);
    let user = "friends".to_owned();
    let job = Job {
        source: Source {
            file: path.to_owned(),
            format: Format::Auto,
            again: false,
            defaults: Defaults {
                app: APP.to_owned(),
                user: Some(user.clone()),
                session: None,
            },
        },
        replace: false,
        check: false,
    };
    let begin = Instant::now();
    let summary = import(&client, job, &progress).await?;
    if let Some((place, error)) = summary.errors.first() {
        return Err(Failure::Refused {
            message: format!("{place} was not imported: {error}"),
            next_step: String::new(),
        });
    }
    let durable = begin.elapsed();
    wait_until_searchable(&client, INDEX_TIMEOUT, &progress)
        .await
        .map_err(|problem| Failure::Refused {
            message: format!("not everything can be searched: {problem}"),
            next_step: "`recollect doctor` checks the set-up.".to_owned(),
        })?;
    progress.finish();
    println!(
        "Imported {} of {} from {}: durable after {}, searchable after {}.",
        count(summary.stored, "message"),
        count(summary.threads.len(), "session"),
        path.display(),
        duration(durable),
        duration(begin.elapsed()),
    );

    let (mut found, mut wanted) = (0, 0);
    for question in questions {
        let (hits, evidence) = answer(&client, &user, question).await?;
        found += hits;
        wanted += evidence;
    }
    println!();
    if wanted > 0 {
        println!("{found} of the {wanted} turns that answer the questions were recalled.");
    }
    println!("With a server of your own: `recollect import FILE`, then `recollect recall`.");
    Ok(())
}

/// A handful of questions of different kinds, always the same ones.
fn choose(questions: &[Question]) -> Vec<Question> {
    let mut taken: HashMap<u8, usize> = HashMap::new();
    let mut chosen = Vec::new();
    for category in CATEGORIES {
        let mut of_kind = questions
            .iter()
            .filter(|question| question.category == category && !question.evidence.is_empty());
        let next = taken.entry(category).or_default();
        chosen.extend(of_kind.nth(*next).cloned());
        *next += 1;
    }
    chosen
}

/// Asks one question and shows what comes back: the number of the turns found
/// that answer it, and of all that do.
async fn answer(
    client: &Client,
    user: &str,
    question: &Question,
) -> Result<(usize, usize), Failure> {
    let begin = Instant::now();
    let request = RecallRequest {
        target: Some(
            UserRef {
                app_id: APP.to_owned(),
                user_id: user.to_owned(),
            }
            .into(),
        ),
        query: question.question.clone(),
        ..Default::default()
    };
    let recalled = client
        .recall()
        .recall(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    let took = begin.elapsed();

    println!("\n\"{}\"", question.question);
    if !question.answer.is_empty() {
        println!("Expected answer: {}", question.answer);
    }
    let evidence = &question.evidence;
    let is_evidence =
        |found: &RecalledMessage| turn_of(found).is_some_and(|turn| evidence.contains(&turn));
    let (mut matches, neighbors): (Vec<_>, Vec<_>) = recalled
        .messages
        .iter()
        .partition(|found| found.reasons().any(|r| r == RecallReason::Match));
    matches.sort_by_key(|found| found.rank);

    let mut table = Table::new(&[
        "", "Said!", "Who!", "What", "Why", "Score>", "Dense>", "Lexical>",
    ]);
    let answering_neighbors = neighbors.iter().filter(|found| is_evidence(found));
    for found in matches.iter().chain(answering_neighbors) {
        let message = found.message.clone().unwrap_or_default();
        let [score, dense, lexical] = scores(found);
        let why = match found.rank {
            0 => "next to a match".to_owned(),
            rank => format!("match {rank}"),
        };
        table.row([
            if is_evidence(found) {
                "✓".to_owned()
            } else {
                String::new()
            },
            clock(message.create_time.as_ref()),
            one_line(&who(found), 14),
            one_line(&text_of(&message), 160),
            why,
            score,
            dense,
            lexical,
        ]);
    }
    table.print()?;
    let hits = recalled
        .messages
        .iter()
        .filter(|found| is_evidence(found))
        .count();
    println!(
        "{} and {} next to them, {}, in {}.{}",
        match matches.len() {
            1 => "1 match".to_owned(),
            matches => format!("{matches} matches"),
        },
        count(neighbors.len(), "message"),
        count(recalled.total_tokens, "token"),
        duration(took),
        match evidence.len() {
            0 => String::new(),
            wanted => format!(" ✓ answers the question: {hits} of {wanted} found."),
        }
    );
    for degradation in &recalled.degradations {
        println!("Note: {}", degradation.message);
    }
    Ok((hits, evidence.len()))
}

fn turn_of(found: &RecalledMessage) -> Option<String> {
    let metadata = &found.message.as_ref()?.metadata;
    let metadata: Value = serde_json::from_str(metadata).ok()?;
    metadata["turn"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_conversation_has_questions_for_the_demo() {
        let all: Vec<Question> = serde_json::from_str(QUESTIONS).unwrap();
        assert!(all.len() >= 10);
        let turns: Vec<String> = CONVERSATION
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|line| line["metadata"]["turn"].as_str().unwrap().to_owned())
            .collect();
        assert!(turns.len() >= 80);
        for question in &all {
            assert!(!question.evidence.is_empty(), "{}", question.question);
            assert!(
                question.evidence.iter().all(|id| turns.contains(id)),
                "{}",
                question.question
            );
        }
        let chosen = choose(&all);
        assert_eq!(chosen.len(), CATEGORIES.len());
        let mut questions: Vec<_> = chosen.iter().map(|chosen| &chosen.question).collect();
        questions.sort();
        questions.dedup();
        assert_eq!(questions.len(), CATEGORIES.len(), "none is asked twice");
    }
}
