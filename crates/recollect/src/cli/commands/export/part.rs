//! The file of an export until it is complete.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use memory_checksum::ExportChecksum;
use memory_contract::proto::{
    ExportRecordsRequest, record::Kind, target::Target, thread_ref::Thread,
};
use memory_import::record_from;
use serde_json::json;

use crate::cli::failure::Failure;

/// Only the owner may read exported conversations.
const MODE: u32 = 0o600;

/// An incomplete export: the file's final name with `.part`. A second file, with `.of`
/// appended, has the selection that is exported.
pub(super) struct Part {
    path: PathBuf,
    of: PathBuf,
    selection: String,
}

/// The point at which an export can be resumed.
#[derive(Debug, PartialEq)]
pub(super) struct ResumePoint {
    /// The last thread that the file has as a whole.
    pub(super) thread_id: String,
    /// Where it ends.
    pub(super) end: u64,
}

impl Part {
    pub(super) fn new(path: &Path, request: &ExportRecordsRequest, addr: &str) -> Self {
        let with = |ending: &str| {
            let mut name = path.to_owned().into_os_string();
            name.push(ending);
            PathBuf::from(name)
        };
        let ExportRecordsRequest {
            target,
            after_thread_id: _,
        } = request;
        let selection = match target.as_ref().and_then(|target| target.target.as_ref()) {
            None => json!({}),
            Some(Target::Thread(thread)) => match &thread.thread {
                None => json!({}),
                Some(Thread::ThreadId(id)) => json!({"thread": id}),
                Some(Thread::Session(session)) => json!({
                    "app": session.app_id, "user": session.user_id, "session": session.session_key,
                }),
            },
            Some(Target::User(user)) => json!({"app": user.app_id, "user": user.user_id}),
            Some(Target::App(app)) => json!({"app": app.app_id}),
        };
        let selection = json!({"selection": selection, "server": addr});
        Self {
            path: with(".part"),
            of: with(".part.of"),
            selection: selection.to_string(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The ends of all threads that the file has as a whole; none where there is
    /// no file. The last one may be incomplete, so another thread has to follow.
    ///
    /// # Errors
    /// When it cannot be read, or is the export of something else.
    pub(super) fn points(&self) -> Result<Vec<ResumePoint>, Failure> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.broken(&error)),
        };
        self.belongs()?;
        let (mut points, mut open) = (Vec::new(), None);
        for line in records(BufReader::new(file)) {
            let (start, _, record) = line.map_err(|error| self.broken(&error))?;
            let next = match record {
                Kind::Thread(thread) => Some(thread.thread_id),
                Kind::Summary(_) => None,
                _ => continue,
            };
            let ended = std::mem::replace(&mut open, next);
            points.extend(ended.map(|thread_id| ResumePoint {
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
        point: Option<&ResumePoint>,
    ) -> Result<(File, Option<ExportChecksum>), Failure> {
        let Some(point) = point else {
            let file = private(&self.path)
                // First the old content goes, then it is of something else.
                .and_then(|file| private(&self.of).map(|of| (file, of)))
                .and_then(|(file, mut of)| of.write_all(self.selection.as_bytes()).map(|()| file));
            return Ok((file.map_err(|error| self.broken(&error))?, None));
        };
        let read = || -> io::Result<(File, ExportChecksum)> {
            let mut file = OpenOptions::new().read(true).write(true).open(&self.path)?;
            file.set_permissions(Permissions::from_mode(MODE))?;
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
        File::open(&self.path)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&self.path, path))
            .and_then(|()| fs::remove_file(&self.of))
            .map_err(Failure::output)
    }

    /// What to do about an export that broke off.
    pub(super) fn hint(&self, failure: Failure) -> Failure {
        let name = self.path.display();
        let resume = format!(
            "{name} has the part exported so far; the same command with --resume continues it."
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

    /// Whether it is of what is exported now: a wider selection would leave out what
    /// it had passed over.
    fn belongs(&self) -> Result<(), Failure> {
        let name = self.path.display();
        let problem = match fs::read_to_string(&self.of) {
            Ok(of) if of == self.selection => return Ok(()),
            Ok(of) => format!(
                "{name} is an export of {of}, and this is one of {}",
                self.selection
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                format!("the selection that {name} was exported with is unknown")
            }
            Err(error) => return Err(self.broken(&error)),
        };
        Err(Failure::Usage(format!(
            "{problem}; --resume continues only the command that wrote the file, and without \
             --resume the export starts over"
        )))
    }

    fn broken(&self, error: &io::Error) -> Failure {
        Failure::machine(
            format!("cannot write {}: {error}", self.path.display()),
            "See --output.",
        )
    }
}

/// An empty file that only its owner reads.
fn private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(MODE)
        .open(path)?;
    // It may have been there.
    file.set_permissions(Permissions::from_mode(MODE))?;
    Ok(file)
}

/// The records of a file, each with where it starts and ends, up to the first
/// line that is not whole.
fn records(mut file: impl BufRead) -> impl Iterator<Item = io::Result<(u64, u64, Kind)>> {
    let mut start = 0_u64;
    let mut line = Vec::new();
    std::iter::from_fn(move || {
        line.clear();
        match file.read_until(b'\n', &mut line) {
            Err(error) => Some(Err(error)),
            Ok(_) if line.last() != Some(&b'\n') => None,
            Ok(length) => {
                let json = serde_json::from_slice(&line).ok()?;
                let record = record_from(&json).ok()?;
                let end = start + length as u64;
                let place = std::mem::replace(&mut start, end);
                Some(Ok((place, end, record)))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::AppRef;

    use super::*;

    #[test]
    fn an_export_resumes_after_the_last_complete_thread() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        let of = |app: &str, server: &str| {
            let request = ExportRecordsRequest {
                target: Some(
                    AppRef {
                        app_id: app.to_owned(),
                    }
                    .into(),
                ),
                ..Default::default()
            };
            Part::new(&path, &request, server)
        };
        let part = of("a", "s");
        assert_eq!(part.points().unwrap(), []);
        part.open(None).unwrap();
        for file in [&part.path, &part.of] {
            let mode = fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file:?}");
        }

        let whole = "{\"thread\":{\"threadId\":\"a\"}}\n{\"message\":{\"messageId\":\"1\"}}\n\
                     {\"thread\":{\"threadId\":\"b\"}}\n";
        let end = whole.rfind("{\"thread\"").unwrap() as u64;
        for rest in [
            "",
            "{\"message\":{\"messageId\":\"2\"}}\n{\"thread\":{\"thr",
            "{oops}\n",
        ] {
            fs::write(part.path(), format!("{whole}{rest}")).unwrap();
            let points = part.points().unwrap();
            let expected = ResumePoint {
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

        for other in [of("", "s"), of("b", "s"), of("a", "t")] {
            assert!(other.points().is_err(), "another export");
        }
        fs::remove_file(&part.of).unwrap();
        assert!(part.points().is_err(), "its selection is unknown");
    }
}
