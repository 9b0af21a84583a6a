use super::*;

#[test]
fn a_revision_survives_the_way_through_text() {
    let revision = Revision {
        thread: ThreadId::new(),
        change: i64::MAX - 7,
    };
    assert_eq!(revision.to_string().parse(), Ok(revision));
}

#[test]
fn other_text_is_refused() {
    let long = URL_SAFE_NO_PAD.encode([VERSION; LENGTH + 1]);
    let other_version = URL_SAFE_NO_PAD.encode([9; LENGTH]);
    for text in ["", "AQ", "nonsense!", long.as_str(), other_version.as_str()] {
        assert_eq!(text.parse::<Revision>(), Err(InvalidRevision), "{text}");
    }
}
