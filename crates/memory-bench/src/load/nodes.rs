//! The memory of one node: turns added and flushed into its object, by one writer and by
//! many, compared with a plain durable write of a file of the object's final size.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{Read as _, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use memory_contract::proto::{
    AddNodeTurnRequest, FlushNodeMemoryRequest, ListNodeMemoriesRequest, NodeMessageInput, NodeRef,
};
use memory_contract::{AppId, TenantId, ThreadId};
use memory_store::Node;
use serde::{Deserialize, Serialize};

use super::history::fill;
use crate::{
    Failure,
    clients::{Clients, new_app},
    progress,
    service::Service,
    stats::{Latencies, Quantiles, rounded},
};

/// Writers of the second run.
const WRITERS: usize = 16;
/// Turns that a writer adds before it flushes, as a node does in one run of a workflow.
/// Each flush writes the whole object.
const RUN: usize = 10;
/// The single writer adds one turn for so many of the concurrent writers'.
const FEWER: usize = 10;
/// Durable writes of the floor.
const PLAIN_WRITES: usize = 200;
/// The node's name.
const NODE: &str = "planner";
/// The metric of object writes.
const WRITES: &str = "recollect_object_writes_total";

/// The two runs.
#[derive(Serialize)]
pub struct NodeFigures {
    turns_per_flush: usize,
    one_writer: Run,
    many_writers: Run,
}

/// One run, on a new node.
#[derive(Serialize)]
struct Run {
    writers: usize,
    turns: usize,
    turns_per_s: f64,
    flushes_per_s: f64,
    /// Calls that found turns to flush.
    folding_flushes: u64,
    add: Quantiles,
    flush: Quantiles,
    /// Flushes in the last tenth of the runs, when the object is about as large as the
    /// floor's file.
    flush_at_full_size: Quantiles,
    object_writes: u64,
    object_conflicts: u64,
    /// Bytes of the stored object.
    object_bytes: usize,
    json_bytes: usize,
    /// Writes and syncs of a file of as many bytes.
    floor: Quantiles,
    lost_turns: usize,
    doubled_turns: usize,
}

impl NodeFigures {
    /// Turns that were lost or duplicated in both runs; 0 is required.
    pub fn wrong(&self) -> usize {
        [&self.one_writer, &self.many_writers]
            .map(|run| run.lost_turns + run.doubled_turns)
            .iter()
            .sum()
    }

    /// Objects written per call that flushed turns, in both runs.
    pub fn writes_per_fold(&self) -> f64 {
        let runs = [&self.one_writer, &self.many_writers];
        let writes: u64 = runs.iter().map(|run| run.object_writes).sum();
        let folds: u64 = runs.iter().map(|run| run.folding_flushes).sum();
        rounded(writes as f64 / folds.max(1) as f64, 2)
    }

    /// The ratio of a flush's median at the object's full size to that of a plain durable
    /// write of as many bytes, for one writer without contention.
    pub fn ratio_to_floor(&self) -> f64 {
        let run = &self.one_writer;
        rounded(
            run.flush_at_full_size.p50_ms / run.floor.p50_ms.max(0.001),
            2,
        )
    }

    /// A summary in lines.
    pub fn lines(&self) -> [String; 2] {
        [&self.one_writer, &self.many_writers].map(|run| run.line(self.turns_per_flush))
    }
}

impl Run {
    fn line(&self, turns_per_flush: usize) -> String {
        format!(
            "node, {} writer{}: {} turns, {turns_per_flush} to a flush: {:.0} turns/s, {:.1} \
             flushes/s; add p50 {:.2} ms, p95 {:.2} ms; flush p50 {:.2} ms, p95 {:.2} ms over {} \
             flushes, p50 {:.2} ms in the last tenth; {} object writes for {} flushes that \
             folded, {} conflicts; {} lost, {} doubled; object of {} KiB, {} KiB as JSON; \
             floor, a file of that size written and synced: p50 {:.2} ms, p95 {:.2} ms",
            self.writers,
            if self.writers == 1 { "" } else { "s" },
            self.turns,
            self.turns_per_s,
            self.flushes_per_s,
            self.add.p50_ms,
            self.add.p95_ms,
            self.flush.p50_ms,
            self.flush.p95_ms,
            self.flush.count,
            self.flush_at_full_size.p50_ms,
            self.object_writes,
            self.folding_flushes,
            self.object_conflicts,
            self.lost_turns,
            self.doubled_turns,
            self.object_bytes.div_ceil(1024),
            self.json_bytes.div_ceil(1024),
            self.floor.p50_ms,
            self.floor.p95_ms,
        )
    }
}

