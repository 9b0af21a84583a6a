//! `recollect memory`.

use std::time::Duration;

use memory_contract::limits;
use memory_contract::proto::{
    AddMemoriesRequest, AppRef, DeleteMemoriesRequest, ExtractMemoriesRequest,
    ExtractMemoriesResponse, GetMemoryRequest, GetProfileRequest, GetThreadRequest,
    ListMemoriesRequest, ListMemoriesResponse, Memory, MemoryFilter, MemoryInput, MemoryOrigin,
    SearchMemoriesRequest, Target, Thread, UpdateMemoryRequest, UserRef,
};
use prost_types::FieldMask;
use tonic::Code;

use super::listing::Listing;
use crate::cli::args::{
    AddMemoryArgs, DeleteMemoriesArgs, ExtractMemoriesArgs, ListMemoriesArgs, MemoryArgs,
    MemoryCommand, MemoryIdArgs, PinMemoryArgs, ProfileArgs, SearchMemoriesArgs,
};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{
    JsonLines, Progress, Table, clock, count, duration, exact, on_one_line, one_line, print_message,
};

/// Lists, finds, stores, extracts or deletes memories.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn run(args: MemoryArgs) -> Result<(), Failure> {
    match args.command {
        MemoryCommand::List(args) => list(args).await,
        MemoryCommand::Search(args) => search(args).await,
        MemoryCommand::Profile(args) => profile(args).await,
        MemoryCommand::Show(args) => show(args).await,
        MemoryCommand::Add(args) => add(args).await,
        MemoryCommand::Extract(args) => extract(args).await,
        MemoryCommand::Pin(args) => pin(args).await,
        MemoryCommand::Delete(args) => delete(args).await,
    }
}

async fn list(args: ListMemoriesArgs) -> Result<(), Failure> {
    let listing = Listing {
        client: &args.client,
        limit: args.limit,
        item: "Memory",
        table: table(),
        nothing: "Nothing is known. `recollect memory add` stores a memory.",
    };
    let page = async |client: &Client, page_size, page_token| {
        let request = ListMemoriesRequest {
            target: Some(args.owner.user_ref().into()),
            filter: Some(MemoryFilter {
                topics: args.topics.clone(),
                kinds: args.kinds.clone(),
                metadata: args.metadata.clone().unwrap_or_default(),
                include_superseded: args.superseded,
                as_of: args.times.as_of,
                known_at: args.times.known_at,
                ..Default::default()
            }),
            page_size,
            page_token,
        };
        let page = client.memories().list_memories(request).await?.into_inner();
        Ok((page.memories, page.next_page_token))
    };
    listing.show(page, row).await
}

