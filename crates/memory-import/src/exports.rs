//! Reads exports that consist of several files: those of ChatGPT, Claude, Slack and
//! OpenMemory.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::archive::Archive;
use crate::foreign::{Documents, Workspace};
use crate::format::{Format, System};
use crate::input_file::{AGAIN, InputFile};
use crate::record::{ImportRecord, Placed, Read};
use crate::seen::unknown;

/// Files of a Slack export that name channels.
const CHANNELS: [&str; 4] = ["channels.json", "groups.json", "mpims.json", "dms.json"];
/// Files of a Slack export that name members.
const MEMBERS: [&str; 2] = ["users.json", "org_users.json"];
/// Files of Claude's export that have no conversations, and what is counted of them.
const OF_CLAUDE: [(&str, &str); 2] = [
    ("projects.json", "projects of Claude"),
    ("memories.json", "memories that Claude keeps itself"),
];

/// Reads the files of an export, and returns what it is, in words.
///
/// # Errors
/// It is no export that is known, or a file that describes the others cannot be read.
pub(crate) fn read(
    archive: &mut Archive,
    stem: &str,
    file: &InputFile<'_>,
    each: &mut dyn FnMut(Read) -> bool,
) -> Result<String, String> {
    let names = archive.names()?;
    let kind = archive.kind();
    let is_read = |systems: &[System]| match file.format {
        Format::Auto => true,
        Format::System(system) => systems.contains(&system),
        _ => false,
    };
    let mut roots = BTreeSet::new();
    for name in &names {
        let (folder, base) = split(name);
        let is_conversations =
            is_conversations(base) && is_read(&[System::Chatgpt, System::Claude]);
        let is_memories = is_memories(base) && is_read(&[System::Openmemory]);
        if is_conversations || is_memories {
            roots.insert(folder);
        } else if day_of(name).is_some() && is_read(&[System::Slack]) {
            roots.insert(split(folder).0);
        }
    }
    if roots.len() > 1 {
        let shown = roots.into_iter().map(|root| match root {
            "" => "the top folder",
            root => root,
        });
        let shown: Vec<&str> = shown.collect();
        let shown = shown.join(", ");
        return Err(format!(
            "it holds several exports: {shown}; name one of them"
        ));
    }
    let root = roots.pop_first().unwrap_or_default();
    let conversations = within(root, &names, is_conversations);
    if let (Some(first), true) = (
        conversations.first(),
        is_read(&[System::Chatgpt, System::Claude]),
    ) {
        parts(archive, &conversations, file, each)?;
        beside(archive, first, &names, each);
        return Ok(match conversations.len() {
            1 => format!("a {kind} with 1 file of conversations"),
            count => format!("a {kind} with {count} files of conversations"),
        });
    }
    let is_of_root = |name: &String| is_day_in(root, name);
    if names.iter().any(is_of_root) && is_read(&[System::Slack]) {
        return slack(archive, root, None, file, each);
    }
    let memories = within(root, &names, is_memories);
    if let (Some(name), true) = (memories.first(), is_read(&[System::Openmemory])) {
        // The other file repeats the memories, without their user and categories.
        one(archive, name, file, each).map_err(|problem| format!("{name}: {problem}"))?;
        return Ok(format!("a {kind} with {name}"));
    }
    let count = names.len();
    let files = if count == 1 { "file" } else { "files" };
    let what = format!(
        "a {kind} ({stem}) with {count} {files}, and without conversations.json of ChatGPT or \
         Claude, days of Slack such as general/2025-03-01.json, or memories.json of OpenMemory"
    );
    match file.format {
        Format::Auto => Err(unknown(&what)),
        _ => Err(format!("it is {what}; name a file in it")),
    }
}

