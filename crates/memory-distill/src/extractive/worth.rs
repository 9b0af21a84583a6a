//! The worth of a sentence: the probability that a later question asks for what it says.
//!
//! A logistic model over surface features: cue words, as in extractive summarization (H. P.
//! Edmundson, "New Methods in Automatic Extracting", 1969), and the sentence's role in the
//! conversation, which no word list contains: it answers a question, the reply takes it up,
//! its words were not said before.

use std::collections::{HashMap, HashSet};

use time::Date;

use super::cues::Cues;
use super::unit::{Kind, Unit};
use super::words;

/// Weights of the features of a sentence, in log-odds. The defaults were fitted to the
/// questions of three long conversations of the LoCoMo dataset by logistic regression;
/// `compression` of `tools/ranking` measures them on a conversation that they were not fitted to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentenceWeights {
    /// Any sentence.
    pub base: f32,
    /// Each informative word, at most eight.
    pub word: f32,
    /// The share of its informative words, 0 to 1, that its message says for the first time.
    pub new: f32,
    /// Each name except those of the speakers, at most three.
    pub name: f32,
    /// A digit.
    pub number: f32,
    /// A quotation.
    pub quotation: f32,
    /// A word of time, such as "yesterday".
    pub time: f32,
    /// A pronoun of the first person.
    pub first_person: f32,
    /// A relative, friend, colleague or pet.
    pub relation: f32,
    /// A negation.
    pub negation: f32,
    /// A question.
    pub question: f32,
    /// One of the first two sentences of a reply to a message with a question.
    pub answer: f32,
    /// Each informative word that the next message repeats, at most three.
    pub repeated: f32,
    /// The position of its message among those of its day, 0 to 1.
    pub late: f32,
}

impl Default for SentenceWeights {
    fn default() -> Self {
        Self {
            base: -4.70,
            word: 0.30,
            new: 1.11,
            name: 0.65,
            number: 1.28,
            quotation: 2.81,
            time: 1.02,
            first_person: 0.97,
            relation: 0.62,
            negation: -0.51,
            question: -0.41,
            answer: 0.83,
            repeated: 0.26,
            late: -0.53,
        }
    }
}

/// Log-odds of a digest of a tool call or of data, before its own weight.
const DIGEST: f32 = -3.7;
/// Log-odds per weight of a digest.
const DIGEST_SCALE: f32 = 2.0;
/// Log-odds of a sentence of the previous text in place of `answer`, `repeated` and `late`,
/// which its text does not show. It was selected before, so on average it had them.
const CARRIED: f32 = 1.0;

/// A message: its units, and what the features of its neighbors need.
struct Said<'a> {
    start: usize,
    end: usize,
    speaker: &'a str,
    asks: bool,
    /// Its position among the messages of its day, 0 to 1.
    late: f32,
}

/// Sets the worth of all units.
pub(super) fn assess(units: &mut [Unit], weights: &SentenceWeights) {
    let speakers: HashSet<String> = units
        .iter()
        .filter(|unit| unit.kind == Kind::Said)
        .flat_map(|unit| words::content(&unit.speaker))
        .collect();
    let mut numbers = Numbers::default();
    let informative: Vec<Vec<u32>> = units
        .iter()
        .map(|unit| match unit.kind {
            Kind::Said => numbers.of(&unit.text, &speakers),
            Kind::Digest => Vec::new(),
        })
        .collect();
    // The place that says each word first.
    let mut first_places = vec![usize::MAX; numbers.0.len()];
    for (unit, words) in units.iter().zip(&informative) {
        for word in words {
            if let Some(first) = first_places.get_mut(*word as usize) {
                *first = (*first).min(unit.place);
            }
        }
    }
    let is_new = |word: u32, place: usize| first_places.get(word as usize) == Some(&place);
    let mut worth: Vec<f32> = units
        .iter()
        .zip(&informative)
        .map(|(unit, words)| {
            if unit.kind == Kind::Digest {
                return DIGEST + DIGEST_SCALE * unit.weight;
            }
            let new = words.iter().filter(|word| is_new(**word, unit.place));
            let new = new.count() as f32 / words.len().max(1) as f32;
            let cues = Cues::of(&unit.text, &speakers);
            weights.base
                + weights.word * words.len().min(8) as f32
                + weights.new * new
                + weights.of_cues(&cues)
                + if unit.kept { CARRIED } else { 0.0 }
                + unit.weight
        })
        .collect();
    let messages = messages(units);
    for (nth, message) in messages.iter().enumerate() {
        let before = nth.checked_sub(1).and_then(|before| messages.get(before));
        let is_reply =
            before.is_some_and(|before| before.asks && before.speaker != message.speaker);
        let after = messages
            .get(nth + 1)
            .filter(|after| after.speaker != message.speaker);
        let next: HashSet<u32> = after
            .map(|after| {
                informative[after.start..after.end]
                    .iter()
                    .flatten()
                    .copied()
            })
            .into_iter()
            .flatten()
            .collect();
        for place in message.start..message.end {
            if units[place].kind == Kind::Digest {
                continue;
            }
            let repeated = informative[place].iter().filter(|word| next.contains(word));
            worth[place] +=
                weights.repeated * repeated.count().min(3) as f32 + weights.late * message.late;
            if is_reply && place < message.start + 2 {
                worth[place] += weights.answer;
            }
        }
    }
    for (unit, odds) in units.iter_mut().zip(worth) {
        unit.worth = 1.0 / (1.0 + (-odds).exp());
    }
}

