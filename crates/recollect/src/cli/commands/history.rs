//! `recollect history`.

use memory_contract::proto::{GetHistoryRequest, GetThreadRequest, SessionRef};

use crate::cli::args::HistoryArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Table, clock, count, one_line, role, text_of};

/// Shows a conversation as a model would get it.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: HistoryArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let session = SessionRef {
        app_id: args.app,
        user_id: args.user.unwrap_or_default(),
        session_key: args.session.unwrap_or_default(),
        agent_session_key: String::new(),
    };
    let thread_id = match args.thread {
        Some(id) => id,
        None => thread_of(&client, session).await?,
    };
    let request = GetHistoryRequest {
        thread_id,
        head_message_id: args.head.unwrap_or_default(),
        max_tokens: args.max_tokens,
        message_limit: args.limit,
        ..Default::default()
    };
    let history = client
        .messages()
        .get_history(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        let mut lines = JsonLines::stdout();
        lines.write("GetHistoryResponse", &history)?;
        return lines.finish();
    }
    let mut table = Table::new(&["#>", "Said!", "Who", "What", "Tokens>"]);
    for message in &history.messages {
        let who = match message.name.as_str() {
            "" => role(message.role).to_owned(),
            name => name.to_owned(),
        };
        table.row([
            message.seq.to_string(),
            clock(message.create_time.as_ref()),
            one_line(&who, 20),
            one_line(&text_of(message), 400),
            message.token_count.to_string(),
        ]);
    }
    table.print()?;
    println!(
        "{}, {} ({}){}{}",
        count(history.messages.len(), "message"),
        count(history.total_tokens, "token"),
        history.tokenizer,
        if history.truncated {
            "; older turns were left out"
        } else {
            ""
        },
        if history.content_truncated {
            "; the newest turn was shortened"
        } else {
            ""
        },
    );
    Ok(())
}

/// The id of a session's thread.
///
/// # Errors
/// When there is none.
pub async fn thread_of(client: &Client, session: SessionRef) -> Result<String, Failure> {
    let request = GetThreadRequest {
        session: Some(session),
        ..Default::default()
    };
    let response = client
        .threads()
        .get_thread(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    Ok(response.thread.unwrap_or_default().thread_id)
}