/// Measures on a throw-away service with its objects in its data directory.
pub async fn measure(service: &Service, turns: usize) -> Result<NodeFigures, Failure> {
    Ok(NodeFigures {
        turns_per_flush: RUN,
        one_writer: run(service, 1, (turns / FEWER).max(1)).await?,
        many_writers: run(service, WRITERS, turns.max(1)).await?,
    })
}

async fn run(service: &Service, writers: usize, turns: usize) -> Result<Run, Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    let thread_id = fill(&mut clients, &app, "nodes", 1).await?;
    let node = NodeRef {
        thread: Some(thread_id.as_str().into()),
        node_id: NODE.to_owned(),
    };
    let before = writes(service).await?;
    let bar = progress::count(
        format!("adding turns to a node, {writers} at once"),
        turns as u64,
    );
    let work = Arc::new(Work {
        node: node.clone(),
        turns,
        next: AtomicUsize::new(0),
        bar,
    });
    let begin = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|_| tokio::spawn(writer(clients.clone(), Arc::clone(&work))))
        .collect();
    let mut all = Written::new()?;
    for task in tasks {
        all.merge(task.await??)?;
    }
    let elapsed = begin.elapsed();
    work.bar.finish_and_clear();
    let after = writes(service).await?;

    flush(&mut clients, &node).await?;
    let stored = Node {
        thread: ThreadId::from(uuid::Uuid::parse_str(&thread_id)?),
        id: NODE.to_owned(),
    };
    let key = stored.object_key(&TenantId::new("default"), &AppId::new(app));
    let objects = service.objects_dir().ok_or("the objects are not here")?;
    let object = fs::read(objects.join(&key))?;
    let json = unpacked(&object)?;
    let (lost_turns, doubled_turns) = compared(&all.ids, &json)?;
    let listed = message_count(&mut clients, thread_id).await?;
    if usize::try_from(listed)? != 2 * turns {
        return Err(format!("the service counts {listed} messages of {turns} turns").into());
    }
    let rate = |count: f64| rounded(count / elapsed.as_secs_f64().max(1e-9), 1);
    Ok(Run {
        writers,
        turns,
        turns_per_s: rate(turns as f64),
        flushes_per_s: rate(all.flush.quantiles().count as f64),
        folding_flushes: all.folding,
        add: all.add.quantiles(),
        flush: all.flush.quantiles(),
        flush_at_full_size: all.late_flush.quantiles(),
        object_writes: after.0 - before.0,
        object_conflicts: after.1 - before.1,
        object_bytes: object.len(),
        json_bytes: json.len(),
        floor: floor(&objects, &object)?,
        lost_turns,
        doubled_turns,
    })
}

/// The state that the writers of a run share.
struct Work {
    node: NodeRef,
    turns: usize,
    /// The next turn to add.
    next: AtomicUsize,
    bar: indicatif::ProgressBar,
}

/// The results of one writer.
struct Written {
    add: Latencies,
    flush: Latencies,
    late_flush: Latencies,
    folding: u64,
    /// The ids of both messages of each turn.
    ids: Vec<[String; 2]>,
}

impl Written {
    fn new() -> Result<Self, Failure> {
        Ok(Self {
            add: Latencies::new()?,
            flush: Latencies::new()?,
            late_flush: Latencies::new()?,
            folding: 0,
            ids: Vec::new(),
        })
    }

    fn merge(&mut self, other: Self) -> Result<(), Failure> {
        self.add.merge(&other.add)?;
        self.flush.merge(&other.flush)?;
        self.late_flush.merge(&other.late_flush)?;
        self.folding += other.folding;
        self.ids.extend(other.ids);
        Ok(())
    }
}

