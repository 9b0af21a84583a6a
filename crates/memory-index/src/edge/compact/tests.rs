//! Copies that take the place of an engine: merges and erasures, interrupted or not.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use memory_contract::{AppId, MessageId, TenantId, UserId, message::Role};
use memory_embed::EmbeddingModel;
use memory_testing::files_with;
use memory_text::{Form, LexicalVector};
use qdrant_edge::{EdgeOptimizersConfig, Filter, ScrollRequest, WithPayloadInterface, WithVector};
use time::OffsetDateTime;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::super::command::Copied;
use super::super::directory::Directory;
use super::*;
use crate::candidate_cache::CandidateCache;
use crate::config::VectorPrecision;
use crate::filter::Selection;
use crate::index::Prepared;
use crate::payload::candidate;
use crate::point::{Change, Point, Subject};
use crate::schema::IndexSchema;

/// A point of a thread with a seq.
pub(in crate::edge) fn point_of(number: u128, thread: u128, seq: i64, name: &str) -> Change {
    Change::Upsert(Box::new(Point {
        message: MessageId::from(Uuid::from_u128(number)),
        tenant: TenantId::new("acme"),
        app: AppId::new("support"),
        user: UserId::new("ada"),
        thread: Uuid::from_u128(thread).into(),
        seq,
        branch: 1,
        depth: 1,
        question: false,
        short: false,
        role: Role::User,
        name: name.to_owned(),
        said_by: UserId::default(),
        said: OffsetDateTime::UNIX_EPOCH,
        form: Form::default(),
        metadata: Default::default(),
        dense: None,
        passages: Vec::new(),
        lexical: LexicalVector {
            indices: vec![1],
            values: vec![1.0],
        },
    }))
}

pub(in crate::edge) fn point(number: u128) -> Change {
    point_of(number, 1, 1, "")
}

/// With these the engine closes a segment each time that it is optimized, and does not merge it.
pub(in crate::edge) fn separate_segments() -> EdgeOptimizersConfig {
    EdgeOptimizersConfig {
        indexing_threshold: Some(1),
        max_segment_size: Some(1),
        default_segment_number: Some(100),
        ..EdgeOptimizersConfig::default()
    }
}

pub(in crate::edge) fn deletion(number: u128) -> Change {
    Change::Delete {
        tenant: TenantId::new("acme"),
        subject: Subject::Message(MessageId::from(Uuid::from_u128(number))),
    }
}

/// The writer of a directory's index, which is not open.
pub(super) fn writer(directory: &Path) -> Writer {
    writer_of(directory, None)
}

/// The same for vectors of so many dimensions.
pub(super) fn writer_of(directory: &Path, dimensions: Option<usize>) -> Writer {
    writer_with(directory, dimensions, VectorPrecision::Full)
}

/// The same with a precision.
pub(in crate::edge) fn writer_with(
    directory: &Path,
    dimensions: Option<usize>,
    vectors: VectorPrecision,
) -> Writer {
    let parent = Arc::new(Directory::new(directory.to_owned()));
    let model = dimensions.map(|dimensions| EmbeddingModel {
        name: "small".to_owned(),
        dimensions,
    });
    let schema = IndexSchema::new("recollect", model.as_ref());
    let cache = Arc::new(CandidateCache::default());
    Writer::new(&parent, &schema, vectors, cache)
}

/// An index of 100 points.
pub(in crate::edge) fn filled(directory: &Path) -> Writer {
    let mut writer = writer(directory);
    drop(writer.prepare().unwrap());
    writer.mark(false).unwrap();
    apply(&mut writer, (1..=100).map(point).collect());
    writer
}

/// The channel to a writer.
pub(in crate::edge) fn queue() -> (mpsc::Sender<Command>, mpsc::Receiver<Command>) {
    mpsc::channel(2)
}

pub(in crate::edge) fn apply(writer: &mut Writer, changes: Vec<Change>) {
    writer.apply(changes).unwrap();
    writer.flush().unwrap();
}

