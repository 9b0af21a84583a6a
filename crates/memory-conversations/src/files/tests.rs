use super::*;

#[test]
fn a_noted_url_has_no_secret() {
    for (url, noted) in [
        ("https://a.org/b@c.png?sig=1#x", "https://a.org/b@c.png"),
        ("https://ada:secret@a.org/b.png", "https://a.org/b.png"),
        ("https://ada:se@cret@a.org", "https://a.org"),
        ("cat.png", "cat.png"),
    ] {
        assert_eq!(subject(&FileLocation::Url(url.to_owned())), noted);
    }
    let id = FileLocation::UploadFileId("a@b?c".to_owned());
    assert_eq!(subject(&id), "a@b?c");
}
