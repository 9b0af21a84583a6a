//! What the languages say about time.

mod chinese;
mod english;
mod french;
mod german;
mod japanese;
mod spanish;

use crate::language::Language;

/// All languages.
pub const LANGUAGES: [&Language; 6] = [
    &english::ENGLISH,
    &german::GERMAN,
    &spanish::SPANISH,
    &french::FRENCH,
    &chinese::CHINESE,
    &japanese::JAPANESE,
];
