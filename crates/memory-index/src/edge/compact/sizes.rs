//! The number of segments that an engine may have, when merging them is worth it, and the room that
//! merging needs.

use super::super::memory;

/// Segments that are not full: one that fills up, and the one that is written to.
const FILLING: usize = 2;
/// Full segments that an engine may have, in addition to those that memory does not allow to merge: one
/// for half of the points of the largest merged segment. With vectors of more than
/// [`memory::DIMENSIONS`] it may have more in proportion.
const FULL: usize = 4;
/// While little is written, the other segments are merged with the largest once they have more
/// than one of this many of its bytes. As merges follow growth by such a share, a point is merged
/// about five times, however large the index gets.
const OTHERS_SHARE: u64 = 4;
/// The merged segment, and the one that is written to.
pub(super) const MERGED: usize = 2;

/// How many segments an engine may have, if merging makes segments of up to `largest` points. It
/// bounds a segment by the bytes of its vectors, at 256 MB: 170,000 points of 384 dimensions, or a
/// quarter of that of 1,536. Each merge builds the graphs of all points again, so the number of full
/// segments grows with the dimensions: a merge follows about 680,000 new points with each model, and
/// how often a point is merged depends on the number of points alone. Searches pay for that with
/// more segments.
pub(super) fn most_segments(dimensions: Option<usize>, points: usize, largest: usize) -> usize {
    let full = FULL + points / (largest / 2).max(1);
    let dimensions = dimensions.unwrap_or_default().max(memory::DIMENSIONS);
    FILLING + (full * dimensions).div_ceil(memory::DIMENSIONS)
}

/// The bytes on disk that a merge needs in addition to the copy: for all segments that it makes,
/// because the former ones stay until its end, and for its largest step, in which the engine requires
/// twice the bytes that it merges. It merges up to the `most` bytes, or removes deleted points from one larger
/// segment.
pub(super) fn room_to_build(sizes: &[u64], most: u64) -> u64 {
    let all = sizes.iter().sum::<u64>();
    let largest = sizes.iter().copied().max().unwrap_or_default();
    all.saturating_add(most.max(largest).min(all))
}

/// Whether merging is worth it: without the largest one, the segments that merging can make larger
/// are large compared with it. A segment with more than half of the `most` bytes that a merged one may
/// have stays as it is.
pub(super) fn is_merge_due(sizes: &[u64], most: u64) -> bool {
    let growing = || sizes.iter().filter(|size| **size <= most / 2);
    let sum = growing().sum::<u64>();
    let largest = growing().max().copied().unwrap_or_default();
    growing().count() > MERGED && (sum - largest).saturating_mul(OTHERS_SHARE) > largest
}

#[cfg(test)]
mod tests;