/// The messages of people among units that are not of the previous text.
fn messages(units: &[Unit]) -> Vec<Said<'_>> {
    let mut found: Vec<Said<'_>> = Vec::new();
    let mut days: HashMap<Option<Date>, usize> = HashMap::new();
    let mut start = 0;
    for some in units.chunk_by(|a, b| a.place == b.place) {
        let end = start + some.len();
        if let Some(unit) = some
            .iter()
            .find(|unit| unit.kind == Kind::Said && !unit.kept)
        {
            let of_day = days.entry(unit.day).or_insert(0);
            found.push(Said {
                start,
                end,
                speaker: &unit.speaker,
                asks: some.iter().any(|unit| unit.text.contains(['?', '？'])),
                late: *of_day as f32,
            });
            *of_day += 1;
        }
        start = end;
    }
    for message in &mut found {
        let count = days.get(&units[message.start].day).copied().unwrap_or(1);
        message.late /= count as f32;
    }
    found
}

/// Numbers of words.
#[derive(Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    /// The informative words of a text, each once.
    fn of(&mut self, text: &str, speakers: &HashSet<String>) -> Vec<u32> {
        let mut found: Vec<u32> = words::content(text)
            .into_iter()
            .filter(|word| !words::is_generic(word) && !speakers.contains(word))
            .map(|word| {
                let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
                *self.0.entry(word).or_insert(next)
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl SentenceWeights {
    fn of_cues(&self, cues: &Cues) -> f32 {
        let when = |holds: bool, weight: f32| if holds { weight } else { 0.0 };
        self.name * cues.names.min(3) as f32
            + when(cues.number, self.number)
            + when(cues.quotation, self.quotation)
            + when(cues.time, self.time)
            + when(cues.first_person, self.first_person)
            + when(cues.relation, self.relation)
            + when(cues.negation, self.negation)
            + when(cues.question, self.question)
            + cues.other
    }
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    fn said(place: usize, speaker: &str, text: &str) -> Unit {
        Unit {
            text: text.to_owned(),
            speaker: speaker.to_owned(),
            day: Some(date!(2023 - 05 - 08)),
            place,
            kind: Kind::Said,
            weight: 0.0,
            worth: 0.0,
            kept: false,
        }
    }

    fn worth(units: &[Unit]) -> Vec<f32> {
        let mut units = units.to_vec();
        assess(&mut units, &SentenceWeights::default());
        units.iter().map(|unit| unit.worth).collect()
    }

    #[test]
    fn statements_are_worth_more_than_small_talk() {
        let worth = worth(&[
            said(0, "Ada", "I moved to Bergen with my brother in 2019."),
            said(1, "Ben", "Wow, that is so great!"),
            said(2, "Ada", "How are you?"),
        ]);
        assert!(worth[0] > 5.0 * worth[1], "{worth:?}");
        assert!(worth[0] > 5.0 * worth[2], "{worth:?}");
        assert!(worth.iter().all(|worth| (0.0..=1.0).contains(worth)));
    }

    #[test]
    fn neighbors_raise_an_answer_and_what_the_reply_repeats() {
        let answer = said(1, "Ada", "A red kite.");
        let alone = worth(&[
            said(0, "Ben", "Look."),
            answer.clone(),
            said(2, "Ben", "Ok."),
        ]);
        let asked = worth(&[
            said(0, "Ben", "Look?"),
            answer.clone(),
            said(2, "Ben", "Ok."),
        ]);
        let repeated = worth(&[
            said(0, "Ben", "Look."),
            answer.clone(),
            said(2, "Ben", "Kite!"),
        ]);
        let own = worth(&[said(0, "Ada", "Look?"), answer, said(2, "Ada", "Kite!")]);
        assert!(asked[1] > alone[1] && repeated[1] > alone[1]);
        assert!(own[1] <= alone[1]);
    }

    #[test]
    fn a_repetition_is_worth_less() {
        let text = "I planted tulips behind the shed.";
        let worth = worth(&[said(0, "Ada", text), said(1, "Ben", text)]);
        assert!(worth[0] > worth[1], "{worth:?}");
    }

    #[test]
    fn words_without_spaces_count() {
        let worth = worth(&[
            said(0, "A", "我决定搬到北京大学附近。"),
            said(1, "B", "好。"),
        ]);
        assert!(worth[0] > worth[1], "{worth:?}");
    }
}
