//! The same calls on a service with more and more messages.

mod fill;
mod finished;
mod measure;
mod model;
mod synthetic;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::{
    Failure, Target,
    data::Directory,
    machine::{Machine, resident_mib},
    random::Random,
    service::Service,
    stats::rounded,
    table::table,
};
use fill::Tenants;
use finished::Finished;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Messages, ascending: 10k, 100k, 1M. The service grows from each size to the next.
    #[arg(long, value_delimiter = ',', default_values_t = [Size(10_000), Size(100_000), Size(1_000_000)])]
    sizes: Vec<Size>,
    /// Tenants, with shares by Zipf's law.
    #[arg(long, default_value_t = 1_000)]
    tenants: usize,
    /// Embed every message with the default model, instead of generating vectors. At about
    /// 200 messages a second.
    #[arg(long)]
    embed: bool,
    /// Keep the data in this directory, which only this command writes to. The same command goes on
    /// where a run that was interrupted stopped, and does not measure a size again. Go on within two
    /// days of the first import of a size: for so long the service knows which messages it has.
    /// Default: a temporary directory.
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Rounds, each with one block of each kind in random order.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of a block.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Seed of the order of blocks and of the questions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A number of messages, such as 10k or 1M.
#[derive(Clone, Copy)]
struct Size(usize);

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1_000),
            None => match text.strip_suffix(['m', 'M']) {
                Some(digits) => (digits, 1_000_000),
                None => (text, 1),
            },
        };
        let number: usize = digits
            .parse()
            .map_err(|_| format!("\"{text}\" is not a number such as 10000, 10k or 1M"))?;
        Ok(Self(number * unit))
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            size if size > 0 && size.is_multiple_of(1_000_000) => {
                write!(f, "{}M", size / 1_000_000)
            }
            size if size > 0 && size.is_multiple_of(1_000) => write!(f, "{}k", size / 1_000),
            size => write!(f, "{size}"),
        }
    }
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    index: &'static str,
    tenants: usize,
    generated_vectors: bool,
    sizes: Vec<OfSize>,
}

#[derive(Serialize, Deserialize)]
struct OfSize {
    messages: usize,
    /// The largest size's median to the smallest one's is what scaling is judged by.
    calls: measure::Measured,
    /// Messages that the size before did not have, less those of an interrupted run; 0 if all
    /// were there.
    added_messages: usize,
    durable_messages_per_s: f64,
    searchable_messages_per_s: f64,
    /// Start on existing data, until the service is ready.
    start_s: f64,
    /// From then until a recall uses the index.
    first_recall_s: f64,
    /// Resident memory of the service after the measurement, without Postgres.
    rss_mb: Option<f64>,
    /// The data directory: the database, and the index if it is embedded.
    disk_mb: f64,
    index_disk_mb: f64,
}

/// Runs all sizes and prints the report, also if a later size fails.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    if target.addr.is_some() {
        return Err("scale fills a service of its own; omit --addr".into());
    }
    if options.data_dir.is_some() && target.qdrant.is_some() {
        return Err("--data-dir keeps an embedded index; omit --qdrant".into());
    }
    let sizes: Vec<usize> = options.sizes.iter().map(|size| size.0).collect();
    if !sizes.is_sorted_by(|one, next| one < next) {
        return Err("--sizes ascend, as in 10k,100k,1M".into());
    }
    let mut finished = Finished::read(options)?;
    let outcome = grow(target, options, &sizes, &mut finished).await;
    if outcome.is_err() && finished.sizes.is_empty() {
        return outcome;
    }
    let report = Report {
        machine: Machine::here(),
        index: match target.qdrant {
            Some(_) => "qdrant",
            None => "embedded",
        },
        tenants: options.tenants,
        generated_vectors: !options.embed,
        sizes: finished.sizes,
    };
    match json {
        true => println!("{}", serde_json::to_string(&report)?),
        false => report.print(),
    }
    outcome
}

/// Measures the sizes that are not finished.
async fn grow(
    target: &Target,
    options: &Options,
    sizes: &[usize],
    finished: &mut Finished,
) -> Result<(), Failure> {
    let first = finished.sizes.len();
    if first >= sizes.len() {
        return Ok(());
    }
    let tenants = |place: usize| {
        let (smaller, from) = sizes.split_at(place);
        Tenants::new(options.tenants.max(1), smaller, from[0])
    };
    let keys = tenants(first).config();
    let model_dir = tempfile::tempdir()?;
    let filling = if options.embed {
        keys.clone()
    } else {
        model::write(model_dir.path())?;
        let dir = model_dir.path().display().to_string();
        format!("{keys}\n[embedding]\nmodel_dir = {dir:?}\n")
    };
    let data = match &options.data_dir {
        Some(dir) => Directory::kept(dir)?,
        None => Directory::temporary()?,
    };
    let mut service = Service::start_on(target, data, &filling).await?;
    for place in first..sizes.len() {
        let tenants = Arc::new(tenants(place));
        let filled = fill::fill(&service, &tenants).await?;
        service.rested().await?;
        // With the default model: queries cost what they cost.
        service = service.restart(target, &keys).await?;
        let measured = measured(&service, options, &tenants, &filled).await?;
        // A larger size can take hours.
        eprintln!("{}", measured.line());
        finished.add(measured)?;
        if place + 1 < sizes.len() {
            service = service.restart(target, &filling).await?;
        }
    }
    service.stop().await
}

