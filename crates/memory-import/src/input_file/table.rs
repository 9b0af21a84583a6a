//! Reads the table of n8n's chat memory, as values that commas, semicolons or tabs separate.

use std::io::BufRead;

use serde_json::{Map, Value};

use super::InputFile;
use super::lines::NOT_UTF8;
use crate::format::{Format, System};
use crate::record::{Placed, Read};
use crate::seen::broken_off;

/// The columns that the table has at least.
const COLUMNS: [&str; 2] = ["session_id", "message"];
/// What may separate the columns.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

impl InputFile<'_> {
    /// What separates the columns of a table of n8n's chat memory, if it is one: the first line
    /// names its columns, in capitals or not.
    pub(super) fn separator(&self, input: &mut impl BufRead) -> Option<u8> {
        if !matches!(self.format, Format::Auto | Format::System(System::N8n)) {
            return None;
        }
        let begin = input.fill_buf().ok()?;
        let header = begin.split(|byte| *byte == b'\n').next()?;
        let header = String::from_utf8_lossy(header).to_ascii_lowercase();
        SEPARATORS.into_iter().find(|separator| {
            let names = header.split(char::from(*separator));
            let names: Vec<&str> = names.map(|name| name.trim().trim_matches('"')).collect();
            COLUMNS.iter().all(|name| names.contains(name))
        })
    }

    /// Reads a table, whose first line names the columns.
    pub(super) fn table(
        &self,
        input: impl BufRead,
        separator: u8,
        line: usize,
        each: &mut dyn FnMut(Read) -> bool,
    ) -> Result<String, String> {
        let mut documents = self.documents_of(System::N8n)?;
        let mut rows = csv::ReaderBuilder::new();
        let mut rows = rows.delimiter(separator).from_reader(input);
        let columns = rows.headers().map_err(|error| problem(&error))?;
        let columns: Vec<String> = columns
            .iter()
            .map(|name| name.trim().to_ascii_lowercase())
            .collect();
        for row in rows.records() {
            let place = |position: Option<&csv::Position>| {
                let below = position.map_or(0, |position| position.line() - 1);
                format!("line {}", line as u64 + below)
            };
            let more = match row {
                Ok(row) => {
                    let cells = columns.iter().zip(&row);
                    let cells = cells.map(|(name, cell)| (name.clone(), cell.into()));
                    let json = Value::Object(cells.collect::<Map<String, Value>>());
                    documents.read(json, &place(row.position()), None, each)
                }
                Err(error) => each(Placed {
                    place: place(error.position()),
                    value: Err(problem(&error)),
                }),
            };
            if !more {
                break;
            }
        }
        Ok("a table with the columns session_id and message".to_owned())
    }
}

/// Why a row is not read.
fn problem(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Io(error) => broken_off(error),
        csv::ErrorKind::Utf8 { .. } => NOT_UTF8.to_owned(),
        _ => "it does not have the columns of the first line".to_owned(),
    }
}
