//! Lasting statements about speakers, and about the people and pets in their lives: health, food,
//! tastes, homes and work.

use super::preferences::is_lasting;
use super::words;

/// The people and pets of whom facts are taken.
const RELATIVES: &[&str] = &[
    "wife",
    "husband",
    "partner",
    "spouse",
    "fiancé",
    "fiancée",
    "fiance",
    "fiancee",
    "girlfriend",
    "boyfriend",
    "son",
    "sons",
    "daughter",
    "daughters",
    "kid",
    "kids",
    "child",
    "children",
    "baby",
    "twins",
    "mother",
    "mom",
    "mum",
    "father",
    "dad",
    "parents",
    "brother",
    "brothers",
    "sister",
    "sisters",
    "grandma",
    "grandmother",
    "grandpa",
    "grandfather",
    "grandparents",
    "grandson",
    "granddaughter",
    "grandchildren",
    "aunt",
    "uncle",
    "cousin",
    "nephew",
    "niece",
    "dog",
    "dogs",
    "cat",
    "cats",
];
/// Words between "my" and a relative.
const ADJECTIVES: &[&str] = &[
    "older", "younger", "oldest", "youngest", "eldest", "elder", "elderly", "little", "big", "two",
    "three", "four", "year", "old", "teenage", "dear", "other",
];
/// Words after a relative that cannot be the relative's name.
const NO_NAMES: &[&str] = &[
    "am", "is", "are", "was", "were", "and", "or", "who", "whose", "of", "with", "to", "in", "at",
    "for", "that", "says", "thinks", "wants", "will", "can", "does", "did", "has", "had", "may",
    "might", "must", "should", "could", "would", "need", "needs", "doesn't", "don't", "isn't",
];
/// Words that make a statement one of the moment.
const MOMENTS: &[&str] = &["today", "tomorrow", "tonight", "yesterday", "away", "off"];
const ADVERBS: &[&str] = &[
    "also", "both", "all", "really", "still", "always", "only", "just",
];
/// Words that make a trait stronger.
const DEGREES: &[&str] = &[
    "also", "both", "all", "strictly", "severely", "very", "still", "now",
];
const DIETS: &[&str] = &[
    "vegetarian",
    "vegetarians",
    "vegan",
    "vegans",
    "pescatarian",
    "pescatarians",
];
const CONDITIONS: &[&str] = &[
    "diabetic",
    "diabetics",
    "celiac",
    "coeliac",
    "asthmatic",
    "epileptic",
];
/// Conditions whose names are used as adjectives of other things, too.
const IMPAIRMENTS: &[&str] = &["blind", "deaf", "disabled", "autistic", "dyslexic"];
const ILLNESSES: &[&str] = &[
    "asthma",
    "diabetes",
    "epilepsy",
    "dementia",
    "arthritis",
    "autism",
    "adhd",
    "dyslexia",
    "allergy",
    "allergies",
    "celiac",
    "coeliac",
    "parkinson's",
    "alzheimer's",
];
/// Words after an illness that do not make it a part of another word, as in "allergy test".
const AFTER_ILLNESS: &[&str] = &[
    "", "disease", "to", "and", "or", "but", "so", "too", "as", "from", "now",
];
const ARTICLES: &[&str] = &["a", "an", "his", "her", "my", "their", "our"];
/// Words after "wheelchair" that make it a part of something else.
const PLACES: &[&str] = &[
    "ramp",
    "lift",
    "access",
    "entrance",
    "space",
    "ramps",
    "accessible",
];
/// Objects of "doesn't eat" that say nothing about food.
const NO_FOOD: &[&str] = &[
    "today", "now", "tonight", "yet", "much", "enough", "well", "there", "here", "at", "in",
    "with", "before", "after", "anything", "out",
];

/// Whom a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Speaker,
    /// The speaker and others.
    Together,
    Relative,
}

/// The topic of a lasting statement that a clause makes about the speaker or the speaker's
/// relatives.
pub(super) fn topic(clause: &[String]) -> Option<&'static str> {
    let said = expanded(clause);
    if words::have(&said, MOMENTS) {
        return None;
    }
    let subjects = subjects(&said);
    subjects
        .into_iter()
        .find_map(|(who, rest)| predicate(who, rest))
}

/// The topic of what a relative clause says of a relative whom the speaker names: "I travel with my
/// wife, who uses a wheelchair".
pub(super) fn topic_of_aside(sentence: &[String]) -> Option<&'static str> {
    let said = expanded(sentence);
    let who = said.iter().position(|word| word == "who")?;
    let speaks = ["i", "we", "my", "our"].contains(&said.first()?.as_str());
    let owner = said[..who]
        .iter()
        .rposition(|word| word == "my" || word == "our")?;
    let relative = after_relative(&said[owner..who])?;
    // Nothing but a name stands between.
    (speaks && relative.len() <= 1)
        .then(|| predicate(Who::Relative, &said[who + 1..]))
        .flatten()
}