/// Begins a merge.
pub(in crate::edge) fn merge(writer: &mut Writer, commands: &mpsc::Sender<Command>) {
    writer.copying = Some(writer.begin_compaction(&commands.downgrade()).unwrap());
}

pub(in crate::edge) fn copied(queue: &mut mpsc::Receiver<Command>) -> Copied {
    match queue.blocking_recv() {
        Some(Command::Copied(copied)) => copied,
        _ => panic!("no copy"),
    }
}

/// Opens the index, after closing it.
pub(in crate::edge) fn open(writer: &mut Writer) -> Prepared {
    writer.close();
    writer.prepare().unwrap().1
}

/// The number of points after a start.
pub(in crate::edge) fn points(writer: &mut Writer) -> u64 {
    assert_eq!(open(writer), Prepared::Whole);
    let shard = writer.shard().unwrap();
    super::super::reader::count(&shard, Filter::default(), true).unwrap()
}

/// The thread and the seq of each point.
pub(in crate::edge) fn found(writer: &Writer) -> BTreeMap<u128, (u128, i64)> {
    let request = ScrollRequest {
        offset: None,
        limit: Some(100_000),
        filter: None,
        with_payload: Some(WithPayloadInterface::Bool(true)),
        with_vector: WithVector::Bool(false),
        order_by: None,
    };
    let (records, _) = writer.shard().unwrap().scroll(request).unwrap();
    let found = records.iter().map(|record| {
        let found = candidate(&record.payload.as_ref().unwrap().0).unwrap();
        let thread = found.thread.uuid().as_u128();
        (found.id.as_u128(), (thread, found.seq))
    });
    found.collect()
}

/// The engines below the directory of indexes.
pub(in crate::edge) fn engines(directory: &Path) -> usize {
    let below = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    let engines = below(directory).flat_map(|index| below(&index.path()));
    let names = engines.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("engine-")).count()
}

#[test]
fn a_merged_index_has_what_was_changed_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    let (commands, mut queue) = queue();
    merge(&mut writer, &commands);
    apply(&mut writer, vec![deletion(7), point(101)]);
    let merged = copied(&mut queue);
    writer.apply(vec![deletion(8), point(102)]).unwrap();
    let taken = writer.take_copy(merged, |_| {}).unwrap();
    taken.result.unwrap();
    assert!(taken.replies.is_empty());
    // It goes on after another change and a start.
    apply(&mut writer, vec![deletion(9)]);
    assert_eq!(points(&mut writer), 99);
    assert_eq!(engines(directory.path()), 1);
}

#[test]
fn an_erasure_follows_a_merge() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    let (commands, mut queue) = queue();
    merge(&mut writer, &commands);
    let (reply, answer) = oneshot::channel();
    let everything = Selection::tenant(&TenantId::new("acme"));
    writer.erasures.push((everything, reply));
    for replies in [0, 1] {
        writer.erase(&commands.downgrade());
        let taken = writer.take_copy(copied(&mut queue), |_| {}).unwrap();
        taken.result.unwrap();
        assert_eq!(taken.replies.len(), replies);
    }
    drop(answer);
    assert_eq!(points(&mut writer), 0);
    assert_eq!(engines(directory.path()), 1);
}

