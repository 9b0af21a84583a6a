use memory_times::{Clock, Timestamp};

use super::table::{NOW, ZONE, check, clock};

#[test]
fn a_month_before_the_last_day_of_march_is_february() {
    let table = "
        What did I say a month ago? => 2026-02-01..2026-03-01
        What did I say in the past month? => 2026-02-28..now
        What did I say last month? => 2026-02-01..2026-03-01
    ";
    check("2026-03-31T12:00:00", ZONE, table);
}

#[test]
fn a_year_before_a_leap_day_has_none() {
    let table = "
        What did I say in the past year? => 2023-02-28..now
        What did I say on February 29? => 2024-02-29
        What did I say on 29 February last year and yesterday? => 2024-02-28
        What did I say on 30 February and yesterday? => 2024-02-28
    ";
    check("2024-02-29T12:00:00", ZONE, table);
}

#[test]
fn days_and_months_cross_the_border_of_years() {
    let table = "
        What did I say yesterday? => 2025-12-31
        What did I say last week? => 2025-12-22..2025-12-29
        What did I say this week? => 2025-12-29..2026-01-05
        What did I say last month? => 2025-12-01..2026-01-01
        What did I say last quarter? => 2025-10-01..2026-01-01
        What did I say in December? => 2025-12-01..2026-01-01
        What did I say in January? => 2026-01-01..2026-02-01
        What did I say last January? => 2025-01-01..2025-02-01
        What did I say on 2 January? => 2025-01-02
        What did I say from 28 December to 1 January? => 2025-12-28..2026-01-02
    ";
    check("2026-01-01T00:30:00", ZONE, table);
}

#[test]
fn days_have_23_and_25_hours_where_the_clocks_change() {
    let hours = |now: &str, question: &str| {
        let times = clock(now, ZONE).named_times(question);
        let time = times.first().unwrap();
        time.end.duration_since(time.start).as_hours()
    };
    assert_eq!(
        hours("2026-03-30T12:00:00", "What did I say yesterday?"),
        23
    );
    assert_eq!(
        hours("2026-10-26T12:00:00", "What did I say yesterday?"),
        25
    );
    assert_eq!(
        hours("2026-03-30T12:00:00", "What did I say last night?"),
        12
    );
    assert_eq!(
        hours("2026-03-29T12:00:00", "What did I say last night?"),
        11
    );
    assert_eq!(
        hours("2026-04-02T12:00:00", "What did I say this week?"),
        168
    );
    assert_eq!(
        hours("2026-04-02T12:00:00", "What did I say last week?"),
        167
    );
}

#[test]
fn a_day_without_midnight_starts_later() {
    // The clocks of Beirut went from 0:00 to 1:00.
    let times = clock("2024-04-01T12:00:00", "Asia/Beirut").named_times("yesterday");
    let hours = times[0].end.duration_since(times[0].start).as_hours();
    assert_eq!((times.len(), hours), (1, 23));
}

#[test]
fn days_are_those_of_the_zone() {
    let table = "
        What did I say today? => 2026-03-18
        What did I say yesterday? => 2026-03-17
        What did I say on Sunday? => 2026-03-15
    ";
    for zone in [
        "Pacific/Kiritimati",
        "America/Los_Angeles",
        "Asia/Kolkata",
        "UTC",
    ] {
        check("2026-03-18T00:05:00", zone, table);
        check("2026-03-18T23:55:00", zone, table);
    }
}

#[test]
fn on_the_days_of_a_weekend_it_is_this_one() {
    let table = "
        What did I do over the weekend? => 2026-03-21..2026-03-23
        What did I do last weekend? => 2026-03-14..2026-03-16
        What did I do this weekend? => 2026-03-21..2026-03-23
        What did I say on Sunday? => 2026-03-15
        What did I say last Sunday? => 2026-03-15
        What did I say this week? => 2026-03-16..2026-03-23
    ";
    check("2026-03-22T12:00:00", ZONE, table);
}

#[test]
fn zones_are_known_in_any_case_and_unknown_ones_are_named() {
    let now: Timestamp = "2026-03-18T15:30:00Z".parse().unwrap();
    assert!(Clock::new(now, "europe/berlin").is_ok());
    let today = |zone| Clock::new(now, zone).unwrap().named_times("today");
    assert_eq!(today(""), today("UTC"));
    let unknown = Clock::new(now, "Mars/Olympus").unwrap_err();
    assert_eq!(unknown.name, "Mars/Olympus");
    assert!(unknown.to_string().contains("Mars/Olympus"));
}

#[test]
fn times_beyond_the_years_1900_to_2199_are_not_read() {
    let clock = clock(NOW, ZONE);
    assert_eq!(clock.named_times("What happened 150 years ago?"), []);
    assert_eq!(clock.named_times("What happened in 1815?"), []);
    let edge: Timestamp = "9999-12-30T00:00:00Z".parse().unwrap();
    let late = Clock::new(edge, "").unwrap();
    assert_eq!(
        late.named_times("What will be next year, next week and tomorrow?"),
        []
    );
}

#[test]
fn a_language_that_is_not_clear_is_not_guessed() {
    let clock = clock(NOW, ZONE);
    // "hier" is here in German and yesterday in French.
    assert_eq!(clock.named_times("Paris hier"), []);
    assert_eq!(clock.named_times("Was ist hier passiert?"), []);
    assert_eq!(clock.named_times("Qu'est-ce que j'ai dit hier ?").len(), 1);
    // The date is the same in all languages, but for the order of slashes.
    assert_eq!(clock.named_times("Berlin 2026-03-05").len(), 1);
    assert_eq!(clock.named_times("Berlin 03/05/2026"), []);
    assert_eq!(clock.named_times("What did I say on 03/05/2026?"), []);
    assert_eq!(clock.named_times("¿Qué dije el 03/05/2026?").len(), 1);
}
