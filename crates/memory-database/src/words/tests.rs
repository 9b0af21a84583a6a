use super::*;

#[test]
fn a_document_has_single_characters_and_a_query_has_pairs() {
    assert_eq!(of_document("My Dogs 東京 ok"), "dog 東京 ok 東 京");
    assert_eq!(of_query("My Dogs 東京 ok"), "dog 東京 ok");
    assert_eq!(of_query("a\0b"), "b");
    assert_eq!(of_document("?!"), "");
    // No word begins like the lexeme of a scope.
    assert_eq!(of_document("~t12 x~u12 ～a12"), "t12 x u12 a12");
}

#[test]
fn long_text_is_cut_between_characters() {
    let text = "é".repeat(2 * SEARCHABLE_BYTES);
    assert_eq!(searchable(&text).len(), SEARCHABLE_BYTES);
}

#[test]
fn a_digest_knows_where_its_texts_end() {
    assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
}
