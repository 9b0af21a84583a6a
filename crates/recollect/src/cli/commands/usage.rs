//! `recollect usage`.

use memory_contract::proto::{GetModelUsageRequest, ModelKind, ModelUsage};

use crate::cli::args::UsageArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, print_message};

/// Prints the tokens that models have used.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn run(args: UsageArgs) -> Result<(), Failure> {
    let UsageArgs {
        days,
        client: connection,
    } = args;
    let client = Client::connect(&connection.server).await?;
    let answer = client
        .admin()
        .get_model_usage(GetModelUsageRequest { days: Some(days) })
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if connection.json {
        return print_message("GetModelUsageResponse", &answer);
    }
    let mut table = Table::new(&[
        "Day (UTC)!",
        "Kind",
        "Model",
        "Calls>",
        "Failed>",
        "Tokens in>",
        "Tokens out>",
    ]);
    for usage in answer.usage {
        let kind = match usage.kind() {
            ModelKind::Unspecified => "?",
            ModelKind::Language => "language",
            ModelKind::Embedding => "embedding",
        };
        let ModelUsage {
            day,
            kind: _,
            model,
            call_count,
            failed_count,
            input_tokens,
            output_tokens,
        } = usage;
        let numbers = [call_count, failed_count, input_tokens, output_tokens];
        let [calls, failed, input, output] = numbers.map(|number| number.to_string());
        table.row([day, kind.to_owned(), model, calls, failed, input, output]);
    }
    match table.is_empty() {
        true => println!("No model has been called."),
        false => table.print()?,
    }
    let budget = match answer.daily_token_budget {
        0 => "no daily budget".to_owned(),
        tokens => format!("daily budget {tokens}"),
    };
    println!(
        "{} tokens of language models today; {budget}",
        answer.tokens_today
    );
    Ok(())
}
