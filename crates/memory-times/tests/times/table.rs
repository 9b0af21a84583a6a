//! Tables of questions with the times that they name.

use memory_times::{Clock, EARLIEST, NamedTime, Timestamp};

/// A Wednesday.
pub const NOW: &str = "2026-03-18T15:30:00";
pub const ZONE: &str = "Europe/Berlin";

/// The clock at a civil time of a zone.
pub fn clock(now: &str, zone: &str) -> Clock {
    Clock::new(at(now, now, zone), zone).unwrap()
}

/// Reads each line of a table: a question, `=>`, and its times, separated by `+`. A time is a day,
/// or a start and an exclusive end around `..`; both are days, times such as `2026-03-18T08`,
/// `now`, or `start` for the earliest time. `-`: none.
pub fn check(now: &str, zone: &str, table: &str) {
    let clock = clock(now, zone);
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines(table) {
        let (question, expected) = line.split_once("=>").expect(line);
        let question = question.trim();
        let expected: Vec<(Timestamp, Timestamp)> = expected
            .split('+')
            .filter(|time| time.trim() != "-")
            .map(|time| range(time.trim(), now, zone))
            .collect();
        let times = clock.named_times(question);
        let found: Vec<(Timestamp, Timestamp)> =
            times.iter().map(|time| (time.start, time.end)).collect();
        count += 1;
        if found != expected {
            wrong.push(format!("{line}\n    {}", shown(question, &times, zone)));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Reads each line of a table of questions that name no time.
pub fn check_none(table: &str) {
    let clock = clock(NOW, ZONE);
    let mut wrong = Vec::new();
    let mut count = 0;
    for question in lines(table) {
        let times = clock.named_times(question);
        count += 1;
        if !times.is_empty() {
            wrong.push(format!("{question}\n    {}", shown(question, &times, ZONE)));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn lines(table: &str) -> impl Iterator<Item = &str> {
    table.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn range(time: &str, now: &str, zone: &str) -> (Timestamp, Timestamp) {
    match time.split_once("..") {
        Some((start, end)) => (at(start, now, zone), at(end, now, zone)),
        None => {
            let next = time
                .parse::<jiff::civil::Date>()
                .unwrap()
                .tomorrow()
                .unwrap();
            (at(time, now, zone), at(&next.to_string(), now, zone))
        }
    }
}

fn at(time: &str, now: &str, zone: &str) -> Timestamp {
    let civil = match time {
        "start" => return EARLIEST,
        "now" => now.to_owned(),
        time if time.len() == 10 => format!("{time}T00:00:00"),
        time if time.len() == 13 => format!("{time}:00:00"),
        time => time.to_owned(),
    };
    let civil: jiff::civil::DateTime = civil.parse().expect(time);
    civil.in_tz(zone).unwrap().timestamp()
}

fn shown(question: &str, times: &[NamedTime], zone: &str) -> String {
    let zone = jiff::tz::TimeZone::get(zone).unwrap();
    let shown = |time: Timestamp| time.to_zoned(zone.clone()).datetime().to_string();
    let times: Vec<String> = times
        .iter()
        .map(|time| {
            let text = &question[time.text.clone()];
            format!("{text:?} {}..{}", shown(time.start), shown(time.end))
        })
        .collect();
    format!("read: [{}]", times.join(", "))
}
