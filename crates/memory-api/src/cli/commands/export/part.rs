//! The file until it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memory_contract::ExportChecksum;
use memory_contract::proto::{
    ExportMessagesRequest, ExportMessagesResponse, Thread, export_messages_response::Record,
};

use super::{RECORD, unfinished};
use crate::cli::failure::Failure;
use crate::cli::output::message_from_json;

/// A file that has the name it is to have, and `.part`.
pub(super) struct Part(PathBuf);

/// Where an export can go on.
#[derive(Debug, PartialEq)]
pub(super) struct Point {
    /// The last thread that the file has as a whole.
    pub(super) thread_id: String,
    /// Where it ends.
    pub(super) end: u64,
}

impl Part {
    pub(super) fn of(path: &Path) -> Self {
        Self(unfinished(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The ends of all threads that the file has as a whole; none where there is
    /// no file. The last one may be incomplete, so another thread has to follow.
    ///
    /// # Errors
    /// When it cannot be read, or is the export of something else.
    pub(super) fn points(&self, request: &ExportMessagesRequest) -> Result<Vec<Point>, Failure> {
        if !request.thread_id.is_empty() {
            // One thread is whole, or it is not.
            return Ok(Vec::new());
        }
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.broken(&error)),
        };
        let (mut points, mut open) = (Vec::new(), None);
        for line in records(BufReader::new(file)) {
            let (start, _, record) = line.map_err(|error| self.broken(&error))?;
            let next = match record {
                Record::Thread(thread) => {
                    self.belongs(&thread, request)?;
                    Some(thread.thread_id)
                }
                Record::Summary(_) => None,
                _ => continue,
            };
            let ended = std::mem::replace(&mut open, next);
            points.extend(ended.map(|thread_id| Point {
                thread_id,
                end: start,
            }));
        }
        Ok(points)
    }

    /// The file, ready for what comes after the point, with the checksum of what
    /// comes before. Without a point it is empty.
    pub(super) fn open(
        &self,
        point: Option<&Point>,
    ) -> Result<(File, Option<ExportChecksum>), Failure> {
        let Some(point) = point else {
            let file = File::create(&self.0).map_err(|error| self.broken(&error))?;
            return Ok((file, None));
        };
        let read = || -> io::Result<(File, ExportChecksum)> {
            let mut file = OpenOptions::new().read(true).write(true).open(&self.0)?;
            let mut checksum = ExportChecksum::default();
            for line in records(BufReader::new(&file)) {
                let (_, end, record) = line?;
                if end > point.end {
                    break;
                }
                checksum.see(&record);
            }
            file.set_len(point.end)?;
            file.seek(SeekFrom::End(0))?;
            Ok((file, checksum))
        };
        let (file, checksum) = read().map_err(|error| self.broken(&error))?;
        Ok((file, Some(checksum)))
    }

    /// Gives the file its name.
    pub(super) fn complete(self, path: &Path) -> Result<(), Failure> {
        File::open(&self.0)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&self.0, path))
            .map_err(Failure::output)
    }

    /// What to do about an export that broke off.
    pub(super) fn hint(&self, failure: Failure) -> Failure {
        let name = self.0.display();
        let resume = format!(
            "{name} has what was exported so far: the same command with --resume goes on there."
        );
        match failure {
            Failure::Refused { message, next_step } => Failure::Refused {
                message,
                next_step: match next_step.is_empty() {
                    true => resume,
                    false => format!("{next_step}\n{resume}"),
                },
            },
            Failure::Unreachable { addr, problem } => Failure::Unreachable {
                addr,
                problem: format!("{problem}\n{resume}"),
            },
            other => other,
        }
    }

    fn belongs(&self, thread: &Thread, request: &ExportMessagesRequest) -> Result<(), Failure> {
        let is = |wanted: &str, has: &str| wanted.is_empty() || wanted == has;
        if is(&request.app_id, &thread.app_id) && is(&request.user_id, &thread.user_id) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{} has threads that --app or --user leaves out; --resume goes on with the \
             command that wrote it",
            self.0.display()
        )))
    }

    fn broken(&self, error: &io::Error) -> Failure {
        Failure::machine(
            format!("cannot write {}: {error}", self.0.display()),
            "See --output.",
        )
    }
}

/// The records of a file, each with where it starts and ends, up to the first
/// line that is not whole.
fn records(mut file: impl BufRead) -> impl Iterator<Item = io::Result<(u64, u64, Record)>> {
    let mut start = 0_u64;
    let mut line = Vec::new();
    std::iter::from_fn(move || {
        line.clear();
        match file.read_until(b'\n', &mut line) {
            Err(error) => Some(Err(error)),
            Ok(_) if line.last() != Some(&b'\n') => None,
            Ok(length) => {
                let json = serde_json::from_slice(&line).ok()?;
                let response = message_from_json::<ExportMessagesResponse>(RECORD, &json).ok()?;
                let end = start + length as u64;
                let place = std::mem::replace(&mut start, end);
                Some(Ok((place, end, response.record?)))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_goes_on_behind_the_last_whole_thread() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        let part = Part::of(&path);
        let request = ExportMessagesRequest::default();
        assert_eq!(part.points(&request).unwrap(), []);

        let whole = "{\"thread\":{\"threadId\":\"a\"}}\n{\"message\":{\"messageId\":\"1\"}}\n\
                     {\"thread\":{\"threadId\":\"b\"}}\n";
        let end = whole.rfind("{\"thread\"").unwrap() as u64;
        for rest in [
            "",
            "{\"message\":{\"messageId\":\"2\"}}\n{\"thread\":{\"thr",
            "{oops}\n",
        ] {
            fs::write(part.path(), format!("{whole}{rest}")).unwrap();
            let points = part.points(&request).unwrap();
            let expected = Point {
                thread_id: "a".to_owned(),
                end,
            };
            assert_eq!(points, [expected], "{rest}");
            let (_, before) = part.open(points.last()).unwrap();
            let counts = before.unwrap().counts();
            assert_eq!((counts.thread_count, counts.message_count), (1, 1));
            assert_eq!(
                fs::read_to_string(part.path()).unwrap(),
                whole[..end as usize]
            );
        }

        let other = ExportMessagesRequest {
            app_id: "x".to_owned(),
            ..Default::default()
        };
        assert!(part.points(&other).is_err(), "another export");
    }
}
