//! `recollect subscription`.

use std::io::Write as _;
use std::time::Duration;

use memory_contract::convert::{action_from, action_name};
use memory_contract::proto::{
    AcknowledgeEventsRequest, CreateSubscriptionRequest, DeleteSubscriptionRequest,
    GetSubscriptionRequest, ListSubscriptionsRequest, StreamEventsRequest, Subscription,
    SubscriptionEvent, TransactionAction,
};
use tokio::time::sleep;
use tonic::Code;

use super::signals::Stop;
use crate::cli::args::{
    ClientArgs, CreateSubscriptionArgs, SubscriptionArgs, SubscriptionCommand, SubscriptionNameArgs,
};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Table, clock, exact, print_message, second};

/// The pause before a stream is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// Creates, lists, shows, deletes or streams subscriptions.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn run(args: SubscriptionArgs) -> Result<(), Failure> {
    match args.command {
        SubscriptionCommand::Create(args) => create(args).await,
        SubscriptionCommand::List(args) => list(args).await,
        SubscriptionCommand::Show(args) => show(args).await,
        SubscriptionCommand::Delete(args) => delete(args).await,
        SubscriptionCommand::Stream(args) => {
            let mut stop = Stop::listen(false)?;
            tokio::select! {
                _ = stop.wait() => Ok(()),
                done = stream(args) => done,
            }
        }
    }
}

async fn create(args: CreateSubscriptionArgs) -> Result<(), Failure> {
    let actions = args.actions.iter().map(|name| match action_from(name) {
        TransactionAction::Unspecified => Err(Failure::Usage(format!(
            "--action {name}: is no kind of change, such as append_messages"
        ))),
        action => Ok(i32::from(action)),
    });
    let request = CreateSubscriptionRequest {
        name: args.name,
        app_id: args.app,
        user_id: args.user,
        actions: actions.collect::<Result<_, _>>()?,
        url: args.url,
    };
    let client = Client::connect(&args.client.server).await?;
    let created = client.subscriptions().create_subscription(request).await;
    let created = created
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("CreateSubscriptionResponse", &created);
    }
    let name = created.subscription.unwrap_or_default().name;
    match created.secret.is_empty() {
        true => println!(
            "The subscription {name} was created. `recollect subscription stream {name}` prints its events."
        ),
        false => {
            println!(
                "The subscription {name} was created.\n\n  {}\n",
                created.secret
            );
            println!(
                "This is the secret that signs its webhooks. It cannot be shown again: keep it now."
            );
        }
    }
    Ok(())
}

async fn list(args: ClientArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.server).await?;
    let request = ListSubscriptionsRequest {};
    let listed = client.subscriptions().list_subscriptions(request).await;
    let listed = listed
        .map_err(|status| client.failure(&status))?
        .into_inner();
    print_all(&listed.subscriptions, args.json)
}

async fn show(args: SubscriptionNameArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetSubscriptionRequest { name: args.name };
    let shown = client.subscriptions().get_subscription(request).await;
    let shown = shown
        .map_err(|status| client.failure(&status))?
        .into_inner();
    print_all(shown.subscription.as_slice(), args.client.json)
}

async fn delete(args: SubscriptionNameArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = DeleteSubscriptionRequest {
        name: args.name.clone(),
    };
    let deleted = client.subscriptions().delete_subscription(request).await;
    let deleted = deleted
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        print_message("DeleteSubscriptionResponse", &deleted)?;
    }
    if !deleted.deleted {
        return Err(Failure::NotFound {
            message: "the tenant has no such subscription".to_owned(),
            next_step: "`recollect subscription list` lists the tenant's subscriptions.",
        });
    }
    if !args.client.json {
        println!("The subscription {} was deleted.", exact(&args.name));
    }
    Ok(())
}

async fn stream(args: SubscriptionNameArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = StreamEventsRequest {
        name: args.name.clone(),
    };
    loop {
        let begun = client.subscriptions().stream_events(request.clone()).await;
        let mut batches = begun
            .map_err(|status| client.failure(&status))?
            .into_inner();
        loop {
            let batch = match batches.message().await {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                // The server lets no stream go on for ever.
                Err(status) if status.code() == Code::DeadlineExceeded => break,
                Err(status) => return Err(client.failure(&status)),
            };
            for event in &batch.events {
                print_event(event, args.client.json)?;
            }
            if batch.dropped_count > 0 {
                eprintln!("{} events were lost before these.", batch.dropped_count);
            }
            let acknowledge = AcknowledgeEventsRequest {
                name: args.name.clone(),
                batch_id: batch.batch_id,
            };
            let acknowledged = client.subscriptions().acknowledge_events(acknowledge).await;
            acknowledged.map_err(|status| client.failure(&status))?;
        }
        sleep(PAUSE).await;
    }
}

fn print_all(subscriptions: &[Subscription], json: bool) -> Result<(), Failure> {
    if json {
        let mut lines = JsonLines::stdout();
        for subscription in subscriptions {
            lines.write("Subscription", subscription)?;
        }
        return lines.finish();
    }
    if subscriptions.is_empty() {
        println!("The tenant has no subscriptions. `recollect subscription create` makes one.");
        return Ok(());
    }
    let mut table = Table::new(&[
        "Name!",
        "Of",
        "Sent to",
        "Waiting>",
        "Lag>",
        "Lost>",
        "Made!",
        "Last error",
    ]);
    for subscription in subscriptions {
        row(&mut table, subscription);
    }
    table.print()
}

fn row(table: &mut Table, subscription: &Subscription) {
    let of = |noun: &str, id: &str| (!id.is_empty()).then(|| format!("{noun} {}", exact(id)));
    let of: Vec<String> = [
        of("app", &subscription.app_id),
        of("user", &subscription.user_id),
    ]
    .into_iter()
    .flatten()
    .collect();
    let sent_to = match (subscription.url.as_str(), subscription.enabled) {
        ("", true) => "streams".to_owned(),
        (_, false) => "(disabled)".to_owned(),
        (url, true) => exact(url),
    };
    let lag = subscription.lag.as_ref().map_or(0, |lag| lag.seconds);
    table.row([
        exact(&subscription.name),
        match of.is_empty() {
            true => "the tenant".to_owned(),
            false => of.join(", "),
        },
        sent_to,
        subscription.waiting_count.to_string(),
        format!("{lag}s"),
        subscription.dropped_count.to_string(),
        clock(subscription.create_time.as_ref()),
        exact(&subscription.last_error),
    ]);
}

/// Prints a line, at once also where the output is a pipe.
fn print_event(event: &SubscriptionEvent, json: bool) -> Result<(), Failure> {
    if json {
        return print_message("SubscriptionEvent", event);
    }
    let line = format!(
        "{}  {:<18} {:>5}  {}  {}  {}",
        second(event.create_time.as_ref()),
        action_name(event.action()),
        event.item_count,
        exact(&event.actor),
        event.thread_id,
        exact(&event.subject),
    );
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", line.trim_end())
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}