/// Takes runs until none is left.
async fn writer(mut clients: Clients, work: Arc<Work>) -> Result<Written, Failure> {
    let mut written = Written::new()?;
    loop {
        let first = work.next.fetch_add(RUN, Ordering::Relaxed);
        if first >= work.turns {
            return Ok(written);
        }
        for turn in first..work.turns.min(first + RUN) {
            let request = turn_request(&work.node, turn);
            let begin = Instant::now();
            let added = clients.nodes.add_node_turn(request).await?.into_inner();
            written.add.add(begin.elapsed());
            written
                .ids
                .push([added.user_message_id, added.assistant_message_id]);
            work.bar.inc(1);
        }
        let begin = Instant::now();
        let folded = flush(&mut clients, &work.node).await?;
        let took = begin.elapsed();
        written.flush.add(took);
        if first + RUN > work.turns - work.turns.div_ceil(10) {
            written.late_flush.add(took);
        }
        written.folding += u64::from(folded > 0);
    }
}

/// A turn of about a hundred bytes of text.
fn turn_request(node: &NodeRef, turn: usize) -> AddNodeTurnRequest {
    AddNodeTurnRequest {
        node: Some(node.clone()),
        user: Some(NodeMessageInput {
            content: format!("What is the plan for step {turn} of the work?"),
            ..Default::default()
        }),
        assistant: Some(NodeMessageInput {
            content: format!("Step {turn}: read what is there, and then write it."),
            ..Default::default()
        }),
        // Each turn has a request id, as recommended.
        request_id: uuid::Uuid::now_v7().to_string(),
        ..Default::default()
    }
}

/// The number of flushed turns.
async fn flush(clients: &mut Clients, node: &NodeRef) -> Result<i32, Failure> {
    let request = FlushNodeMemoryRequest {
        node: Some(node.clone()),
    };
    let flushed = clients.nodes.flush_node_memory(request).await?.into_inner();
    Ok(flushed.flushed_turn_count)
}

async fn message_count(clients: &mut Clients, thread_id: String) -> Result<i64, Failure> {
    let request = ListNodeMemoriesRequest {
        thread: Some(thread_id.into()),
        ..Default::default()
    };
    let listed = clients
        .nodes
        .list_node_memories(request)
        .await?
        .into_inner();
    let memory = listed.node_memories.first().ok_or("no memory is listed")?;
    Ok(memory.message_count)
}

/// Objects written, and writes that lost a race, since the service started.
async fn writes(service: &Service) -> Result<(u64, u64), Failure> {
    let of = |outcome: &str| format!("{WRITES}{{outcome=\"{outcome}\"}}");
    Ok((
        service.counter(&of("done")).await?,
        service.counter(&of("conflict")).await?,
    ))
}

/// Objects are compressed above a certain size.
fn unpacked(object: &[u8]) -> Result<Vec<u8>, Failure> {
    if object.starts_with(b"{") {
        return Ok(object.to_vec());
    }
    let mut json = Vec::new();
    zstd::Decoder::with_buffer(object)?.read_to_end(&mut json)?;
    Ok(json)
}

/// The number of turns that an object lacks, and of messages that it has in excess.
fn compared(ids: &[[String; 2]], json: &[u8]) -> Result<(usize, usize), Failure> {
    #[derive(Deserialize)]
    struct Memory {
        messages: Vec<Message>,
    }
    #[derive(Deserialize)]
    struct Message {
        message_id: String,
    }

    let memory: Memory = serde_json::from_slice(json)?;
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for message in &memory.messages {
        *seen.entry(&message.message_id).or_default() += 1;
    }
    let lost = ids
        .iter()
        .filter(|turn| !turn.iter().all(|id| seen.contains_key(id.as_str())))
        .count();
    let known: usize = ids
        .iter()
        .flatten()
        .filter(|id| seen.contains_key(id.as_str()))
        .count();
    Ok((lost, (memory.messages.len() - known).div_ceil(2)))
}

/// Writes the object's bytes to a separate file next to the objects, and syncs it.
fn floor(objects: &Path, object: &[u8]) -> Result<Quantiles, Failure> {
    let dir = tempfile::tempdir_in(objects.parent().unwrap_or(objects))?;
    let mut latencies = Latencies::new()?;
    for number in 0..PLAIN_WRITES {
        let path = dir.path().join(number.to_string());
        let begin = Instant::now();
        let mut file = File::create(path)?;
        file.write_all(object)?;
        file.sync_all()?;
        latencies.add(begin.elapsed().max(Duration::from_micros(1)));
    }
    Ok(latencies.quantiles())
}
