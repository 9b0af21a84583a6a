//! What the copy of an engine shares with it, and the engine's log.

use std::collections::BTreeSet;
use std::fs::File;

use super::super::compact::tests::{
    apply, copied, found, merge, point, point_of, queue, separate_segments, writer_with,
};
use super::super::writer::Writer;
use super::*;
use crate::config::VectorPrecision;
use crate::point::Change;

/// A point with a vector.
fn near(number: u128, seq: i64) -> Change {
    let Change::Upsert(mut near) = point_of(number, 1, seq, "Ada") else {
        panic!("no point")
    };
    near.dense = Some(vec![1.0, number as f32, seq as f32, 0.5]);
    Change::Upsert(near)
}

/// The files that have another name too.
fn shared(directory: &Path) -> Vec<PathBuf> {
    let mut shared = list(directory);
    shared.retain(|path| fs::metadata(path).unwrap().nlink() > 1);
    shared
}

/// Points in several segments, with all kinds of files.
fn filled(directory: &Path) -> Writer {
    let mut writer = writer_with(directory, Some(4), VectorPrecision::Int8);
    drop(writer.prepare().unwrap());
    writer.mark(false).unwrap();
    for segment in 0..3 {
        let numbers = segment * 1_000 + 1..=(segment + 1) * 1_000;
        apply(&mut writer, numbers.map(|number| near(number, 1)).collect());
        let shard = writer.shard().unwrap();
        shard.set_optimizers_config(separate_segments()).unwrap();
        shard.optimize().unwrap();
    }
    writer
}

#[test]
fn a_copy_shares_the_large_files_and_neither_engine_writes_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    let engine = writer.shard().unwrap().path().to_owned();
    let draft = writer.new_engine().unwrap();
    writer.flush().unwrap();
    copy_engine(&engine, &draft).unwrap();

    let files = shared(&draft);
    let names = files.iter().map(|path| path.file_name().unwrap());
    let names: BTreeSet<_> = names.map(|name| name.to_str().unwrap()).collect();
    assert_eq!(names, ONLY_READ.into());
    let bytes = |path: &PathBuf| fs::metadata(path).unwrap().blocks() * 512;
    assert_eq!(
        bytes_of(&engine) - bytes_to_copy(&engine),
        files.iter().map(bytes).sum::<u64>()
    );
    // Further links show what is written even after both engines have removed a file.
    let witnesses = tempfile::tempdir_in(directory.path()).unwrap();
    let content = |number: usize| fs::read(witnesses.path().join(number.to_string())).unwrap();
    let before: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(number, path)| {
            fs::hard_link(path, witnesses.path().join(number.to_string())).unwrap();
            content(number)
        })
        .collect();

    // Each engine changes points of each segment, merges them, and is opened again. The copy is
    // that of another writer.
    let other = tempfile::tempdir().unwrap();
    let mut copy = writer_with(other.path(), Some(4), VectorPrecision::Int8);
    let engine = copy.new_engine().unwrap();
    fs::rename(&draft, &engine).unwrap();
    copy.set_current(&engine).unwrap();
    drop(copy.prepare().unwrap());
    for (writer, seq) in [(&mut writer, 2), (&mut copy, 3)] {
        for merges in [false, true] {
            let shard = writer.shard().unwrap();
            if !merges {
                shard.set_optimizers_config(separate_segments()).unwrap();
            }
            let again = (1..=3_000).step_by(7);
            apply(writer, again.map(|number| near(number, seq)).collect());
            apply(
                writer,
                (3_001..=3_100).map(|number| near(number, 1)).collect(),
            );
            shard.optimize().unwrap();
            drop(shard);
            assert!(merges || !shared(&writer.directory).is_empty());
            let found = found(writer);
            assert_eq!(found.len(), 3_100);
            assert_eq!((found[&8], found[&9]), ((1, seq), (1, 1)));
            writer.close();
            drop(writer.prepare().unwrap());
        }
    }
    for (number, before) in before.iter().enumerate() {
        assert!(content(number) == *before, "{}", files[number].display());
    }
}

#[test]
fn the_log_of_an_open_engine_stays_small() {
    const STEP: u128 = 50;
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer_with(directory.path(), None, VectorPrecision::Full);
    drop(writer.prepare().unwrap());
    writer.mark(false).unwrap();
    let log = writer.shard().unwrap().path().join("wal");
    let closed = || {
        let mut closed: Vec<PathBuf> = list(&log);
        closed.retain(|path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("closed")
        });
        closed
    };
    let name = "n".repeat(100_000);
    let mut number = 0;
    while closed().len() < 3 {
        let next = number + 1..=number + STEP;
        apply(
            &mut writer,
            next.map(|number| point_of(number, 1, 1, &name)).collect(),
        );
        number += STEP;
    }
    let open: Vec<File> = closed()
        .iter()
        .map(|path| File::open(path).unwrap())
        .collect();
    writer.changes = usize::MAX;
    assert!(writer.optimize());
    assert_eq!(closed().len(), 1);
    // What the engine still has mapped takes no room.
    let sizes = open.iter().map(|file| file.metadata().unwrap().blocks());
    assert_eq!(sizes.filter(|blocks| *blocks > 0).count(), 1);

    // It goes on, in a merge and after a start.
    apply(&mut writer, vec![point(1)]);
    let (commands, mut queue) = queue();
    merge(&mut writer, &commands);
    let taken = writer.take_copy(copied(&mut queue), |_| {}).unwrap();
    taken.result.unwrap();
    apply(&mut writer, vec![point_of(2, 1, 7, "")]);
    writer.close();
    writer.prepare().unwrap();
    let found = found(&writer);
    assert_eq!((found.len() as u128, found[&2]), (number, (1, 7)));
}
