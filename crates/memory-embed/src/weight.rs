//! Estimates how many tokens a text has.

/// The unit of [`weight`]: this many are a token.
pub(crate) const WEIGHT_PER_TOKEN: usize = 3;

/// The beginning of a text up to a weight.
pub(crate) fn first_of_weight(text: &str, most: usize) -> &str {
    // No character weighs more than three times its bytes.
    if text.len().saturating_mul(WEIGHT_PER_TOKEN) <= most {
        return text;
    }
    let mut weight_so_far = 0;
    for (place, char) in text.char_indices() {
        weight_so_far += weight(char);
        if weight_so_far > most {
            return &text[..place];
        }
    }
    text
}

/// The share of a token that a character takes, in thirds, rather too much than too little: a
/// third for an English letter, where tokens have more than four; a whole one for a character of
/// most other scripts.
pub(crate) fn weight(char: char) -> usize {
    match char {
        'a'..='z' | 'A'..='Z' | ' ' => 1,
        '\u{c0}'..='\u{24f}' => 2,
        '\u{1_0000}'.. => 9,
        _ => 3,
    }
}
