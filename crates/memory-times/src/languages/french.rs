//! French.

use crate::language::{AFTERNOON, Alone, EVENING, Language, MORNING, NIGHT, NOON, Script, Slashes};
use crate::meaning::Unit;
use crate::terms::Clarity::{Ambiguous, Clear, Short};
use crate::terms::{Form, Relation, Term};

pub const FRENCH: Language = Language {
    script: Script::Latin,
    phrases: &[DAYS, PERIODS, NAMES, NUMBERS, CONNECTIONS, OTHERS],
    slashes: Slashes::DayFirst,
    has_dotted_dates: false,
    has_month_before_day: false,
    weekday_alone: Alone::Always,
    has_weekdays_by_week: false,
    has_years_alone: false,
    joins_parts: false,
    has_compounds_of_words: false,
    of_opens_ranges: true,
    has_kana: false,
};

const DAYS: &[(Term, &str)] = &[
    (Term::Day(0), "aujourd'hui|aujourdhui"),
    (Term::Day(-1), "hier"),
    (Term::Day(-2), "avant-hier|avant hier"),
    (Term::Day(1), "demain"),
    (Term::Day(2), "après-demain|après demain"),
    (Term::DayPart(-1, NIGHT), "la nuit dernière|la nuit passée"),
    (
        Term::Part(MORNING),
        "matin|au matin|dans la matinée|matinée",
    ),
    (Term::Part(NOON), "midi|à midi"),
    (
        Term::Part(AFTERNOON),
        "après-midi|après midi|dans l'après-midi|aprèm",
    ),
    (Term::Part(EVENING), "soir|au soir|dans la soirée|soirée"),
    (Term::Part(NIGHT), "nuit|dans la nuit"),
    // Of today's two nights either may be meant.
    (Term::Never, "cette nuit"),
];

const PERIODS: &[(Term, &str)] = &[
    (Term::Step(0), "ce|cet|cette"),
    (
        Term::StepAfter(-1),
        "dernier|dernière|passé|passée|précédent",
    ),
    (Term::StepAfter(1), "prochain|prochaine|qui vient|à venir"),
    (Term::RollingMany, "derniers|dernières"),
    (Term::Step(-2), "avant-dernière|avant-dernier"),
    (Term::Unit(Unit::Minute), "minute"),
    (Term::Units(Unit::Minute), "minutes"),
    (Term::Unit(Unit::Hour), "heure"),
    (Term::Units(Unit::Hour), "heures"),
    (Term::Unit(Unit::Day), "jour"),
    (Term::Units(Unit::Day), "jours"),
    (Term::Unit(Unit::Week), "semaine"),
    (Term::Units(Unit::Week), "semaines"),
    (Term::Unit(Unit::Weekend), "week-end|weekend|week end"),
    (Term::Unit(Unit::Month), "mois"),
    (Term::Unit(Unit::Quarter), "trimestre"),
    (Term::Units(Unit::Quarter), "trimestres"),
    (Term::Unit(Unit::Year), "an|année"),
    (Term::Units(Unit::Year), "ans|années"),
    // Said after it too.
    (
        Term::SomeWeekend,
        "ce week-end|ce weekend|ce week end|pendant le week-end|durant le week-end|pendant le weekend",
    ),
];

const NAMES: &[(Term, &str)] = &[
    (Term::Weekday(1), "lundi"),
    (Term::Weekday(2), "mardi"),
    (Term::Weekday(3), "mercredi"),
    (Term::Weekday(4), "jeudi"),
    (Term::Weekday(5), "vendredi"),
    (Term::Weekday(6), "samedi"),
    (Term::Weekday(7), "dimanche"),
    (Term::Month(1, Clear), "janvier"),
    (Term::Month(2, Clear), "février"),
    (Term::Month(3, Ambiguous), "mars"),
    (Term::Month(4, Clear), "avril"),
    (Term::Month(5, Clear), "mai"),
    (Term::Month(6, Clear), "juin"),
    (Term::Month(7, Clear), "juillet"),
    (Term::Month(8, Clear), "août"),
    (Term::Month(9, Clear), "septembre"),
    (Term::Month(10, Clear), "octobre"),
    (Term::Month(11, Clear), "novembre"),
    (Term::Month(12, Clear), "décembre"),
    (Term::Month(1, Short), "janv"),
    (Term::Month(2, Short), "févr"),
    (Term::Month(4, Short), "avr"),
    (Term::Month(7, Short), "juil"),
    (Term::Month(10, Short), "oct"),
    (Term::Month(11, Short), "nov"),
    (Term::Month(12, Short), "déc"),
];

