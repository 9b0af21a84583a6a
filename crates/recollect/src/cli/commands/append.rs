//! `recollect append`.

use std::io::{self, IsTerminal as _, Read as _};

use memory_contract::proto::{AppendMessagesRequest, MessageInput, Role, part::Content};
use memory_import::messages_of_lines;

use crate::cli::args::AppendArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, print_message};

/// Standard input may have more bytes than the server takes, not without end.
const INPUT_BYTES: u64 = 16 * 1024 * 1024;

/// Stores messages at the end of a conversation.
///
/// # Errors
/// When the input is no messages, or the server cannot be reached or refuses.
pub async fn run(args: AppendArgs) -> Result<(), Failure> {
    let messages = match &args.text {
        Some(text) => turn(&args, text),
        None => from_input()?,
    };
    let client = Client::connect(&args.client.server).await?;
    let request = AppendMessagesRequest {
        thread: args.thread(),
        messages,
        request_id: args.request_id.map(|id| id.to_string()).unwrap_or_default(),
        ..Default::default()
    };
    let appended = client
        .messages()
        .append_messages(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("AppendMessagesResponse", &appended);
    }
    let mut table = Table::new(&["Seq>", "Message!", "Tokens>"]);
    for message in &appended.messages {
        table.row([
            message.seq.to_string(),
            message.message_id.clone(),
            message.token_count.to_string(),
        ]);
    }
    table.print()?;
    let what = match (appended.replayed, appended.thread_created) {
        (true, _) => "known already",
        (false, true) => "stored; it is new",
        (false, false) => "stored",
    };
    println!("Thread {}: {what}.", appended.thread_id);
    Ok(())
}

/// The message of the command line, and the answer to it.
fn turn(args: &AppendArgs, text: &str) -> Vec<MessageInput> {
    let message = |role: Role, text: &str| MessageInput {
        role: role.into(),
        parts: vec![Content::Text(text.to_owned()).into()],
        ..Default::default()
    };
    let said = MessageInput {
        name: args.name.clone(),
        user_id: args.said_by.clone(),
        external_id: args.external_id.clone(),
        metadata: args.metadata.clone().unwrap_or_default(),
        ..message(args.role.into(), text)
    };
    let reply = args.reply.iter();
    std::iter::once(said)
        .chain(reply.map(|text| message(Role::Assistant, text)))
        .collect()
}

fn from_input() -> Result<Vec<MessageInput>, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::Usage(
            "give a TEXT, or messages as JSON lines on standard input".to_owned(),
        ));
    }
    let mut input = String::new();
    stdin
        .lock()
        .take(INPUT_BYTES)
        .read_to_string(&mut input)
        .map_err(|error| Failure::machine(format!("cannot read standard input: {error}"), ""))?;
    messages_of_lines(&input)
        .map_err(|problem| Failure::Usage(format!("standard input, {problem}")))
}
