//! `recollect working-memory`.

use memory_contract::proto::{GetWorkingMemoryRequest, WorkingMemory};

use crate::cli::args::WorkingMemoryArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{
    Table, clock, count, on_one_line, one_line, print_message, role, text_of,
};

/// Shows the working memory of a session: summary, messages, memories and data.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: WorkingMemoryArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetWorkingMemoryRequest {
        thread: args.named.thread(),
        model: args.model.unwrap_or_default(),
    };
    let found = client
        .working_memories()
        .get_working_memory(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("GetWorkingMemoryResponse", &found);
    }
    if found.rebuilt {
        println!("It had expired and was rebuilt from the conversation.\n");
    }
    show(&found.working_memory.unwrap_or_default())
}

fn show(memory: &WorkingMemory) -> Result<(), Failure> {
    if !memory.summary.is_empty() {
        println!("Summary: {}\n", one_line(&memory.summary, 8_000));
    }
    let mut table = Table::new(&["When!", "Role!", "Tokens>", "Text"]);
    for message in &memory.messages {
        table.row([
            clock(message.create_time.as_ref()),
            role(message.role).to_owned(),
            message.token_count.to_string(),
            one_line(&text_of(message), 200),
        ]);
    }
    if !table.is_empty() {
        table.print()?;
        println!();
    }
    if memory.omitted_message_count > 0 {
        println!(
            "{} before these.\n",
            count(memory.omitted_message_count, "message")
        );
    }
    for one in &memory.memories {
        let promoted = match one.persist_time {
            Some(_) => "",
            None => " (not promoted yet)",
        };
        println!("Memory: {}{promoted}", one_line(&one.text, 400));
    }
    if !memory.data.is_empty() {
        println!("Data: {}", on_one_line(&memory.data));
    }
    let tokens = i64::from(memory.summary_tokens) + memory.message_tokens;
    println!(
        "{} of {} in use ({:.1} %); {:.1} % of the way to the next summary{}",
        count(tokens, "token"),
        memory.context_window,
        memory.context_percentage_total_used,
        memory.context_percentage_until_summarization,
        match memory.model.as_str() {
            "" => String::new(),
            model => format!("; model {}", one_line(model, 128)),
        },
    );
    if let Some(expires) = &memory.expire_time {
        println!("Expires at {}", clock(Some(expires)));
    }
    Ok(())
}
