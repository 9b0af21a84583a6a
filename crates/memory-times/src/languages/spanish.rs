//! Spanish.

use crate::language::{Alone, Language, MORNING, NIGHT, NOON, Script, Slashes, part};
use crate::meaning::Unit;
use crate::terms::Clarity::{Clear, Short};
use crate::terms::{Form, Relation, Term};

pub const SPANISH: Language = Language {
    script: Script::Latin,
    phrases: &[DAYS, PERIODS, NAMES, NUMBERS, CONNECTIONS, OTHERS],
    slashes: Slashes::DayFirst,
    has_dotted_dates: false,
    has_month_before_day: false,
    weekday_alone: Alone::Never,
    has_weekdays_by_week: false,
    has_years_alone: false,
    joins_parts: false,
    has_compounds_of_words: false,
    of_opens_ranges: true,
    has_kana: false,
};

/// "tarde" goes on until it is dark.
const TARDE: crate::meaning::Part = part(12, 21);

const DAYS: &[(Term, &str)] = &[
    (Term::Day(0), "hoy|hoy mismo|el día de hoy"),
    (Term::Day(-1), "ayer|el día de ayer"),
    (Term::Day(-2), "anteayer|antier|antes de ayer"),
    (Term::Day(-3), "trasanteayer"),
    (Term::Day(1), "mañana|el día de mañana"),
    (Term::Day(2), "pasado mañana"),
    (Term::DayPart(0, MORNING), "esta mañana|hoy por la mañana"),
    (Term::DayPart(0, NIGHT), "esta noche"),
    (Term::DayPart(-1, NIGHT), "anoche"),
    (
        Term::DayPart(-2, NIGHT),
        "anteanoche|antenoche|antes de anoche",
    ),
    (
        Term::Part(MORNING),
        "por la mañana|en la mañana|a la mañana|de la mañana|temprano",
    ),
    (Term::Part(NOON), "a mediodía|al mediodía|mediodía"),
    (
        Term::Part(TARDE),
        "tarde|por la tarde|en la tarde|a la tarde",
    ),
    (
        Term::Part(NIGHT),
        "noche|por la noche|en la noche|a la noche",
    ),
    (
        Term::Never,
        "hoy en día|la mañana|una mañana|cada mañana|toda la mañana|las mañanas|de un día para otro|el mañana|está mañana",
    ),
];

const PERIODS: &[(Term, &str)] = &[
    (Term::StepEither(-1), "pasado|pasada"),
    (Term::Step(0), "este|esta"),
    (Term::StepEither(1), "próximo|próxima"),
    (Term::StepAfter(-2), "antepasado|antepasada"),
    (Term::StepAfter(1), "que viene|que entra|entrante"),
    (Term::Rolling, "último|última"),
    (Term::RollingMany, "últimos|últimas|pasados|pasadas"),
    (Term::Unit(Unit::Minute), "minuto"),
    (Term::Units(Unit::Minute), "minutos"),
    (Term::Unit(Unit::Hour), "hora"),
    (Term::Units(Unit::Hour), "horas"),
    (Term::Unit(Unit::Day), "día"),
    (Term::Units(Unit::Day), "días"),
    (Term::Unit(Unit::Week), "semana"),
    (Term::Units(Unit::Week), "semanas"),
    (Term::Unit(Unit::Weekend), "fin de semana|finde"),
    (Term::Unit(Unit::Month), "mes"),
    (Term::Units(Unit::Month), "meses"),
    (Term::Unit(Unit::Quarter), "trimestre"),
    (Term::Units(Unit::Quarter), "trimestres"),
    (Term::Unit(Unit::Year), "año"),
    (Term::Units(Unit::Year), "años"),
    (
        Term::SomeWeekend,
        "el fin de semana|durante el fin de semana|del fin de semana|en el fin de semana|el finde|del finde",
    ),
];

const NAMES: &[(Term, &str)] = &[
    (Term::Weekday(1), "lunes"),
    (Term::Weekday(2), "martes"),
    (Term::Weekday(3), "miércoles"),
    (Term::Weekday(4), "jueves"),
    (Term::Weekday(5), "viernes"),
    (Term::Weekday(6), "sábado"),
    (Term::Weekday(7), "domingo"),
    (Term::Month(1, Clear), "enero"),
    (Term::Month(2, Clear), "febrero"),
    (Term::Month(3, Clear), "marzo"),
    (Term::Month(4, Clear), "abril"),
    (Term::Month(5, Clear), "mayo"),
    (Term::Month(6, Clear), "junio"),
    (Term::Month(7, Clear), "julio"),
    (Term::Month(8, Clear), "agosto"),
    (Term::Month(9, Clear), "septiembre|setiembre"),
    (Term::Month(10, Clear), "octubre"),
    (Term::Month(11, Clear), "noviembre"),
    (Term::Month(12, Clear), "diciembre"),
    (Term::Month(1, Short), "ene"),
    (Term::Month(2, Short), "feb"),
    (Term::Month(4, Short), "abr"),
    (Term::Month(9, Short), "sept"),
    (Term::Month(10, Short), "oct"),
    (Term::Month(11, Short), "nov"),
    (Term::Month(12, Short), "dic"),
];

