//! Where times lie: arithmetic of civil days in a time zone.

use jiff::civil::{Date, Weekday};
use jiff::{Span, Timestamp, ToSpan, Zoned};

use crate::meaning::{Meaning, Named, Point, Unit, Which};

/// The start of "before …" and "until …": 1900-01-01T00:00:00Z.
pub const EARLIEST: Timestamp = Timestamp::constant(-2_208_988_800, 0);

/// The first and the last year that are read.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2199;
/// Years between two leap days, at most.
const LEAP_YEARS: i16 = 8;
/// What "20 minutes ago" may be off by, to either side.
const MINUTES_AROUND: i64 = 5;
/// What "3 hours ago" may be off by, to either side.
const MINUTES_AROUND_HOURS: i64 = 30;

/// A range of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub start: Timestamp,
    /// Exclusive.
    pub end: Timestamp,
}

/// The calendar at a reference time.
#[derive(Clone, Debug)]
pub struct Calendar {
    now: Zoned,
}

/// Whole civil days, the last one exclusive.
struct Days {
    first: Date,
    after: Date,
}

impl Calendar {
    pub fn new(now: Zoned) -> Self {
        Self { now }
    }

    pub fn reference(&self) -> Timestamp {
        self.now.timestamp()
    }

    /// The range that is meant. `None` where there is no such day, where the range is empty, or
    /// where it is not within the years 1900 to 2199.
    pub fn stretch(&self, meaning: Meaning) -> Option<Stretch> {
        let now = self.now.timestamp();
        let bounded = |start, end| Stretch { start, end };
        let stretch = match meaning {
            Meaning::At(point) => self.point(point)?,
            Meaning::Since(point) => {
                let time = self.point(point)?;
                bounded(time.start, now)
            }
            Meaning::After(point) => {
                let time = self.point(point)?;
                bounded(time.end, now)
            }
            Meaning::Until(point) => {
                let time = self.point(point)?;
                bounded(EARLIEST, time.end)
            }
            Meaning::Before(point) => {
                let time = self.point(point)?;
                bounded(EARLIEST, time.start)
            }
            Meaning::Between(first, last) => self.between(first, last)?,
        };
        (stretch.start < stretch.end).then_some(stretch)
    }

    fn between(&self, first: Point, last: Point) -> Option<Stretch> {
        // An open end of a range goes by the other end, so that the range is not of years.
        let (first, last) = match (first.named.is_open(), last.named.is_open()) {
            (false, true) => {
                let first = self.point(first)?;
                let date = first.start.to_zoned(self.now.time_zone().clone()).date();
                let last = self.days(self.first_from(last.named, date)?)?;
                (first, last)
            }
            (true, _) => {
                let last = self.point(last)?;
                let date = last.start.to_zoned(self.now.time_zone().clone()).date();
                (self.days(self.latest_until(first.named, date)?)?, last)
            }
            (false, false) => (self.point(first)?, self.point(last)?),
        };
        Some(Stretch {
            start: first.start,
            end: last.end,
        })
    }

    fn point(&self, point: Point) -> Option<Stretch> {
        let days = match point.named {
            Named::Ago(count, unit @ (Unit::Minute | Unit::Hour)) => return self.ago(count, unit),
            Named::Last(count, unit) => return self.last(count, unit),
            _ => self.place(point.named)?,
        };
        match point.part {
            None => self.days(days),
            Some(part) => Some(Stretch {
                start: self.hour(days.first, part.from)?,
                end: self.hour(days.first, part.to)?,
            }),
        }
    }

    fn ago(&self, count: i32, unit: Unit) -> Option<Stretch> {
        let (back, around) = match unit {
            Unit::Minute => (1, MINUTES_AROUND),
            _ => (60, MINUTES_AROUND_HOURS),
        };
        let now = self.now.timestamp();
        let middle = now.checked_sub((i64::from(count) * back).minutes()).ok()?;
        let start = middle.checked_sub(around.minutes()).ok()?;
        let end = middle.checked_add(around.minutes()).ok()?.min(now);
        Some(Stretch { start, end })
    }

    fn last(&self, count: i32, unit: Unit) -> Option<Stretch> {
        let now = self.now.timestamp();
        let minutes = |each: i64| now.checked_sub((i64::from(count) * each).minutes()).ok();
        let start = match unit {
            Unit::Minute => minutes(1)?,
            Unit::Hour => minutes(60)?,
            _ => self.midnight(self.today().checked_sub(span(count, unit)?).ok()?)?,
        };
        Some(Stretch { start, end: now })
    }

    /// The days of a time that is neither of minutes nor up to the reference.
    fn place(&self, named: Named) -> Option<Days> {
        let today = self.today();
        match named {
            Named::Day(offset) => one_day(today.checked_add(offset.days()).ok()?),
            Named::Period(unit, offset) => self.period(unit, offset),
            Named::Ago(count, unit) => {
                let date = today.checked_sub(span(count, unit)?).ok()?;
                unit_around(date, unit)
            }
            Named::SomeWeekend => {
                let this = self.period(Unit::Weekend, 0)?;
                match this.first <= today {
                    true => Some(this),
                    false => self.period(Unit::Weekend, -1),
                }
            }
            Named::Weekday(weekday, which) => self.weekday(weekday, which),
            Named::Year(year) => unit_around(date(year, 1, 1)?, Unit::Year),
            Named::DayOfMonth(months, day) => {
                let month = self.period(Unit::Month, months)?.first;
                one_day(date(month.year(), month.month(), day)?)
            }
            Named::Month(_, which) | Named::Date(_, _, which) => {
                let present = match named {
                    Named::Month(..) => unit_around(today, Unit::Month)?,
                    _ => one_day(today)?,
                };
                match which {
                    Which::Recent => self.latest_until(named, today),
                    Which::Step(-1) => self.latest_until(named, present.first.yesterday().ok()?),
                    Which::Step(1) => self.first_from(named, present.after),
                    Which::Step(0) => in_year(named, today.year()),
                    Which::Step(_) => None,
                    Which::Year(year) => in_year(named, year),
                    Which::Within(years) => {
                        in_year(named, today.year().checked_add(years.try_into().ok()?)?)
                    }
                }
            }
            Named::Last(..) => None,
        }
    }

