//! `recollect deletion`.

use memory_contract::proto::{Deletion, DeletionState, GetDeletionRequest};

use crate::cli::args::DeletionArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, clock, print_message};

/// Checks that nothing is left of a deleted user, app or tenant.
///
/// # Errors
/// When something is left, the deletion has not finished, there is no such deletion, or
/// the server cannot be reached or refuses.
pub async fn run(args: DeletionArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetDeletionRequest {
        deletion_id: args.receipt,
    };
    let found = client.admin().get_deletion(request).await;
    let found = found
        .map_err(|status| client.failure(&status))?
        .into_inner();
    let deletion = found.deletion.clone().unwrap_or_default();
    if args.client.json {
        print_message("GetDeletionResponse", &found)?;
    } else {
        print(&deletion)?;
    }
    let left: i64 = deletion.places.iter().map(|one| one.remaining_count).sum();
    let refused = |message: String, next_step: &str| {
        Err(Failure::Refused {
            message,
            next_step: next_step.to_owned(),
        })
    };
    match (deletion.state(), left) {
        (DeletionState::Finished, 0) => Ok(()),
        (DeletionState::Finished, left) => refused(format!("{left} items are left"), ""),
        _ => refused(
            format!("the deletion is not finished; it is at {}", deletion.step),
            "Ask again later; a worker has to run.",
        ),
    }
}

fn print(deletion: &Deletion) -> Result<(), Failure> {
    let whose = match (deletion.app_id.as_str(), &deletion.user_id) {
        ("", None) => "the tenant".to_owned(),
        ("", Some(user)) => format!("user {user:?} of all apps"),
        (app, None) => format!("app {app}"),
        (app, Some(user)) => format!("user {user:?} of app {app}"),
    };
    println!(
        "Deletion of {whose}, begun {}, finished {}.",
        clock(deletion.create_time.as_ref()),
        clock(deletion.finish_time.as_ref())
    );
    if !deletion.last_error.is_empty() {
        println!("Its last step failed: {}", deletion.last_error);
    }
    let mut table = Table::new(&["Place!", "Deleted>", "Left>"]);
    for place in &deletion.places {
        table.row([
            place.name.clone(),
            place.deleted_count.to_string(),
            place.remaining_count.to_string(),
        ]);
    }
    table.print()?;
    if deletion.storage_rewritten {
        println!("The database's files were rewritten afterwards.");
    }
    Ok(())
}
