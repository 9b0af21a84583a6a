//! Opens a file and detects its format.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;

use memory_contract::message::Provider;
use memory_contract::proto::MessageInput;
use serde_json::Value;

use crate::defaults::Defaults;
use crate::export::is_record;
use crate::format::{Format, System};
use crate::jsonl::Jsonl;
use crate::openai::Chat;
use crate::record::{ImportRecord, Placed, Read};
use crate::{foreign, provider};

/// Reads a file (`-` is standard input) record by record, in order. `each`
/// returns whether it wants more.
///
/// # Errors
/// What keeps the whole file from being read. What is wrong with one line goes
/// to `each`, and the next line is read.
pub(crate) fn read(
    path: &Path,
    format: Format,
    defaults: &Defaults,
    again: bool,
    each: &mut dyn FnMut(Read) -> bool,
) -> Result<(), String> {
    let (stem, input): (String, Box<dyn BufRead>) = if path == Path::new("-") {
        ("stdin".to_owned(), Box::new(BufReader::new(io::stdin())))
    } else {
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => format!("it cannot be opened: {error}"),
        })?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err("it is a directory; name the files in it".to_owned());
        }
        let stem = path
            .file_stem()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        (stem, Box::new(BufReader::with_capacity(1 << 16, file)))
    };
    InputFile {
        stem,
        format,
        defaults,
        again,
    }
    .read(input, each)
}

struct InputFile<'a> {
    stem: String,
    format: Format,
    defaults: &'a Defaults,
    again: bool,
}

/// Lines with their numbers, empty ones left out.
type Lines<'a> = dyn Iterator<Item = (usize, Result<String, String>)> + 'a;

