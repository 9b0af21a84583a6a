//! A question as words, numbers and marks.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word of letters.
    Word,
    /// One character of Chinese or Japanese.
    Sign,
    /// A run of digits.
    Number,
    /// One of all other characters.
    Mark,
    /// Text that is not read.
    Hidden,
}

/// A piece of the question.
#[derive(Clone, Debug)]
pub struct Token {
    pub kind: Kind,
    /// The text in small letters, with ASCII digits and marks.
    pub text: String,
    /// Its byte range in the question.
    pub at: Range<usize>,
    /// No space is before it.
    pub is_glued: bool,
    /// Its first letter is a capital, and another one is small.
    pub is_capitalized: bool,
    /// Its first letter is a small one.
    pub is_small: bool,
    /// A sentence, or a part of one after a colon or a bracket, begins here.
    pub begins: bool,
}

/// The tokens of a text, in order. `hidden`: byte ranges in order whose text is not read.
pub fn tokens(text: &str, hidden: &[Range<usize>]) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut hidden = hidden.iter().peekable();
    let (mut spaced, mut begins) = (true, true);
    let mut chars = text.char_indices().peekable();
    while let Some((start, first)) = chars.next() {
        while hidden.next_if(|range| range.end <= start).is_some() {}
        let is_hidden = hidden.peek().is_some_and(|range| range.contains(&start));
        if first.is_whitespace() {
            spaced = true;
            begins |= first == '\n';
            continue;
        }
        let kind = match is_hidden {
            true => Kind::Hidden,
            false => kind(first),
        };
        let mut end = start + first.len_utf8();
        if matches!(kind, Kind::Word | Kind::Number) {
            while let Some((at, next)) = chars.next_if(|(_, next)| continues(kind, *next)) {
                end = at + next.len_utf8();
            }
        }
        let written = &text[start..end];
        let token = Token {
            kind,
            text: plain(kind, written),
            at: start..end,
            is_glued: !spaced,
            is_capitalized: first.is_uppercase() && written.chars().any(char::is_lowercase),
            is_small: first.is_lowercase(),
            begins,
        };
        let ends_clause = !matches!(token.text.as_str(), "," | "'" | "/");
        begins = kind == Kind::Mark && (begins || ends_clause);
        spaced = false;
        tokens.push(token);
    }
    tokens
}

/// A text without accents.
pub fn without_accents(text: &str) -> String {
    text.chars().filter_map(without_accent).collect()
}

/// Whether a character is written without spaces between words.
pub fn is_ideographic(one: char) -> bool {
    matches!(one, '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a character is one of Japanese's syllables.
pub fn is_kana(one: char) -> bool {
    matches!(one, '\u{3041}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
}

fn kind(first: char) -> Kind {
    match first {
        first if is_ideographic(first) => Kind::Sign,
        first if digit(first).is_some() => Kind::Number,
        first if first.is_alphabetic() => Kind::Word,
        _ => Kind::Mark,
    }
}

fn continues(kind: Kind, next: char) -> bool {
    match kind {
        Kind::Number => digit(next).is_some(),
        _ => is_combining(next) || next.is_alphabetic() && !is_ideographic(next),
    }
}

fn plain(kind: Kind, written: &str) -> String {
    match kind {
        Kind::Hidden => String::new(),
        Kind::Number => written.chars().filter_map(digit).collect(),
        Kind::Mark => written.chars().map(plain_mark).collect(),
        Kind::Word | Kind::Sign => {
            let letters = written.chars().filter(|one| !is_combining(*one));
            letters.flat_map(char::to_lowercase).collect()
        }
    }
}

fn digit(one: char) -> Option<char> {
    match one {
        '0'..='9' => Some(one),
        '０'..='９' => char::from_digit(u32::from(one) - u32::from('０'), 10),
        _ => None,
    }
}

fn plain_mark(one: char) -> char {
    match one {
        '’' | '‘' | 'ʼ' => '\'',
        '‐' | '‑' | '–' | '—' | '－' => '-',
        '、' | '，' => ',',
        '。' | '．' => '.',
        '／' => '/',
        '～' | '〜' => '~',
        '：' => ':',
        '！' => '!',
        one => one,
    }
}

fn is_combining(one: char) -> bool {
    matches!(one, '\u{300}'..='\u{36f}')
}

fn without_accent(one: char) -> Option<char> {
    Some(match one {
        'à' | 'á' | 'â' | 'ä' => 'a',
        'ç' => 'c',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ñ' => 'n',
        'ò' | 'ó' | 'ô' | 'ö' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        one if is_combining(one) => return None,
        one => one,
    })
}
