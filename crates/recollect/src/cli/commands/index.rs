//! `recollect index`.

use std::path::PathBuf;
use std::time::Duration;

use memory_contract::proto::{
    CompareIndexesRequest, CompareIndexesResponse, ComparedIndex, ComparedQuery,
};

use memory_store::{
    CollectionChange, CollectionProgress, CollectionState, Outbox, StoreError, WorkerStore,
};
use secrecy::ExposeSecret as _;
use serde_json::json;
use tokio::time::sleep;

use super::migrate::{not_migrated, require_database};
use crate::cli::args::{
    CompareIndexesArgs, DataDirArgs, IndexArgs, IndexCommand, ListIndexesArgs, RetireIndexArgs,
    SwitchIndexArgs,
};
use crate::cli::client::Client;
use crate::cli::failure::{Failure, chain};
use crate::cli::output::{Table, duration, exact, one_line, print_json, print_message};
use memory_config::{Config, Sources};
use memory_embedded::running_url;

/// Characters of a query in a table.
const QUERY_WIDTH: usize = 60;
/// After this time, servers no longer search an index that served until a moment ago.
const RECENT_WAIT: Duration = Duration::from_secs(11);

/// Lists, compares, switches and removes indexes.
///
/// # Errors
/// When there is no database or no server, or when it refuses.
pub async fn run(file: Option<PathBuf>, args: IndexArgs) -> Result<(), Failure> {
    match args.command {
        IndexCommand::List(args) => list(file, args).await,
        IndexCommand::Compare(args) => compare(args).await,
        IndexCommand::Switch(args) => switch(file, args).await,
        IndexCommand::Retire(args) => retire(file, args).await,
    }
}

async fn list(file: Option<PathBuf>, args: ListIndexesArgs) -> Result<(), Failure> {
    let collections = connect(file, args.data).await?.list_collections().await;
    let collections = collections.map_err(failed)?;
    if args.json {
        for one in &collections {
            print_json(&json!({
                "collection": one.name,
                "state": state(one),
                "complete": one.complete,
                "pending": one.waiting.pending,
                "lagSeconds": one.waiting.lag.as_secs_f64(),
                "deadLetters": one.waiting.dead_letters,
            }))?;
        }
        return Ok(());
    }
    if collections.is_empty() {
        println!("No worker has opened an index yet.");
        return Ok(());
    }
    let mut table = Table::new(&["Index!", "State!", "Waiting>", "Lag>", "Given up>"]);
    for one in &collections {
        table.row([
            exact(&one.name),
            state(one).to_owned(),
            one.waiting.pending.to_string(),
            duration(one.waiting.lag),
            one.waiting.dead_letters.to_string(),
        ]);
    }
    table.print()
}

/// What an index is for, in a word or two.
fn state(one: &CollectionProgress) -> &'static str {
    match (one.state, one.complete) {
        (CollectionState::Serving, true) => "serves",
        (CollectionState::Serving, false) => "serves, being filled",
        (CollectionState::Beside, true) => "complete",
        (CollectionState::Beside, false) => "being filled",
        (CollectionState::Abandoned, _) => "outdated",
        (CollectionState::Retired, _) => "being removed",
    }
}

async fn switch(file: Option<PathBuf>, args: SwitchIndexArgs) -> Result<(), Failure> {
    let name = args.collection;
    let outbox = connect(file, args.data).await?;
    let changed = outbox.switch_collection(&name, args.force).await;
    done(changed.map_err(failed)?)?;
    println!(
        "{} serves. All servers search it within a second or two.",
        exact(&name)
    );
    println!(
        "To go back, switch to the former one. To stay, set embedding to the new model, remove \
         embedding_next, roll out, and then `recollect index retire` the former one."
    );
    Ok(())
}

async fn retire(file: Option<PathBuf>, args: RetireIndexArgs) -> Result<(), Failure> {
    let name = args.collection;
    let outbox = connect(file, args.data).await?;
    let mut change = outbox.retire_collection(&name).await.map_err(failed)?;
    if change == CollectionChange::Recent {
        eprintln!("Waiting until no server searches it.");
        sleep(RECENT_WAIT).await;
        change = outbox.retire_collection(&name).await.map_err(failed)?;
    }
    done(change)?;
    println!(
        "{} receives no more changes. A worker removes it.",
        exact(&name)
    );
    Ok(())
}

