//! Budgets that speakers name.

use super::claim::starts_with;

/// Words between "is" and the amount.
const ABOUT: &[&str] = &[
    "about",
    "around",
    "roughly",
    "approximately",
    "up",
    "to",
    "under",
    "below",
    "over",
    "max",
    "maximum",
    "at",
    "most",
    "only",
    "just",
    "now",
    "currently",
    "between",
    "no",
    "more",
    "than",
    "a",
    "total",
    "of",
];
/// Numbers in words with which an amount begins.
const NUMBERS: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve",
    "fifteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    "hundred", "thousand",
];
/// Most words between "budget" and "is".
const PURPOSE_WORDS: usize = 6;

/// Whether the words begin with a budget of the speaker and its amount.
pub(super) fn are_budget(said: &[String]) -> bool {
    let having = [
        "i have a",
        "we have a",
        "i've got a",
        "we've got a",
        "i'm on a",
        "i am on a",
        "we're on a",
        "we are on a",
    ];
    if let Some(length) = having.iter().find_map(|phrase| starts_with(said, phrase)) {
        let rest = &said[length..];
        let budget = rest.iter().take(3).position(|word| word == "budget");
        return budget.is_some_and(|budget| {
            let rest = &rest[budget + 1..];
            rest.first().is_some_and(|word| word == "of") && begin_with_amount(&rest[1..])
        });
    }
    if !said
        .first()
        .is_some_and(|word| word == "my" || word == "our")
    {
        return false;
    }
    let mut words = said.iter().take(4);
    let Some(budget) = words.position(|word| word == "budget" || word == "budget's") else {
        return false;
    };
    let rest = &said[budget + 1..];
    if said[budget] == "budget's" {
        return begin_with_amount(rest);
    }
    let mut words = rest.iter().take(PURPOSE_WORDS + 1);
    let Some(is) = words.position(|word| word == "is") else {
        return false;
    };
    let has_purpose = matches!(rest[0].as_str(), "for" | "per" | "in" | "is");
    has_purpose && begin_with_amount(&rest[is + 1..])
}

fn begin_with_amount(said: &[String]) -> bool {
    let mut words = said
        .iter()
        .skip_while(|word| ABOUT.contains(&word.as_str()));
    words.next().is_some_and(|word| {
        word.starts_with(|c: char| c.is_ascii_digit()) || NUMBERS.contains(&word.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extractive::words::plain;

    #[test]
    fn a_budget_has_an_amount() {
        for (text, expected) in [
            ("My budget is $3000.", true),
            ("our budget is about 3,000 euros for the whole trip", true),
            (
                "our travel budget for hotel and food is up to €200 per night",
                true,
            ),
            ("My budget’s 3k", true),
            ("our total budget is three thousand euros", true),
            ("I have a budget of 3,000 euros", true),
            ("we're on a tight budget of 900 pounds", true),
            ("My budget is tight", false),
            ("My budget is due on May 3", false),
            ("My budget report is 3 pages long", false),
            ("I have a budget", false),
            ("I have a budget meeting at 3", false),
            ("The budget is 3,000 euros", false),
            ("Their budget is 3,000 euros", false),
            ("my budget", false),
            ("", false),
        ] {
            assert_eq!(are_budget(&plain(text)), expected, "{text}");
        }
    }
}
