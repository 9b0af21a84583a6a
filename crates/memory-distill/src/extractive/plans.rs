//! Journeys, celebrations and moves that speakers plan.

use super::claim::starts_with;
use super::{cues, words};

/// What is planned.
const OCCASIONS: &[&str] = &[
    "trip",
    "holiday",
    "holidays",
    "vacation",
    "honeymoon",
    "wedding",
    "journey",
    "cruise",
    "visit",
    "tour",
    "move",
    "party",
    "getaway",
    "weekend",
    "safari",
    "retreat",
    "reunion",
];
/// Phrases after "I'm" that lead to a place.
const GOING: &[&str] = &[
    "going to",
    "travelling to",
    "traveling to",
    "flying to",
    "driving to",
    "moving to",
    "heading to",
    "visiting",
];
const INTENTIONS: &[&str] = &[
    "i want to",
    "we want to",
    "i plan to",
    "we plan to",
    "i'd like to",
    "we'd like to",
    "i'd love to",
    "we'd love to",
];
/// Phrases after an intention that lead to a place.
const TO_A_PLACE: &[&str] = &["go to", "travel to", "fly to", "move to", "visit"];
/// Words after a verb that is written with a capital letter: "I'm going to Google it".
const OBJECTS: &[&str] = &[
    "it", "that", "this", "them", "him", "her", "you", "me", "us", "the", "a", "an", "my", "our",
    "your", "their", "some", "for", "how", "what",
];

/// Whether the words begin with a plan of the speaker. `capitals` tells which of them begin with a
/// capital letter.
pub(super) fn are_plan(said: &[String], capitals: &[bool]) -> bool {
    let after = |phrases: &[&str]| phrases.iter().find_map(|phrase| starts_with(said, phrase));
    if let Some(length) = after(&["i'm", "i am", "we're", "we are"]) {
        let adverbs = ["both", "all", "also", "finally", "now"];
        let adverb = said
            .get(length)
            .is_some_and(|word| adverbs.contains(&word.as_str()));
        let from = length + usize::from(adverb);
        let rest = &said[from..];
        let wanted = starts_with(rest, "planning to").or_else(|| starts_with(rest, "hoping to"));
        let leads = |length| lead_to_place(said, capitals, from + length, TO_A_PLACE);
        return are_preparing(rest)
            || wanted.is_some_and(leads)
            || (lead_to_place(said, capitals, from, GOING) && cues::name_time(rest));
    }
    if let Some(length) = after(&["i have a", "we have a", "i've got a", "we've got a"]) {
        let rest = &said[length..];
        let occasion = rest.iter().take(3).position(|word| is_occasion(word));
        let next = occasion.and_then(|occasion| rest.get(occasion + 1));
        let follows = ["to", "in", "on", "next", "this", "planned", "coming"];
        return next.is_some_and(|next| follows.contains(&next.as_str())) && cues::name_time(rest);
    }
    let intention = after(INTENTIONS);
    intention.is_some_and(|length| {
        lead_to_place(said, capitals, length, TO_A_PLACE) && cues::name_time(&said[length..])
    })
}

/// `planning a trip to …`.
fn are_preparing(said: &[String]) -> bool {
    let word = |place: usize| words::at(said, place);
    let is_one = matches!(word(1), "a" | "an" | "our" | "my");
    let occasion = said.iter().take(7).any(|word| is_occasion(word));
    word(0) == "planning" && is_one && occasion && said.len() > 3
}

fn is_occasion(word: &str) -> bool {
    OCCASIONS.contains(&word)
}

/// Whether the words from a place on begin with one of the phrases and a name.
fn lead_to_place(said: &[String], capitals: &[bool], from: usize, phrases: &[&str]) -> bool {
    let rest = &said[from.min(said.len())..];
    let length = phrases.iter().find_map(|phrase| starts_with(rest, phrase));
    length.is_some_and(|length| {
        let next = words::at(rest, length + 1);
        capitals.get(from + length).is_some_and(|capital| *capital) && !OBJECTS.contains(&next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extractive::clauses::Divided;

    #[test]
    fn plans_name_an_occasion_or_a_place_and_a_time() {
        for (text, expected) in [
            ("I'm planning a trip to Paris next month", true),
            ("We are planning our summer vacation in Greece", true),
            ("We’re going to Paris in May for our anniversary", true),
            ("we're both flying to New York on 3 June", true),
            ("I want to visit Kyoto next spring", true),
            ("We'd like to travel to The Hague in May", true),
            ("I'm planning to visit Rome", true),
            ("We have a wedding in June", true),
            ("I'm planning a trip", false),
            ("I'm planning a test", false),
            ("We're going to Paris", false),
            ("We're going to wait until May", false),
            ("We're not going to Paris in May", false),
            ("I'm going to Google it next week", false),
            ("I'm going to Slack the team tomorrow", false),
            ("I want to go to bed tonight", false),
            ("I went to Paris in May", false),
            ("They are going to Paris in May", false),
            ("I have a party question", false),
            ("I'm", false),
            ("", false),
        ] {
            let divided = Divided::new(text);
            assert_eq!(
                are_plan(&divided.words, &divided.capitals),
                expected,
                "{text}"
            );
        }
    }
}
