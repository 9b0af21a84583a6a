//! Numbers, ordinals and dates in digits.

use crate::language::{Language, Slashes};
use crate::terms::{Digits, Form, Term};
use crate::tokens::{Kind, Token};

/// The years that four digits may name.
const YEARS: std::ops::RangeInclusive<u32> = 1900..=2199;
/// Endings that make digits an ordinal, in all languages.
const ORDINALS: [&str; 12] = [
    "th", "st", "nd", "rd", "er", "re", "ero", "ro", "o", "º", "°", "ª",
];
/// Marks that join digits to one number, date or code.
const JOINTS: [&str; 6] = [".", ",", ":", "/", "-", "'"];

/// Whether a number can be a year.
pub fn year(number: u32) -> Option<i16> {
    YEARS.contains(&number).then(|| number.try_into().ok())?
}

/// The term of the digits at a place, with those that are joined to them, and the place after
/// it. Digits of other things, such as versions, amounts and numbers of telephones, are
/// [`Term::Unknown`].
pub fn digits(tokens: &[Token], at: usize, language: &Language) -> (Term, usize) {
    let joined = |place: usize| tokens.get(place).filter(|token| token.is_glued);
    let is_kind = |place: usize, kind: Kind| joined(place).is_some_and(|one| one.kind == kind);
    let is_joint = |place: usize| {
        is_kind(place, Kind::Mark) && joined(place).is_some_and(|one| JOINTS.contains(&&*one.text))
    };

    let mut end = at + 1;
    while is_joint(end) && is_kind(end + 1, Kind::Number) {
        end += 2;
    }
    let parts: Vec<&str> = tokens[at..end].iter().map(|token| &*token.text).collect();
    let is_ordinal = joined(end).is_some_and(|one| ORDINALS.contains(&&*one.text));
    if is_ordinal && end == at + 1 {
        let term = number(parts[0], Form::Ordinal);
        return (term.unwrap_or(Term::Unknown), end + 1);
    }
    // A letter or a sign such as "%" belongs to the digits, but not the end of a sentence.
    let is_name = is_joint(end) && is_kind(end + 1, Kind::Word) && parts.len() > 1;
    if is_kind(end, Kind::Word) || joined(end).is_some_and(is_sign) || is_name {
        return (Term::Unknown, end + 1);
    }
    if at > 0 && joined(at).is_some() && is_sign(&tokens[at - 1]) {
        return (Term::Unknown, end);
    }
    if let [first, "-", _] = parts[..]
        && parts[2].len() <= 2
        && first.len() <= 2
    {
        // The days of "3-7 March".
        let term = number(first, Form::Digits);
        return (term.unwrap_or(Term::Unknown), at + 1);
    }
    let term = match parts[..] {
        [one] => number(one, Form::Digits),
        _ => date(&parts, language),
    };
    (term.unwrap_or(Term::Unknown), end)
}

/// The number that signs of Chinese and Japanese at a place write, and the place after it.
pub fn signs(tokens: &[Token], at: usize) -> Option<(Term, usize)> {
    let (mut total, mut digits, mut end) = (0_u32, 0_u32, at);
    for token in &tokens[at..] {
        let mut sign = token.text.chars();
        let Some(sign) = sign.next().filter(|_| token.kind == Kind::Sign) else {
            break;
        };
        let power = match sign {
            '十' => Some(10),
            '百' => Some(100),
            _ => None,
        };
        match (
            power,
            "〇一二三四五六七八九"
                .chars()
                .position(|one| one == sign || one == '〇' && sign == '零'),
        ) {
            (Some(power), _) => {
                total = total.checked_add(digits.max(1) * power)?;
                digits = 0;
            }
            (None, Some(digit)) => {
                digits = digits
                    .checked_mul(10)?
                    .checked_add(digit.try_into().ok()?)?;
            }
            (None, None) if matches!(sign, '两' | '兩') && digits == 0 => digits = 2,
            (None, None) => break,
        }
        end += 1;
        if end - at > 4 {
            return None;
        }
    }
    let is_year = end - at == 4;
    let term = match digits > 10 && !is_year {
        // "两三": two or three.
        true => Term::Unknown,
        false => Term::Number(total.checked_add(digits)?, Form::Words),
    };
    (end > at).then_some((term, end))
}

fn number(digits: &str, form: Form) -> Option<Term> {
    // A number with zeros in front is a code, but for "05".
    let is_code = digits.len() > 4 || digits.len() > 2 && digits.starts_with('0');
    let value = digits.parse().ok().filter(|_| !is_code)?;
    Some(Term::Number(value, form))
}

fn date(parts: &[&str], language: &Language) -> Option<Term> {
    let value = |digits: &str| digits.parse::<u32>().ok();
    let short = |digits: &str| value(digits).filter(|_| digits.len() <= 2);
    let full_year = |digits: &str| year(value(digits).filter(|_| digits.len() == 4)?);
    match *parts {
        [first, "-", month, "-", day] | [first, "/", month, "/", day] if first.len() == 4 => {
            term(Some(full_year(first)?), short(month)?, short(day)?, false)
        }
        [day, ".", month, ".", last] if last.len() == 4 => {
            term(Some(full_year(last)?), short(month)?, short(day)?, false)
        }
        [day, ".", month, ".", last] if last.len() == 2 && language.has_dotted_dates => {
            let year = i16::try_from(2000 + value(last)?).ok();
            term(year, short(month)?, short(day)?, true)
        }
        [day, ".", month] if language.has_dotted_dates => {
            term(None, short(month)?, short(day)?, true)
        }
        [one, "/", other, "/", last] if last.len() == 4 => {
            let (month, day) = month_and_day(short(one)?, short(other)?, language)?;
            term(Some(full_year(last)?), month, day, false)
        }
        [one, "/", other] => {
            let (month, day) = month_and_day(short(one)?, short(other)?, language)?;
            term(None, month, day, true)
        }
        _ => None,
    }
}

/// The month and the day of a date with slashes; `None` where either may be the other.
fn month_and_day(one: u32, other: u32, language: &Language) -> Option<(u32, u32)> {
    match language.slashes {
        Slashes::DayFirst => Some((other, one)),
        Slashes::Unclear if one > 12 || one == other => Some((other, one)),
        Slashes::Unclear if other > 12 => Some((one, other)),
        Slashes::Unclear => None,
    }
}

fn term(year: Option<i16>, month: u32, day: u32, needs_anchor: bool) -> Option<Term> {
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    let digits = Digits {
        year,
        month: month.try_into().ok()?,
        day: day.try_into().ok()?,
        needs_anchor,
    };
    is_date.then_some(Term::Date(digits))
}

/// Whether a token next to digits makes them something else than a plain number.
fn is_sign(token: &Token) -> bool {
    let signs = "%‰€$£¥￥#+*=&@^|°§/_<>";
    let is_mark = token.kind == Kind::Mark;
    token.kind == Kind::Word || is_mark && signs.contains(&token.text)
}
