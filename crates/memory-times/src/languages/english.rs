//! English.

use crate::language::{AFTERNOON, Alone, EVENING, Language, MORNING, NIGHT, NOON, Script, Slashes};
use crate::meaning::Unit;
use crate::terms::Clarity::{Ambiguous, Clear, Short};
use crate::terms::{Form, Relation, Term};

pub const ENGLISH: Language = Language {
    script: Script::Latin,
    phrases: &[DAYS, PERIODS, NAMES, NUMBERS, CONNECTIONS, OTHERS],
    slashes: Slashes::Unclear,
    has_dotted_dates: false,
    has_month_before_day: true,
    weekday_alone: Alone::WithPart,
    has_weekdays_by_week: false,
    has_years_alone: false,
    joins_parts: false,
    has_compounds_of_words: true,
    of_opens_ranges: false,
    has_kana: false,
};

const DAYS: &[(Term, &str)] = &[
    (Term::Day(0), "today"),
    (Term::Day(-1), "yesterday"),
    (Term::Day(1), "tomorrow"),
    (
        Term::Day(-2),
        "day before yesterday|the day before yesterday",
    ),
    (Term::Day(2), "day after tomorrow|the day after tomorrow"),
    (Term::DayPart(0, NIGHT), "tonight"),
    (Term::DayPart(-1, NIGHT), "last night"),
    (Term::DayPart(-1, EVENING), "last evening"),
    (Term::Part(MORNING), "morning|in the morning"),
    (Term::Part(NOON), "noon|at noon|midday"),
    (Term::Part(AFTERNOON), "afternoon|in the afternoon"),
    (Term::Part(EVENING), "evening|in the evening"),
    (Term::Part(NIGHT), "night|at night"),
];

const PERIODS: &[(Term, &str)] = &[
    (Term::Step(-1), "last|this past"),
    (Term::Step(0), "this"),
    (Term::Step(1), "next|this coming|the coming"),
    (Term::Period(Unit::Week, -2), "week before last"),
    (Term::Period(Unit::Week, 2), "week after next"),
    (Term::Period(Unit::Weekend, -2), "weekend before last"),
    (Term::Period(Unit::Month, -2), "month before last"),
    (Term::Period(Unit::Month, 2), "month after next"),
    (Term::Period(Unit::Quarter, -2), "quarter before last"),
    (Term::Period(Unit::Year, -2), "year before last"),
    (Term::Period(Unit::Year, 2), "year after next"),
    (
        Term::Rolling,
        "past|the past|in the last|over the last|during the last|within the last|for the last",
    ),
    (Term::RollingMany, "the last|these last"),
    (Term::Never, "the next|the very last|at last|at long last"),
    (Term::Unit(Unit::Minute), "minute|min"),
    (Term::Units(Unit::Minute), "minutes|mins"),
    (Term::Unit(Unit::Hour), "hour"),
    (Term::Units(Unit::Hour), "hours|hrs"),
    (Term::Unit(Unit::Day), "day"),
    (Term::Units(Unit::Day), "days"),
    (Term::Unit(Unit::Week), "week"),
    (Term::Units(Unit::Week), "weeks"),
    (Term::Unit(Unit::Weekend), "weekend"),
    (Term::Unit(Unit::Month), "month"),
    (Term::Units(Unit::Month), "months"),
    (Term::Unit(Unit::Quarter), "quarter"),
    (Term::Units(Unit::Quarter), "quarters"),
    (Term::Unit(Unit::Year), "year"),
    (Term::Units(Unit::Year), "years"),
    (
        Term::SomeWeekend,
        "over the weekend|on the weekend|at the weekend|during the weekend",
    ),
];

const NAMES: &[(Term, &str)] = &[
    (Term::Weekday(1), "monday"),
    (Term::Weekday(2), "tuesday"),
    (Term::Weekday(3), "wednesday"),
    (Term::Weekday(4), "thursday"),
    (Term::Weekday(5), "friday"),
    (Term::Weekday(6), "saturday"),
    (Term::Weekday(7), "sunday"),
    (Term::Month(1, Clear), "january"),
    (Term::Month(2, Clear), "february"),
    (Term::Month(3, Ambiguous), "march"),
    (Term::Month(4, Ambiguous), "april"),
    (Term::Month(5, Ambiguous), "may"),
    (Term::Month(6, Ambiguous), "june"),
    (Term::Month(7, Clear), "july"),
    (Term::Month(8, Ambiguous), "august"),
    (Term::Month(9, Clear), "september"),
    (Term::Month(10, Clear), "october"),
    (Term::Month(11, Clear), "november"),
    (Term::Month(12, Clear), "december"),
    (Term::Month(1, Short), "jan"),
    (Term::Month(2, Short), "feb"),
    (Term::Month(3, Short), "mar"),
    (Term::Month(4, Short), "apr"),
    (Term::Month(6, Short), "jun"),
    (Term::Month(7, Short), "jul"),
    (Term::Month(8, Short), "aug"),
    (Term::Month(9, Short), "sep|sept"),
    (Term::Month(10, Short), "oct"),
    (Term::Month(11, Short), "nov"),
    (Term::Month(12, Short), "dec"),
];

