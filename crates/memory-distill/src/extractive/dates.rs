//! Resolves the day that a sentence names, relative to the day it was said.

use time::{Date, Duration, Month, Weekday};

use super::words;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];
const NUMBERS: [&str; 10] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
];

/// The day, today or earlier, that a sentence names. `words` are its words in lower case.
/// `None` if it names no day or an inexact one, such as "last month".
pub(super) fn past_day(text: &str, words: &[String], said: Date) -> Option<Date> {
    let word = |place: usize| words::at(words, place);
    for place in 0..words.len() {
        let day = match (word(place), word(place + 1), word(place + 2)) {
            ("yesterday", ..) if place >= 2 && word(place - 1) == "before" => back(said, 2),
            ("yesterday", ..) | ("last", "night", _) => back(said, 1),
            ("today" | "tonight", ..) | ("this", "morning" | "afternoon" | "evening", _) => {
                Some(said)
            }
            (number, "day" | "days", "ago") => count(number).and_then(|n| back(said, n)),
            (number, "week" | "weeks", "ago") => count(number).and_then(|n| back(said, 7 * n)),
            ("last", weekday, _) => before(said, weekday),
            _ => None,
        };
        if day.is_some() {
            return day;
        }
    }
    named(words, said)
        .or_else(|| iso(text))
        .filter(|day| *day <= said)
}

fn back(said: Date, days: i64) -> Option<Date> {
    said.checked_sub(Duration::days(days))
}

fn count(word: &str) -> Option<i64> {
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    let named = NUMBERS.iter().position(|number| *number == word);
    let number = match named {
        Some(place) => i64::try_from(place).ok()? + 1,
        None => word.parse().ok()?,
    };
    (1..=366).contains(&number).then_some(number)
}

fn before(said: Date, weekday: &str) -> Option<Date> {
    let (_, weekday) = WEEKDAYS.iter().find(|(name, _)| *name == weekday)?;
    (1..=7)
        .filter_map(|days| back(said, days))
        .find(|day| day.weekday() == *weekday)
}

/// `8 May`, `May 8`, `May 8th, 2023`; without a year, the most recent.
fn named(words: &[String], said: Date) -> Option<Date> {
    let day_of = |word: Option<&String>| -> Option<u8> {
        let digits = word?.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        digits.parse().ok().filter(|day| (1..=31).contains(day))
    };
    let year_of = |word: Option<&String>| -> Option<i32> {
        word?
            .parse()
            .ok()
            .filter(|year| (1900..=2200).contains(year))
    };
    for (place, word) in words.iter().enumerate() {
        let Some(month) = MONTHS.iter().position(|month| month == word) else {
            continue;
        };
        let month = Month::try_from(u8::try_from(month + 1).ok()?).ok()?;
        let earlier = place
            .checked_sub(1)
            .and_then(|before| Some((day_of(words.get(before))?, year_of(words.get(place + 1)))));
        let later = || Some((day_of(words.get(place + 1))?, year_of(words.get(place + 2))));
        if let Some((day, year)) = earlier.or_else(later) {
            return match year {
                Some(year) => Date::from_calendar_date(year, month, day).ok(),
                None => [said.year(), said.year() - 1]
                    .into_iter()
                    .filter_map(|year| Date::from_calendar_date(year, month, day).ok())
                    .find(|date| *date <= said),
            };
        }
    }
    None
}

/// `2023-05-08`.
fn iso(text: &str) -> Option<Date> {
    let format = time::macros::format_description!("[year]-[month]-[day]");
    text.split(|c: char| !(c.is_ascii_digit() || c == '-'))
        .find_map(|word| Date::parse(word, format).ok())
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;
    use crate::extractive::words;

    #[test]
    fn days_are_worked_out_from_the_day_they_were_named() {
        let said = date!(2023 - 05 - 08); // a Monday
        for (text, day) in [
            ("I went there yesterday", Some(date!(2023 - 05 - 07))),
            (
                "the day before yesterday I ran",
                Some(date!(2023 - 05 - 06)),
            ),
            ("we met two days ago", Some(date!(2023 - 05 - 06))),
            ("a week ago", Some(date!(2023 - 05 - 01))),
            ("last Friday", Some(date!(2023 - 05 - 05))),
            ("last Monday", Some(date!(2023 - 05 - 01))),
            ("on 3 May", Some(date!(2023 - 05 - 03))),
            ("on June 9th", Some(date!(2022 - 06 - 09))),
            ("on May 3rd, 2019", Some(date!(2019 - 05 - 03))),
            ("at 2021-12-24.", Some(date!(2021 - 12 - 24))),
            ("on 31 February", None),
            ("next Friday", None),
            ("last month", None),
            ("on 2030-01-01", None),
            ("99999999999999999999 days ago", None),
        ] {
            assert_eq!(past_day(text, &words::plain(text), said), day, "{text}");
        }
    }
}