/// Reads the files of conversations. A broken one among several is named, and the others are
/// read.
///
/// # Errors
/// The only one cannot be read.
fn parts(
    archive: &mut Archive,
    names: &[&String],
    file: &InputFile<'_>,
    each: &mut dyn FnMut(Read) -> bool,
) -> Result<(), String> {
    for name in names {
        match one(archive, name, file, each) {
            Ok(_) => {}
            Err(problem) if names.len() == 1 => return Err(format!("{name}: {problem}")),
            Err(problem) => {
                let problem = Placed {
                    place: (*name).clone(),
                    value: Err(problem),
                };
                if !each(problem) {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Reads the days of the Slack export in this folder of the archive, or only this one.
///
/// # Errors
/// A file that names channels or members cannot be read.
pub(crate) fn slack(
    archive: &mut Archive,
    root: &str,
    only: Option<&str>,
    file: &InputFile<'_>,
    each: &mut dyn FnMut(Read) -> bool,
) -> Result<String, String> {
    if file.again {
        return Err(AGAIN.to_owned());
    }
    let names = archive.names()?;
    let mut workspace = Workspace::default();
    for name in within(root, &names, |name| CHANNELS.contains(&name)) {
        workspace.add_channels(&json(archive, name)?);
    }
    for name in within(root, &names, |name| MEMBERS.contains(&name)) {
        workspace.add_members(&json(archive, name)?);
    }
    let mut documents = Documents::of_workspace(workspace, file.defaults);
    let days = names
        .iter()
        .filter(|name| is_day_in(root, name) && only.is_none_or(|only| only == **name));
    let days: Vec<_> = days
        .filter_map(|name| Some((name, day_of(name)?)))
        .collect();
    for (name, folder) in &days {
        let more = match json(archive, name) {
            Ok(day) => documents.day(folder, &day, name, each),
            Err(problem) => each(Placed {
                place: (*name).clone(),
                value: Err(problem),
            }),
        };
        if !more {
            break;
        }
    }
    let count = days.len();
    let files = if count == 1 { "day" } else { "days" };
    Ok(format!(
        "an export of Slack with {count} {files} of messages"
    ))
}

/// The folder of a file with the messages of a day, such as `general/2025-03-01.json`.
pub(crate) fn day_of(name: &str) -> Option<&str> {
    let (folder, file) = name.rsplit_once('/')?;
    let day = file.strip_suffix(".json")?;
    let is_day = day.len() == 10
        && day.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let folder = folder.rsplit('/').next()?;
    is_day.then_some(folder)
}

/// Whether a file is `conversations.json` or one of its parts, `conversations-000.json`.
fn is_conversations(name: &str) -> bool {
    let number = name
        .strip_prefix("conversations")
        .and_then(|rest| rest.strip_suffix(".json"));
    number.is_some_and(|number| match number.strip_prefix('-') {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
        None => number.is_empty(),
    })
}

/// Whether a file has the memories of OpenMemory.
fn is_memories(name: &str) -> bool {
    matches!(name, "memories.json" | "memories.jsonl.gz")
}

/// Whether a file has the messages of a day of the export in this folder.
fn is_day_in(root: &str, name: &str) -> bool {
    day_of(name).is_some() && split(split(name).0).0 == root
}

/// The folder of a file, empty for the top folder, and its name in it.
fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

/// The files of a folder that have one of these names.
fn within<'a>(folder: &str, names: &'a [String], is_it: impl Fn(&str) -> bool) -> Vec<&'a String> {
    let found = names.iter().filter(|name| {
        let (parent, base) = split(name);
        parent == folder && is_it(base)
    });
    found.collect()
}

/// Reads one file of an export; places begin with its name.
fn one(
    archive: &mut Archive,
    name: &str,
    file: &InputFile<'_>,
    each: &mut dyn FnMut(Read) -> bool,
) -> Result<String, String> {
    let content = archive.open(name)?;
    file.read(content, &mut |Placed { place, value }| {
        let place = match place.as_str() {
            "" => name.to_owned(),
            place => format!("{name}, {place}"),
        };
        each(Placed { place, value })
    })
}

/// Counts what Claude's export has beside conversations.
fn beside(
    archive: &mut Archive,
    conversations: &str,
    names: &[String],
    each: &mut dyn FnMut(Read) -> bool,
) {
    let folder = conversations.rsplit_once('/').map(|(folder, _)| folder);
    for (name, what) in OF_CLAUDE {
        let name = match folder {
            Some(folder) => format!("{folder}/{name}"),
            None => name.to_owned(),
        };
        if !names.contains(&name) {
            continue;
        }
        let count = json(archive, &name).map(|json| json.as_array().map_or(1, Vec::len));
        if let Ok(count @ 1..) = count {
            each(Placed {
                place: name,
                value: Ok(ImportRecord::LeftOut(what, count as u64)),
            });
        }
    }
}

fn json(archive: &mut Archive, name: &str) -> Result<Value, String> {
    let content = archive.open(name)?;
    serde_json::from_reader(content).map_err(|error| format!("{name} is not valid JSON: {error}"))
}
