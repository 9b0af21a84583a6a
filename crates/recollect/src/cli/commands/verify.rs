//! `recollect verify`.

use memory_contract::proto::{LedgerKind, VerifyThreadRequest};

use crate::cli::args::VerifyArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, count, one_line, print_message};

/// Shows the ledger of a thread and its inconsistencies.
///
/// # Errors
/// When there is a fault or no such thread, or the server cannot be reached or
/// refuses.
pub async fn run(args: VerifyArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let found = client
        .ledgers()
        .verify_thread(VerifyThreadRequest {
            thread: args.named.thread(),
        })
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        print_message("VerifyThreadResponse", &found)?;
    } else {
        let mut table = Table::new(&[
            "Branch>",
            "Kind!",
            "Messages>",
            "In full>",
            "Summarized>",
            "Observed>",
            "Deleted>",
            "Set aside>",
            "",
        ]);
        for one in &found.counts {
            table.row([
                one.branch.to_string(),
                kind(one.kind).to_owned(),
                one.message_count.to_string(),
                one.raw_count.to_string(),
                one.summarized_count.to_string(),
                one.observed_count.to_string(),
                one.deleted_count.to_string(),
                one.set_aside_count.to_string(),
                if one.active { "active" } else { "" }.to_owned(),
            ]);
        }
        if !table.is_empty() {
            table.print()?;
        }
        for fault in &found.faults {
            println!(
                "{} {} on branch {}, messages {} to {}: {}",
                kind(fault.kind),
                fault.number,
                fault.branch,
                fault.first_seq,
                fault.last_seq,
                one_line(&fault.message, 400),
            );
        }
        if found.ok {
            println!("Every message is in one state of each kind.");
        }
    }
    match found.ok {
        true => Ok(()),
        false => Err(Failure::Refused {
            message: format!("the ledger has {}", count(found.faults.len(), "fault")),
            next_step: String::new(),
        }),
    }
}

fn kind(kind: i32) -> &'static str {
    match LedgerKind::try_from(kind) {
        Ok(LedgerKind::Summary) => "summary",
        Ok(LedgerKind::Observation) => "observation",
        Ok(LedgerKind::Unspecified) => "messages",
        Err(_) => "?",
    }
}
