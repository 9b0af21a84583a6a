//! The files of an engine: lists, measures, copies, removes them, and makes them durable.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files that the engine writes while it builds a segment and only reads from then on, as read in
/// qdrant-edge 0.7.2: vectors, quantized vectors, graphs and lists of words. The values of fields in
/// `point_to_values.bin` are not among them: an engine that cannot open them writes them again in place.
const ONLY_READ: [&str; 4] = [
    "matrix.dat",
    "quantized.data",
    "links_compressed.bin",
    "inverted_index.dat",
];
/// The first part of the names of files that the engine is about to rename.
const DRAFT: &str = "tmp-";

/// The files below a directory, without directories that cannot be read.
pub(super) fn list(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => list(&entry.path()),
        Ok(_) | Err(_) => vec![entry.path()],
    });
    files.collect()
}

/// Bytes that a file takes on the disk: the engine reserves far more room in its files than it uses.
pub(super) fn stored(file: &Metadata) -> u64 {
    file.blocks().saturating_mul(512)
}

/// Bytes that the files below a directory take on the disk.
pub(super) fn bytes_of(directory: &Path) -> u64 {
    bytes(&list(directory))
}

/// Bytes on the disk of the files that [`copy_engine`] copies.
pub(super) fn bytes_to_copy(directory: &Path) -> u64 {
    let mut files = list(directory);
    files.retain(|file| !is_only_read(file));
    bytes(&files)
}

fn bytes(files: &[PathBuf]) -> u64 {
    let sizes = files
        .iter()
        .filter_map(|file| fs::symlink_metadata(file).ok());
    sizes.map(|found| stored(&found)).sum()
}

fn is_only_read(file: &Path) -> bool {
    ONLY_READ.iter().any(|name| file.ends_with(name))
}

/// Copies an engine's directory into an empty one. The two share the files that the engine only
/// reads, as links, where the file system has links.
pub(super) fn copy_engine(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name().to_string_lossy().starts_with(DRAFT) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy_engine(&path, &target)?;
        } else if !is_only_read(&path) || fs::hard_link(&path, &target).is_err() {
            copy_file(&path, &target)?;
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    match copy_stored(from, to) {
        // Some file systems do not tell which parts are stored, or copy no parts.
        Err(error) if error.kind() != io::ErrorKind::StorageFull => fs::copy(from, to).map(drop),
        copied => copied,
    }
}

#[cfg(not(target_os = "linux"))]
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}

/// Copies the [`stored`] parts of a file.
#[cfg(target_os = "linux")]
fn copy_stored(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{SeekFrom, copy_file_range, seek};
    use rustix::io::Errno;

    let (from, to) = (File::open(from)?, File::create_new(to)?);
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut end = 0;
    loop {
        let mut start = match seek(&from, SeekFrom::Data(end)) {
            Ok(start) => start,
            // Nothing is stored after `end`.
            Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        end = seek(&from, SeekFrom::Hole(start))?;
        while start < end {
            let (mut read, mut written) = (start, start);
            let wanted = usize::try_from(end - start).unwrap_or(usize::MAX);
            let copied = copy_file_range(&from, Some(&mut read), &to, Some(&mut written), wanted)?;
            if copied == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            start += copied as u64;
        }
    }
}

/// Replaces a file in one step and makes it durable.
pub(super) fn write_durably(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let mut file = File::create(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_parent(path)
}

/// Makes a directory with all that it contains durable.
pub(super) fn sync_all(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()
}

/// Makes the names in the directory of `path` durable.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(path))?.sync_all()
}

/// Removes a directory with its content, if it exists.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    unless_missing(fs::remove_dir_all(directory))
}

pub(super) fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;
