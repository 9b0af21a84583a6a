//! Reads lines as bytes, so that one that is no text is named and does not stop the others.

use std::io::{BufRead, ErrorKind};

use serde_json::Value;

use crate::seen::broken_off;

/// Why a line is not read.
pub(super) const NOT_UTF8: &str = "it is not UTF-8";
/// How many bytes of a file are searched for signs of a binary file.
const LOOKED_AT: usize = 512;

/// Lines with their numbers, empty ones left out.
pub(super) type Lines<'a> = dyn Iterator<Item = Numbered> + 'a;
/// The number of a line, and the line or its problem.
pub(super) type Numbered = (usize, Result<String, String>);

/// Refuses binary files, and text in UTF-16.
///
/// # Errors
/// What it is, in words.
pub(super) fn check_text(input: &mut impl BufRead) -> Result<(), String> {
    let begin = input.fill_buf().map_err(|error| broken_off(&error))?;
    if begin.starts_with(b"\xff\xfe") || begin.starts_with(b"\xfe\xff") {
        return Err("it is text in UTF-16: save it as UTF-8".to_owned());
    }
    let looked_at = &begin[..begin.len().min(LOOKED_AT)];
    let first_line = looked_at.split(|byte| *byte == b'\n').next();
    match first_line.is_some_and(|line| line.contains(&0)) {
        true => Err("it is a binary file, or text in UTF-16: it has NUL bytes".to_owned()),
        false => Ok(()),
    }
}

/// Passes over white space and a byte order mark. Returns how many lines it has, and the byte
/// that follows; `None` at the end of the file.
pub(super) fn skip_blank(input: &mut impl BufRead) -> Result<Option<(usize, u8)>, String> {
    let mut lines = 0;
    loop {
        let begin = input.fill_buf().map_err(|error| broken_off(&error))?;
        if begin.is_empty() {
            return Ok(None);
        }
        let is_blank = |byte: &u8| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte);
        let blank = begin.iter().position(|byte| !is_blank(byte));
        let count = blank.unwrap_or(begin.len());
        lines += begin[..count].iter().filter(|byte| **byte == b'\n').count();
        let first = blank.map(|position| begin[position]);
        input.consume(count);
        if let Some(first) = first {
            return Ok(Some((lines, first)));
        }
    }
}

/// The first line that is a text and not blank, and the problems of the lines before it. The
/// first of all has the number `number`. The text is empty where there is no such line.
///
/// # Errors
/// The file cannot be read.
pub(super) fn first_line(
    input: &mut impl BufRead,
    number: usize,
) -> Result<(Vec<Numbered>, String), String> {
    let mut unreadable = Vec::new();
    loop {
        let number = number + unreadable.len();
        let mut line = Vec::new();
        let read = input.read_until(b'\n', &mut line);
        read.map_err(|error| broken_off(&error))?;
        let is_end = line.is_empty();
        match String::from_utf8(line) {
            Ok(text) if is_end || !text.trim().is_empty() => return Ok((unreadable, text)),
            Ok(blank) => unreadable.push((number, Ok(blank))),
            Err(_) => unreadable.push((number, Err(NOT_UTF8.to_owned()))),
        }
    }
}

/// The rest of a document whose first line, with the number `number`, was read.
///
/// # Errors
/// The file cannot be read, or a line is no text; the error names it.
pub(super) fn rest(input: &mut impl BufRead, number: usize) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = input.read_to_end(&mut bytes);
    read.map_err(|error| broken_off(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        let text = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let below = text.iter().filter(|byte| **byte == b'\n').count();
        format!("line {} is not UTF-8", number + 1 + below)
    })
}

/// Lines that have been read, and the rest, of which the first one has the number `next`.
pub(super) fn lines<'a>(
    read: Vec<Numbered>,
    next: usize,
    rest: impl BufRead + 'a,
) -> impl Iterator<Item = Numbered> + 'a {
    // A stream that breaks off gives its error at every further read. A line that is not UTF-8
    // is followed by others.
    let mut has_ended = false;
    let rest = rest.lines().map_while(move |line| {
        if has_ended {
            return None;
        }
        Some(line.map_err(|error| {
            has_ended = error.kind() != ErrorKind::InvalidData;
            match has_ended {
                true => broken_off(&error),
                false => NOT_UTF8.to_owned(),
            }
        }))
    });
    let rest = rest
        .enumerate()
        .map(move |(index, line)| (index + next, line));
    read.into_iter()
        .chain(rest)
        .filter(|(_, line)| line.as_ref().map_or(true, |line| !line.trim().is_empty()))
}

pub(super) fn parse(line: &str) -> Result<Value, String> {
    serde_json::from_str(line).map_err(|error| format!("it is not valid JSON: {error}"))
}
