//! Reads a file on a separate thread.

use memory_contract::ExportedThread;
use memory_contract::proto::{AppPolicy, File, Iteration, Memory, Plan, ResolveThreadRequest};
use tokio::sync::mpsc;

use super::Job;
use crate::cli::import::{
    Batch, Batcher, Head, Heads, ImportRecord, NodeTurn, Placed, agrees, read,
};

/// What the reading thread hands over, with its place in the file.
pub(super) enum Unit {
    AppPolicy(Box<AppPolicy>),
    File(Box<File>),
    Thread(Box<ResolveThreadRequest>),
    Batch(Batch),
    NodeTurn(Box<NodeTurn>),
    NodeEnd,
    Plan(Box<Plan>),
    Iteration(Box<Iteration>),
    Memory(Box<Memory>),
    ThreadEnd(ExportedThread),
    /// The checksum of an export that was read to its end.
    Checksum(String),
    Head(Head),
    Problem(String),
}

/// Reads the file and makes requests of it.
pub(super) fn produce(job: &Job, units: &mpsc::Sender<Placed<Unit>>) -> Result<(), String> {
    let mut batcher = Batcher::new(job.again);
    let mut heads = Heads::default();
    let send = |place: String, value: Unit| units.blocking_send(Placed { place, value }).is_ok();
    let send_batch = |batch: Option<Batch>| {
        batch.is_none_or(|batch| send(batch.place.clone(), Unit::Batch(batch)))
    };
    let send_heads = |heads: Heads| {
        let mut heads = heads.end().into_iter();
        heads.all(|head| send(head.session.session_key.clone(), Unit::Head(head)))
    };
    let result = read(
        &job.file,
        job.format,
        &job.defaults,
        job.again,
        &mut |record| {
            let Placed { place, value } = record;
            let unit = match value {
                Ok(ImportRecord::Message {
                    session,
                    message,
                    head,
                }) => {
                    heads.see(&session, &message.message_id, head);
                    return send_batch(batcher.push(place, session, *message));
                }
                Ok(ImportRecord::Thread(thread)) => {
                    return send_batch(batcher.take()) && send(place, Unit::Thread(thread));
                }
                Ok(ImportRecord::AppPolicy(policy)) => Unit::AppPolicy(policy),
                Ok(ImportRecord::File(file)) => Unit::File(file),
                Ok(ImportRecord::NodeTurn(turn)) => Unit::NodeTurn(turn),
                Ok(ImportRecord::NodeEnd) => Unit::NodeEnd,
                Ok(ImportRecord::Plan(plan)) => Unit::Plan(plan),
                Ok(ImportRecord::Iteration(iteration)) => Unit::Iteration(iteration),
                Ok(ImportRecord::Memory(memory)) => {
                    // Its sources have to be there before it, and heads in place: a
                    // thread's summary is of the path to its head.
                    return send_batch(batcher.take())
                        && send_heads(std::mem::take(&mut heads))
                        && send(place, Unit::Memory(memory));
                }
                Ok(ImportRecord::ThreadEnd(thread)) => Unit::ThreadEnd(thread),
                Ok(ImportRecord::UnreadableNode(node)) => Unit::Problem(format!(
                    "the memory of the node {node} could not be read when it was exported"
                )),
                Ok(ImportRecord::Summary { said, seen }) => match agrees(&said, &seen) {
                    Ok(()) => Unit::Checksum(said.checksum),
                    Err(problem) => Unit::Problem(format!(
                        "this is not what was exported: {problem}; what can be read was imported"
                    )),
                },
                Ok(ImportRecord::Incomplete) => Unit::Problem(
                    "the export broke off here, it has no summary; what there is was imported"
                        .to_owned(),
                ),
                Err(error) => Unit::Problem(error),
            };
            send(place, unit)
        },
    );
    send_batch(batcher.take());
    send_heads(heads);
    result
}