async fn search(args: SearchMemoriesArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = SearchMemoriesRequest {
        target: Some(args.owner.user_ref().into()),
        query: args.query,
        top_k: Some(args.top_k),
        filter: Some(MemoryFilter {
            kinds: args.kinds,
            metadata: args.metadata.unwrap_or_default(),
            include_superseded: args.superseded,
            as_of: args.times.as_of,
            known_at: args.times.known_at,
            ..Default::default()
        }),
        ..Default::default()
    };
    let found = client
        .memories()
        .search_memories(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("SearchMemoriesResponse", &found);
    }
    let mut table = Table::new(&["Score>", "Memory!", "Valid from!", "Text"]);
    for found in found.memories {
        let memory = found.memory.unwrap_or_default();
        table.row([
            format!("{:.2}", found.score),
            memory.memory_id,
            clock(memory.valid_from.as_ref()),
            one_line(&memory.text, 1_000),
        ]);
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

async fn profile(args: ProfileArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetProfileRequest {
        user: Some(args.owner.user_ref()),
        max_tokens: args.max_tokens,
        as_of: args.times.as_of,
        known_at: args.times.known_at,
        ..Default::default()
    };
    let profile = client
        .memories()
        .get_profile(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("GetProfileResponse", &profile);
    }
    let mut table = Table::new(&["Topic!", "Memory!", "Valid from!", "Text"]);
    for entry in &profile.entries {
        let text = one_line(&entry.text, 1_000);
        table.row([
            exact(&entry.topic),
            entry.memory_ids.join(" "),
            clock(entry.valid_from.as_ref()),
            match entry.pinned {
                true => format!("[pinned] {text}"),
                false => text,
            },
        ]);
    }
    match table.is_empty() {
        true => println!("Nothing is known."),
        false => table.print()?,
    }
    println!(
        "{} ({}); {} left out",
        count(profile.total_tokens, "token"),
        profile.tokenizer,
        memories(profile.omitted_count)
    );
    Ok(())
}

async fn show(args: MemoryIdArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetMemoryRequest {
        memory_id: args.memory,
    };
    let found = client
        .memories()
        .get_memory(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("GetMemoryResponse", &found);
    }
    let memory = found.memory.unwrap_or_default();
    let mut about = Table::new(&["What", "How"]);
    let mut line = |what: &str, how: String| {
        if !how.is_empty() {
            about.row([what.to_owned(), how]);
        }
    };
    line("text", one_line(&memory.text, 5_000));
    line("memory", memory.memory_id.clone());
    line("app", exact(&memory.app_id));
    line("user", exact(&memory.user_id));
    line("topics", exact(&memory.topics.join(", ")));
    line("entities", exact(&memory.entities.join(", ")));
    line("kind", exact(&memory.kind));
    line("attributes", on_one_line(&memory.attributes));
    line("metadata", on_one_line(&memory.metadata));
    line("happened", clock(memory.event_time.as_ref()));
    line("from", origin(&memory));
    line("external id", exact(&memory.external_id));
    line("thread", memory.thread_id.clone());
    line("messages", memory.source_message_ids.join(" "));
    line(
        "pinned",
        if memory.pinned() { "yes" } else { "" }.to_owned(),
    );
    line("valid from", clock(memory.valid_from.as_ref()));
    line("valid until", clock(memory.valid_until.as_ref()));
    line("known from", clock(memory.create_time.as_ref()));
    line("known until", clock(memory.known_until.as_ref()));
    line("superseded by", memory.superseded_by.clone());
    line("searchable since", clock(memory.persist_time.as_ref()));
    line("last used", clock(memory.last_use_time.as_ref()));
    about.print()?;
    if !found.superseded.is_empty() {
        println!("\nIt supersedes:");
        let mut table = table();
        for memory in &found.superseded {
            row(&mut table, memory);
        }
        table.print()?;
    }
    Ok(())
}

async fn add(args: AddMemoryArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = AddMemoriesRequest {
        user: Some(args.owner.user_ref()),
        memories: vec![MemoryInput {
            external_id: args.external_id,
            text: args.text,
            topics: args.topics,
            entities: args.entities,
            kind: args.kind,
            attributes: args.attributes.unwrap_or_default(),
            pinned: args.pin.then_some(true),
            metadata: args.metadata.unwrap_or_default(),
            ..Default::default()
        }],
    };
    let added = client
        .memories()
        .add_memories(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("AddMemoriesResponse", &added);
    }
    for added in added.memories {
        let memory = added.memory.unwrap_or_default();
        let what = if added.created {
            "stored"
        } else {
            "known already"
        };
        println!("{}  {what}", memory.memory_id);
    }
    Ok(())
}

async fn extract(args: ExtractMemoriesArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetThreadRequest {
        thread: args.named.thread(),
    };
    let thread = client
        .threads()
        .get_thread(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner()
        .thread
        .unwrap_or_default();
    let request = ExtractMemoriesRequest {
        thread: Some(thread.thread_id.clone().into()),
        max_wait: wire(Some(args.wait))?,
    };
    let progress = Progress::spinner(args.client.json);
    progress.step("Extracting memories");
    let extracted = client
        .memories()
        .extract_memories(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    progress.finish();
    let made = newest_from(&client, thread).await?;
    if args.client.json {
        let mut lines = JsonLines::stdout();
        lines.write("ExtractMemoriesResponse", &extracted)?;
        lines.write("ListMemoriesResponse", &made)?;
        return lines.finish();
    }
    print_extracted(&extracted, &made)
}

/// The newest memories that were extracted from a thread: those of all users who take part,
/// or of the thread's user if the key reaches no other.
async fn newest_from(client: &Client, thread: Thread) -> Result<ListMemoriesResponse, Failure> {
    let Thread {
        thread_id,
        app_id,
        user_id,
        ..
    } = thread;
    let list = async |target: Target| {
        let request = ListMemoriesRequest {
            target: Some(target),
            filter: Some(MemoryFilter {
                thread: Some(thread_id.clone().into()),
                origins: vec![MemoryOrigin::Extracted.into()],
                ..Default::default()
            }),
            ..Default::default()
        };
        client.memories().list_memories(request).await
    };
    let app = AppRef {
        app_id: app_id.clone(),
    };
    let listed = match list(app.into()).await {
        Err(status) if status.code() == Code::PermissionDenied => {
            list(UserRef { app_id, user_id }.into()).await
        }
        listed => listed,
    };
    Ok(listed
        .map_err(|status| client.failure(&status))?
        .into_inner())
}

fn print_extracted(
    extracted: &ExtractMemoriesResponse,
    made: &ListMemoriesResponse,
) -> Result<(), Failure> {
    let mut table = table();
    for memory in &made.memories {
        row(&mut table, memory);
    }
    match table.is_empty() {
        true => println!("No memories come from this conversation."),
        false => table.print()?,
    }
    if !made.next_page_token.is_empty() {
        println!("There are more; `recollect memory list` lists those of a user.");
    }
    if !extracted.last_error.is_empty() {
        println!(
            "The last attempt failed and is repeated; `recollect status` shows the model: {}",
            one_line(&extracted.last_error, 400)
        );
    }
    let waiting = count(extracted.waiting_message_count, "message");
    match (extracted.complete, extracted.waiting_message_count) {
        (true, 0) => println!("Complete: all messages were read."),
        (true, _) => println!("Complete, but for what was appended meanwhile: {waiting}."),
        (false, _) => println!(
            "Not complete; still to read: {waiting}. The background goes on. Run the command again \
             to wait for it, at most {} at a time.",
            duration(limits::MAX_WAIT)
        ),
    }
    if extracted.complete && !extracted.languages.is_empty() {
        println!(
            "The server has no language model; it recognizes statements in {}.",
            extracted.languages
        );
    }
    Ok(())
}

async fn pin(args: PinMemoryArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = UpdateMemoryRequest {
        memory: Some(Memory {
            memory_id: args.memory,
            pinned: Some(!args.off),
            ..Default::default()
        }),
        update_mask: Some(FieldMask {
            paths: vec!["pinned".to_owned()],
        }),
        precondition: None,
    };
    let updated = client
        .memories()
        .update_memory(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("UpdateMemoryResponse", &updated);
    }
    let memory = updated.memory.unwrap_or_default();
    let what = if memory.pinned() {
        "pinned"
    } else {
        "not pinned"
    };
    println!("{}  {what}", memory.memory_id);
    Ok(())
}

async fn delete(args: DeleteMemoriesArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let mut table = table();
    let mut lines = JsonLines::stdout();
    let mut deleted = 0;
    let mut more = true;
    while more {
        let request = DeleteMemoriesRequest {
            target: Some(match args.all_users {
                true => AppRef {
                    app_id: args.owner.app.clone(),
                }
                .into(),
                false => args.owner.user_ref().into(),
            }),
            max_age: wire(args.max_age)?,
            max_inactivity: wire(args.max_inactivity)?,
            max_count: args.max_count,
            dry_run: args.dry_run,
        };
        let answer = client
            .memories()
            .delete_memories(request)
            .await
            .map_err(|status| client.failure(&status))?
            .into_inner();
        deleted += answer.deleted_count;
        // A dry run would report the same again.
        more = answer.more && answer.deleted_count > 0 && !args.dry_run;
        if args.client.json {
            lines.write("DeleteMemoriesResponse", &answer)?;
            continue;
        }
        for memory in &answer.memories {
            row(&mut table, memory);
        }
        if answer.more && args.dry_run {
            println!("There are more.");
        }
    }
    if args.client.json {
        return lines.finish();
    }
    drop(lines);
    if !table.is_empty() {
        table.print()?;
    }
    let what = if args.dry_run {
        "would be deleted"
    } else {
        "deleted"
    };
    println!("{}: {what}.", memories(deleted));
    Ok(())
}

fn memories(number: i64) -> String {
    match number {
        1 => count(number, "memory"),
        number => format!("{number} memories"),
    }
}

fn wire(duration: Option<Duration>) -> Result<Option<prost_types::Duration>, Failure> {
    duration
        .map(prost_types::Duration::try_from)
        .transpose()
        .map_err(|_| Failure::Usage("a duration is too long".to_owned()))
}

fn table() -> Table {
    Table::new(&["Memory!", "User!", "Stored!", "From!", "Text"])
}

fn row(table: &mut Table, memory: &Memory) {
    let mut text = one_line(&memory.text, 1_000);
    if memory.pinned() {
        text = format!("[pinned] {text}");
    }
    if memory.valid_until.is_some() {
        text = format!(
            "[valid until {}] {text}",
            clock(memory.valid_until.as_ref())
        );
    }
    table.row([
        memory.memory_id.clone(),
        exact(&memory.user_id),
        clock(memory.create_time.as_ref()),
        origin(memory),
        text,
    ]);
}

fn origin(memory: &Memory) -> String {
    match memory.origin() {
        MemoryOrigin::Caller => "caller".to_owned(),
        MemoryOrigin::WorkingMemory => "working memory".to_owned(),
        MemoryOrigin::Extracted if memory.made_by.is_empty() => {
            "messages, by extractive".to_owned()
        }
        MemoryOrigin::Extracted => format!("messages, by {}", exact(&memory.made_by)),
        MemoryOrigin::Unspecified => "?".to_owned(),
    }
}