#[test]
fn many_segments_are_merged_while_they_change() {
    const SEGMENT: u128 = 300;
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(directory.path());
    drop(writer.prepare().unwrap());
    writer.mark(false).unwrap();
    let mut expected = BTreeMap::new();
    writer
        .shard()
        .unwrap()
        .set_optimizers_config(separate_segments())
        .unwrap();
    for segment in 0..6 {
        let numbers = segment * SEGMENT + 1..=(segment + 1) * SEGMENT;
        let name = if segment == 2 { "Ada Erased" } else { "Ada" };
        let changes = numbers.map(|number| {
            expected.insert(number, (segment, 1));
            point_of(number, segment, 1, name)
        });
        apply(&mut writer, changes.collect());
        writer.shard().unwrap().optimize().unwrap();
    }
    let segments = |writer: &Writer| writer.shard().unwrap().info().segments_count;
    assert!(segments(&writer) > 6, "{}", segments(&writer));
    assert!(!files_with(directory.path(), b"Ada Erased").is_empty());

    let (commands, mut queue) = queue();
    writer.compact(&commands.downgrade());
    assert!(writer.copying.is_some());
    // Points of each segment are deleted, moved, or get another seq.
    let change = |writer: &mut Writer, expected: &mut BTreeMap<_, _>, from: u128| {
        let mut changes = Vec::new();
        for segment in 0..6 {
            let first = segment * SEGMENT + from;
            changes.extend([deletion(first), deletion(first + 1), point(first + 1)]);
            changes.push(point_of(first + 2, segment, 2, "Ada"));
            expected.remove(&first);
            expected.extend([(first + 1, (1, 1)), (first + 2, (segment, 2))]);
        }
        changes.push(point(10_000 + from));
        expected.insert(10_000 + from, (1, 1));
        apply(writer, changes);
    };
    change(&mut writer, &mut expected, 10);
    let merged = copied(&mut queue);
    change(&mut writer, &mut expected, 20);
    // A thread up to a seq is deleted, and a point of it written again.
    let again = 4 * SEGMENT + 50;
    let (tenant, thread) = (TenantId::new("acme"), Uuid::from_u128(4).into());
    let purge = Change::Purge {
        tenant: tenant.clone(),
        thread,
        up_to_seq: 1,
    };
    apply(&mut writer, vec![purge, point_of(again, 4, 1, "Ada")]);
    expected.retain(|_, (thread, seq)| *thread != 4 || *seq > 1);
    expected.insert(again, (4, 1));
    // An erasure waits for the merge.
    let (reply, mut answer) = oneshot::channel();
    let erased = Selection::threads(&tenant, &[Uuid::from_u128(2).into()]);
    writer.erasures.push((erased, reply));
    writer.erase(&commands.downgrade());

    let taken = writer.take_copy(merged, |_| {}).unwrap();
    taken.result.unwrap();
    assert!(segments(&writer) <= 3, "{}", segments(&writer));
    assert_eq!(found(&writer), expected);
    assert!(answer.try_recv().is_err());

    writer.erase(&commands.downgrade());
    expected.retain(|_, (thread, _)| *thread != 2);
    change(&mut writer, &mut expected, 30);
    let taken = writer.take_copy(copied(&mut queue), |_| {}).unwrap();
    taken.result.unwrap();
    assert_eq!(taken.replies.len(), 1);
    assert_eq!(found(&writer), expected);
    assert!(files_with(directory.path(), b"Ada Erased").is_empty());

    assert_eq!(points(&mut writer), expected.len() as u64);
    assert_eq!(found(&writer), expected);
    assert_eq!(engines(directory.path()), 1);
}

#[test]
fn new_points_are_optimized_during_a_merge_but_not_during_an_erasure() {
    const NEW: u128 = 1_500;
    const ROUNDS: u128 = 30;
    let directory = tempfile::tempdir().unwrap();
    let mut writer = filled(directory.path());
    let (commands, mut queue) = queue();
    merge(&mut writer, &commands);
    apply(&mut writer, (101..=NEW).map(point).collect());
    assert!(writer.optimize());
    // The copy gets points while they move from segment to segment.
    let shard = writer.shard().unwrap();
    shard.set_optimizers_config(separate_segments()).unwrap();
    let mut expected: BTreeMap<_, _> = (1..=NEW).map(|number| (number, (1, 1))).collect();
    for round in 1..=ROUNDS {
        let again = (1..=NEW)
            .step_by(ROUNDS as usize)
            .map(|first| first + round - 1);
        let changes = again.map(|number| {
            expected.insert(number, (1, 2));
            point_of(number, 1, 2, "")
        });
        apply(&mut writer, changes.collect());
        shard.optimize().unwrap();
    }
    drop(shard);
    let taken = writer.take_copy(copied(&mut queue), |_| {}).unwrap();
    taken.result.unwrap();
    assert_eq!(found(&writer), expected);

    let (reply, _answer) = oneshot::channel();
    let erased = Selection::threads(&TenantId::new("acme"), &[Uuid::from_u128(2).into()]);
    writer.erasures.push((erased, reply));
    writer.erase(&commands.downgrade());
    apply(&mut writer, (NEW + 1..=2 * NEW).map(point).collect());
    assert!(!writer.optimize());
    let taken = writer.take_copy(copied(&mut queue), |_| {}).unwrap();
    taken.result.unwrap();
    assert!(writer.optimize());
    assert_eq!(found(&writer).len(), 2 * NEW as usize);
}