async fn measured(
    service: &Service,
    options: &Options,
    tenants: &Tenants,
    filled: &fill::Filled,
) -> Result<OfSize, Failure> {
    let mut random = Random::new(options.seed);
    let mut callers = measure::Callers::connect(service, tenants, &mut random).await?;
    let first_recall = callers.first_recall().await?;
    let block = Duration::from_secs(options.seconds.max(1));
    let calls = callers
        .measure(service, options.rounds.max(1), block, &mut random)
        .await?;
    let data = service.data_dir().ok_or("no data directory")?;
    Ok(OfSize {
        messages: tenants.sum(),
        calls,
        added_messages: filled.added,
        durable_messages_per_s: rounded(filled.durable_per_s, 0),
        searchable_messages_per_s: rounded(filled.searchable_per_s, 0),
        start_s: rounded(service.start.unwrap_or_default().as_secs_f64(), 2),
        first_recall_s: rounded(first_recall.as_secs_f64(), 2),
        rss_mb: service
            .pid
            .and_then(resident_mib)
            .map(|mib| rounded(mib, 0)),
        disk_mb: mib_on_disk(&data)?,
        index_disk_mb: mib_on_disk(&data.join(crate::service::INDEX_DIR))?,
    })
}

/// The size of a directory's files in MiB; 0 if it does not exist. Files that vanish
/// meanwhile do not count.
fn mib_on_disk(dir: &Path) -> Result<f64, Failure> {
    fn bytes(dir: &Path) -> std::io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        let mut sum = 0;
        for entry in fs::read_dir(dir)?.flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            sum += match metadata.is_dir() {
                true => bytes(&entry.path()).unwrap_or_default(),
                // What is allocated: the index's files have holes.
                false => metadata.blocks() * 512,
            };
        }
        Ok(sum)
    }
    if !dir.exists() {
        return Ok(0.0);
    }
    Ok(rounded(bytes(dir)? as f64 / 1_048_576.0, 0))
}

impl OfSize {
    /// The figures that matter most, in one line.
    fn line(&self) -> String {
        let calls = measure::KINDS.into_iter().enumerate();
        let p50 = calls.map(|(place, name)| {
            let p50 = self.calls.figures(place).p50_ms;
            format!("{name} {p50} ms")
        });
        format!(
            "{} messages, {} of them a second until searchable: p50 of {}",
            self.messages,
            self.searchable_messages_per_s,
            p50.collect::<Vec<_>>().join(", ")
        )
    }
}

impl Report {
    fn print(&self) {
        println!("{}, index: {}", self.machine.line(), self.index);
        let vectors = match self.generated_vectors {
            true => "generated vectors",
            false => "embedded messages",
        };
        println!("{} tenants, {vectors}\n", self.tenants);
        let sizes: Vec<String> = self
            .sizes
            .iter()
            .map(|size| size.messages.to_string())
            .collect();
        let headings: Vec<&str> = ["messages"]
            .into_iter()
            .chain(sizes.iter().map(String::as_str))
            .collect();
        let mut rows = table(&headings, 1);
        let mut add = |name: &str, figure: &dyn Fn(&OfSize) -> String| {
            let first = [name.to_owned()].into_iter();
            rows.add_row(first.chain(self.sizes.iter().map(figure)));
        };
        for (place, name) in measure::KINDS.into_iter().enumerate() {
            add(&format!("{name}, p50 ms"), &|size| {
                size.calls.figures(place).p50_ms.to_string()
            });
            add(&format!("{name}, p95 ms"), &|size| {
                size.calls.figures(place).p95_ms.to_string()
            });
            add(&format!("{name}, p99 ms"), &|size| {
                format!("{:.2}", size.calls.figures(place).p99_ms)
            });
            add(&format!("{name}, KiB read from the disk"), &|size| {
                size.calls.read_kib(place).to_string()
            });
        }
        add("messages imported", &|size| size.added_messages.to_string());
        add("import, messages/s until durable", &|size| {
            size.durable_messages_per_s.to_string()
        });
        add("import, messages/s until searchable", &|size| {
            size.searchable_messages_per_s.to_string()
        });
        add("start on existing data, s", &|size| {
            size.start_s.to_string()
        });
        add("first recall after it, s", &|size| {
            size.first_recall_s.to_string()
        });
        add("resident memory, MB", &|size| {
            size.rss_mb.map_or("-".to_owned(), |mib| mib.to_string())
        });
        add("data on disk, MB", &|size| size.disk_mb.to_string());
        add("  of it index, MB", &|size| size.index_disk_mb.to_string());
        println!("{rows}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_short() {
        for (text, number) in [("10k", 10_000), ("1M", 1_000_000), ("1500", 1_500)] {
            let size: Size = text.parse().unwrap();
            assert_eq!(size.0, number);
            assert_eq!(size.to_string(), text);
        }
        assert!("ten".parse::<Size>().is_err());
    }
}