/// Whether a clause is a relative alone, so that "and" continues the subject: "my wife and I".
pub(super) fn is_subject(clause: &[String]) -> bool {
    after_relative(clause).is_some_and(<[String]>::is_empty)
}

/// The words without the contractions that matter here.
fn expanded(said: &[String]) -> Vec<String> {
    let mut words: Vec<String> = Vec::with_capacity(said.len() + 2);
    for word in said {
        let relative = word.strip_suffix("'s");
        let relative = relative.filter(|relative| RELATIVES.contains(relative));
        match (word.as_str(), relative) {
            ("i'm", _) => words.extend(["i", "am"].map(str::to_owned)),
            ("we're", _) => words.extend(["we", "are"].map(str::to_owned)),
            ("cannot", _) => words.push("can't".to_owned()),
            ("not", _) => match words.last_mut() {
                Some(last) if last == "do" || last == "does" => last.push_str("n't"),
                _ => words.push(word.clone()),
            },
            (_, Some(relative)) => words.extend([relative, "is"].map(str::to_owned)),
            (_, None) => words.push(word.clone()),
        }
    }
    words
}

/// Whom a clause may be about, each with the words after the subject.
fn subjects(said: &[String]) -> Vec<(Who, &[String])> {
    match said.first().map(String::as_str) {
        Some("i") => return vec![(Who::Speaker, &said[1..])],
        Some("we") => return vec![(Who::Together, &said[1..])],
        _ => {}
    }
    let Some(rest) = after_relative(said) else {
        return Vec::new();
    };
    let mut found = vec![(Who::Relative, rest)];
    match rest.first().map(String::as_str) {
        Some("and") if rest.get(1).is_some_and(|word| word == "i") => {
            found.push((Who::Together, &rest[2..]));
        }
        Some("and") => found.extend(after_relative(&rest[1..]).map(|rest| (Who::Relative, rest))),
        Some(name) if !NO_NAMES.contains(&name) => found.push((Who::Relative, &rest[1..])),
        _ => {}
    }
    found
}

/// The words after "my wife", "our youngest son" and the like.
fn after_relative(said: &[String]) -> Option<&[String]> {
    let (owner, rest) = said.split_first()?;
    if owner != "my" && owner != "our" {
        return None;
    }
    let describes = |word: &&String| {
        ADJECTIVES.contains(&word.as_str()) || word.starts_with(|c: char| c.is_ascii_digit())
    };
    let described = rest.iter().take(4).take_while(describes).count();
    let (relative, rest) = rest[described..].split_first()?;
    if !RELATIVES.contains(&relative.as_str()) {
        return None;
    }
    match rest {
        [first, second, rest @ ..] if first == "in" && second == "law" => Some(rest),
        rest => Some(rest),
    }
}

/// The topic of what is said of somebody.
fn predicate(who: Who, said: &[String]) -> Option<&'static str> {
    let adverbs = said
        .iter()
        .take_while(|word| ADVERBS.contains(&word.as_str()));
    let said = &said[adverbs.count()..];
    let word = |place: usize| words::at(said, place);
    let eats = |object: &str| (is_lasting(object) && !NO_FOOD.contains(&object)).then_some("food");
    let is_other = who == Who::Relative;
    match (word(0), word(1)) {
        ("am", _) => being(who, &said[1..]).filter(|_| who == Who::Speaker),
        ("is" | "are", _) => being(who, &said[1..]).filter(|_| who != Who::Speaker),
        ("use" | "uses", _) => has_aid(&said[1..]).then_some("health"),
        ("need" | "needs", _) if is_other => has_aid(&said[1..]).then_some("health"),
        ("have" | "has", _) => is_ill(&said[1..]).then_some("health"),
        ("can't", "eat" | "drink" | "tolerate") | ("don't" | "doesn't", "eat" | "drink") => {
            eats(word(2))
        }
        ("can't", "walk") => ["far", "long", "without", "much"]
            .contains(&word(2))
            .then_some("health"),
        ("can't", "climb") => ["stairs", "steps"].contains(&word(2)).then_some("health"),
        ("don't" | "doesn't", "like") if is_other && is_lasting(word(2)) => Some("family"),
        ("love" | "like" | "enjoy" | "prefer" | "hate" | "dislike" | "adore", object)
            if who == Who::Together && is_lasting(object) =>
        {
            Some("preferences")
        }
        (
            "love" | "loves" | "like" | "likes" | "enjoy" | "enjoys" | "prefer" | "prefers"
            | "hate" | "hates" | "dislike" | "dislikes" | "adore" | "adores",
            object,
        ) if is_other && is_lasting(object) => Some("family"),
        ("live" | "lives", "in") | ("work" | "works", "as" | "at" | "for")
            if is_other && is_lasting(word(2)) =>
        {
            Some("family")
        }
        ("speak" | "speaks", language) if is_other && is_lasting(language) => Some("family"),
        _ => None,
    }
}