#[test]
fn segments_are_merged_at_rest_once_they_have_grown_beside_the_largest() {
    const POINTS: u128 = MERGED_FROM as u128;
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(directory.path());
    drop(writer.prepare().unwrap());
    writer.mark(false).unwrap();
    let grow = |writer: &mut Writer, numbers: std::ops::RangeInclusive<u128>| {
        apply(writer, numbers.map(point).collect());
        let shard = writer.shard().unwrap();
        shard.set_optimizers_config(separate_segments()).unwrap();
        shard.optimize().unwrap();
    };
    let segments = |writer: &Writer| writer.shard().unwrap().info().segments_count;
    let (commands, mut queue) = queue();
    let mut merges = |writer: &mut Writer| {
        writer.compact_at_rest(&commands.downgrade());
        let merges = writer.copying.is_some();
        if merges {
            let taken = writer.take_copy(copied(&mut queue), |_| {}).unwrap();
            taken.result.unwrap();
        }
        merges
    };
    // Too few points.
    grow(&mut writer, 1..=POINTS / 4);
    grow(&mut writer, POINTS / 4 + 1..=POINTS / 2);
    assert!(segments(&writer) > MERGED && !merges(&mut writer));

    let large = POINTS * 4;
    grow(&mut writer, POINTS / 2 + 1..=large / 2);
    grow(&mut writer, large / 2 + 1..=large);
    assert!(merges(&mut writer));
    assert!(segments(&writer) <= MERGED, "{}", segments(&writer));
    assert!(!merges(&mut writer));
    // Few points beside those, but enough for another merge if they were many.
    grow(&mut writer, large + 1..=large + POINTS / 4);
    grow(&mut writer, large + POINTS / 4 + 1..=large + POINTS / 2);
    assert!(segments(&writer) > MERGED && !merges(&mut writer));
    grow(&mut writer, large + POINTS / 2 + 1..=large + POINTS * 2);
    assert!(merges(&mut writer));
    assert_eq!(points(&mut writer), (large + POINTS * 2) as u64);
}

#[test]
fn deleted_points_are_removed_by_a_merge() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(directory.path());
    drop(writer.prepare().unwrap());
    writer.mark(false).unwrap();
    apply(&mut writer, (1..=2_000).map(point).collect());
    let closing = EdgeOptimizersConfig {
        indexing_threshold: Some(1),
        ..setup::config(&writer.schema, writer.vectors).optimizers
    };
    writer
        .shard()
        .unwrap()
        .set_optimizers_config(closing)
        .unwrap();
    writer.changes = usize::MAX;
    assert!(writer.optimize());
    let (commands, mut queue) = queue();
    let indexed = |writer: &Writer| writer.shard().unwrap().info().indexed_vectors_count;

    apply(&mut writer, (1..=400).map(deletion).collect());
    writer.compact(&commands.downgrade());
    assert!(writer.copying.is_none());
    apply(&mut writer, (401..=600).map(deletion).collect());
    // The writer does not wait for a large segment to be built again.
    writer.changes = usize::MAX;
    assert!(writer.optimize());
    assert_eq!(indexed(&writer), 2_000);
    writer.compact(&commands.downgrade());
    let taken = writer.take_copy(copied(&mut queue), |_| {}).unwrap();
    taken.result.unwrap();
    assert_eq!(indexed(&writer), 1_400);
    writer.compact(&commands.downgrade());
    assert!(writer.copying.is_none());
    assert_eq!(points(&mut writer), 1_400);
}
