//! Reads JSON lists: of conversations one entry after the other, others as one document.

use std::io::BufRead;

use memory_contract::message::Provider;
use serde_json::Value;
use serde_json::value::RawValue;

use super::lines::{lines, parse, skip_blank};
use super::{InputFile, detected};
use crate::foreign::{self, Documents};
use crate::format::Format;
use crate::items::items;
use crate::provider;
use crate::record::{Placed, Read};
use crate::seen::list_of;

impl InputFile<'_> {
    /// A JSON list, alone or one a line.
    pub(super) fn list(
        &self,
        mut input: impl BufRead,
        line: usize,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<String, String> {
        let mut list = List {
            file: self,
            count: 0,
            first: None,
            entries: Ok(None),
            kept: Vec::new(),
        };
        loop {
            let mut wants_more = true;
            items(&mut input, &mut |item| {
                wants_more = list.read(item, each);
                wants_more
            })?;
            // Lists that are kept have their lines read below.
            if !wants_more || !list.kept.is_empty() {
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
        let what = list_of(list.count, list.first.as_ref());
        if list.entries?.is_some() || list.count == 0 {
            return Ok(what);
        }
        let written: Vec<&str> = list.kept.iter().map(|item| item.get()).collect();
        let text = format!("[{}]", written.join(","));
        let document = parse(&text)?;
        let mut lines = lines(vec![(line, Ok(text))], line + 1, input);
        self.lines_of(&document, &mut lines, each)?;
        Ok(what)
    }

    /// How the entries of a list with this first one are read; `None` where they are one
    /// document together.
    fn entries_of(&self, first: &Value) -> Result<Option<Entries<'_>>, String> {
        let format = match self.format {
            Format::Auto => detected(first),
            format => Some(format),
        };
        Ok(match format {
            Some(Format::System(system)) if foreign::reads_items(system, first) => {
                Some(Entries::Documents(Box::new(self.documents_of(system)?)))
            }
            Some(Format::Provider(provider)) if provider::is_conversation(first) => {
                Some(Entries::Conversations(provider))
            }
            _ => None,
        })
    }
}

/// What the entries of a list are.
enum Entries<'a> {
    /// Documents of another product.
    Documents(Box<Documents<'a>>),
    /// Conversations in a provider's format.
    Conversations(Provider),
}

/// A list that is read.
struct List<'a> {
    file: &'a InputFile<'a>,
    /// Entries so far.
    count: usize,
    first: Option<Value>,
    /// How entries are read one by one, if they are.
    entries: Result<Option<Entries<'a>>, String>,
    /// Entries that are one document together.
    kept: Vec<Box<RawValue>>,
}

impl List<'_> {
    /// Reads or keeps an entry. Returns whether more is wanted.
    fn read(&mut self, item: Box<RawValue>, each: &mut dyn FnMut(Read) -> bool) -> bool {
        self.count += 1;
        if self.count > 1 && matches!(self.entries, Ok(None)) {
            self.kept.push(item);
            return true;
        }
        let json = parse(item.get());
        if let (1, Ok(first)) = (self.count, &json) {
            self.entries = self.file.entries_of(first);
            self.first = Some(first.clone());
        }
        let place = format!("[{}]", self.count - 1);
        let number = Some(self.count);
        match (&mut self.entries, json) {
            (Err(_), _) => false,
            (Ok(None), _) => {
                self.kept.push(item);
                true
            }
            (Ok(Some(Entries::Documents(documents))), Ok(json)) => {
                documents.read(json, &place, number, each)
            }
            (Ok(Some(Entries::Conversations(provider))), Ok(_)) => {
                let place = format!("{place}, ");
                self.file
                    .conversation(*provider, item.get(), number, &place, each)
            }
            (Ok(Some(_)), Err(problem)) => each(Placed {
                place,
                value: Err(problem),
            }),
        }
    }
}
