//! Detects the format of a file's content, and reads it.

use std::fmt::Display;
use std::io::{BufRead, ErrorKind};

use memory_contract::message::Provider;
use memory_contract::proto::MessageInput;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::defaults::Defaults;
use crate::export::is_record;
use crate::foreign::{self, Documents};
use crate::format::{Format, System};
use crate::items::items;
use crate::jsonl::Jsonl;
use crate::openai::Chat;
use crate::provider;
use crate::record::{ImportRecord, Placed, Read};
use crate::seen::{list_of, seen, unknown};

/// Why the content of other products is not stored as new.
pub(crate) const AGAIN: &str =
    "--again does not go with exports of other products, whose ids keep their messages together";
/// What is not JSON, in words.
const TEXT: &str = "a text, neither JSON nor a table with the columns session_id and message";

/// A file, and how to read it.
pub(crate) struct InputFile<'a> {
    /// Its name without its ending.
    pub(crate) stem: String,
    /// The name of the folder that it is in.
    pub(crate) folder: String,
    /// Whether its name says that it has one document a line: such a file can get more.
    pub(crate) has_lines: bool,
    /// Its format.
    pub(crate) format: Format,
    /// The owners of conversations that do not name them.
    pub(crate) defaults: &'a Defaults,
    /// Whether everything in it is to be stored as new.
    pub(crate) again: bool,
}

/// Lines with their numbers, empty ones left out.
type Lines<'a> = dyn Iterator<Item = (usize, Result<String, String>)> + 'a;

