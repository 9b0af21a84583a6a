use super::*;

#[test]
fn pauses_grow_to_an_hour() {
    assert_eq!(retry_pause(0), RETRY_PAUSE);
    assert_eq!(retry_pause(1), RETRY_PAUSE);
    assert_eq!(retry_pause(2), RETRY_PAUSE * 2);
    assert_eq!(retry_pause(11), MAX_RETRY_PAUSE);
    assert_eq!(retry_pause(i32::MAX), MAX_RETRY_PAUSE);
}
