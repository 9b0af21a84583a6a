//! A process that is killed while it merges loses nothing.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Command;
use super::tests::{apply, engines, filled, found, merge, point, queue, writer};
use crate::index::Prepared;

/// The variable that names the directory of [`merges_until_it_is_killed`].
const KILLED_IN: &str = "RECOLLECT_TEST_KILLED_IN";
/// What it writes before the number of the last flushed point.
const FLUSHED: &str = "flushed ";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "this thread belongs to no runtime"
)]
fn an_index_whose_process_is_killed_while_it_merges_has_every_flushed_point() {
    let directory = tempfile::tempdir().unwrap();
    let mut filled = filled(directory.path());
    filled.close();
    let current = || filled.current().unwrap();
    let number = |line: &str| line.split_once(FLUSHED)?.1.parse::<u128>().ok();
    let mut known = 100;
    // Killed after so many flushes; then some wait for the moment when the engine is replaced.
    for (flushes, in_replacement) in [(1, true), (6, false), (3, true)] {
        let mut child = merging(directory.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        while seen < flushes {
            let line = lines.next().expect("it ended").unwrap();
            if let Some(number) = number(&line) {
                known = number;
                seen += 1;
            }
        }
        let begun = Instant::now();
        let former = current();
        while in_replacement && current() == former {
            assert!(begun.elapsed() < Duration::from_secs(300), "nothing merged");
            thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it wrote until the signal came, the last line perhaps in part.
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        let whole = rest.iter().rev().skip(1);
        known = whole
            .filter_map(|line| number(line))
            .next()
            .unwrap_or(known);
        let mut writer = writer(directory.path());
        assert_eq!(writer.prepare().unwrap().1, Prepared::Whole);
        let found = found(&writer);
        let lost: Vec<u128> = (1..=known)
            .filter(|number| !found.contains_key(number))
            .collect();
        assert!(lost.is_empty(), "{lost:?} of {known}");
        writer.close();
        assert_eq!(engines(directory.path()), 1);
    }
}

/// Starts a process that merges in a directory.
fn merging(directory: &Path) -> Child {
    let name = "edge::compact::killed_tests::merges_until_it_is_killed";
    let mut process = Process::new(std::env::current_exe().unwrap());
    process.args(["--ignored", "--exact", name, "--nocapture"]);
    process.env(KILLED_IN, directory).stdout(Stdio::piped());
    process.spawn().unwrap()
}

/// Writes points and merges without end, or until nothing reads what it writes.
#[test]
#[ignore = "another test starts it, and kills it"]
#[expect(
    clippy::disallowed_methods,
    reason = "the test that starts it names its directory"
)]
fn merges_until_it_is_killed() {
    let Ok(directory) = std::env::var(KILLED_IN) else {
        return;
    };
    let mut writer = writer(Path::new(&directory));
    assert_eq!(writer.prepare().unwrap().1, Prepared::Whole);
    let (commands, mut queue) = queue();
    let mut last = writer.shard().unwrap().info().points_count as u128;
    loop {
        if writer.copying.is_none() {
            merge(&mut writer, &commands);
        }
        // Points of before are written again, too.
        let changes = (last / 2..=last + 5).filter(|number| *number > 0);
        apply(&mut writer, changes.map(point).collect());
        last += 5;
        println!("{FLUSHED}{last}");
        if let Ok(Command::Copied(copied)) = queue.try_recv() {
            writer.take_copy(copied, |_| {}).unwrap().result.unwrap();
        }
    }
}
