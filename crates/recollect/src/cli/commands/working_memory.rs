//! `recollect working-memory`.

use memory_contract::proto::{GetWorkingMemoryRequest, WorkingMemory};
use prost_types::{Value, value::Kind};

use crate::cli::args::WorkingMemoryArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::import::json_of;
use crate::cli::output::{JsonLines, Table, clock, count, one_line, role, text_of};

/// Shows the working memory of a session: context, messages, memories and data.
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
        let mut lines = JsonLines::stdout();
        lines.write("GetWorkingMemoryResponse", &found)?;
        return lines.finish();
    }
    if found.rebuilt {
        println!("It had expired and was rebuilt from the conversation.\n");
    }
    show(&found.working_memory.unwrap_or_default())
}

fn show(memory: &WorkingMemory) -> Result<(), Failure> {
    if !memory.context.is_empty() {
        println!("Context: {}\n", one_line(&memory.context, 8_000));
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
    if memory.messages_left_out > 0 {
        println!(
            "{} before these.\n",
            count(memory.messages_left_out, "message")
        );
    }
    for one in &memory.memories {
        let promoted = match one.persist_time {
            Some(_) => "",
            None => " (not promoted yet)",
        };
        println!("Memory: {}{promoted}", one_line(&one.text, 400));
    }
    if let Some(data) = memory.data.as_ref().filter(|data| !data.fields.is_empty()) {
        let kind = Some(Kind::StructValue(data.clone()));
        let json = json_of(&Value { kind }).to_string();
        println!("Data: {}", one_line(&json, 8_000));
    }
    let tokens = i64::from(memory.context_tokens) + memory.message_tokens;
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
