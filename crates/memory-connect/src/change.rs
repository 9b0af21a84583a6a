//! Changes of files.

use std::path::{Path, PathBuf};

use crate::agent::{Agent, Place};
use crate::diff::{diff, without_values};
use crate::entry::{KEY, Server};
use crate::error::ConnectError;
use crate::file;
use crate::target::Target;
use crate::undo::{self, Before};

/// A file before and after. Nothing is written until [`Change::write`].
#[derive(Clone, Debug)]
pub struct Change {
    path: PathBuf,
    /// `None`: there is no file.
    old: Option<String>,
    /// What `disconnect` restores. `None`: there was no file.
    before: Option<String>,
    /// `None`: the file is removed.
    new: Option<String>,
    is_secret: bool,
    connects: bool,
}

/// The changes that write Recollect into an agent's files. Files that have it already are left
/// out.
///
/// # Errors
/// A file that cannot be read or is not in its format; then no file is to be changed.
pub fn connect(agent: Agent, place: &Place, server: &Server) -> Result<Vec<Change>, ConnectError> {
    let mut changes = Vec::new();
    for target in agent.targets(place, server)? {
        let old = file::read(&target.path)?;
        if target.is_empty() {
            // Hooks of an earlier call, which are not wanted any more.
            if let Some(old) = old {
                changes.extend(removal(target, old)?);
            }
            continue;
        }
        let new = target.put(old.as_deref().unwrap_or_default())?;
        if old.as_deref() != Some(new.as_str()) {
            changes.push(Change {
                before: match &old {
                    Some(old) => before(&target, old)?,
                    None => None,
                },
                is_secret: target.is_secret(),
                path: target.path,
                old,
                new: Some(new),
                connects: true,
            });
        }
    }
    Ok(changes)
}

/// The changes that take Recollect out of an agent's files. A file that nothing else has changed
/// gets the bytes that it had before; of others the entry alone is removed.
///
/// # Errors
/// As [`connect`].
pub fn disconnect(agent: Agent, place: &Place) -> Result<Vec<Change>, ConnectError> {
    // What is removed is known by its names.
    let server = Server {
        command: String::new(),
        addr: String::new(),
        app: String::new(),
        user: None,
        key: None,
        hooks: true,
    };
    let mut changes = Vec::new();
    for target in agent.targets(place, &server)? {
        let Some(old) = file::read(&target.path)? else {
            continue;
        };
        changes.extend(removal(target, old)?);
    }
    Ok(changes)
}

/// The change that takes what `connect` wrote out of a file; `None` if there is nothing.
fn removal(target: Target, old: String) -> Result<Option<Change>, ConnectError> {
    let before = before(&target, &old)?;
    if before.as_ref() == Some(&old) {
        return Ok(None);
    }
    Ok(Some(Change {
        path: target.path,
        old: Some(old),
        new: before.clone(),
        before,
        is_secret: false,
        connects: false,
    }))
}

/// What a file with the text `old` is without `connect`. `None`: there is no file.
fn before(target: &Target, old: &str) -> Result<Option<String>, ConnectError> {
    match undo::before(&target.path, old)? {
        Before::Same(before) => Ok(before),
        Before::Changed(before) => {
            let before = before.unwrap_or_default();
            target.restore(old, &before).map(Some)
        }
        // Nothing remembers this file, such as one that was copied from elsewhere.
        Before::Unknown => target.remove(old).map(Some),
    }
}

impl Change {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The changed lines, with `…` in the place of an API key.
    pub fn diff(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        without_values(&diff(&text(&self.old), &text(&self.new)), KEY)
    }

    /// Whether a key is written, so that the user alone may read the file afterwards.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// Checks that the file is still the one that the change was made for.
    ///
    /// # Errors
    /// [`ConnectError::Changed`], or as [`connect`].
    pub fn check(&self) -> Result<(), ConnectError> {
        match file::read(&self.path)? == self.old {
            true => Ok(()),
            false => Err(ConnectError::Changed(self.path.clone())),
        }
    }

    /// Writes the file, unless it was changed meanwhile.
    ///
    /// # Errors
    /// [`ConnectError::Write`], or as [`Change::check`]; then the file is as it was.
    pub fn write(&self) -> Result<(), ConnectError> {
        self.check()?;
        match (&self.new, self.connects) {
            (Some(new), true) => {
                undo::remember(&self.path, self.before.clone(), new)?;
                file::write(&self.path, new, self.is_secret)
            }
            (Some(new), false) => {
                file::write(&self.path, new, false)?;
                undo::forget(&self.path)
            }
            (None, _) => {
                file::remove(&self.path)?;
                undo::forget(&self.path)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_wrote_meanwhile_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.json");
        let change = Change {
            path: path.clone(),
            old: None,
            before: None,
            new: Some("{}".to_owned()),
            is_secret: false,
            connects: true,
        };
        change.check().unwrap();
        std::fs::write(&path, "{\"theirs\": 1}").unwrap();
        for refused in [change.check(), change.write()] {
            assert!(matches!(refused, Err(ConnectError::Changed(_))));
        }
        let left = std::fs::read_to_string(&path).unwrap();
        assert_eq!(left, "{\"theirs\": 1}");
    }
}
