//! `recollect history`.

use memory_contract::limits;
use memory_contract::proto::GetHistoryRequest;

use crate::cli::args::HistoryArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, clock, count, exact, one_line, print_message, role, text_of};

/// Shows a conversation as a model would get it.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: HistoryArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetHistoryRequest {
        thread: args.named.thread(),
        head_message_id: args.head.unwrap_or_default(),
        max_tokens: (args.max_tokens > 0).then_some(args.max_tokens),
        max_messages: Some(args.limit.min(limits::HISTORY_MESSAGES_MAX)),
        ..Default::default()
    };
    let history = client
        .messages()
        .get_history(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("GetHistoryResponse", &history);
    }
    let own_ids = history
        .messages
        .iter()
        .any(|one| !one.external_id.is_empty());
    let id = own_ids.then_some("Id!");
    let columns = ["#>", "Said!", "Who", "What", "Tokens>"];
    let columns: Vec<&str> = columns.into_iter().chain(id).collect();
    let mut table = Table::new(&columns);
    for message in &history.messages {
        let who = match (message.name.as_str(), message.user_id.as_str()) {
            ("", "") => role(message.role).to_owned(),
            ("", user) => user.to_owned(),
            (name, _) => name.to_owned(),
        };
        let id = own_ids.then(|| exact(&message.external_id));
        let cells = [
            message.seq.to_string(),
            clock(message.create_time.as_ref()),
            one_line(&who, 20),
            one_line(&text_of(message), 400),
            message.token_count.to_string(),
        ];
        table.row(cells.into_iter().chain(id));
    }
    table.print()?;
    println!(
        "{}, {} ({}){}{}",
        count(history.messages.len(), "message"),
        count(history.total_tokens, "token"),
        history.tokenizer,
        match history.omitted_message_count {
            0 => String::new(),
            left_out => format!("; {} left out", count(left_out, "older message")),
        },
        if history.content_truncated {
            "; the newest turn was shortened"
        } else {
            ""
        },
    );
    Ok(())
}
