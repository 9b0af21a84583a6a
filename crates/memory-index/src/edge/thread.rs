//! The writer's thread.

use std::sync::Arc;

use memory_runtime::error_chain;
use qdrant_edge::EdgeShard;
use tokio::sync::mpsc::WeakSender;
use tokio::sync::{mpsc, watch};

use super::command::{Command, Reply};
use super::compact::note_failure;
use super::copying::answer;
use super::engine::release;
use super::erase::Erased;
use super::writer::{REST, Writer};
use crate::backend::Backend;
use crate::error::IndexError;

pub(crate) fn describe_metrics() {
    metrics::describe_gauge!(
        BUSY,
        "Embedded indexes that are written, optimized or merged at the moment"
    );
}

/// The gauge of engines at work.
const BUSY: &str = "recollect_index_busy";

/// Counts this engine as at work, or not.
fn set_busy(is: &mut bool, now: bool) {
    if *is != now {
        *is = now;
        metrics::gauge!(BUSY).increment(if now { 1.0 } else { -1.0 });
    }
}

/// The loop of the writer thread.
pub(super) fn write(
    mut writer: Writer,
    mut queue: mpsc::Receiver<Command>,
    commands: WeakSender<Command>,
    published: watch::Sender<Option<Arc<EdgeShard>>>,
) {
    let publish = |engine: Option<Arc<EdgeShard>>| {
        if let Some(former) = published.send_replace(engine) {
            release(former);
        }
    };
    let timer = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let timer = match timer {
        Ok(timer) => timer,
        Err(error) => {
            tracing::error!(%error, "the thread that writes the index cannot start; start the service again");
            return;
        }
    };
    // Failed replies are ignored: the caller no longer waits.
    let mut next = None;
    let mut is_busy = false;
    loop {
        let command = match next.take() {
            Some(command) => Ok(Some(command)),
            None => timer.block_on(async { tokio::time::timeout(REST, queue.recv()).await }),
        };
        let command = match command {
            Ok(Some(command)) => command,
            Ok(None) => break,
            Err(_) => Command::Rest,
        };
        set_busy(&mut is_busy, true);
        match command {
            Command::Rest => {}
            Command::Prepare(reply) => {
                let prepared = writer.prepare().map(|(shard, prepared)| {
                    publish(Some(shard));
                    prepared
                });
                let _ = reply.send(prepared);
            }
            Command::Apply(changes, reply) => {
                // A flush costs more than the changes, so one covers all that wait.
                let mut applied = vec![(writer.apply(changes), reply)];
                while let Ok(command) = queue.try_recv() {
                    match command {
                        Command::Apply(changes, reply) => {
                            applied.push((writer.apply(changes), reply))
                        }
                        other => {
                            next = Some(other);
                            break;
                        }
                    }
                }
                acknowledge(applied, writer.flush());
                if queue.is_empty() && writer.optimize() {
                    writer.compact(&commands);
                }
            }
            Command::Mark(rebuilding, reply) => {
                let _ = reply.send(writer.mark(rebuilding));
            }
            Command::Erase(selection, reply) => {
                writer.erasures.push((selection, reply));
                writer.erase(&commands);
            }
            Command::Copied(copied) => {
                let erased = writer.take_copy(copied, publish);
                if let Some(Erased { result, replies }) = erased {
                    if let (true, Err(error)) = (replies.is_empty(), &result) {
                        note_failure(error);
                    }
                    if !replies.is_empty() {
                        answer(replies, result.and_then(|()| writer.remove_others()));
                    }
                }
                writer.erase(&commands);
                writer.optimize();
            }
            Command::Discard(name, reply) => {
                if writer.directory.ends_with(&name) {
                    publish(None);
                }
                let _ = reply.send(writer.discard(&name));
            }
            Command::Stop(reply) => {
                publish(None);
                writer.close();
                let _ = reply.send(());
                break;
            }
        }
        if writer.is_at_rest() {
            if writer.optimize_at_rest() {
                writer.compact(&commands);
            }
            writer.compact_at_rest(&commands);
        }
        set_busy(&mut is_busy, writer.copying.is_some());
    }
    set_busy(&mut is_busy, false);
    publish(None);
    writer.close();
}

/// Replies to changes after the flush that covers them. A failed flush fails them all.
fn acknowledge(applied: Vec<(Result<(), IndexError>, Reply)>, flushed: Result<(), IndexError>) {
    let failure = flushed.err().map(|error| error_chain(&error));
    for (result, reply) in applied {
        let flushed = match &failure {
            None => Ok(()),
            Some(error) => Err(IndexError::Unavailable {
                backend: Backend::Edge,
                source: error.as_str().into(),
            }),
        };
        let _ = reply.send(result.and(flushed));
    }
}
