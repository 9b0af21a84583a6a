//! What redaction finds in texts that have nothing to redact, and what it costs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use memory_contract::{
    policy::SensitiveKind,
    proto::{self, AppPolicy, AppendMessagesRequest, MessageInput, Part, Redaction, Role, part},
};
use memory_redact::{Kinds, find};
use serde::Serialize;
use serde_json::Value;

use crate::{
    Failure, Target,
    clients::{Clients, new_app},
    machine::Machine,
    progress,
    service::Service,
    stats::{Latencies, Quantiles, Spread},
};

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Directories with JSON files, such as conversations without secrets. Each string with a space
    /// is a text.
    #[arg(long, required = true)]
    texts: Vec<PathBuf>,
    /// Messages that are appended without redaction, and again with it, in each round.
    #[arg(long, default_value_t = 500)]
    messages: usize,
    /// Rounds.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    texts: usize,
    bytes: usize,
    /// By the kinds that are looked for.
    finds: Vec<Finds>,
    /// The median with the default kinds by that without redaction.
    append_p50_ratio: Spread,
    append_off: Quantiles,
    append_replace: Quantiles,
}

/// What is found of some kinds.
#[derive(Serialize)]
struct Finds {
    kinds: &'static str,
    /// Texts in which something is found.
    texts_with_hits: usize,
    /// Hits by their names.
    hits: BTreeMap<&'static str, usize>,
    mb_per_s: f64,
}

/// Measures and prints the report.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    let mut texts = Vec::new();
    for dir in &options.texts {
        read(dir, &mut texts)?;
    }
    if texts.is_empty() {
        return Err("the directories of --texts have no JSON files with texts".into());
    }
    let bytes = texts.iter().map(String::len).sum();
    let step = progress::step("finding");
    let finds = [
        ("secret, card (default)", &SensitiveKind::DEFAULT[..]),
        ("email", &[SensitiveKind::Email]),
        ("phone", &[SensitiveKind::Phone]),
        ("all", &SensitiveKind::ALL),
    ]
    .map(|(name, kinds)| finds(name, kinds, &texts));
    step.finish_and_clear();

    let service = Service::attach_or_start(target).await?;
    let mut clients = service.connect().await?;
    let app = new_app();
    let (mut off, mut replace) = (Latencies::new()?, Latencies::new()?);
    let (mut medians_off, mut medians_replace) = (Vec::new(), Vec::new());
    let step = progress::step("appending without redaction, and with it");
    for round in 0..options.rounds {
        let thread = clients
            .thread(&app, "ada", &format!("session:{round}"))
            .await?;
        let own = |index: usize| &texts[(round * options.messages + index) % texts.len()];
        for (redaction, all, medians) in [
            (Redaction::Off, &mut off, &mut medians_off),
            (Redaction::Replace, &mut replace, &mut medians_replace),
        ] {
            set(&mut clients, &app, redaction).await?;
            let mut latencies = Latencies::new()?;
            for index in 0..options.messages {
                let sent = Instant::now();
                append(&mut clients, &thread, own(index)).await?;
                latencies.add(sent.elapsed());
            }
            medians.push(latencies.quantiles().p50_ms);
            all.merge(&latencies)?;
        }
    }
    step.finish_and_clear();
    set(&mut clients, &app, Redaction::Off).await?;
    service.stop().await?;

    let report = Report {
        machine: Machine::here(),
        texts: texts.len(),
        bytes,
        finds: finds.into(),
        append_p50_ratio: Spread::of_ratios(&medians_replace, &medians_off),
        append_off: off.quantiles(),
        append_replace: replace.quantiles(),
    };
    match json {
        true => println!("{}", serde_json::to_string(&report)?),
        false => report.print(),
    }
    Ok(())
}

impl Report {
    fn print(&self) {
        println!("{} texts, {:.1} MB", self.texts, self.bytes as f64 / 1e6);
        let mut table =
            crate::table::table(&["kinds", "texts with hits", "share", "MB/s", "hits"], 1);
        for found in &self.finds {
            let share = 100.0 * found.texts_with_hits as f64 / self.texts as f64;
            let hits = found
                .hits
                .iter()
                .map(|(name, count)| format!("{name} {count}"));
            table.add_row([
                found.kinds.to_owned(),
                found.texts_with_hits.to_string(),
                format!("{share:.4} %"),
                format!("{:.0}", found.mb_per_s),
                hits.collect::<Vec<_>>().join(", "),
            ]);
        }
        println!("{table}");
        let mut table = crate::table::table(&["append", "p50", "p95", "p50 ratio"], 1);
        let ms = |value: f64| format!("{value:.2} ms");
        for (name, seen, ratio) in [
            ("off", self.append_off, String::new()),
            (
                "replace",
                self.append_replace,
                self.append_p50_ratio.to_string(),
            ),
        ] {
            table.add_row([name.to_owned(), ms(seen.p50_ms), ms(seen.p95_ms), ratio]);
        }
        println!("{table}");
    }
}

fn finds(name: &'static str, kinds: &[SensitiveKind], texts: &[String]) -> Finds {
    let kinds: Kinds = kinds.iter().copied().collect();
    // Patterns are compiled at the first search.
    find("warm", kinds);
    let mut hits = BTreeMap::new();
    let mut texts_with_hits = 0;
    let begin = Instant::now();
    for text in texts {
        let found = find(text, kinds);
        texts_with_hits += usize::from(!found.is_empty());
        for hit in found {
            *hits.entry(hit.name).or_default() += 1;
        }
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    Finds {
        kinds: name,
        texts_with_hits,
        hits,
        mb_per_s: bytes as f64 / 1e6 / begin.elapsed().as_secs_f64(),
    }
}

async fn set(clients: &mut Clients, app: &str, redaction: Redaction) -> Result<(), Failure> {
    let request = proto::UpdateAppPolicyRequest {
        app_policy: Some(AppPolicy {
            app_id: app.to_owned(),
            policy: Some(proto::MemoryPolicy {
                redaction: redaction.into(),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    };
    clients.policies.update_app_policy(request).await?;
    Ok(())
}

async fn append(clients: &mut Clients, thread: &str, text: &str) -> Result<(), Failure> {
    let message = MessageInput {
        role: Role::User.into(),
        parts: vec![Part {
            content: Some(part::Content::Text(text.to_owned())),
            ..Default::default()
        }],
        ..Default::default()
    };
    let request = AppendMessagesRequest {
        thread: Some(thread.to_owned().into()),
        messages: vec![message],
        ..Default::default()
    };
    clients.messages.append_messages(request).await?;
    Ok(())
}

/// Adds the texts of all JSON files below a directory.
fn read(dir: &Path, texts: &mut Vec<String>) -> Result<(), Failure> {
    let mut entries = fs::read_dir(dir)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for path in entries.iter().map(fs::DirEntry::path) {
        if path.is_dir() {
            read(&path, texts)?;
        } else if path
            .extension()
            .is_some_and(|end| end == "json" || end == "jsonl")
        {
            let file = fs::read_to_string(&path)?;
            for value in serde_json::Deserializer::from_str(&file).into_iter::<Value>() {
                collect(value?, texts);
            }
        }
    }
    Ok(())
}

/// Adds the strings of a value that have a space.
fn collect(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(' ') => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields
            .into_iter()
            .for_each(|(_, field)| collect(field, texts)),
        _ => {}
    }
}
