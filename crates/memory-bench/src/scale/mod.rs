//! The same calls on a service with more and more messages.

mod fill;
mod finished;
mod measure;
mod model;
mod of_size;
mod options;
mod synthetic;

use std::{fs, path::Path, sync::Arc, time::Duration};

use serde::Serialize;

use crate::{
    Failure, Target,
    clients::Clients,
    data::Directory,
    machine::Machine,
    quality::{self, SetReport},
    random::Random,
    service::Service,
    stats::rounded,
    table::table,
};
use fill::Tenants;
use finished::Finished;
use of_size::OfSize;

pub use options::Options;

#[derive(Serialize)]
struct Report {
    machine: Machine,
    index: &'static str,
    workers_apart: u16,
    tenants: usize,
    generated_vectors: bool,
    sizes: Vec<OfSize>,
    /// Beside the conversations of the largest size.
    quality: Vec<SetReport>,
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
    let grown = grow(target, options, &sizes, &mut finished).await;
    let (quality, outcome) = match grown {
        Ok(quality) => (quality, Ok(())),
        Err(error) if finished.sizes.is_empty() => return Err(error),
        Err(error) => (Vec::new(), Err(error)),
    };
    let report = Report {
        machine: Machine::here(),
        index: target.index(),
        workers_apart: target.workers_apart(),
        tenants: options.tenants,
        generated_vectors: !options.embed,
        sizes: finished.sizes,
        quality,
    };
    match json {
        true => println!("{}", serde_json::to_string(&report)?),
        false => report.print(),
    }
    outcome
}

/// Measures the sizes that are not finished, and the quality at the last one.
async fn grow(
    target: &Target,
    options: &Options,
    sizes: &[usize],
    finished: &mut Finished,
) -> Result<Vec<SetReport>, Failure> {
    let first = finished.sizes.len();
    if first >= sizes.len() {
        return Ok(Vec::new());
    }
    let tenants = |place: usize| {
        let (smaller, from) = sizes.split_at(place);
        Tenants::new(options.tenants.max(1), smaller, from[0])
    };
    let all = tenants(first);
    let keys = all.config();
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
    let mut quality = Vec::new();
    if !options.quality.is_empty() {
        let other = fill::header(all.other())?;
        let clients = Clients::new(service.channel().await?, &other);
        quality = quality::sets(&clients, &options.quality, options.sample, false).await?;
    }
    service.stop().await?;
    Ok(quality)
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
    let processes = service.processes();
    let data = service.data_dir().ok_or("no data directory")?;
    Ok(OfSize {
        messages: tenants.sum(),
        calls,
        added_messages: filled.added,
        durable_messages_per_s: rounded(filled.durable_per_s, 0),
        searchable_messages_per_s: rounded(filled.searchable_per_s, 0),
        start_s: rounded(service.start_time().unwrap_or_default().as_secs_f64(), 2),
        first_recall_s: rounded(first_recall.as_secs_f64(), 2),
        rss_mb: processes.resident_mib().map(|mib| rounded(mib, 0)),
        postgres_mb: processes.postgres_mib().map(|mib| rounded(mib, 0)),
        qdrant_rss_mb: processes.qdrant_resident_mib().map(|mib| rounded(mib, 0)),
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

impl Report {
    fn print(&self) {
        let (machine, index) = (self.machine.line(), self.index);
        println!(
            "{machine}, index: {index}, workers apart: {}",
            self.workers_apart
        );
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
        let or_dash = |mib: Option<f64>| mib.map_or("-".to_owned(), |mib| mib.to_string());
        add("resident memory, MB", &|size| or_dash(size.rss_mb));
        add("memory of Postgres, MB", &|size| or_dash(size.postgres_mb));
        add("resident memory of Qdrant, MB", &|size| {
            or_dash(size.qdrant_rss_mb)
        });
        add("data on disk, MB", &|size| size.disk_mb.to_string());
        add("  of it index, MB", &|size| size.index_disk_mb.to_string());
        println!("{rows}");
        if !self.quality.is_empty() {
            println!();
            quality::print_sets(&self.quality);
        }
    }
}
