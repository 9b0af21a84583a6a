//! Parses plain sentences into claims, to find facts and to detect that a newer fact
//! makes an older one untrue.

use super::words;

/// A statement about a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// The subject, lower case; empty for the speaker.
    pub(super) subject: String,
    /// The stated attribute.
    pub(super) attribute: String,
    /// The value, lower case.
    pub(super) value: String,
    /// Whether the attribute has one value at a time.
    pub(super) single: bool,
    pub(super) topic: &'static str,
}

/// Openings in the first person; attribute; single; topic.
const FIRST_PERSON: &[(&str, &str, bool, &str)] = &[
    ("my name is", "name", true, "name"),
    ("my name's", "name", true, "name"),
    ("i live in", "lives in", true, "home"),
    ("i now live in", "lives in", true, "home"),
    ("i'm living in", "lives in", true, "home"),
    ("i am living in", "lives in", true, "home"),
    ("we live in", "lives in", true, "home"),
    ("i moved to", "lives in", true, "home"),
    ("i just moved to", "lives in", true, "home"),
    ("i've moved to", "lives in", true, "home"),
    ("i have moved to", "lives in", true, "home"),
    ("i'm from", "is from", false, "origin"),
    ("i am from", "is from", false, "origin"),
    ("i come from", "is from", false, "origin"),
    ("i was born in", "born in", false, "origin"),
    ("i was born on", "born on", true, "birthday"),
    ("i grew up in", "grew up in", false, "origin"),
    ("i work as", "works as", true, "work"),
    ("i'm working as", "works as", true, "work"),
    ("i work at", "works at", true, "work"),
    ("i work for", "works at", true, "work"),
    ("i now work at", "works at", true, "work"),
    ("i now work for", "works at", true, "work"),
    ("i speak", "speaks", false, "languages"),
    ("i study", "studies", false, "education"),
    ("i'm studying", "studies", false, "education"),
    ("i studied", "studied", false, "education"),
    ("i graduated", "graduated", false, "education"),
    ("i own", "owns", false, "possessions"),
    ("i'm allergic to", "allergic to", false, "health"),
    ("i am allergic to", "allergic to", false, "health"),
    ("i'm married", "is", false, "family"),
    ("i am married", "is", false, "family"),
    ("i'm vegan", "is", false, "food"),
    ("i am vegan", "is", false, "food"),
    ("i'm vegetarian", "is", false, "food"),
    ("i am vegetarian", "is", false, "food"),
    ("i'm diabetic", "is", false, "health"),
    ("i am diabetic", "is", false, "health"),
];

/// The same in the third person, as models write facts, after the subject.
const THIRD_PERSON: &[(&str, &str)] = &[
    ("lives in", "lives in"),
    ("now lives in", "lives in"),
    ("moved to", "lives in"),
    ("has moved to", "lives in"),
    ("works as", "works as"),
    ("works at", "works at"),
    ("works for", "works at"),
];

/// Attributes with one value: `my email is`, `Ada's email is`.
const ONE_OF: &[&str] = &[
    "name",
    "birthday",
    "email",
    "email address",
    "address",
    "phone number",
    "phone",
    "job",
    "time zone",
    "timezone",
    "boss",
    "manager",
    "shoe size",
    "blood type",
];

/// Relatives and pets.
const HAVES: &[(&str, &str)] = &[
    ("dog", "pets"),
    ("dogs", "pets"),
    ("cat", "pets"),
    ("cats", "pets"),
    ("pet", "pets"),
    ("pets", "pets"),
    ("son", "family"),
    ("sons", "family"),
    ("daughter", "family"),
    ("daughters", "family"),
    ("kid", "family"),
    ("kids", "family"),
    ("child", "family"),
    ("children", "family"),
    ("brother", "family"),
    ("brothers", "family"),
    ("sister", "family"),
    ("sisters", "family"),
    ("wife", "family"),
    ("husband", "family"),
    ("twins", "family"),
    ("degree", "education"),
    ("allergy", "health"),
    ("diabetes", "health"),
    ("asthma", "health"),
];

/// The claim of a sentence, given without its speaker.
fn claim(sentence: &str) -> Option<Claim> {
    of_words(without_openers(&words::plain(sentence)))
}

/// The claim of the words of a sentence, without openers.
pub(super) fn of_words(said: &[String]) -> Option<Claim> {
    first_person(said)
        .or_else(|| owned(said))
        .or_else(|| having(said))
        .or_else(|| being(said))
        .or_else(|| third_person(said))
}