impl InputFile<'_> {
    /// Reads the content record by record, and returns what it is, in words.
    ///
    /// # Errors
    /// What keeps the whole file from being read. What is wrong with a part of it goes to
    /// `each`, and the next part is read.
    pub(crate) fn read(
        &self,
        mut input: impl BufRead,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<String, String> {
        let (blank, first) = skip_blank(&mut input)?.ok_or("the file is empty")?;
        let line = 1 + blank;
        match first {
            b'[' if self.format != Format::Jsonl => self.list(input, line, each),
            b'[' | b'{' => self.objects(input, line, each),
            _ if self.is_table(&mut input) => self.table(input, line, each),
            _ if self.format == Format::Jsonl => self.objects(input, line, each),
            _ => Err(match self.format {
                Format::Auto => unknown(TEXT),
                _ => "it is not JSON".to_owned(),
            }),
        }
    }

    /// A JSON list, alone or one a line.
    fn list(
        &self,
        mut input: impl BufRead,
        line: usize,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<String, String> {
        let mut first = None;
        let mut count = 0;
        let mut documents = None;
        let mut kept: Vec<Box<RawValue>> = Vec::new();
        loop {
            let mut wants_more = true;
            let mut read = |item: Box<RawValue>| {
                let place = format!("[{count}]");
                count += 1;
                let json = match (count, &documents) {
                    (1, _) | (_, Some(_)) => parse(item.get()),
                    (_, None) => {
                        kept.push(item);
                        return true;
                    }
                };
                if count == 1 {
                    let system = match (self.format, &json) {
                        (Format::System(system), _) => Some(system),
                        (Format::Auto, Ok(json)) => foreign::detected(json),
                        _ => None,
                    };
                    let system = system.filter(|system| foreign::reads_items(*system));
                    documents = system.map(|system| self.documents_of(system));
                    first = json.as_ref().ok().cloned();
                }
                match (&mut documents, json) {
                    (None, _) => {
                        kept.push(item);
                        true
                    }
                    (Some(Err(_)), _) => false,
                    (Some(Ok(documents)), Ok(json)) => documents.read(json, &place, None, each),
                    (Some(Ok(_)), Err(problem)) => each(Placed {
                        place,
                        value: Err(problem),
                    }),
                }
            };
            items(&mut input, &mut |item| {
                wants_more = read(item);
                wants_more
            })?;
            // Lists that are kept have their lines read below.
            if !wants_more || !kept.is_empty() {
                break;
            }
            match skip_blank(&mut input)? {
                Some((_, b'[')) => {}
                None => break,
                Some(_) => {
                    each(Placed {
                        place: String::new(),
                        value: Err("something follows the list".to_owned()),
                    });
                    break;
                }
            }
        }
        if let Some(documents) = documents {
            return documents.map(|_| list_of(count, first.as_ref()));
        }
        let written: Vec<&str> = kept.iter().map(|item| item.get()).collect();
        let text = format!("[{}]", written.join(","));
        let document = parse(&text)?;
        let what = list_of(count, first.as_ref());
        if count == 0 {
            return Ok(what);
        }
        self.lines_of(&document, &mut lines(&text, line, input), each)?;
        Ok(what)
    }

    /// A JSON object, alone or one a line.
    fn objects(
        &self,
        mut input: impl BufRead,
        line: usize,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<String, String> {
        // The first line shows whether each line is a separate document.
        let mut text = String::new();
        let read = input.read_line(&mut text);
        read.map_err(|error| error.to_string())?;
        let (document, by_line) = match serde_json::from_str::<Value>(&text) {
            Ok(document) => (document, true),
            Err(_) if self.format == Format::Jsonl => {
                self.jsonl(&mut lines(&text, line, input), each);
                return Ok("JSON Lines".to_owned());
            }
            Err(_) => {
                let read = input.read_to_string(&mut text);
                read.map_err(|error| error.to_string())?;
                (parse(&text)?, false)
            }
        };
        let what = seen(&document);
        let mut rest = lines(&text, line, input);
        self.lines_of(&document, &mut rest, each)?;
        Ok(match by_line {
            true => format!("JSON Lines that begin with {what}"),
            false => what,
        })
    }

    /// Lines of which the first is this document.
    fn lines_of(
        &self,
        document: &Value,
        lines: &mut Lines<'_>,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<(), String> {
        let format = match self.format {
            Format::Auto => detected(document).ok_or_else(|| unknown(&seen(document)))?,
            format => format,
        };
        match format {
            Format::System(system) => {
                let documents = self.documents_of(system)?;
                self.read_documents(documents, lines, each);
            }
            Format::Provider(provider) => self.conversations(provider, lines, each),
            Format::Jsonl | Format::Auto => self.jsonl(lines, each),
        }
        Ok(())
    }

    fn documents_of(&self, system: System) -> Result<Documents<'_>, String> {
        // A day of Slack is named for the day, and its folder for the channel.
        let name = match system {
            System::Slack => &self.folder,
            _ => &self.stem,
        };
        match self.again {
            true => Err(AGAIN.to_owned()),
            false => Ok(Documents::new(system, self.defaults, name)),
        }
    }

    /// Whether it is a table of n8n's chat memory: the first line names its columns.
    fn is_table(&self, input: &mut impl BufRead) -> bool {
        let Ok(begin) = input.fill_buf() else {
            return false;
        };
        let header = begin
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let header = String::from_utf8_lossy(header);
        let columns: Vec<&str> = header
            .split(',')
            .map(|name| name.trim().trim_matches('"'))
            .collect();
        matches!(self.format, Format::Auto | Format::System(System::N8n))
            && ["session_id", "message"]
                .iter()
                .all(|name| columns.contains(name))
    }

    /// A table as comma-separated values, whose first line names the columns.
    fn table(
        &self,
        input: impl BufRead,
        line: usize,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<String, String> {
        let mut documents = self.documents_of(System::N8n)?;
        let mut rows = csv::Reader::from_reader(input);
        let columns = rows.headers().map_err(|error| error.to_string())?.clone();
        for row in rows.records() {
            let place = |position: Option<&csv::Position>| {
                let below = position.map_or(0, |position| position.line() - 1);
                format!("line {}", line as u64 + below)
            };
            let more = match row {
                Ok(row) => {
                    let cells = columns.iter().zip(&row);
                    let cells = cells.map(|(name, cell)| (name.trim().to_owned(), cell.into()));
                    let json = Value::Object(cells.collect::<Map<String, Value>>());
                    documents.read(json, &place(row.position()), None, each)
                }
                Err(error) => each(Placed {
                    place: place(error.position()),
                    value: Err(match error.is_io_error() {
                        true => broken_off(&error),
                        false => "it does not have the columns of the first line".to_owned(),
                    }),
                }),
            };
            if !more {
                break;
            }
        }
        Ok("a table with the columns session_id and message".to_owned())
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

    /// The number of a document in a file with several. One alone has none, unless the file
    /// can get more.
    fn part(&self, index: usize, is_last: bool) -> Option<usize> {
        let is_alone = index == 0 && is_last && !self.has_lines;
        (!is_alone).then_some(index + 1)
    }

    /// Reads one document of another product a line; one alone is the whole file.
    fn read_documents(
        &self,
        mut documents: Documents<'_>,
        lines: &mut Lines<'_>,
        each: &mut dyn FnMut(Read) -> bool,
    ) {
        let mut lines = lines.enumerate().peekable();
        while let Some((index, (number, line))) = lines.next() {
            let part = self.part(index, lines.peek().is_none());
            let place = match part {
                Some(_) => format!("line {number}"),
                None => String::new(),
            };
            let more = match line.and_then(|line| parse(&line)) {
                Ok(json) => documents.read(json, &place, part, each),
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
            let part = self.part(index, lines.peek().is_none());
            let more = match line {
                Ok(line) => {
                    let place = match part {
                        Some(_) => format!("line {number}, "),
                        None => String::new(),
                    };
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
        let read = parse(json).and_then(|document| {
            let messages = self.messages(provider, json, &document)?;
            Ok((self.defaults.named(&self.stem, part, &document), messages))
        });
        let (session, messages) = match read {
            Ok(read) => read,
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
    fn messages(
        &self,
        provider: Provider,
        json: &str,
        document: &Value,
    ) -> Result<Vec<ReadMessage>, String> {
        if provider == Provider::OpenaiChat {
            // Files of chats have more than the API: times, metadata, other names of roles.
            if let Some(messages) = document.get("messages").unwrap_or(document).as_array() {
                let mut chat = Chat::default();
                return Ok(messages.iter().map(|json| chat.message(json)).collect());
            }
        }
        let messages = provider::messages(provider, json, self.again)?;
        Ok(messages.into_iter().map(Ok).collect())
    }
}

/// The format of a document; `None` if it is not known.
fn detected(document: &Value) -> Option<Format> {
    if let Some(system) = foreign::detected(document) {
        return Some(Format::System(system));
    }
    if is_record(document) {
        return Some(Format::Jsonl);
    }
    let provider = provider::detected(document).map(Format::Provider);
    let simple = ["role", "text", "content"];
    let is_simple = simple.iter().any(|name| document.get(*name).is_some());
    provider.or(is_simple.then_some(Format::Jsonl))
}

/// Passes over white space and a byte order mark. Returns how many lines it has, and the byte
/// that follows; `None` at the end of the file.
fn skip_blank(input: &mut impl BufRead) -> Result<Option<(usize, u8)>, String> {
    let mut lines = 0;
    loop {
        let begin = input.fill_buf().map_err(|error| error.to_string())?;
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

/// A message, or its problem.
type ReadMessage = Result<MessageInput, String>;

/// Why the rest of a file is missing.
fn broken_off(error: &impl Display) -> String {
    format!("the file cannot be read further: {error}")
}

fn parse(line: &str) -> Result<Value, String> {
    serde_json::from_str(line).map_err(|error| format!("it is not valid JSON: {error}"))
}

/// The first line, which has been read, and the rest, numbered.
fn lines<'a>(
    first: &str,
    first_number: usize,
    rest: impl BufRead + 'a,
) -> impl Iterator<Item = (usize, Result<String, String>)> + 'a {
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
                false => error.to_string(),
            }
        }))
    });
    std::iter::once(Ok(first.to_owned()))
        .chain(rest)
        .enumerate()
        .map(move |(index, line)| (index + first_number, line))
        .filter(|(_, line)| line.as_ref().map_or(true, |line| !line.trim().is_empty()))
}

#[cfg(test)]
mod tests;
