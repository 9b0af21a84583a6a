//! How many segments there are, and how large they get.

use super::super::Writer;
use super::super::tests::{
    apply, copied, found, merge, point, queue, separate_segments, writer_of,
};
use super::*;
use crate::point::Change;

/// A point with a vector.
fn near(number: u128) -> Change {
    let Change::Upsert(mut point) = point(number) else {
        panic!("no point")
    };
    point.dense = Some(vec![1.0, number as f32, 0.0, 0.0]);
    Change::Upsert(point)
}

#[test]
fn merges_follow_as_many_points_whatever_their_dimensions() {
    for dimensions in [384, 512, 768, 1_024, 1_536, 3_072] {
        let full = most_segments(Some(dimensions), 1_000_000, usize::MAX) - FILLING;
        let segment = 256_000 * 1_024 / (4 * dimensions);
        let new = full * segment;
        assert!((680_000..850_000).contains(&new), "{dimensions}: {new}");
    }
    let few = |dimensions| most_segments(dimensions, 0, usize::MAX);
    assert_eq!(few(None), few(Some(384)));
    // Segments that have to stay small are more.
    assert!(most_segments(None, 1_000_000, 500_000) > most_segments(None, 1_000_000, usize::MAX));
}

#[test]
fn a_merge_makes_segments_for_which_there_is_memory() {
    // 4,096 points of four dimensions in tests.
    const POINTS: u128 = 1_500;
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer_of(directory.path(), Some(4));
    writer.free_memory = || 0;
    drop(writer.prepare().unwrap());
    writer.mark(false).unwrap();
    for segment in 0..6 {
        let numbers = segment * POINTS + 1..=(segment + 1) * POINTS;
        apply(&mut writer, numbers.map(near).collect());
        let shard = writer.shard().unwrap();
        shard.set_optimizers_config(separate_segments()).unwrap();
        shard.optimize().unwrap();
    }
    let (commands, mut queue) = queue();
    let mut segments_after_merge = |writer: &mut Writer| {
        merge(writer, &commands);
        let taken = writer.take_copy(copied(&mut queue), |_| {}).unwrap();
        taken.result.unwrap();
        assert_eq!(found(writer).len(), 6 * POINTS as usize);
        writer.shard().unwrap().info().segments_count
    };
    // Two fit into one.
    assert_eq!(segments_after_merge(&mut writer), 3);
    assert_eq!(segments_after_merge(&mut writer), 3);
    writer.free_memory = || 1 << 30;
    assert!(segments_after_merge(&mut writer) <= MERGED);
}

#[test]
fn a_merge_at_rest_is_due_for_what_it_can_make_larger() {
    let unlimited = u64::MAX;
    for (sizes, most, is_due) in [
        (&[100, 20, 20, 0][..], unlimited, true),
        (&[100, 10, 10, 0], unlimited, false),
        (&[100, 30], unlimited, false),
        (&[], unlimited, false),
        // The largest stays, so the others are compared with each other.
        (&[100, 20, 20, 0], 180, true),
        (&[100, 20, 0], 180, false),
        // However many stay.
        (&[100, 100, 100, 10, 10, 0], 180, true),
        (&[100, 100, 100, 20, 20, 10], 180, true),
    ] {
        assert_eq!(is_merge_due(sizes, most), is_due, "{sizes:?} of {most}");
    }
}

#[test]
fn a_merge_needs_room_for_what_it_makes_and_for_its_largest_step() {
    for (sizes, most, room) in [
        // All become one segment.
        (&[100, 30, 20][..], u64::MAX, 150 + 150),
        (&[100, 30, 20], 150, 150 + 150),
        // The three small ones do, at most.
        (&[100, 100, 100, 30, 20, 10], 100, 360 + 100),
        // The large one is from a time with more free memory.
        (&[300, 30, 20], 100, 350 + 300),
        (&[], u64::MAX, 0),
    ] {
        assert_eq!(room_to_build(sizes, most), room, "{sizes:?} of {most}");
    }
}