const NUMBERS: &[(Term, &str)] = &[
    (Term::One, "un|une"),
    (Term::Number(2, Form::Words), "deux"),
    (Term::Number(3, Form::Words), "trois"),
    (Term::Number(4, Form::Words), "quatre"),
    (Term::Number(5, Form::Words), "cinq"),
    (Term::Number(6, Form::Words), "six"),
    (Term::Number(7, Form::Words), "sept"),
    (Term::Number(8, Form::Words), "huit"),
    (Term::Number(9, Form::Words), "neuf"),
    (Term::Number(10, Form::Words), "dix"),
    (Term::Number(11, Form::Words), "onze"),
    (Term::Number(12, Form::Words), "douze"),
    (Term::Number(14, Form::Words), "quatorze"),
    (Term::Number(15, Form::Words), "quinze"),
    (Term::Number(20, Form::Words), "vingt"),
    (Term::Number(30, Form::Words), "trente"),
    (Term::First, "premier"),
    (
        Term::Inexact,
        "plus de|plus d'|moins de|moins d'|presque|au moins|au plus|demi",
    ),
];

const CONNECTIONS: &[(Term, &str)] = &[
    (Term::Lasts, "que|qu'|dans un|dans une"),
    (Term::AgoBefore, "il y a|y a|y'a"),
    (
        Term::Relation(Relation::Since),
        "depuis|à partir de|à partir du|depuis le|à compter du",
    ),
    (
        Term::Relation(Relation::Until),
        "jusqu'à|jusqu'au|jusqu'en|jusque|jusqu'",
    ),
    (Term::Relation(Relation::Before), "avant|avant le"),
    (Term::Relation(Relation::After), "après|après le"),
    (Term::Between, "entre"),
    (Term::To, "à|au"),
    (Term::And, "et|ou"),
    (
        Term::Misleads,
        "la semaine du|le lendemain du|semaine du|lendemain du|la veille du|veille du|version|chapitre|numéro|rue|place|avenue|boulevard|métro|page",
    ),
    (Term::AnchorAfter, "-ci"),
    (
        Term::In,
        "en|au mois de|au mois d'|début|fin|mi|courant|durant|au début de|à la fin de|au cours de|en début d'|pendant|du mois de|mi-",
    ),
    (Term::Of, "de|d'"),
    (Term::OfThe, "du"),
    (Term::The, "le|la|les|l'"),
    (
        Term::Excludes,
        "chaque|tous les|toutes les|pour|pour le|quelque|dès|est-ce",
    ),
];

const OTHERS: &[(Term, &str)] = &[
    (
        Term::Never,
        "encore aujourd'hui|vendredi noir|vendredi saint|mardi gras|lundi de pâques|mercredi des cendres|jeudi noir|dimanche de pâques|champ de mars|barre de mars|planète mars",
    ),
    (
        Term::NotPast,
        "besoin de|besoin d'|vais|vas|va|allons|allez|vont|dois|devons|devrais|toujours|normalement|habituellement|d'habitude|généralement|souvent|rappelle-moi|rappelle moi|sera|serai|ferai|ferons|aurai|aura|faut|prévu|prévus|fais|faisons|libre",
    ),
    (
        Term::Counted,
        "mots|caractères|lignes|pages|étapes|personnes|euros|dollars|francs|fois|kilomètres|mètres|points|fichiers|clients|salariés|calories|cas|secondes|utilisateurs|km|kg|mb|gb|eur|usd",
    ),
    (
        Term::Ordinary,
        "je|j'|moi|me|m'|mon|ma|mes|nous|notre|nos|tu|toi|te|t'|ton|ta|tes|il|elle|on|ils|elles|lui|leur|se|s'|c'|ça|cela|qui|est-ce que|est-ce qu'|quoi|quand|où|quel|quelle|quels|quelles|comment|pourquoi|combien|est|ai|as|a|avons|avez|ont|avais|avait|avions|était|étais|étaient|suis|sommes|dit|parlé|raconté|mentionné|demandé|écrit|fait|décidé|discuté|n'|ne|pas|plus|y|avec|sans|sur|dans|par|des|aux|mais|si|aussi|déjà|encore|peux|peut|donne|montre|trouve|cherche|résume|rappelle|sais|souviens|tout|rien|quelque chose|allé|mangé|vu|propos",
    ),
];
