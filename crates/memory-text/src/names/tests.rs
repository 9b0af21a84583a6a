//! Names that queries and messages have.

use super::*;

fn names() -> Vec<String> {
    ["Caroline", "Mel", "Will", "elise", "Fahim Khan", "Ada Khan"]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn names_are_found_as_whole_words_in_any_case() {
    for (text, expected) in [
        ("What did Caroline say?", &["Caroline"][..]),
        ("Melanie told Carolines", &[]),
        ("Caroline and Mel's dog", &["Caroline", "Mel"]),
        ("what did caroline say", &["Caroline"]),
        ("Did CAROLINE say it?", &["Caroline"]),
        ("Where was Elise?", &["elise"]),
        ("where was elise?", &["elise"]),
    ] {
        assert_eq!(named_speakers(text, &names()), expected, "{text}");
    }
}

#[test]
fn a_small_word_among_capitals_or_a_stop_word_is_no_name() {
    for (text, expected) in [
        ("What will Caroline do?", &["Caroline"][..]),
        ("what will caroline do", &["Caroline"]),
        ("What does Will do?", &["Will"]),
        ("Did I mel?", &[]),
    ] {
        assert_eq!(named_speakers(text, &names()), expected, "{text}");
    }
}

#[test]
fn one_word_of_a_name_is_enough_if_no_other_name_has_it() {
    for (text, expected) in [
        ("What is Fahim's job?", &["Fahim Khan"][..]),
        ("What is Fahim Khan's job?", &["Fahim Khan"]),
        ("Who is Khan?", &[]),
        ("Fahim and Ada", &["Fahim Khan", "Ada Khan"]),
    ] {
        assert_eq!(named_speakers(text, &names()), expected, "{text}");
    }
    let both = ["Elise".to_owned(), "elise".to_owned()];
    assert_eq!(named_speakers("Where was Elise?", &both), ["Elise"]);
    assert!(is_same_speaker("Élise", "élise"));
}

#[test]
fn named_speakers_speak_of_themselves() {
    for (text, expected) in [
        ("When did Caroline go to X?", "When did I go to X?"),
        ("What is Mel's dog called?", "What is my dog called?"),
        ("what is mel's dog called?", "what is my dog called?"),
        ("What is Fahim's job?", "What is my job?"),
        ("What is Fahim Khan’s job?", "What is my job?"),
        ("Thanks, Caroline!", "Thanks!"),
        ("Where was it, Caroline", "Where was it"),
        ("Caroline, where did you go?", "where did you go?"),
        (
            "At the party, Mel's dog sang?",
            "At the party, my dog sang?",
        ),
        (
            "After it, Caroline moved where?",
            "After it, I moved where?",
        ),
        ("Caroline", "Caroline"),
        ("Caroline Mel", "Caroline Mel"),
        ("Melanie’s and Mel’s cats", "Melanie’s and my cats"),
    ] {
        assert_eq!(in_first_person(text, &names()), expected, "{text}");
    }
}
