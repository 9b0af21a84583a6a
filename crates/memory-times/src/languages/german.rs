//! German.

use crate::language::{
    AFTERNOON, Alone, EVENING, FORENOON, Language, MORNING, NIGHT, NOON, Script, Slashes,
};
use crate::meaning::Unit;
use crate::terms::Clarity::{Clear, Short};
use crate::terms::{Form, Relation, Term};

pub const GERMAN: Language = Language {
    script: Script::Latin,
    phrases: &[DAYS, PERIODS, NAMES, NUMBERS, CONNECTIONS, OTHERS],
    slashes: Slashes::DayFirst,
    has_dotted_dates: true,
    has_month_before_day: false,
    weekday_alone: Alone::WithPart,
    has_weekdays_by_week: false,
    has_years_alone: true,
    joins_parts: true,
    has_compounds_of_words: false,
    of_opens_ranges: false,
    has_kana: false,
};

const DAYS: &[(Term, &str)] = &[
    (
        Term::Day(0),
        "heute|heutige|heutigen|heutiger|heutiges|heutigem",
    ),
    (
        Term::Day(-1),
        "gestern|gestrige|gestrigen|gestriger|gestriges|gestrigem",
    ),
    (Term::Day(-2), "vorgestern|vorgestrige|vorgestrigen"),
    (Term::Day(-3), "vorvorgestern"),
    (Term::Day(1), "morgige|morgigen|morgiger|morgiges"),
    (Term::TomorrowOrMorning, "morgen"),
    (Term::Day(2), "übermorgen"),
    (Term::Part(MORNING), "früh|in der früh|am morgen"),
    (Term::Part(FORENOON), "vormittag|am vormittag"),
    (Term::Part(NOON), "mittag|am mittag"),
    (Term::Part(AFTERNOON), "nachmittag|am nachmittag"),
    (Term::Part(EVENING), "abend|am abend"),
    (Term::Part(NIGHT), "nacht|in der nacht"),
    (
        Term::DayPart(-1, NIGHT),
        "letzte nacht|vergangene nacht|letzter nacht|in der letzten nacht|in der vergangenen nacht",
    ),
    // Of today's two nights either may be meant.
    (Term::Never, "heute nacht"),
];

const PERIODS: &[(Term, &str)] = &[
    (
        Term::Step(-1),
        "letzte|letzten|letzter|letztes|letztem|vergangene|vergangenen|vergangener|vergangenes|vorige|vorigen|voriger|voriges",
    ),
    (
        Term::Step(-2),
        "vorletzte|vorletzten|vorletzter|vorletztes|vorvorige|vorvorigen",
    ),
    (Term::Step(0), "diese|diesen|dieser|dieses|diesem"),
    (
        Term::Step(1),
        "nächste|nächsten|nächster|nächstes|kommende|kommenden|kommender|kommendes",
    ),
    (
        Term::Step(2),
        "übernächste|übernächsten|übernächster|übernächstes",
    ),
    (Term::Unit(Unit::Minute), "minute"),
    (Term::Units(Unit::Minute), "minuten"),
    (Term::Unit(Unit::Hour), "stunde"),
    (Term::Units(Unit::Hour), "stunden"),
    (Term::Unit(Unit::Day), "tag"),
    (Term::Units(Unit::Day), "tage|tagen"),
    (Term::Unit(Unit::Week), "woche"),
    (Term::Units(Unit::Week), "wochen"),
    (Term::Unit(Unit::Weekend), "wochenende"),
    (Term::Unit(Unit::Month), "monat|monats"),
    (Term::Units(Unit::Month), "monate|monaten"),
    (Term::Unit(Unit::Quarter), "quartal|quartals"),
    (Term::Units(Unit::Quarter), "quartale|quartalen"),
    (Term::Unit(Unit::Year), "jahr|jahres|jahre"),
    (Term::Units(Unit::Year), "jahren"),
    (Term::SomeWeekend, "am wochenende|übers wochenende"),
];

const NAMES: &[(Term, &str)] = &[
    (Term::Weekday(1), "montag"),
    (Term::Weekday(2), "dienstag"),
    (Term::Weekday(3), "mittwoch"),
    (Term::Weekday(4), "donnerstag"),
    (Term::Weekday(5), "freitag"),
    (Term::Weekday(6), "samstag|sonnabend"),
    (Term::Weekday(7), "sonntag"),
    (Term::Month(1, Clear), "januar|jänner"),
    (Term::Month(2, Clear), "februar|feber"),
    (Term::Month(3, Clear), "märz"),
    (Term::Month(4, Clear), "april"),
    (Term::Month(5, Clear), "mai"),
    (Term::Month(6, Clear), "juni"),
    (Term::Month(7, Clear), "juli"),
    (Term::Month(8, Clear), "august"),
    (Term::Month(9, Clear), "september"),
    (Term::Month(10, Clear), "oktober"),
    (Term::Month(11, Clear), "november"),
    (Term::Month(12, Clear), "dezember"),
    (Term::Month(1, Short), "jan"),
    (Term::Month(2, Short), "feb"),
    (Term::Month(4, Short), "apr"),
    (Term::Month(8, Short), "aug"),
    (Term::Month(9, Short), "sept|sep"),
    (Term::Month(10, Short), "okt"),
    (Term::Month(11, Short), "nov"),
    (Term::Month(12, Short), "dez"),
];