    fn weekday(&self, weekday: i8, which: Which) -> Option<Days> {
        let today = self.today();
        let weekday = Weekday::from_monday_one_offset(weekday).ok()?;
        let date = match which {
            Which::Recent => today.nth_weekday(-1, weekday),
            Which::Step(0) | Which::Within(_) => {
                let weeks = match which {
                    Which::Within(weeks) => weeks,
                    _ => 0,
                };
                let monday = self.period(Unit::Week, weeks)?.first;
                monday.checked_add(i64::from(weekday.to_monday_zero_offset()).days())
            }
            Which::Step(step) => today.nth_weekday(step, weekday),
            Which::Year(_) => return None,
        };
        one_day(date.ok()?)
    }

    fn period(&self, unit: Unit, offset: i32) -> Option<Days> {
        let of_unit = match unit {
            Unit::Weekend => Unit::Week,
            unit => unit,
        };
        let present = unit_around(self.today(), of_unit)?.first;
        let date = present.checked_add(span(offset, of_unit)?).ok()?;
        unit_around(date, unit)
    }

    /// The latest month or date of a name that begins on a day or before it; of weekdays, before
    /// it.
    fn latest_until(&self, named: Named, day: Date) -> Option<Days> {
        if let Named::Weekday(weekday, _) = named {
            let weekday = Weekday::from_monday_one_offset(weekday).ok()?;
            return one_day(day.nth_weekday(-1, weekday).ok()?);
        }
        let years = (0..=LEAP_YEARS).filter_map(|back| day.year().checked_sub(back));
        let mut found = years.filter_map(|year| in_year(named, year));
        found.find(|days| days.first <= day)
    }

    /// The first month, date or weekday of a name that begins on a day or after it.
    fn first_from(&self, named: Named, day: Date) -> Option<Days> {
        if let Named::Weekday(weekday, _) = named {
            let weekday = Weekday::from_monday_one_offset(weekday).ok()?;
            let before = day.yesterday().ok()?;
            return one_day(before.nth_weekday(1, weekday).ok()?);
        }
        let years = (0..=LEAP_YEARS).filter_map(|on| day.year().checked_add(on));
        let mut found = years.filter_map(|year| in_year(named, year));
        found.find(|days| days.first >= day)
    }

    fn today(&self) -> Date {
        self.now.date()
    }

    fn days(&self, days: Days) -> Option<Stretch> {
        Some(Stretch {
            start: self.midnight(days.first)?,
            end: self.midnight(days.after)?,
        })
    }

    /// The start of a day, which is not always midnight.
    fn midnight(&self, date: Date) -> Option<Timestamp> {
        self.hour(date, 0)
    }

    fn hour(&self, date: Date, hour: i8) -> Option<Timestamp> {
        if !YEARS.contains(&date.year()) {
            return None;
        }
        let date = date.checked_add(i64::from(hour / 24).days()).ok()?;
        let zoned = date
            .at(hour % 24, 0, 0, 0)
            .to_zoned(self.now.time_zone().clone());
        Some(zoned.ok()?.timestamp())
    }
}

fn date(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

fn one_day(day: Date) -> Option<Days> {
    unit_around(day, Unit::Day)
}

/// A month or a date in a year.
fn in_year(named: Named, year: i16) -> Option<Days> {
    match named {
        Named::Month(month, _) => unit_around(date(year, month, 1)?, Unit::Month),
        Named::Date(month, day, _) => one_day(date(year, month, day)?),
        _ => None,
    }
}

/// The unit that a day is in; for weekends that of the day's week.
fn unit_around(day: Date, unit: Unit) -> Option<Days> {
    let monday = || {
        let since = day.weekday().to_monday_zero_offset();
        day.checked_sub(i64::from(since).days()).ok()
    };
    let first = match unit {
        Unit::Minute | Unit::Hour => return None,
        Unit::Day => day,
        Unit::Week => monday()?,
        Unit::Weekend => monday()?.checked_add(5.days()).ok()?,
        Unit::Month => day.first_of_month(),
        Unit::Quarter => date(day.year(), (day.month() - 1) / 3 * 3 + 1, 1)?,
        Unit::Year => day.first_of_year(),
    };
    Some(Days {
        first,
        after: first.checked_add(span(1, unit)?).ok()?,
    })
}

/// A number of units; `None` where it is too large.
fn span(count: i32, unit: Unit) -> Option<Span> {
    let span = Span::new();
    match unit {
        Unit::Minute => span.try_minutes(count),
        Unit::Hour => span.try_hours(count),
        Unit::Day => span.try_days(count),
        Unit::Week => span.try_weeks(count),
        Unit::Weekend => span.try_days(2 * i64::from(count)),
        Unit::Month => span.try_months(count),
        Unit::Quarter => span.try_months(3 * i64::from(count)),
        Unit::Year => span.try_years(count),
    }
    .ok()
}