/// Whether a newer fact makes an older one untrue: both plainly state the same
/// single-valued attribute of the same person, with different values. In doubt it is
/// `false`, because keeping an outdated fact does less harm than losing a valid one.
pub fn supersedes(newer: &str, older: &str) -> bool {
    let read = |fact: &str| -> Option<Claim> {
        let (speaker, sentence) = split_speaker(fact);
        let speaker = speaker.trim().to_lowercase();
        let claim = claim(sentence)?;
        let mut owners = ["my ", "our "].into_iter();
        let relative = owners.find_map(|owner| claim.subject.strip_prefix(owner));
        let subject = match relative {
            _ if claim.subject.is_empty() => speaker,
            Some(relative) => format!("{speaker}'s {relative}"),
            None => claim.subject.clone(),
        };
        Some(Claim { subject, ..claim })
    };
    let (Some(newer), Some(older)) = (read(newer), read(older)) else {
        return false;
    };
    newer.single
        && older.single
        && !newer.subject.is_empty()
        && newer.subject == older.subject
        && newer.attribute == older.attribute
        && newer.value != older.value
        // "Oslo" and "Oslo, Norway" are the same place.
        && !newer.value.starts_with(&older.value)
        && !older.value.starts_with(&newer.value)
}

/// The speaker and the sentence of a fact such as `Ada: I live in Oslo.`
fn split_speaker(fact: &str) -> (&str, &str) {
    match fact.split_once(": ") {
        Some((speaker, sentence)) if speaker.chars().count() <= 64 => (speaker, sentence),
        Some(_) | None => ("", fact),
    }
}

/// The words after openers without content.
pub(super) fn without_openers(said: &[String]) -> &[String] {
    const OPENERS: &[&str] = &[
        "well",
        "so",
        "oh",
        "yes",
        "yeah",
        "yep",
        "actually",
        "and",
        "but",
        "btw",
        "also",
        "hi",
        "hey",
        "hello",
        "thanks",
        "no",
        "ok",
        "okay",
        "anyway",
        "because",
        "honestly",
        "currently",
    ];
    let start = said
        .iter()
        .take_while(|word| OPENERS.contains(&word.as_str()));
    &said[start.count()..]
}

/// The number of words of `phrase`, if the words begin with it.
pub(super) fn starts_with(said: &[String], phrase: &str) -> Option<usize> {
    let mut length = 0;
    for word in phrase.split(' ') {
        if said.get(length).map(String::as_str) != Some(word) {
            return None;
        }
        length += 1;
    }
    Some(length)
}

fn value(said: &[String]) -> String {
    said.join(" ")
}

fn first_person(said: &[String]) -> Option<Claim> {
    FIRST_PERSON
        .iter()
        .find_map(|(phrase, attribute, single, topic)| {
            let length = starts_with(said, phrase)?;
            let complete = said.len() > length || matches!(*attribute, "is" | "graduated");
            complete.then(|| Claim {
                subject: String::new(),
                attribute: (*attribute).to_owned(),
                value: value(&said[length..]),
                single: *single,
                topic,
            })
        })
}

/// `my email is …`, `my favorite color is …`, `my dog's name is …`, and the same with
/// another subject: `Ada's email is …`.
fn owned(said: &[String]) -> Option<Claim> {
    let is = said
        .iter()
        .position(|word| matches!(word.as_str(), "is" | "are"))?;
    let (owner, rest) = said[..is].split_first()?;
    let subject = match owner.strip_suffix("'s") {
        Some(name) => name.to_owned(),
        None if owner == "my" => String::new(),
        None => return None,
    };
    if !(1..=4).contains(&rest.len()) || said.len() == is + 1 {
        return None;
    }
    let thing = value(rest);
    let favorite = thing.starts_with("favorite ") || thing.starts_with("favourite ");
    let name_of = rest.len() == 2 && rest[1] == "name" && rest[0].ends_with("'s");
    if !favorite && !name_of && !ONE_OF.contains(&thing.as_str()) {
        return None;
    }
    Some(Claim {
        subject,
        attribute: thing.replace("favourite", "favorite"),
        value: value(&said[is + 1..]),
        // A favorite color is single; favorite songs are several.
        single: said[is] == "is",
        topic: if favorite { "preferences" } else { "person" },
    })
}

/// `I have two dogs`.
fn having(said: &[String]) -> Option<Claim> {
    let length = ["i have", "we have", "i've got"]
        .iter()
        .find_map(|phrase| starts_with(said, phrase))?;
    let rest = &said[length..];
    let number = rest.first()?;
    let counts = matches!(
        number.as_str(),
        "a" | "an" | "one" | "two" | "three" | "four" | "five" | "six" | "no" | "twin"
    ) || number.parse::<u32>().is_ok();
    let (_, topic) = rest
        .iter()
        .take(4)
        .find_map(|word| HAVES.iter().find(|(have, _)| have == word))?;
    (counts || matches!(number.as_str(), "diabetes" | "asthma" | "twins")).then(|| Claim {
        subject: String::new(),
        attribute: "has".to_owned(),
        value: value(rest),
        single: false,
        topic,
    })
}