fn done(change: CollectionChange) -> Result<(), Failure> {
    let refused = |message: &str, next_step: &str| {
        Err(Failure::Refused {
            message: message.to_owned(),
            next_step: next_step.to_owned(),
        })
    };
    match change {
        CollectionChange::Done => Ok(()),
        CollectionChange::NotFound => Err(Failure::NotFound {
            message: "there is no such index".to_owned(),
            next_step: "`recollect index list` lists them.",
        }),
        CollectionChange::Outdated => refused(
            "this index receives no changes, so it is outdated",
            "Retire it, and configure its model as embedding_next to fill it again.",
        ),
        CollectionChange::Incomplete => refused(
            "this index is still being filled, so answers would lack matches",
            "Wait until `recollect index list` says complete, or use --force.",
        ),
        CollectionChange::DeadLetters => refused(
            "changes of this index were given up, so it lacks something",
            "`recollect index list` counts them; Reindex queues them again; --force switches anyway.",
        ),
        CollectionChange::Serving | CollectionChange::Recent => refused(
            "this index serves, or did until a moment ago",
            "Switch to another one first; `recollect index list` lists them.",
        ),
    }
}

/// Connects to the database of the configuration, or else to that of a running `recollect dev`.
async fn connect(file: Option<PathBuf>, args: DataDirArgs) -> Result<Outbox, Failure> {
    let loaded = Config::load(&Sources {
        file,
        ..Default::default()
    })?;
    let mut config = loaded.config.database.clone();
    if config.url.expose_secret().is_empty()
        && let Some(url) = running_url(&args.data_dir)
    {
        config.url = url.into();
    } else {
        require_database(&loaded.config)?;
    }
    let opened = WorkerStore::connect(&config).await;
    let opened = opened.map(|workers| workers.outbox().clone());
    opened.map_err(|error| match error {
        error @ StoreError::Config { .. } => not_migrated(error, &loaded.provenance),
        error => failed(error),
    })
}

fn failed(error: StoreError) -> Failure {
    Failure::machine(
        format!("the database cannot be used: {}", chain(&error)),
        "`recollect doctor` checks the database, `recollect migrate` brings its schema up to date.",
    )
}

async fn compare(args: CompareIndexesArgs) -> Result<(), Failure> {
    let CompareIndexesArgs {
        app,
        user,
        queries,
        sample,
        top_k,
        client: connection,
    } = args;
    let client = Client::connect(&connection.server).await?;
    let request = CompareIndexesRequest {
        app_id: app,
        user_id: user,
        queries,
        sample_size: Some(sample),
        top_k: Some(top_k),
    };
    let compared = client
        .admin()
        .compare_indexes(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if connection.json {
        return print_message("CompareIndexesResponse", &compared);
    }
    print(compared)
}

fn print(compared: CompareIndexesResponse) -> Result<(), Failure> {
    let CompareIndexesResponse {
        serving,
        next,
        queries,
        mean_overlap,
        mean_serving_duration,
        mean_next_duration,
        query_count,
    } = compared;
    let (serving, next) = (serving.unwrap_or_default(), next.unwrap_or_default());
    println!("serving  {}", described(&serving));
    println!("next     {}", described(&next));
    let left_out = usize::try_from(query_count).map_or(0, |all| all.saturating_sub(queries.len()));
    if left_out > 0 {
        println!(
            "{left_out} of {query_count} queries were not compared before the call's time ended."
        );
    }
    if query_count == 0 && queries.is_empty() {
        println!("No stored message of a user ends in a question mark: give queries with --query.");
    } else {
        let asked = queries.len();
        let mut table = Table::new(&["Query", "Overlap>", "Serving>", "Next>"]);
        for query in queries {
            let ComparedQuery {
                query,
                serving_message_ids: _,
                next_message_ids: _,
                overlap,
                serving_duration,
                next_duration,
            } = query;
            table.row([
                one_line(&query, QUERY_WIDTH),
                percent(overlap),
                time(serving_duration),
                time(next_duration),
            ]);
        }
        table.print()?;
        println!(
            "Mean of {}: overlap {}, serving {}, next {}",
            match asked {
                1 => "1 query".to_owned(),
                asked => format!("{asked} queries"),
            },
            percent(mean_overlap),
            time(mean_serving_duration),
            time(mean_next_duration)
        );
    }
    match next.complete {
        true => println!(
            "Next step: `recollect index switch {}`.",
            exact(&next.collection)
        ),
        false => println!("Next step: wait until `recollect index list` says complete."),
    }
    Ok(())
}

/// An index in one line.
fn described(index: &ComparedIndex) -> String {
    let model = match index.embedding_model.as_str() {
        "" => "by keyword only".to_owned(),
        model => exact(model),
    };
    let state = match index.complete {
        true => "complete",
        false => "being filled",
    };
    format!("{} ({model}), {state}", exact(&index.collection))
}

fn percent(share: f32) -> String {
    format!("{:.0} %", share * 100.0)
}

fn time(took: Option<prost_types::Duration>) -> String {
    let took = took.and_then(|took| Duration::try_from(took).ok());
    duration(took.unwrap_or_default())
}