const NUMBERS: &[(Term, &str)] = &[
    (Term::One, "ein|eine|einem|einer|einen"),
    (Term::Number(2, Form::Words), "zwei"),
    (Term::Number(3, Form::Words), "drei"),
    (Term::Number(4, Form::Words), "vier"),
    (Term::Number(5, Form::Words), "fünf"),
    (Term::Number(6, Form::Words), "sechs"),
    (Term::Number(7, Form::Words), "sieben"),
    (Term::Number(8, Form::Words), "acht"),
    (Term::Number(9, Form::Words), "neun"),
    (Term::Number(10, Form::Words), "zehn"),
    (Term::Number(11, Form::Words), "elf"),
    (Term::Number(12, Form::Words), "zwölf"),
    (Term::Number(14, Form::Words), "vierzehn"),
    (Term::Number(15, Form::Words), "fünfzehn"),
    (Term::Number(20, Form::Words), "zwanzig"),
    (Term::Number(30, Form::Words), "dreißig"),
    (Term::First, "ersten|erster"),
    (
        Term::Inexact,
        "mehr als|weniger als|über|unter|mindestens|höchstens|fast|knapp|gut",
    ),
];

const CONNECTIONS: &[(Term, &str)] = &[
    (Term::Relation(Relation::BeforeOrAgo), "vor"),
    (Term::Relation(Relation::Since), "seit|ab|seit dem|seit der"),
    (Term::Relation(Relation::Until), "bis|bis zum|bis zur"),
    (Term::Relation(Relation::After), "nach"),
    (Term::From, "von|vom"),
    (Term::Between, "zwischen"),
    (Term::And, "und|oder"),
    (
        Term::Misleads,
        "am tag nach|am tag vor|in der woche vom|woche vom|tag nach dem|tag vor dem|woche ab dem|version|kapitel|nummer|abschnitt|straße|platz|punkt|seite|zimmer",
    ),
    (
        Term::In,
        "in|im|während|anfang|mitte|ende|im laufe|im monat",
    ),
    (Term::On, "am|den|zum"),
    (Term::Of, "des"),
    (Term::The, "der|die|das|dem"),
    (
        Term::Excludes,
        "jeden|jede|jedes|jeder|jedem|für|alle|an jedem|manchen|immer am|pro",
    ),
];

const OTHERS: &[(Term, &str)] = &[
    (
        Term::Never,
        "heutige zeit|heutigen zeit|guten morgen|guten abend|gute nacht|guten tag|heute journal|heute show|schwarzer freitag|schwarzen freitag|vor allem|den montag|den dienstag|den mittwoch|den donnerstag|den freitag|den samstag|den sonntag",
    ),
    (
        Term::NotPast,
        "brauche|brauchen|werde|wirst|wird|werden|werdet|soll|sollte|sollen|sollten|muss|müssen|immer|normalerweise|meistens|üblicherweise|gewöhnlich|erinnere mich|erinnern|plane|planen|geplant|mache|machen|machst|gehe|gehen|fahre|fahren|treffe|steht|stehen|findet|kommt|gibt es|bevorstehende|fällig|kann ich|können wir|arbeite",
    ),
    (
        Term::Counted,
        "wörter|wörtern|zeichen|seiten|schritte|schritten|leute|menschen|personen|euro|dollar|franken|mal|kilometer|meter|prozent|punkte|zeilen|stück|dateien|kunden|mitarbeiter|kalorien|fälle|sekunden|nutzer|km|kg|mb|gb|eur|usd",
    ),
    (
        Term::Ordinary,
        "ich|mir|mich|mein|meine|meinem|meinen|meiner|wir|uns|unser|unsere|unserem|unseren|du|dir|dich|dein|deine|er|sie|es|ihm|ihr|ihnen|was|wann|wo|welche|welcher|welches|welchen|wer|wem|wen|wie|warum|wieso|habe|hab|hast|hat|haben|hatte|hatten|bin|ist|sind|war|waren|wurde|wurden|gesagt|erzählt|besprochen|gemacht|geschrieben|erwähnt|gefragt|mit|zu|zur|bei|aus|auf|an|nicht|kein|keine|auch|noch|schon|aber|dass|wenn|hier|da|dort|eigentlich|nochmal|bitte|gib|zeig|zeige|such|suche|finde|fasse|nenn|etwas|alles|nichts|kann|kannst|denn|doch|so|man|sich|beim|um|uhr|ging|gab|lief|hieß|weißt|weiß|sag|sagte",
    ),
];
