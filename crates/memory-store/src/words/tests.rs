use super::*;

#[test]
fn unspaced_scripts_are_cut_into_pairs() {
    let check = |text: &str, words: &[&str]| {
        assert_eq!(
            prepare(text).split_whitespace().collect::<Vec<_>>(),
            words,
            "{text}"
        );
    };
    check("My Dog", &["my", "dog"]);
    check(
        "東京タワー",
        &["東", "東京", "京", "京タ", "タ", "タワ", "ワ", "ワー", "ー"],
    );
    check("in 東京 ok", &["in", "東", "東京", "京", "ok"]);
    check("猫x猫", &["猫", "x", "猫"]);
    check("ＡＢＣ １２", &["abc", "12"]);
    check("a\0b", &["a", "b"]);
    // No word begins like the lexeme of a scope.
    check("~t12 x~u12 ～a12", &["t12", "x", "u12", "a12"]);
}

#[test]
fn long_text_is_cut_between_characters() {
    let text = "é".repeat(SEARCHABLE_BYTES);
    assert!(prepare(&text).len() <= SEARCHABLE_BYTES + 1);
}

#[test]
fn a_digest_knows_where_its_texts_end() {
    assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
}
