//! `recollect observations`.

use memory_contract::proto::{GetObservationsRequest, Observation};

use crate::cli::args::ObservationsArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{author, clock, count, one_line, print_message};

/// Shows the observations of a conversation, and the messages that they cover.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: ObservationsArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetObservationsRequest {
        thread: args.named.thread(),
        head_message_id: args.head.unwrap_or_default(),
        include_replaced: args.replaced,
    };
    let found = client
        .observations()
        .get_observations(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("GetObservationsResponse", &found);
    }
    for one in &found.replaced {
        show(one, "replaced: ");
    }
    for one in &found.observations {
        show(one, "");
    }
    if found.replaced.is_empty() && found.observations.is_empty() {
        println!("There are no observations.");
    }
    println!(
        "{} of observations; {} in full ({}), of which {} have observations ready",
        count(found.observation_tokens, "token"),
        count(found.raw_message_count, "message"),
        count(found.raw_message_tokens, "token"),
        count(found.ready_message_tokens, "token"),
    );
    if !found.last_error.is_empty() {
        println!(
            "The last attempt failed: {}",
            one_line(&found.last_error, 400)
        );
    }
    Ok(())
}

/// Prints a heading line, then the text, which may be long.
fn show(one: &Observation, standing: &str) {
    let kind = match one.reflection {
        true => "reflection: ",
        false => "",
    };
    println!(
        "#{} by {}, {}: {} for {} ({}), {} to {}",
        one.number,
        author(one.origin(), &one.made_by),
        clock(one.create_time.as_ref()),
        count(one.token_count, "token"),
        count(one.message_count, "message"),
        count(one.message_tokens, "token"),
        one.first_message_id,
        one.last_message_id,
    );
    println!("   {standing}{kind}{}\n", one_line(&one.text, 8_000));
}
