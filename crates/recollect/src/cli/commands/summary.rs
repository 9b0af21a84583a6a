//! `recollect summary`.

use memory_contract::limits;
use memory_contract::proto::{
    LedgerKind, LedgerState, LedgerText, ListLedgerRequest, ListLedgerResponse,
};

use crate::cli::args::SummaryArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, author, clock, count, lines, print_message};

/// Shows the summary of a conversation, the messages that it covers, and those that it
/// does not.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: SummaryArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let mut request = ListLedgerRequest {
        thread: args.named.thread(),
        kind: LedgerKind::Summary.into(),
        head_message_id: args.head.unwrap_or_default(),
        include_texts: true,
        page_size: limits::PAGE_SIZE_MAX,
        page_token: String::new(),
    };
    let mut found = ListLedgerResponse::default();
    loop {
        let page = client
            .ledgers()
            .list_ledger(request.clone())
            .await
            .map_err(|status| client.failure(&status))?
            .into_inner();
        found.ranges.extend(page.ranges);
        found.texts.extend(page.texts);
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    if args.client.json {
        return print_message("ListLedgerResponse", &found);
    }
    for one in &found.texts {
        show(one);
    }
    let mut table = Table::new(&[
        "What became of them!",
        "Summary>",
        "Messages>",
        "Tokens>",
        "First!",
        "Last!",
    ]);
    for one in &found.ranges {
        let number = match one.number {
            0 => String::new(),
            number => number.to_string(),
        };
        table.row([
            state(one.state).to_owned(),
            number,
            one.message_count.to_string(),
            one.token_count.to_string(),
            one.first_message_id.clone(),
            one.last_message_id.clone(),
        ]);
    }
    if table.is_empty() {
        println!("There are no messages.");
        return Ok(());
    }
    table.print()?;
    let sum = |wanted: LedgerState| -> i64 {
        let those = found.ranges.iter().filter(|one| one.state() == wanted);
        those.map(|one| one.message_count).sum()
    };
    println!(
        "{} summarized, {} in full",
        count(sum(LedgerState::Summarized), "message"),
        count(sum(LedgerState::Raw), "message"),
    );
    Ok(())
}

/// Prints a heading line, then the text, which may be long.
fn show(one: &LedgerText) {
    println!(
        "#{} by {}, {}: {}",
        one.number,
        author(one.origin(), &one.made_by),
        clock(one.create_time.as_ref()),
        count(one.token_count, "token"),
    );
    let text = match one.text.as_str() {
        "" => "The messages were only set aside.".to_owned(),
        text => lines(text),
    };
    println!("{text}\n");
}

fn state(state: i32) -> &'static str {
    match LedgerState::try_from(state) {
        Ok(LedgerState::Raw) => "in full",
        Ok(LedgerState::Summarized) => "summarized",
        Ok(LedgerState::Observed) => "observed",
        Ok(LedgerState::Deleted) => "deleted",
        Ok(LedgerState::SetAside) => "set aside",
        Ok(LedgerState::Unspecified) | Err(_) => "?",
    }
}
