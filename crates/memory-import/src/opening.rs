//! Opens what is named: a file, compressed or not, a folder, a zip archive, or standard
//! input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::archive::Archive;
use crate::defaults::Defaults;
use crate::exports;
use crate::format::{Format, System};
use crate::input_file::InputFile;
use crate::record::Read;

/// The first bytes of zip archives, of empty ones too.
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// The first bytes of files that gzip compressed.
const GZIP: &[u8] = b"\x1f\x8b";

/// Reads what `path` names (`-` is standard input) record by record, in order, and returns
/// what it is, in words. `each` returns whether it wants more.
///
/// # Errors
/// What keeps all of it from being read. What is wrong with a part goes to `each`, and the
/// next part is read.
pub(crate) fn read(
    path: &Path,
    format: Format,
    defaults: &Defaults,
    again: bool,
    each: &mut dyn FnMut(Read) -> bool,
) -> Result<String, String> {
    let mut file = InputFile {
        stem: "stdin".to_owned(),
        folder: "stdin".to_owned(),
        has_lines: false,
        format,
        defaults,
        again,
    };
    if path == Path::new("-") {
        let mut input = BufReader::new(io::stdin());
        if is_zip(&mut input) {
            return Err("it is a zip archive: name its file in place of `-`".to_owned());
        }
        return content(&file, input, each);
    }
    file.stem = name_of(path.file_stem());
    let name = name_of(path.file_name());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    file.has_lines = name.ends_with(".jsonl") || name.ends_with(".ndjson");
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    file.folder = name_of(absolute.parent().and_then(Path::file_name));
    let opened = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => format!("it cannot be opened: {error}"),
    })?;
    if opened.metadata().is_ok_and(|about| about.is_dir()) {
        let mut folder = Archive::Folder(path.to_owned());
        return exports::read(&mut folder, &file.stem, &file, each);
    }
    let mut input = BufReader::with_capacity(1 << 16, opened);
    if is_zip(&mut input) {
        let mut archive = Archive::zip(input.into_inner())?;
        return exports::read(&mut archive, &file.stem, &file, each);
    }
    if let Some((mut workspace, day)) = workspace_of(&absolute, format) {
        return exports::slack(&mut workspace, "", Some(&day), &file, each);
    }
    content(&file, input, each)
}

fn content(
    file: &InputFile<'_>,
    mut input: impl BufRead,
    each: &mut dyn FnMut(Read) -> bool,
) -> Result<String, String> {
    match begins_with(&mut input, GZIP) {
        true => file.read(BufReader::new(MultiGzDecoder::new(input)), each),
        false => file.read(input, each),
    }
}

/// The Slack export around a file with the messages of a day, and the file's name in it.
fn workspace_of(path: &Path, format: Format) -> Option<(Archive, String)> {
    if !matches!(format, Format::Auto | Format::System(System::Slack)) {
        return None;
    }
    let folder = path.parent()?;
    let day = format!(
        "{}/{}",
        name_of(folder.file_name()),
        name_of(path.file_name())
    );
    exports::day_of(&day)?;
    let root = folder.parent()?;
    let describes = |name: &str| root.join(name).is_file();
    let is_export = describes("channels.json") || describes("users.json");
    is_export.then(|| (Archive::Folder(root.to_owned()), day))
}

fn name_of(name: Option<&std::ffi::OsStr>) -> String {
    name.unwrap_or_default().to_string_lossy().into_owned()
}

fn is_zip(input: &mut impl BufRead) -> bool {
    ZIP.iter().any(|magic| begins_with(input, magic))
}

fn begins_with(input: &mut impl BufRead, magic: &[u8]) -> bool {
    // What keeps it from being read shows when it is read.
    input.fill_buf().is_ok_and(|begin| begin.starts_with(magic))
}
