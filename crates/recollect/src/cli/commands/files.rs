//! `recollect files`.

use std::fs;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;

use memory_contract::proto::{
    CompareMemoryFileVersionsRequest, DeleteMemoryFileRequest, GetMemoryFileRequest,
    ListMemoryFileVersionsRequest, MemoryFileChange, MemoryFileContent, PutMemoryFileRequest,
    RenameMemoryFileRequest, RestoreMemoryFileRequest, SearchMemoryFilesRequest,
    get_memory_file_response::Entry,
};

use crate::cli::args::{
    DiffFileArgs, FilePathArgs, ListFilesArgs, MemoryFilesArgs, MemoryFilesCommand, MoveFileArgs,
    PutFileArgs, RemoveFileArgs, RestoreFileArgs, SearchFilesArgs, ShowFileArgs,
};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, clock, count, exact, one_line, print_message};

/// The most bytes that are read of a file: a little more than the server takes.
const INPUT_BYTES: u64 = 4 * 1024 * 1024;

/// Lists, prints, stores, deletes, renames, compares, restores or searches files.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn run(args: MemoryFilesArgs) -> Result<(), Failure> {
    match args.command {
        MemoryFilesCommand::Ls(args) => list(args).await,
        MemoryFilesCommand::Cat(args) => show(args).await,
        MemoryFilesCommand::Put(args) => put(args).await,
        MemoryFilesCommand::Rm(args) => remove(args).await,
        MemoryFilesCommand::Mv(args) => rename(args).await,
        MemoryFilesCommand::Log(args) => versions(args).await,
        MemoryFilesCommand::Diff(args) => compare(args).await,
        MemoryFilesCommand::Restore(args) => restore(args).await,
        MemoryFilesCommand::Search(args) => search(args).await,
    }
}

async fn list(args: ListFilesArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetMemoryFileRequest {
        user: Some(args.owner.user_ref()),
        path: args.path,
        depth: args.depth,
        ..Default::default()
    };
    let found = client.memory_files().get_memory_file(request).await;
    let found = found
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("GetMemoryFileResponse", &found);
    }
    let mut table = Table::new(&["Size>", "Changed!", "Path!"]);
    match found.entry {
        Some(Entry::Directory(directory)) => {
            for entry in &directory.entries {
                let end = match entry.is_directory {
                    true => "/",
                    false => "",
                };
                table.row([
                    entry.size_bytes.to_string(),
                    clock(entry.update_time.as_ref()),
                    format!("{}{end}", exact(&entry.path)),
                ]);
            }
            match table.is_empty() {
                true => println!("There are no files."),
                false => table.print()?,
            }
            let more = match directory.truncated {
                true => ", and more that are not listed",
                false => "",
            };
            println!(
                "{} of {}{more}",
                count(directory.file_count, "file"),
                count(directory.size_bytes, "byte")
            );
        }
        Some(Entry::File(MemoryFileContent { file, .. })) => {
            let file = file.unwrap_or_default();
            table.row([
                file.size_bytes.to_string(),
                clock(file.update_time.as_ref()),
                exact(&file.path),
            ]);
            table.print()?;
        }
        None => {}
    }
    Ok(())
}

async fn show(args: ShowFileArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetMemoryFileRequest {
        user: Some(args.owner.user_ref()),
        path: args.path,
        version: args.number,
        ..Default::default()
    };
    let found = client.memory_files().get_memory_file(request).await;
    let found = found
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("GetMemoryFileResponse", &found);
    }
    match found.entry {
        Some(Entry::File(file)) => print_text(&file.lines.unwrap_or_default().text),
        _ => Err(Failure::Usage(
            "the path names a directory; `recollect files ls` lists it".to_owned(),
        )),
    }
}

async fn put(args: PutFileArgs) -> Result<(), Failure> {
    let text = text_of(args.file.as_deref())?;
    let client = Client::connect(&args.client.server).await?;
    let request = PutMemoryFileRequest {
        user: Some(args.owner.user_ref()),
        path: args.path,
        text,
        precondition: None,
    };
    let put = client.memory_files().put_memory_file(request).await;
    let put = put
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("PutMemoryFileResponse", &put);
    }
    let file = put.file.unwrap_or_default();
    let what = match put.created {
        true => "was created",
        false => "was stored",
    };
    println!("{} {what}, version {}.", exact(&file.path), file.version);
    Ok(())
}

async fn remove(args: RemoveFileArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = DeleteMemoryFileRequest {
        user: Some(args.owner.user_ref()),
        path: args.path,
        erase_versions: args.erase,
        precondition: None,
    };
    let deleted = client.memory_files().delete_memory_file(request).await;
    let deleted = deleted
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("DeleteMemoryFileResponse", &deleted);
    }
    let until = match args.erase {
        true => "with all versions",
        false => "`recollect files restore` brings a file back for 30 days",
    };
    println!("{} deleted; {until}.", count(deleted.deleted_count, "file"));
    Ok(())
}

