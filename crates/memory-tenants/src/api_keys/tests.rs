use super::*;

#[test]
fn a_new_key_looks_like_one_and_no_two_are_alike() {
    let (one, other) = (new_secret().unwrap(), new_secret().unwrap());
    assert!(looks_like_key(one.expose_secret()));
    assert_ne!(one.expose_secret(), other.expose_secret());
}

#[test]
fn anything_else_does_not_look_like_a_key() {
    let long = format!("{PREFIX}{}", "a".repeat(RANDOM_CHARS + 1));
    let odd = format!("{PREFIX}{}", "é".repeat(RANDOM_CHARS));
    for text in ["", "rck_", "rck_short", "key-of-acme", &long, &odd] {
        assert!(!looks_like_key(text), "{text}");
    }
}