const NUMBERS: &[(Term, &str)] = &[
    (Term::One, "a|an"),
    (Term::Number(1, Form::Words), "one"),
    (Term::Number(2, Form::Words), "two"),
    (Term::Number(3, Form::Words), "three"),
    (Term::Number(4, Form::Words), "four"),
    (Term::Number(5, Form::Words), "five"),
    (Term::Number(6, Form::Words), "six"),
    (Term::Number(7, Form::Words), "seven"),
    (Term::Number(8, Form::Words), "eight"),
    (Term::Number(9, Form::Words), "nine"),
    (Term::Number(10, Form::Words), "ten"),
    (Term::Number(11, Form::Words), "eleven"),
    (Term::Number(12, Form::Words), "twelve"),
    (Term::Number(14, Form::Words), "fourteen"),
    (Term::Number(15, Form::Words), "fifteen"),
    (Term::Number(20, Form::Words), "twenty"),
    (Term::Number(30, Form::Words), "thirty"),
    (Term::First, "first"),
    (
        Term::Inexact,
        "half|more than|less than|at least|at most|over|under|almost|nearly|forty|fifty|hundred",
    ),
];

const CONNECTIONS: &[(Term, &str)] = &[
    (Term::Ago, "ago"),
    (Term::Relation(Relation::Since), "since|ever since"),
    (Term::Relation(Relation::Until), "until|till|up until"),
    (Term::Relation(Relation::Before), "before|prior to"),
    (Term::Relation(Relation::After), "after"),
    (Term::From, "from"),
    (Term::Between, "between"),
    (Term::To, "to|through"),
    (Term::And, "and|or"),
    (
        Term::Misleads,
        "the week of|the day after|the day before|as of|week of|version|chapter|number|section|release|python|room|page|street",
    ),
    (
        Term::In,
        "in|during|in early|in late|early|late|mid|early in|late in|throughout|in the month of|in mid|mid-|in mid-",
    ),
    (
        Term::In,
        "at the beginning of|at the start of|at the end of|in the middle of|by the end of|the end of|the beginning of",
    ),
    (Term::On, "on"),
    (Term::AnchorAfter, "'s"),
    (Term::Of, "of"),
    (Term::The, "the"),
    (
        Term::Excludes,
        "every|each|for|any|on every|on each|most|some",
    ),
];

const OTHERS: &[(Term, &str)] = &[
    (
        Term::Never,
        "even today|still today|good morning|good night|good evening|good afternoon|day to day|one day|some day",
    ),
    (
        Term::NotPast,
        "mornings|afternoons|evenings|nights|will|'ll|have to|need to|must|won't|going to|gonna|shall|should|usually|always|normally|typically|generally|upcoming|remind me|due|deadline|do i|do we|am i|are we|is there|are there|can i|can we|every monday|plan for|planned for|scheduled for",
    ),
    (
        Term::Counted,
        "words|characters|chars|tokens|lines|pages|steps|people|users|dollars|euros|pounds|pieces|points|files|items|customers|employees|times|percent|kilometers|miles|meters|calories|ways|copies|bytes|pixels|cases|rows|seconds|sentences|km|kg|mb|gb|usd|eur",
    ),
    (
        Term::Ordinary,
        "i|me|my|mine|we|us|our|you|your|he|she|it|its|they|them|his|her|what|when|where|which|who|why|how|did|was|were|had|has|do|does|is|are|am|that|these|those|there|here|about|with|at|by|if|as|so|no|yes|but|say|said|tell|told|ask|asked|talk|talked|mention|mentioned|discuss|discussed|decide|decided|write|wrote|show|find|remember|remind|know|think|thought|give|gave|list|can|could|would|please|all|anything|something|everything|again|out|up|regarding|concerning|make|made|go|went|get|got|want|wanted|need|like|let|s|t|d|m|re|ve|while|because|than|then|into|not",
    ),
];
