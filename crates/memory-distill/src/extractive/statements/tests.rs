use super::*;

/// The texts of what a sentence states.
fn stated(sentence: &str) -> Vec<String> {
    let found = statements(sentence).found.into_iter();
    found.map(|statement| statement.text).collect()
}

#[test]
fn a_sentence_of_several_facts_gives_each() {
    for (sentence, expected) in [
        (
            "My wife uses a wheelchair, and our budget is 3,000 euros.",
            &["My wife uses a wheelchair.", "Our budget is 3,000 euros."][..],
        ),
        (
            "I live in Oslo and I'm vegetarian.",
            &["I live in Oslo.", "I'm vegetarian."],
        ),
        (
            "Hi, we're going to Paris in May – my wife uses a wheelchair, so we need a lift.",
            &[
                "Hi, we're going to Paris in May.",
                "My wife uses a wheelchair, so we need a lift.",
            ],
        ),
        (
            "My wife and I are vegan and our son has asthma.",
            &["My wife and I are vegan.", "Our son has asthma."],
        ),
        (
            "I live in Oslo, Norway, with my wife and two dogs.",
            &["I live in Oslo, Norway, with my wife and two dogs."],
        ),
        (
            "I'm traveling with my wife, who uses a wheelchair.",
            &["I'm traveling with my wife, who uses a wheelchair."],
        ),
        (
            "Since my wife uses a wheelchair, we need an accessible hotel.",
            &["Since my wife uses a wheelchair, we need an accessible hotel."],
        ),
        (
            "We need a room on the ground floor because my wife uses a wheelchair.",
            &["We need a room on the ground floor because my wife uses a wheelchair."],
        ),
        (
            "Note: my husband is allergic to nuts.",
            &["My husband is allergic to nuts."],
        ),
        ("I'm vegan.", &["I'm vegan."]),
    ] {
        assert_eq!(stated(sentence), expected, "{sentence}");
    }
}

#[test]
fn requests_questions_and_wishes_are_cut_off() {
    for (sentence, expected) in [
        (
            "We're both vegetarian, what restaurants do you recommend?",
            "We're both vegetarian.",
        ),
        (
            "My wife uses a wheelchair so could you find an accessible hotel?",
            "My wife uses a wheelchair.",
        ),
        (
            "My wife uses a wheelchair, so the hotel should be accessible.",
            "My wife uses a wheelchair.",
        ),
        (
            "Could you find a hotel in Paris, my wife uses a wheelchair.",
            "My wife uses a wheelchair.",
        ),
        (
            "Please suggest some museums, my kids love dinosaurs!",
            "My kids love dinosaurs!",
        ),
        (
            "I'm allergic to shellfish, please keep that in mind.",
            "I'm allergic to shellfish.",
        ),
        (
            "Our budget is 3,000 euros, is that enough?",
            "Our budget is 3,000 euros.",
        ),
    ] {
        assert_eq!(stated(sentence), [expected], "{sentence}");
    }
}

#[test]
fn what_is_not_stated_by_the_speaker_gives_nothing() {
    for sentence in [
        "Give me French phrases for the trip: I'm vegetarian, I'm allergic to nuts.",
        "Bob: Yes, and I live in Oslo, and my wife is vegan.",
        "Please forget these: I live in Oslo, I'm vegan, my wife uses a wheelchair.",
        "My wife uses a wheelchair and I live in Oslo, he said.",
        "I'm vegan and my wife is vegan, I guess.",
        "I live in Oslo and my wife is vegan in this example.",
        "My wife uses a wheelchair, who told you that?",
        "I have two dogs, why do you think so?",
        "My budget is 3,000 euros, is that what I said?",
        "My wife uses a wheelchair, which is why you booked the lift?",
        "My budget is 3,000 euros, was it?",
        "I'm allergic to nuts, so they think, but probably not.",
        "My dad may need a wheelchair.",
        "My wife is called away.",
        "My brother works at home today.",
        // Questions.
        "Does my wife need a wheelchair?",
        "My wife uses a wheelchair?",
        "I live in Oslo, right?",
        "I live in Oslo, do I?",
        "Our budget is 3,000 euros, is that right?",
        "Can you find a hotel for my wife, who uses a wheelchair?",
        "What if my wife uses a wheelchair, is the hotel accessible?",
        // Hypotheticals.
        "If my wife uses a wheelchair, our budget is 4,000 euros.",
        "When I retire, my budget is 1,000 euros.",
        "My wife uses a wheelchair if we walk far.",
        "Maybe my wife uses a wheelchair.",
        "Imagine my wife uses a wheelchair.",
        "Let's say my budget is 3,000 euros.",
        "I might move, but I live in Oslo.",
        "We would love to go to Paris in May.",
        "I guess we're going to Paris in May.",
        "My budget is 3,000 euros, just kidding.",
        // Words of others, and inventions.
        "She said, my wife uses a wheelchair.",
        "My friend wrote: I live in Oslo.",
        "He said he is tired, and I live in Oslo.",
        "I love rye bread, he said.",
        "The sign reads \"closed\", and I live in Oslo.",
        "The song goes, I live in Oslo.",
        "In my novel, my wife uses a wheelchair.",
        "I write a story about my wife, who uses a wheelchair.",
        "Translate to German: I live in Oslo.",
        // Others.
        "His wife uses a wheelchair.",
        "Anna uses a wheelchair, and her budget is 3,000 euros.",
        "The guest is vegetarian.",
        "A friend of my son and my wife uses a wheelchair.",
        // Moments.
        "My wife is waiting, and our taxi is late.",
        "We need a hotel.",
        "We like the first one.",
        "We like option B.",
        "I'm going to Google it next week.",
        "",
    ] {
        assert_eq!(stated(sentence), [""; 0], "{sentence}");
    }
}

#[test]
fn topics_tell_preferences_from_other_facts() {
    let topics = |sentence: &str| -> Vec<&'static str> {
        let found = statements(sentence).found.into_iter();
        found.map(|statement| statement.topic).collect()
    };
    assert_eq!(
        topics("I prefer window seats, and my wife prefers trains."),
        ["preferences", "family"]
    );
    assert_eq!(topics("We love small museums."), ["preferences"]);
    assert_eq!(topics("We're going to Paris in May."), ["plans"]);
}

#[test]
fn what_begins_a_sentence_is_told_from_what_follows_in_it() {
    for (sentence, expected) in [
        ("I live in Oslo, and I saw Anna yesterday.", true),
        ("Well, I live in Oslo.", true),
        ("I saw Anna yesterday, and I live in Oslo.", false),
        ("I saw my sister, who lives in Oslo, yesterday.", false),
        ("I saw Anna yesterday.", false),
    ] {
        assert_eq!(statements(sentence).begin, expected, "{sentence}");
    }
}
