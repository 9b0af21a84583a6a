//! Which engine is in use after replacements that succeed, fail, or are interrupted.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use tokio::sync::watch;

use super::super::command::Copied;
use super::super::compact::tests::{
    apply, copied, deletion, engines, filled, found, merge, open, point, points, queue,
};
use super::super::copying::Copying;
use super::super::files::copy_engine;
use super::super::setup;
use super::super::writer::SEGMENTS;
use super::*;
use crate::index::Prepared;
use crate::point::Change;

/// An index of 100 points, and a merged copy of it that is handed over after some changes.
fn merged(directory: &Path, changes: Vec<Change>) -> (Writer, Copied) {
    let mut writer = filled(directory);
    let (commands, mut queue) = queue();
    merge(&mut writer, &commands);
    apply(&mut writer, changes);
    (writer, copied(&mut queue))
}

/// Takes a copy, and returns the result and whether an engine was open each time that one was
/// published.
fn take(writer: &mut Writer, copied: Copied) -> (Result<(), IndexError>, Vec<bool>) {
    let published = RefCell::new(Vec::new());
    let publish = |engine: Option<_>| published.borrow_mut().push(engine.is_some());
    let taken = writer.take_copy(copied, publish).unwrap();
    (taken.result, published.into_inner())
}

/// Makes each segment of an engine unreadable.
fn corrupt(engine: &Path) {
    for segment in fs::read_dir(engine.join(SEGMENTS)).unwrap() {
        fs::write(segment.unwrap().path().join("segment.json"), "{").unwrap();
    }
}

#[test]
fn an_index_whose_replacement_fails_goes_on_as_it_was() {
    let failures: [fn(&Path); 3] = [
        // The copy is gone.
        |draft| fs::remove_dir_all(draft).unwrap(),
        // The copy is partly gone.
        |draft| fs::remove_dir_all(draft.join(SEGMENTS)).unwrap(),
        // The name of the engine cannot be written.
        |draft| fs::create_dir(draft.with_file_name("current.draft")).unwrap(),
    ];
    for (number, fail) in failures.into_iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let changes = vec![deletion(7), point(101), point(102)];
        let (mut writer, merged) = merged(directory.path(), changes);
        fail(&merged.draft);
        let (result, published) = take(&mut writer, merged);
        assert!(result.is_err() && published.is_empty(), "{number}");
        assert_eq!(found(&writer).len(), 101, "{number}");
        assert_eq!(engines(directory.path()), 1, "{number}");
        apply(&mut writer, vec![point(103)]);
        // The next merge succeeds.
        let _ = fs::remove_dir(writer.directory.join("current.draft"));
        let (commands, mut queue) = queue();
        merge(&mut writer, &commands);
        take(&mut writer, copied(&mut queue)).0.unwrap();
        assert_eq!(points(&mut writer), 102, "{number}");
        assert_eq!(engines(directory.path()), 1, "{number}");
    }
}

#[test]
fn a_copy_that_cannot_be_opened_does_not_take_the_place_of_the_engine() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    let (commands, mut queue) = queue();
    let draft = writer.new_engine().unwrap();
    let (schema, vectors, made) = (writer.schema.clone(), writer.vectors, draft.clone());
    let make = move |_: &Log| {
        let engine = setup::create(&made, &schema, vectors).unwrap();
        engine.flush();
        drop(engine);
        corrupt(&made);
        let other = made.with_extension("other");
        fs::create_dir(&other).unwrap();
        Ok(setup::create(&other, &schema, vectors).unwrap())
    };
    let begun = writer.begin_making(&draft, &commands.downgrade(), make);
    let log = begun.unwrap();
    writer.copying = Some(Copying::new(draft.clone(), log, Vec::new()));
    assert!(take(&mut writer, copied(&mut queue)).0.is_err());
    assert!(!draft.exists());
    assert_eq!(points(&mut writer), 100);
}

#[test]
fn an_index_that_is_lost_while_it_is_replaced_is_new_when_it_is_prepared() {
    let directory = tempfile::tempdir().unwrap();
    let (mut writer, merged) = merged(directory.path(), Vec::new());
    fs::remove_file(writer.directory.join("current")).unwrap();
    fs::create_dir(writer.directory.join("current.draft")).unwrap();
    let (result, published) = take(&mut writer, merged);
    assert!(result.is_err());
    // It has to be filled, so it stays closed until it is prepared.
    assert!(writer.shard().is_none());
    assert_eq!(published, [false, false]);
    assert_eq!(writer.prepare().unwrap().1, Prepared::New);
}