/// The topic of what stands after "is".
fn being(who: Who, said: &[String]) -> Option<&'static str> {
    let degrees = said
        .iter()
        .take_while(|word| DEGREES.contains(&word.as_str()));
    let said = &said[degrees.count()..];
    let word = |place: usize| words::at(said, place);
    let has_article = matches!(word(0), "a" | "an");
    let (first, second) = match has_article {
        true => (word(1), word(2)),
        false => (word(0), word(1)),
    };
    match (first, second) {
        (diet, _) if DIETS.contains(&diet) => Some("food"),
        (condition, _) if CONDITIONS.contains(&condition) => Some("health"),
        (impairment, next) if IMPAIRMENTS.contains(&impairment) => {
            (!has_article && next != "to").then_some("health")
        }
        ("allergic", "to") => is_lasting(word(2)).then_some("health"),
        ("lactose" | "gluten", "intolerant") => Some("health"),
        ("wheelchair", "bound" | "dependent" | "user" | "users") => Some("health"),
        ("in", "a") => (word(2) == "wheelchair").then_some("health"),
        ("called" | "named", name) if who == Who::Relative => is_lasting(name).then_some("family"),
        _ => None,
    }
}

/// Whether the words are something that helps with moving, hearing or seeing.
fn has_aid(said: &[String]) -> bool {
    let word = |place: usize| words::at(said, place);
    let found = (0..4).find(|&place| {
        matches!(
            (word(place), word(place + 1)),
            ("wheelchair" | "wheelchairs" | "rollator" | "crutches", _)
                | ("hearing", "aid" | "aids")
                | ("mobility", "scooter")
                | ("guide", "dog")
                | ("walking", "stick" | "frame")
        )
    });
    let begins = found == Some(0) || ARTICLES.contains(&word(0));
    found.is_some_and(|place| begins && !PLACES.contains(&word(place + 1)))
}

/// Whether the words are an illness.
fn is_ill(said: &[String]) -> bool {
    let mut beginning = said.iter().take(4);
    let place = beginning.position(|word| ILLNESSES.contains(&word.as_str()));
    place.is_some_and(|place| {
        let next = words::at(said, place + 1);
        AFTER_ILLNESS.contains(&next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extractive::words::plain;

    #[test]
    fn lasting_statements_have_a_topic() {
        for (text, expected) in [
            ("My wife uses a wheelchair", "health"),
            ("my wife's in a wheelchair", "health"),
            ("My mother-in-law is a wheelchair user", "health"),
            ("our 6-year-old son is allergic to nuts", "health"),
            ("My sister Anna has celiac disease", "health"),
            ("My dad can’t climb stairs", "health"),
            ("I use an electric wheelchair", "health"),
            ("I'm lactose intolerant", "health"),
            ("I do not eat meat", "food"),
            ("we're both vegetarian", "food"),
            ("My wife and I are vegan", "food"),
            ("My husband and my kids don't eat pork", "food"),
            ("my wife and I love museums", "preferences"),
            ("My youngest daughter loves dinosaurs", "family"),
            ("My brother works as a baker", "family"),
            ("Our dog is called Rex", "family"),
        ] {
            assert_eq!(topic(&plain(text)), Some(expected), "{text}");
        }
    }

    #[test]
    fn moments_parts_and_others_have_none() {
        for text in [
            "My wife is late today",
            "My wife is calling",
            "my wife's friend uses a wheelchair",
            "My wife uses the wheelchair ramp",
            "My wife uses a wheelchair ramp",
            "I need a wheelchair",
            "My brother has an allergy test",
            "My son has no time",
            "My kids don't eat today",
            "My daughter loves it",
            "I'm blind to it",
            "I am a blind date",
            "She uses a wheelchair",
            "The customer is allergic to nuts",
            "Your wife uses a wheelchair",
            "My neighbor is allergic to cats",
            "I are vegetarian",
            "my wife",
            "my",
            "",
        ] {
            assert_eq!(topic(&plain(text)), None, "{text}");
        }
    }

    #[test]
    fn a_relative_clause_says_something_of_the_relative() {
        for (text, expected) in [
            (
                "I travel with my wife, who uses a wheelchair",
                Some("health"),
            ),
            ("My sister Anna, who is vegan, comes too", Some("food")),
            ("We visit my brother who lives in Bergen", Some("family")),
            ("I met a man who uses a wheelchair", None),
            ("I saw my wife with the man who uses a wheelchair", None),
            ("Anna met my brother, who is vegan", None),
            ("I asked who uses a wheelchair", None),
            ("who is vegan", None),
        ] {
            assert_eq!(topic_of_aside(&plain(text)), expected, "{text}");
        }
    }
}
