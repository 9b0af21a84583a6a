//! Reads requests for files of agents.

use memory_agent_contract::document::DocumentQuery;
use memory_agent_contract::memory_file::{FILES, FileEdit, FilePath};
use memory_contract::{
    Fields, Invalid, InvalidFields, check, convert::precondition_from, limits, memory::MemoryOwner,
    precondition::Precondition, proto,
};
use memory_grpc::request::{required_user_from, search_top_k_from};

/// What a read wants.
pub(super) struct Wanted {
    pub(super) owner: MemoryOwner,
    pub(super) path: FilePath,
    /// From 1.
    pub(super) first_line: usize,
    pub(super) last_line: usize,
    /// `None`: the current one.
    pub(super) version: Option<i64>,
    pub(super) depth: usize,
}

/// A file and its change.
type Change = (MemoryOwner, FilePath, Precondition, FileEdit);

pub(super) fn wanted_from(request: proto::GetMemoryFileRequest) -> Result<Wanted, InvalidFields> {
    let proto::GetMemoryFileRequest {
        user,
        path,
        first_line,
        last_line,
        version,
        depth,
    } = request;
    let mut fields = Fields::default();
    let owner = owner_from(&mut fields, user);
    let path = fields.get(FilePath::parse("path", &path));
    let first_line = fields.take(check::range_or("first_line", first_line, 1, 1, i32::MAX));
    let first_allowed = first_line.max(1);
    let last_line = last_line.map(|last| check::range("last_line", last, first_allowed, i32::MAX));
    let last_line = fields.take(last_line.transpose());
    let version = fields.take(version_from("version", version));
    let deepest = i32::try_from(limits::MEMORY_FILE_NAMES).unwrap_or(i32::MAX);
    let depth = match depth {
        0 => limits::MEMORY_FILE_DEPTH,
        depth => fields.take(check::range("depth", depth, 1, deepest)),
    };
    let wanted = owner.zip(path).map(|(owner, path)| Wanted {
        owner,
        path,
        first_line: count(first_line),
        last_line: last_line.map_or(usize::MAX, count),
        version,
        depth: count(depth),
    });
    fields.all(wanted)
}

pub(super) fn put_from(request: proto::PutMemoryFileRequest) -> Result<Change, InvalidFields> {
    let proto::PutMemoryFileRequest {
        user,
        path,
        text,
        precondition,
    } = request;
    let mut fields = Fields::default();
    let text = fields.take(check::long_text("text", text, limits::MEMORY_FILE_BYTES));
    let edit = FileEdit::Put { text };
    change_of(fields, user, &path, (precondition, true), edit)
}

pub(super) fn replaced_from(
    request: proto::ReplaceInMemoryFileRequest,
) -> Result<Change, InvalidFields> {
    let proto::ReplaceInMemoryFileRequest {
        user,
        path,
        old_text,
        new_text,
        precondition,
    } = request;
    let mut fields = Fields::default();
    let most = limits::MEMORY_FILE_BYTES;
    fields.take(check::required_bytes("old_text", &old_text, most));
    let edit = FileEdit::Replace {
        old: old_text,
        new: fields.take(check::long_text("new_text", new_text, most)),
    };
    change_of(fields, user, &path, (precondition, false), edit)
}

pub(super) fn inserted_from(
    request: proto::InsertIntoMemoryFileRequest,
) -> Result<Change, InvalidFields> {
    let proto::InsertIntoMemoryFileRequest {
        user,
        path,
        line,
        text,
        precondition,
    } = request;
    let mut fields = Fields::default();
    let line = fields.take(check::range("line", line, 0, i32::MAX));
    fields.take(check::required_bytes(
        "text",
        &text,
        limits::MEMORY_FILE_BYTES,
    ));
    let edit = FileEdit::Insert {
        line: count(line),
        text,
    };
    change_of(fields, user, &path, (precondition, false), edit)
}

pub(super) fn restored_from(
    request: proto::RestoreMemoryFileRequest,
) -> Result<Change, InvalidFields> {
    let proto::RestoreMemoryFileRequest {
        user,
        path,
        version,
        precondition,
    } = request;
    let mut fields = Fields::default();
    let version = fields.take(version_from("version", version));
    let edit = FileEdit::Restore { version };
    change_of(fields, user, &path, (precondition, true), edit)
}