#[test]
fn a_copy_that_is_named_although_naming_it_failed_is_the_engine_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let (mut writer, merged) = merged(directory.path(), vec![point(101)]);
    let draft = merged.draft.clone();
    let name = draft.file_name().unwrap().to_str().unwrap();
    fs::write(writer.directory.join("current"), name).unwrap();
    fs::create_dir(writer.directory.join("current.draft")).unwrap();
    let (result, published) = take(&mut writer, merged);
    assert!(result.is_err());
    assert_eq!(published, [false, true]);
    assert_eq!(writer.shard().unwrap().path(), draft);
    assert_eq!(found(&writer).len(), 101);
    assert_eq!(engines(directory.path()), 1);
    assert_eq!(points(&mut writer), 101);
}

#[test]
fn an_engine_is_searched_at_every_moment_of_a_replacement() {
    let directory = tempfile::tempdir().unwrap();
    let (mut writer, merged) = merged(directory.path(), vec![point(101)]);
    writer.apply(vec![point(102)]).unwrap();
    let (published, searched) = watch::channel(writer.shard());
    let former = writer.shard().unwrap().path().to_owned();
    let publish = |engine| {
        // The former one still answers, and the new one has all that it has.
        let present = |engine: &Option<Arc<EdgeShard>>| {
            engine.as_ref().map(|engine| engine.info().points_count)
        };
        assert_eq!(present(&searched.borrow()), Some(102));
        assert_eq!(present(&engine), Some(102));
        published.send_replace(engine);
        assert!(former.exists());
    };
    let taken = writer.take_copy(merged, publish).unwrap();
    taken.result.unwrap();
    assert!(!former.exists());
    let engine = searched.borrow().clone().unwrap();
    assert_eq!(engine.path(), writer.shard().unwrap().path());
}

#[test]
fn an_interrupted_replacement_is_undone_or_ended() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    let engine = |writer: &Writer| writer.current().unwrap().unwrap();
    let copy = |from: &Path, to: &Path| {
        fs::create_dir(to).unwrap();
        copy_engine(from, to).unwrap();
    };
    // Before the copy was named, while its name was written.
    writer.close();
    let draft = writer.directory.join("engine-9999999");
    copy(&engine(&writer), &draft);
    fs::write(writer.directory.join("current.draft"), "engine-7").unwrap();
    assert_eq!(points(&mut writer), 100);
    assert!(!draft.exists());
    // After that, with a former engine that lacks a change.
    writer.close();
    let elsewhere = tempfile::tempdir().unwrap();
    let former = elsewhere.path().join("former");
    copy(&engine(&writer), &former);
    assert_eq!(open(&mut writer), Prepared::Whole);
    apply(&mut writer, vec![point(101)]);
    writer.close();
    copy(&former, &draft);
    assert_eq!(points(&mut writer), 101);
    assert_eq!(engines(directory.path()), 1);
    // While the former engine was removed.
    writer.close();
    fs::create_dir_all(draft.join("wal")).unwrap();
    assert_eq!(points(&mut writer), 101);
    assert_eq!(engines(directory.path()), 1);
}

#[test]
fn a_removed_index_does_not_return() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    let former = writer.new_engine().unwrap();
    copy_engine(writer.shard().unwrap().path(), &former).unwrap();
    let collection = writer.schema.collection().to_owned();
    writer.discard(&collection).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    assert_eq!(open(&mut writer), Prepared::New);

    // Nor does the former engine return in the place of one that cannot be loaded.
    writer.mark(false).unwrap();
    let former = writer.new_engine().unwrap();
    let engine = writer.shard().unwrap().path().to_owned();
    copy_engine(&engine, &former).unwrap();
    writer.close();
    corrupt(&engine);
    assert_eq!(open(&mut writer), Prepared::New);
    assert_eq!(writer.points(), 0);
    // The new one, and the one that was set aside.
    assert_eq!(engines(directory.path()), 2);
}

#[test]
fn an_erasure_removes_what_is_left_of_an_index_that_was_partly_removed() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    let left = directory
        .path()
        .join("recollect-other-r10.broken-1/engine-3");
    fs::create_dir_all(&left).unwrap();
    copy_engine(writer.shard().unwrap().path(), &left).unwrap();
    let unrelated = directory.path().join("notes");
    fs::create_dir(&unrelated).unwrap();
    writer.remove_others().unwrap();
    assert_eq!(engines(directory.path()), 1);
    assert!(unrelated.exists() && !left.exists());
    assert_eq!(points(&mut writer), 100);
}

#[test]
fn an_index_whose_engine_has_no_readable_name_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    writer.close();
    fs::write(writer.directory.join("current"), "../elsewhere").unwrap();
    assert_eq!(writer.prepare().unwrap().1, Prepared::New);
    assert_eq!(writer.points(), 0);
    assert_eq!(engines(directory.path()), 2);
}