const NUMBERS: &[(Term, &str)] = &[
    (Term::One, "un|una"),
    (Term::Number(1, Form::Words), "uno"),
    (Term::Number(2, Form::Words), "dos"),
    (Term::Number(3, Form::Words), "tres"),
    (Term::Number(4, Form::Words), "cuatro"),
    (Term::Number(5, Form::Words), "cinco"),
    (Term::Number(6, Form::Words), "seis"),
    (Term::Number(7, Form::Words), "siete"),
    (Term::Number(8, Form::Words), "ocho"),
    (Term::Number(9, Form::Words), "nueve"),
    (Term::Number(10, Form::Words), "diez"),
    (Term::Number(11, Form::Words), "once"),
    (Term::Number(12, Form::Words), "doce"),
    (Term::Number(14, Form::Words), "catorce"),
    (Term::Number(15, Form::Words), "quince"),
    (Term::Number(20, Form::Words), "veinte"),
    (Term::Number(30, Form::Words), "treinta"),
    (Term::First, "primero"),
    (
        Term::Inexact,
        "más de|menos de|casi|al menos|por lo menos|como mínimo|media",
    ),
];

const CONNECTIONS: &[(Term, &str)] = &[
    (Term::AgoBefore, "hace"),
    (Term::Lasts, "que"),
    (Term::Ago, "atrás"),
    (
        Term::Relation(Relation::Since),
        "desde|desde hace|a partir de|a partir del|desde el pasado",
    ),
    (Term::Relation(Relation::Until), "hasta"),
    (Term::Relation(Relation::Before), "antes de|antes del"),
    (
        Term::Relation(Relation::After),
        "después de|después del|tras",
    ),
    (Term::From, "de entre"),
    (Term::Between, "entre"),
    (Term::To, "a|al"),
    (Term::And, "y|o"),
    (
        Term::Misleads,
        "la semana del|al día siguiente|el día después|el día antes|día después del|día antes del|semana del|versión|capítulo|número|calle|avenida|metro|página",
    ),
    (
        Term::In,
        "en|durante|en el mes de|a principios de|a finales de|a mediados de|a comienzos de|a fines de|a inicios de|principios de|finales de|mediados de",
    ),
    (Term::On, "el"),
    (Term::OfOn, "del"),
    (Term::Of, "de"),
    (Term::The, "la|los|las"),
    (Term::Excludes, "cada|todos los|para|por"),
];

const OTHERS: &[(Term, &str)] = &[
    (
        Term::Never,
        "hoy día|viernes negro|viernes santo|jueves santo|sábado santo|domingo de ramos|domingo de resurrección|lunes de pascua|miércoles de ceniza|martes y trece|buenos días|buenas tardes|buenas noches|fin de año",
    ),
    (
        Term::Never,
        "dos de mayo|plaza de mayo|primero de mayo|avenida de mayo",
    ),
    (
        Term::NotPast,
        "necesito|necesitamos|voy a|vas a|va a|vamos a|van a|tengo que|tenemos que|debo|debería|siempre|normalmente|suelo|suele|solemos|suelen|generalmente|habitualmente|recuérdame|recordarme|habrá|será|seré|haré|haremos|tendré|tendremos|tengo|tenemos|hay|próximos|próximas|planeado|previsto|qué hago",
    ),
    (
        Term::Counted,
        "palabras|caracteres|líneas|páginas|pasos|personas|euros|dólares|pesos|veces|kilómetros|metros|puntos|archivos|clientes|empleados|calorías|casos|segundos|usuarios|soles|km|kg|mb|gb|eur|usd",
    ),
    (
        Term::Ordinary,
        "yo|me|mi|mis|conmigo|nosotros|nos|nuestro|nuestra|nuestros|tú|tu|tus|te|usted|él|ella|ellos|lo|le|les|se|su|sus|qué|cuándo|cuando|dónde|donde|cuál|cuáles|quién|quien|cómo|como|por qué|cuánto|cuántos|dije|dijo|dijimos|dijiste|dijeron|hablé|hablamos|hablaste|habló|conté|contó|pregunté|mencioné|mencionó|escribí|comenté|comentamos|decidí|decidimos|hice|hiciste|hizo|hicimos|fui|fue|fuimos|estuve|era|había|es|son|está|están|estaba|ha|he|hemos|sobre|con|sin|si|no|sí|también|ya|muy|más|pero|porque|eso|esto|ese|esa|algo|nada|todo|dime|muéstrame|recuerdas|recuerda|busca|resume|resumen|pasó|pedí|acordamos|tuve|comí|vi",
    ),
];