/// A change of a file; `true`: it may create the file.
fn change_of(
    mut fields: Fields,
    user: Option<proto::UserRef>,
    path: &str,
    (precondition, creates): (Option<proto::Precondition>, bool),
    edit: FileEdit,
) -> Result<Change, InvalidFields> {
    let owner = owner_from(&mut fields, user);
    let path = fields.get(FilePath::parse_file("path", path));
    let precondition = fields.take(precondition_from(precondition, creates));
    let (owner, path) = fields.all(owner.zip(path))?;
    Ok((owner, path, precondition, edit))
}

pub(super) fn deleted_from(
    request: proto::DeleteMemoryFileRequest,
) -> Result<(MemoryOwner, FilePath, Precondition, bool), InvalidFields> {
    let proto::DeleteMemoryFileRequest {
        user,
        path,
        erase_versions,
        precondition,
    } = request;
    let mut fields = Fields::default();
    let owner = owner_from(&mut fields, user);
    let path = fields.get(FilePath::parse("path", &path));
    let precondition = fields.take(precondition_from(precondition, false));
    let (owner, path) = fields.all(owner.zip(path))?;
    Ok((owner, path, precondition, erase_versions))
}

pub(super) fn renamed_from(
    request: proto::RenameMemoryFileRequest,
) -> Result<(MemoryOwner, FilePath, FilePath, Precondition), InvalidFields> {
    let proto::RenameMemoryFileRequest {
        user,
        path,
        new_path,
        precondition,
    } = request;
    let mut fields = Fields::default();
    let owner = owner_from(&mut fields, user);
    let path = fields.get(FilePath::parse_file("path", &path));
    let new_path = fields.get(FilePath::parse_file("new_path", &new_path));
    let precondition = fields.take(precondition_from(precondition, false));
    let ((owner, path), new_path) = fields.all(owner.zip(path).zip(new_path))?;
    Ok((owner, path, new_path, precondition))
}

pub(super) fn searched_from(
    request: proto::SearchMemoryFilesRequest,
) -> Result<(MemoryOwner, DocumentQuery), InvalidFields> {
    let proto::SearchMemoryFilesRequest {
        user,
        query,
        path,
        top_k,
    } = request;
    let mut fields = Fields::default();
    let owner = owner_from(&mut fields, user);
    let most = limits::DOCUMENT_QUERY_CHARS;
    let text = fields.take(check::required_text("query", query, most));
    let directory = match path.as_str() {
        "" => FilePath::default(),
        path => fields.take(FilePath::parse("path", path)),
    };
    let limit = fields.take(search_top_k_from(top_k));
    let query = DocumentQuery {
        prefix: directory.namespace(FILES),
        text,
        limit: u32::try_from(limit).unwrap_or(u32::MAX),
        // All files of a user: the answer has only lines of them.
        room: limits::MEMORY_FILES_BYTES,
        ..DocumentQuery::default()
    };
    Ok((fields.all(owner)?, query))
}

pub(super) fn versions_from(
    request: proto::ListMemoryFileVersionsRequest,
) -> Result<(MemoryOwner, FilePath), InvalidFields> {
    let proto::ListMemoryFileVersionsRequest { user, path } = request;
    let mut fields = Fields::default();
    let owner = owner_from(&mut fields, user);
    let path = fields.get(FilePath::parse_file("path", &path));
    fields.all(owner.zip(path))
}

pub(super) fn compared_from(
    request: proto::CompareMemoryFileVersionsRequest,
) -> Result<(MemoryOwner, FilePath, Option<i64>, Option<i64>), InvalidFields> {
    let proto::CompareMemoryFileVersionsRequest {
        user,
        path,
        from_version,
        to_version,
    } = request;
    let mut fields = Fields::default();
    let owner = owner_from(&mut fields, user);
    let path = fields.get(FilePath::parse_file("path", &path));
    let from = fields.take(version_from("from_version", from_version));
    let to = fields.take(version_from("to_version", to_version));
    let (owner, path) = fields.all(owner.zip(path))?;
    Ok((owner, path, from, to))
}

fn owner_from(fields: &mut Fields, user: Option<proto::UserRef>) -> Option<MemoryOwner> {
    let (app, user) = fields.get_all(required_user_from(user))?;
    Some(MemoryOwner { app, user })
}

/// Reads the number of a version; `None`: that which the field means by 0.
fn version_from(field: &str, version: i64) -> Result<Option<i64>, Invalid> {
    match version {
        ..0 => Err(Invalid::new(field, "must not be negative")),
        0 => Ok(None),
        version => Ok(Some(version)),
    }
}

fn count(number: i32) -> usize {
    usize::try_from(number).unwrap_or_default()
}
