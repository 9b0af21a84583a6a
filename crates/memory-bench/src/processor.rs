//! Processor time and memory of the processes that take part in a call.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::{
    machine::{read_from_disk, resident_mib, share_mib},
    stats::Spread,
};

/// The unit in which the system counts processor time, in milliseconds: USER_HZ is 100 on every
/// common architecture.
const TICK_MS: f64 = 10.0;

/// The processes of a service on this machine.
#[derive(Clone, Default)]
pub struct Processes {
    /// The server; with embedded defaults it is also the worker and the index.
    pub server: Option<u32>,
    pub workers: Vec<u32>,
    /// The one of Postgres that started the others.
    pub postgres: Option<u32>,
    pub qdrant: Vec<u32>,
}

/// Processor time of memory-bench, server, workers, Postgres and Qdrant, in milliseconds; `None`
/// for what is not known or not on this machine.
#[derive(Clone, Copy, Default)]
pub struct ProcessorTime([Option<f64>; 5]);

impl Processes {
    /// What the processes have used so far.
    pub fn processor_time(&self) -> ProcessorTime {
        ProcessorTime([
            used(&[std::process::id()]),
            used(self.server.as_slice()),
            used(&self.workers),
            self.postgres.and_then(used_with_children),
            used(&self.qdrant),
        ])
    }

    /// The processes of the binary itself: those to suspend.
    pub fn own(&self) -> impl Iterator<Item = u32> {
        self.server.iter().chain(&self.workers).copied()
    }

    /// Resident memory of the server and the workers together, in MiB; `None` if it is not known.
    pub fn resident_mib(&self) -> Option<f64> {
        self.server?;
        self.own().map(resident_mib).sum()
    }

    /// Resident memory of Qdrant, in MiB; `None` if it is not on this machine.
    pub fn qdrant_resident_mib(&self) -> Option<f64> {
        if self.qdrant.is_empty() {
            return None;
        }
        self.qdrant.iter().copied().map(resident_mib).sum()
    }

    /// Memory of all processes of Postgres, in MiB, of which each shared page counts once; `None`
    /// if it is not known.
    pub fn postgres_mib(&self) -> Option<f64> {
        let first = self.postgres?;
        // One that ends meanwhile does not count.
        let others = children(first).filter_map(|(pid, _)| share_mib(pid));
        Some(share_mib(first)? + others.sum::<f64>())
    }

    /// Bytes that the server, the workers and Qdrant have read from disks so far; 0 where the
    /// system does not count them.
    pub fn read_from_disk(&self) -> u64 {
        let all = self.own().chain(self.qdrant.iter().copied());
        all.map(read_from_disk).sum()
    }

    /// Processor time of Qdrant so far, in milliseconds; `None` if it is not on this machine.
    pub fn qdrant_ms(&self) -> Option<f64> {
        used(&self.qdrant)
    }
}

impl ProcessorTime {
    /// What was used since an earlier moment.
    pub fn since(self, before: Self) -> Self {
        let mut since = self;
        for (now, before) in since.0.iter_mut().zip(before.0) {
            *now = now.zip(before).map(|(now, before)| (now - before).max(0.0));
        }
        since
    }

    /// Of each process, for one of so many calls.
    pub fn per_call(self, calls: u64) -> Self {
        let calls = calls.max(1) as f64;
        Self(self.0.map(|ms| ms.map(|ms| ms / calls)))
    }
}

/// Processor milliseconds of one call, by process; absent where they are not known.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ProcessorFigures {
    /// memory-bench itself: its callers.
    pub memory_bench: Option<Spread>,
    pub server: Option<Spread>,
    pub workers: Option<Spread>,
    pub postgres: Option<Spread>,
    pub qdrant: Option<Spread>,
}

impl ProcessorFigures {
    /// The processes, as a table's headings.
    pub const HEADINGS: [&str; 5] = ["memory-bench", "server", "workers", "Postgres", "Qdrant"];

    /// The figures over rounds, of each of which this is a call's time.
    pub fn of(rounds: &[ProcessorTime]) -> Self {
        let spread = |place: usize| {
            let of_rounds = rounds.iter().map(|round| round.0[place]);
            let of_rounds: Option<Vec<f64>> = of_rounds.collect();
            of_rounds
                .filter(|of_rounds| !of_rounds.is_empty())
                .map(|of_rounds| Spread::of(&of_rounds, 2))
        };
        Self {
            memory_bench: spread(0),
            server: spread(1),
            workers: spread(2),
            postgres: spread(3),
            qdrant: spread(4),
        }
    }

    /// The figures, in the order of [`Self::HEADINGS`].
    pub fn each(&self) -> [Option<Spread>; 5] {
        let Self {
            memory_bench,
            server,
            workers,
            postgres,
            qdrant,
        } = *self;
        [memory_bench, server, workers, postgres, qdrant]
    }
}

/// What the system knows of a process.
struct Stat {
    parent: u32,
    /// Ticks of the process itself.
    own: u64,
    /// Ticks of its children that have ended.
    ended: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads the fields of `man 5 proc_pid_stat`. The second one, the program's name, may have
    /// spaces and parentheses.
    fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(field(4)?).ok()?,
            own: field(14)? + field(15)?,
            ended: field(16)? + field(17)?,
        })
    }
}

/// Milliseconds of the processes; `None` without any, or if one has ended.
fn used(pids: &[u32]) -> Option<f64> {
    if pids.is_empty() {
        return None;
    }
    let ticks = pids.iter().map(|pid| Some(Stat::of(*pid)?.own));
    Some(ticks.sum::<Option<u64>>()? as f64 * TICK_MS)
}

/// Milliseconds of a process and all its children, also of those that have ended.
fn used_with_children(pid: u32) -> Option<f64> {
    // First, so that one that ends meanwhile is rather counted twice than not at all.
    let children: u64 = children(pid).map(|(_, stat)| stat.own).sum();
    let stat = Stat::of(pid)?;
    Some((stat.own + stat.ended + children) as f64 * TICK_MS)
}

/// The children of a process.
fn children(pid: u32) -> impl Iterator<Item = (u32, Stat)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all = pids.filter_map(|one: u32| Some((one, Stat::of(one)?)));
    all.filter(move |(_, stat)| stat.parent == pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_spaces_and_parentheses() {
        let line = "7 (a) b (c)) S 3 7 7 0 -1 4194560 9 9 9 9 11 12 13 14 20 0 1 0 5";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.parent, stat.own, stat.ended), (3, 23, 27));
    }

    #[test]
    fn figures_are_of_processes_that_each_round_knows() {
        let round = |server| ProcessorTime([Some(1.0), server, None, None, None]);
        let known = [round(Some(10.0)), round(Some(20.0))].map(|round| round.per_call(10));
        let figures = ProcessorFigures::of(&known);
        assert_eq!(figures.server.unwrap().to_string(), "1.50 (1.00–2.00)");
        assert!(figures.workers.is_none());
        let gone = [round(Some(10.0)), round(None)];
        assert!(ProcessorFigures::of(&gone).server.is_none());
        assert!(ProcessorFigures::of(&[]).memory_bench.is_none());
    }

    #[test]
    fn time_since_a_moment_is_the_difference() {
        let at = |ms| ProcessorTime([Some(ms), None, None, None, None]);
        assert_eq!(at(30.0).since(at(10.0)).0[0], Some(20.0));
    }
}