/// `I am a nurse`.
fn being(said: &[String]) -> Option<Claim> {
    const NO_NOUNS: &[&str] = &[
        "bit", "little", "lot", "tad", "big", "huge", "mess", "while", "few", "total", "whole",
        "fan", "hundred", "believer", "great", "good", "bad", "happy", "sad", "terrible", "idiot",
        "fool", "moron", "wreck",
    ];
    let length = ["i'm a", "i'm an", "i am a", "i am an"]
        .iter()
        .find_map(|phrase| starts_with(said, phrase))?;
    let rest = &said[length..];
    let short = (1..=6).contains(&rest.len());
    let is_noun = !words::have(rest, NO_NOUNS);
    (short && is_noun).then(|| Claim {
        subject: String::new(),
        attribute: "is a".to_owned(),
        value: value(rest),
        single: false,
        topic: "person",
    })
}

fn third_person(said: &[String]) -> Option<Claim> {
    (1..=3.min(said.len())).find_map(|subject| {
        THIRD_PERSON.iter().find_map(|(phrase, attribute)| {
            let length = starts_with(&said[subject..], phrase)?;
            let name = value(&said[..subject]);
            let is_pronoun =
                ["he", "she", "they", "it", "who", "i", "we", "you"].contains(&name.as_str());
            let complete = said.len() > subject + length;
            (complete && !is_pronoun).then(|| Claim {
                subject: name,
                attribute: (*attribute).to_owned(),
                value: value(&said[subject + length..]),
                single: !is_one_of_several(&said[..subject]),
                topic: "person",
            })
        })
    })
}

/// Whether a subject may be another person each time, such as "my brother".
fn is_one_of_several(subject: &[String]) -> bool {
    const ONLY: &[&str] = &[
        "wife", "husband", "partner", "spouse", "mother", "mom", "mum", "father", "dad", "parents",
    ];
    let owner = &subject[0];
    let is_owned = owner == "my" || owner == "our" || owner.ends_with("'s");
    is_owned && !(subject.len() == 2 && ONLY.contains(&subject[1].as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_value_of_the_same_supersedes() {
        for (newer, older, expected) in [
            ("Ada: I live in Bergen.", "Ada: I live in Oslo.", true),
            (
                "Ada: Well, I just moved to Bergen!",
                "Ada: I live in Oslo.",
                true,
            ),
            ("Ada lives in Bergen", "Ada: I live in Oslo", true),
            (
                "Ada: My favourite color is red",
                "Ada: My favorite color is blue.",
                true,
            ),
            ("Ada's email is a@x.org", "Ada: my email is b@x.org", true),
            ("Ada: I live in Bergen.", "Bob: I live in Oslo.", false),
            (
                "Ada: I live in Oslo, Norway.",
                "Ada: I live in Oslo.",
                false,
            ),
            ("Ada: I live in Oslo.", "Ada: I live in Oslo!", false),
            ("Ada: I work at Acme.", "Ada: I live in Oslo.", false),
            ("Ada: I have a dog.", "Ada: I have a cat.", false),
            ("Ada: I speak French.", "Ada: I speak German.", false),
            (
                "Ada: My favorite songs are A and B",
                "Ada: My favorite songs are C",
                false,
            ),
            (
                "Ada: My wife lives in Bergen.",
                "Ada: My wife lives in Oslo.",
                true,
            ),
            (
                "Ada's wife lives in Bergen",
                "Ada: My wife lives in Oslo.",
                true,
            ),
            (
                "Bob: My wife lives in Bergen.",
                "Ada: My wife lives in Oslo.",
                false,
            ),
            (
                "Ada: My brother lives in Bergen.",
                "Ada: My brother lives in Oslo.",
                false,
            ),
            (
                "Bob: Our mother lives in Bergen.",
                "Ada: Our mother lives in Oslo.",
                false,
            ),
            (
                "Ada's brother lives in Bergen",
                "Ada: My brother lives in Oslo.",
                false,
            ),
            ("I live in Bergen", "I live in Oslo", false),
            ("He lives in Bergen", "He lives in Oslo", false),
            ("", "", false),
        ] {
            assert_eq!(supersedes(newer, older), expected, "{newer} / {older}");
        }
    }

    #[test]
    fn moods_are_not_claims() {
        for text in [
            "I'm a bit tired",
            "I have a question",
            "My wife is late",
            "I'm sorry",
            "My",
            "is",
        ] {
            assert_eq!(claim(text), None, "{text}");
        }
    }
}
