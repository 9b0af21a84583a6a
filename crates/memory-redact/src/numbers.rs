//! Numbers of payment cards and bank accounts.

use std::{ops::Range, sync::LazyLock};

use regex::Regex;

use memory_contract::policy::SensitiveKind;

use crate::hit::Hit;

/// Digits of a card's number.
const CARD_DIGITS: Range<usize> = 13..20;

/// How the digits of cards are grouped where they are not in one piece: most cards, those of 19
/// digits, American Express, Diners Club.
const GROUPS: [&[usize]; 6] = [
    &[4, 4, 4, 4],
    &[4, 4, 4, 4, 3],
    &[4, 4, 4, 4, 2],
    &[4, 4, 4, 4, 1],
    &[4, 6, 5],
    &[4, 6, 4],
];

/// The lengths of IBANs by country, of the registry that SWIFT keeps for ISO 13616.
const IBAN_LENGTHS: &str = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22\
    DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26\
    IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23\
    PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22\
    VG24XK20YE30";

static ACCOUNT_STARTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[A-Z]{2}[0-9]{2}").expect("a constant"));

static DIGIT_RUNS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[0-9](?:[ -]?[0-9]){12,}").expect("a constant"));

/// Adds each number of a payment card.
pub(crate) fn cards(text: &str, hits: &mut Vec<Hit>) {
    for run in DIGIT_RUNS.find_iter(text) {
        if is_joined(text, run.range()) {
            continue;
        }
        let groups = groups(run.as_str());
        let mut first = 0;
        while first < groups.len() {
            let card = (1..=5.min(groups.len() - first)).rev().find_map(|count| {
                let card = &groups[first..first + count];
                is_card(run.as_str(), card).then_some(card)
            });
            if let Some(card) = card {
                let range = card[0].start..card[card.len() - 1].end;
                let range = run.start() + range.start..run.start() + range.end;
                hits.push(Hit {
                    range,
                    kind: SensitiveKind::Card,
                    name: "card",
                });
                first += card.len();
            } else {
                first += 1;
            }
        }
    }
}

/// Adds each IBAN, with or without spaces.
pub(crate) fn accounts(text: &str, hits: &mut Vec<Hit>) {
    for start in ACCOUNT_STARTS.find_iter(text) {
        if text.as_bytes()[..start.start()]
            .last()
            .is_some_and(u8::is_ascii_alphanumeric)
        {
            continue;
        }
        if let Some(end) = end_of_account(&text[start.start()..]) {
            let range = start.start()..start.start() + end;
            hits.push(Hit {
                range,
                kind: SensitiveKind::Card,
                name: "iban",
            });
        }
    }
}

/// Whether a run of digits is part of something longer: a URL, a path, a decimal number, a word.
fn is_joined(text: &str, run: Range<usize>) -> bool {
    let before = text[..run.start].chars().next_back();
    let mut after = text[run.end..].chars();
    let joins = |next: char| next.is_ascii_alphanumeric() || matches!(next, '_' | '/' | '-' | '+');
    before.is_some_and(|last| joins(last) || matches!(last, '.' | ',' | '#' | '&'))
        || match after.next() {
            Some('.' | ',') => after.next().is_some_and(|next| next.is_ascii_digit()),
            Some('/') => false,
            Some(next) => joins(next),
            None => false,
        }
}

/// The ranges of the digits between the separators.
fn groups(run: &str) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut start = 0;
    for (at, _) in run.match_indices([' ', '-']) {
        groups.push(start..at);
        start = at + 1;
    }
    groups.push(start..run.len());
    groups
}

fn is_card(run: &str, groups: &[Range<usize>]) -> bool {
    let lengths: Vec<usize> = groups.iter().map(ExactSizeIterator::len).collect();
    if !CARD_DIGITS.contains(&lengths.iter().sum()) {
        return false;
    }
    let mut separators = groups
        .windows(2)
        .map(|pair| &run[pair[0].end..pair[1].start]);
    let separator = separators.next();
    if groups.len() > 1
        && (!GROUPS.contains(&lengths.as_slice()) || separators.any(|next| Some(next) != separator))
    {
        return false;
    }
    let digits: Vec<u32> = groups
        .iter()
        .flat_map(|group| run[group.clone()].bytes())
        .map(|digit| u32::from(digit - b'0'))
        .collect();
    is_issued(&digits) && luhn(&digits)
}

/// Whether an issuer has numbers of this prefix and length (ISO/IEC 7812, as the networks publish
/// their ranges).
fn is_issued(digits: &[u32]) -> bool {
    let prefix = |len: usize| {
        digits[..len]
            .iter()
            .fold(0, |number, digit| number * 10 + digit)
    };
    let length = digits.len();
    match (prefix(1), prefix(2), prefix(3), prefix(4)) {
        (4, ..) => matches!(length, 13 | 16 | 19),
        (_, 51..=55, ..) | (.., 2221..=2720) => length == 16,
        (_, 34 | 37, ..) => length == 15,
        (_, 36 | 38 | 39, ..) | (_, _, 300..=305, _) | (.., 3095) => matches!(length, 14 | 16),
        (.., 3528..=3589) | (.., 2200..=2204) | (.., 6011) => length >= 16,
        (_, 62 | 65 | 81 | 82, ..) | (_, _, 644..=649, _) => length >= 16,
        (.., 5018 | 5020 | 5038 | 5893 | 6304 | 6759 | 6761..=6763) => true,
        (_, _, 508, _) | (.., 9792) => length == 16,
        _ => false,
    }
}

/// The check of ISO/IEC 7812-1, annex B.
fn luhn(digits: &[u32]) -> bool {
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| if at % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != digits[0])
}

/// The length in bytes of the IBAN with which a text begins.
fn end_of_account(text: &str) -> Option<usize> {
    let country = text.get(..2)?;
    let entry = (0..IBAN_LENGTHS.len())
        .step_by(4)
        .find(|at| &IBAN_LENGTHS[*at..at + 2] == country)?;
    let length: usize = IBAN_LENGTHS[entry + 2..entry + 4].parse().ok()?;
    let mut characters = Vec::with_capacity(length);
    let mut last = b' ';
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' if characters.len() == length => return None,
            b'0'..=b'9' | b'A'..=b'Z' => characters.push(byte),
            b' ' if last != b' ' && characters.len() < length => {}
            _ => return (characters.len() == length && mod_97(&characters)).then_some(at),
        }
        last = byte;
    }
    (characters.len() == length && mod_97(&characters)).then_some(text.len())
}

/// The check of ISO 13616: the number, with its first four characters at its end and letters as 10
/// to 35, leaves 1 when divided by 97.
fn mod_97(characters: &[u8]) -> bool {
    let (head, body) = characters.split_at(4);
    body.iter()
        .chain(head)
        .fold(0, |rest: u32, byte| match byte {
            b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
            _ => (rest * 100 + u32::from(byte - b'A' + 10)) % 97,
        })
        == 1
}