impl InputFile<'_> {
    fn read(
        &self,
        mut input: impl BufRead,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<(), String> {
        // The first line shows whether each line is a separate document.
        let mut first = String::new();
        let mut blank_lines = 0;
        while first.trim().is_empty() {
            first.clear();
            if input
                .read_line(&mut first)
                .map_err(|error| error.to_string())?
                == 0
            {
                return Err("the file is empty".to_owned());
            }
            blank_lines += 1;
        }
        let first = first.trim_start_matches('\u{feff}');
        let by_line = serde_json::from_str::<Value>(first);
        let format = match (&by_line, self.format) {
            (Ok(document), Format::Auto) if is_record(document) => Format::Jsonl,
            (Ok(document), Format::Auto) => match provider::detected(document) {
                Some(provider) => Format::Provider(provider),
                // A line of JSON Lines is an object.
                None if document.is_array() => return Err(provider::unknown(document)),
                None => Format::Jsonl,
            },
            (_, format) => format,
        };
        match (by_line, format) {
            (by_line, Format::System(system)) => {
                if by_line.is_ok() {
                    self.documents(system, &mut lines(first, blank_lines, input), each);
                    return Ok(());
                }
                let mut text = first.to_owned();
                input
                    .read_to_string(&mut text)
                    .map_err(|error| error.to_string())?;
                foreign::document(system, parse(&text)?, "", self.defaults, each);
            }
            (Ok(_), Format::Provider(provider)) => {
                self.conversations(provider, &mut lines(first, blank_lines, input), each);
            }
            (_, Format::Jsonl) | (Ok(_), Format::Auto) => {
                self.jsonl(&mut lines(first, blank_lines, input), each);
            }
            (Err(_), format @ (Format::Auto | Format::Provider(_))) => {
                let mut text = first.to_owned();
                input
                    .read_to_string(&mut text)
                    .map_err(|error| error.to_string())?;
                let document = parse(&text)?;
                let provider = match format {
                    Format::Provider(provider) => provider,
                    _ => {
                        provider::detected(&document).ok_or_else(|| provider::unknown(&document))?
                    }
                };
                self.conversation(provider, &text, None, "", each);
            }
        }
        Ok(())
    }

    fn jsonl(&self, lines: &mut Lines<'_>, each: &mut dyn FnMut(Read) -> bool) {
        let mut reader = Jsonl::new(self.defaults, &self.stem, self.again);
        for (number, line) in lines {
            let read = Placed {
                place: format!("line {number}"),
                value: line
                    .and_then(|line| parse(&line))
                    .and_then(|json| reader.line(&json)),
            };
            if !each(read) {
                return;
            }
        }
    }

    /// One document of another memory system a line.
    fn documents(&self, system: System, lines: &mut Lines<'_>, each: &mut dyn FnMut(Read) -> bool) {
        for (number, line) in lines {
            let place = format!("line {number}");
            let more = match line.and_then(|line| parse(&line)) {
                Ok(json) => foreign::document(system, json, &place, self.defaults, each),
                Err(problem) => each(Placed {
                    place,
                    value: Err(problem),
                }),
            };
            if !more {
                return;
            }
        }
    }

    /// One conversation a line.
    fn conversations(
        &self,
        provider: Provider,
        lines: &mut Lines<'_>,
        each: &mut dyn FnMut(Read) -> bool,
    ) {
        let mut lines = lines.enumerate().peekable();
        while let Some((index, (number, line))) = lines.next() {
            // One conversation alone needs no number.
            let part = (index > 0 || lines.peek().is_some()).then_some(index + 1);
            let more = match line {
                Ok(line) => {
                    let place = format!("line {number}, ");
                    self.conversation(provider, &line, part, &place, each)
                }
                Err(error) => each(Placed {
                    place: format!("line {number}"),
                    value: Err(error),
                }),
            };
            if !more {
                return;
            }
        }
    }

    /// One conversation in a provider's format.
    fn conversation(
        &self,
        provider: Provider,
        json: &str,
        part: Option<usize>,
        place: &str,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> bool {
        let session = self.defaults.session(&self.stem, part);
        let messages = match self.messages(provider, json) {
            Ok(messages) => messages,
            Err(error) => {
                return each(Placed {
                    place: place.trim_end_matches(", ").to_owned(),
                    value: Err(error),
                });
            }
        };
        messages.into_iter().enumerate().all(|(index, message)| {
            let value = message.map(|message| ImportRecord::Message {
                session: session.clone(),
                message: Box::new(message),
            });
            each(Placed {
                place: format!("{place}messages[{index}]"),
                value,
            })
        })
    }

    /// The messages of a conversation, or the problem of one or of all of them.
    fn messages(&self, provider: Provider, json: &str) -> Result<Vec<ReadMessage>, String> {
        if provider == Provider::OpenaiChat {
            let document = parse(json)?;
            // Files of chats have more than the API: times, metadata, other names of roles.
            if let Some(messages) = document.get("messages").unwrap_or(&document).as_array() {
                let mut chat = Chat::default();
                return Ok(messages.iter().map(|json| chat.message(json)).collect());
            }
        }
        let messages = provider::messages(provider, json, self.again)?;
        Ok(messages.into_iter().map(Ok).collect())
    }
}

/// A message, or its problem.
type ReadMessage = Result<MessageInput, String>;

fn parse(line: &str) -> Result<Value, String> {
    serde_json::from_str(line).map_err(|error| format!("it is not valid JSON: {error}"))
}

/// The first line, which has been read, and the rest, numbered.
fn lines<'a>(
    first: &str,
    first_number: usize,
    rest: impl BufRead + 'a,
) -> impl Iterator<Item = (usize, Result<String, String>)> + 'a {
    std::iter::once(Ok(first.to_owned()))
        .chain(
            rest.lines()
                .map(|line| line.map_err(|error| error.to_string())),
        )
        .enumerate()
        .map(move |(index, line)| (index + first_number, line))
        .filter(|(_, line)| line.as_ref().map_or(true, |line| !line.trim().is_empty()))
}

#[cfg(test)]
mod tests;
