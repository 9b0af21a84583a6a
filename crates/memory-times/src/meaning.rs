//! What expressions of time mean, whatever the reference time is.

/// Hours of a day. From 24 on they are of the day after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The first hour.
    pub from: i8,
    /// The hour after the last one.
    pub to: i8,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Weekend,
    Month,
    Quarter,
    Year,
}

/// Which of the weekdays, months or dates of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The most recent one that has begun; of weekdays the most recent one before today.
    Recent,
    /// Before the present one (-1), of the present week or year (0), or after it (1).
    Step(i32),
    /// Of the week or the year at this distance.
    Within(i32),
    /// Of this year.
    Year(i16),
}

/// A time as words name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A day by its distance from today.
    Day(i32),
    /// A unit by its distance from the present one.
    Period(Unit, i32),
    /// The most recent weekend that has begun.
    SomeWeekend,
    /// A day of the week. Monday is 1.
    Weekday(i8, Which),
    /// A month. January is 1.
    Month(i8, Which),
    /// A month and a day in it.
    Date(i8, i8, Which),
    /// A day of the month at this distance.
    DayOfMonth(i32, i8),
    /// A year.
    Year(i16),
    /// The unit that a number of units ago was the present one.
    Ago(i32, Unit),
    /// A number of units up to the reference.
    Last(i32, Unit),
}

/// A time that words name, or hours of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The time.
    pub named: Named,
    /// The hours.
    pub part: Option<Part>,
}

/// What an expression means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The time itself.
    At(Point),
    /// From its start to the reference.
    Since(Point),
    /// Everything up to its end.
    Until(Point),
    /// Everything before it.
    Before(Point),
    /// From its end to the reference.
    After(Point),
    /// From the start of one to the end of the other.
    Between(Point, Point),
}

impl Meaning {
    /// Whether a date, a month or a year names it, or one end of it.
    pub fn is_of_calendar(self) -> bool {
        match self {
            Self::At(point)
            | Self::Since(point)
            | Self::Until(point)
            | Self::Before(point)
            | Self::After(point) => point.named.is_of_calendar(),
            Self::Between(first, last) => {
                first.named.is_of_calendar() || last.named.is_of_calendar()
            }
        }
    }
}

impl Named {
    /// Whether a date, a month or a year names it, and not a weekday or a distance from the reference.
    fn is_of_calendar(self) -> bool {
        matches!(
            self,
            Self::Month(..) | Self::Date(..) | Self::DayOfMonth(..) | Self::Year(_)
        )
    }

    /// Whether only the reference says which one of many is meant.
    pub fn is_open(self) -> bool {
        matches!(
            self,
            Self::SomeWeekend
                | Self::Weekday(_, Which::Recent)
                | Self::Month(_, Which::Recent)
                | Self::Date(_, _, Which::Recent)
        )
    }
}
