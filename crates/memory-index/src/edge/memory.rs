//! The largest segment that merging makes: building one keeps about 4 KB of each of its points in
//! memory, and the system ends a process that takes more memory than the machine has.

use sysinfo::System;

/// Bytes of memory that merging takes for each point, in addition to one byte for each dimension of an
/// `int8` vector: 3.0 GB were measured with 830,000 points.
const BYTES_PER_POINT: u64 = 4_096;
/// Merging takes at most one of this many bytes that are free when it begins.
const FREE_SHARE: u64 = 2;
/// The size of the vectors of a segment, in KB, up to which the engine merges by itself. Tests have
/// fewer points.
const LEAST_KB: usize = if cfg!(test) { 64 } else { 256_000 };
const BYTES_OF_DIMENSION: usize = 4;
/// The dimensions of the default model, which an index without vectors is treated as having.
pub(super) const DIMENSIONS: usize = 384;

/// The memory in bytes that the machine, or the container of this process, has free. Cached pages of
/// files count as free.
pub(super) fn free() -> u64 {
    let mut system = System::new();
    system.refresh_memory();
    let container = system
        .cgroup_limits()
        .map(|limits| limits.total_memory.saturating_sub(limits.rss));
    system.available_memory().min(container.unwrap_or(u64::MAX))
}

/// The most points that a merged segment may have if `free` bytes of memory are free.
pub(super) fn most_points(dimensions: Option<usize>, free: u64) -> usize {
    let dimensions = dimensions.unwrap_or(DIMENSIONS);
    let least = LEAST_KB * 1024 / (BYTES_OF_DIMENSION * dimensions);
    let most = free / FREE_SHARE / (BYTES_PER_POINT + dimensions as u64);
    usize::try_from(most).unwrap_or(usize::MAX).max(least)
}

/// The size of the vectors of `points`, in KB.
pub(super) fn kilobytes(dimensions: Option<usize>, points: usize) -> usize {
    points.saturating_mul(BYTES_OF_DIMENSION * dimensions.unwrap_or(DIMENSIONS)) / 1024
}
