//! Detects the format of a file's content, and reads it.

mod lines;
mod list;
mod table;

use std::io::BufRead;

use memory_contract::message::Provider;
use memory_contract::proto::MessageInput;
use serde_json::Value;

use crate::defaults::Defaults;
use crate::export::is_record;
use crate::foreign::{self, Documents};
use crate::format::{Format, System};
use crate::jsonl::Jsonl;
use crate::openai::Chat;
use crate::provider;
use crate::record::{ImportRecord, Placed, Read};
use crate::seen::{opaque, seen, unknown};
use lines::{Lines, Numbered, check_text, first_line, lines, parse, rest, skip_blank};

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
        check_text(&mut input)?;
        let (blank, first) = skip_blank(&mut input)?.ok_or("the file is empty")?;
        let line = 1 + blank;
        match first {
            b'[' if self.format != Format::Jsonl => return self.list(input, line, each),
            b'[' | b'{' => return self.objects(input, line, each),
            _ => {}
        }
        match (self.separator(&mut input), self.format) {
            (Some(separator), _) => self.table(input, separator, line, each),
            (None, Format::Jsonl) => self.objects(input, line, each),
            (None, Format::Auto) => Err(unknown(TEXT)),
            (None, _) => Err("it is not JSON".to_owned()),
        }
    }

    /// A JSON object, alone or one a line.
    fn objects(
        &self,
        mut input: impl BufRead,
        line: usize,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<String, String> {
        // The first line shows whether each line is a separate document.
        let (mut read, mut text) = first_line(&mut input, line)?;
        let line = line + read.len();
        let first_problem = read.iter().find(|(_, line)| line.is_err());
        let first_problem = first_problem.map(|(number, _)| *number);
        if text.is_empty() {
            unreadable(read, each);
            return Ok("a text that is not UTF-8".to_owned());
        }
        let (document, by_line) = match serde_json::from_str::<Value>(&text) {
            Ok(document) => (document, true),
            Err(_) if self.format == Format::Jsonl => {
                read.push((line, Ok(text)));
                self.jsonl(&mut lines(read, line + 1, input), each);
                return Ok("JSON Lines".to_owned());
            }
            Err(_) => {
                if let Some(number) = first_problem {
                    return Err(format!("line {number} is not UTF-8"));
                }
                text.push_str(&rest(&mut input, line)?);
                (parse(&text)?, false)
            }
        };
        let what = seen(&document);
        read.push((line, Ok(text)));
        self.lines_of(&document, &mut lines(read, line + 1, input), each)?;
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
        let refusal = match self.format {
            Format::Auto => {
                let kinds = provider::only_opaque(&messages);
                kinds.map(|kinds| opaque(&seen(document), &kinds))
            }
            _ => None,
        };
        match refusal {
            Some(refusal) => Err(refusal),
            None => Ok(messages.into_iter().map(Ok).collect()),
        }
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

/// Names the problems of lines.
fn unreadable(read: Vec<Numbered>, each: &mut dyn FnMut(Read) -> bool) {
    for (number, line) in read {
        let problem = line.err().map(|problem| Placed {
            place: format!("line {number}"),
            value: Err(problem),
        });
        if problem.is_some_and(|problem| !each(problem)) {
            break;
        }
    }
}

/// A message, or its problem.
type ReadMessage = Result<MessageInput, String>;

#[cfg(test)]
mod tests;
