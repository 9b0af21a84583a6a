//! When batches grow and shrink.

use super::*;

#[test]
fn full_batches_grow_while_they_are_quick_and_shrink_when_they_are_slow() {
    let mut size = BatchSize::new(64);
    let mut next = |changes, seconds| {
        size.note(changes, Duration::from_secs(seconds));
        size.get()
    };
    assert_eq!(next(63, 1), 64);
    assert_eq!([(); 5].map(|()| next(512, 1)), [128, 256, 512, 512, 512]);
    assert_eq!(next(512, 4), 512);
    assert_eq!([(); 5].map(|()| next(512, 6)), [256, 128, 64, 64, 64]);
    assert_eq!(next(64, 3), 64);
}