async fn rename(args: MoveFileArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = RenameMemoryFileRequest {
        user: Some(args.owner.user_ref()),
        path: args.path,
        new_path: args.new_path,
        precondition: None,
    };
    let renamed = client.memory_files().rename_memory_file(request).await;
    let renamed = renamed
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("RenameMemoryFileResponse", &renamed);
    }
    println!("{} renamed.", count(renamed.renamed_count, "file"));
    Ok(())
}

async fn versions(args: FilePathArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = ListMemoryFileVersionsRequest {
        user: Some(args.owner.user_ref()),
        path: args.path,
    };
    let listed = client
        .memory_files()
        .list_memory_file_versions(request)
        .await;
    let listed = listed
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("ListMemoryFileVersionsResponse", &listed);
    }
    let mut table = Table::new(&["Version>", "Made!", "By", "Size>", "Kept until!"]);
    for version in &listed.versions {
        let by = match version.change() {
            MemoryFileChange::Put => "put",
            MemoryFileChange::Replace => "replace",
            MemoryFileChange::Insert => "insert",
            MemoryFileChange::Restore => "restore",
            MemoryFileChange::Unspecified => "",
        };
        table.row([
            version.version.to_string(),
            clock(version.create_time.as_ref()),
            by.to_owned(),
            version.size_bytes.to_string(),
            clock(version.expire_time.as_ref()),
        ]);
    }
    table.print()?;
    if listed.deleted {
        println!("The file was deleted; `recollect files restore` brings it back.");
    }
    Ok(())
}

async fn compare(args: DiffFileArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = CompareMemoryFileVersionsRequest {
        user: Some(args.owner.user_ref()),
        path: args.path,
        from_version: args.from,
        to_version: args.to,
    };
    let compared = client
        .memory_files()
        .compare_memory_file_versions(request)
        .await;
    let compared = compared
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("CompareMemoryFileVersionsResponse", &compared);
    }
    print_text(&compared.diff)
}

async fn restore(args: RestoreFileArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = RestoreMemoryFileRequest {
        user: Some(args.owner.user_ref()),
        path: args.path,
        version: args.number,
        precondition: None,
    };
    let restored = client.memory_files().restore_memory_file(request).await;
    let restored = restored
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("RestoreMemoryFileResponse", &restored);
    }
    let file = restored.file.unwrap_or_default();
    println!(
        "{} was restored as version {}.",
        exact(&file.path),
        file.version
    );
    Ok(())
}

async fn search(args: SearchFilesArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = SearchMemoryFilesRequest {
        user: Some(args.owner.user_ref()),
        query: args.query,
        path: args.path,
        top_k: Some(args.top_k),
    };
    let found = client.memory_files().search_memory_files(request).await;
    let found = found
        .map_err(|status| failure(&client, &status))?
        .into_inner();
    if args.client.json {
        return print_message("SearchMemoryFilesResponse", &found);
    }
    let mut table = Table::new(&["Score>", "Path!", "Line>", "Text"]);
    for file in found.files {
        let path = file.file.unwrap_or_default().path;
        for lines in file.lines {
            table.row([
                format!("{:.2}", file.score),
                exact(&path),
                lines.first_line.to_string(),
                one_line(&lines.text, 300),
            ]);
        }
    }
    match table.is_empty() {
        true => println!("Nothing matches."),
        false => table.print()?,
    }
    for degradation in found.degradations {
        println!("Note: {}", degradation.message);
    }
    Ok(())
}

/// The text of a file of this machine, or of standard input.
fn text_of(file: Option<&Path>) -> Result<String, Failure> {
    let Some(path) = file else {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Err(Failure::Usage(
                "give a FILE, or a text on standard input".to_owned(),
            ));
        }
        let mut text = String::new();
        let read = stdin.lock().take(INPUT_BYTES).read_to_string(&mut text);
        read.map_err(|error| Failure::machine(format!("cannot read standard input: {error}"), ""))?;
        return Ok(text);
    };
    fs::read_to_string(path)
        .map_err(|error| Failure::machine(format!("cannot read {}: {error}", path.display()), ""))
}

/// Prints a text as it is to a pipe. On a terminal, control characters that could move its cursor
/// are replaced.
fn print_text(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = match out.is_terminal() {
        true => text.replace(
            |c: char| c.is_control() && !['\n', '\t'].contains(&c),
            "\u{fffd}",
        ),
        false => text.to_owned(),
    };
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}

/// An error of a call, with the command that lists what there is.
fn failure(client: &Client, status: &tonic::Status) -> Failure {
    match client.failure(status) {
        Failure::NotFound { message, .. } => Failure::NotFound {
            message,
            next_step: "`recollect files ls` lists the files of the user.",
        },
        other => other,
    }
}
