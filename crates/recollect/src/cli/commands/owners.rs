//! `recollect users` and `recollect apps`.

use memory_contract::proto::{App, ListAppsRequest, ListUsersRequest, User};

use super::listing::Listing;
use crate::cli::args::{AppsArgs, UsersArgs};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, clock, exact};

/// Lists the users of an app.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn users(args: UsersArgs) -> Result<(), Failure> {
    let listing = Listing {
        client: &args.client,
        limit: args.limit,
        item: "User",
        table: Table::new(&[
            "User!",
            "Threads>",
            "Messages>",
            "Memories>",
            "Last active!",
        ]),
        nothing: "The app has no data. `recollect apps` lists the apps that have.",
    };
    let page = async |client: &Client, page_size, page_token| {
        let request = ListUsersRequest {
            app_id: args.app.clone(),
            page_size,
            page_token,
        };
        let page = client.threads().list_users(request).await?.into_inner();
        Ok((page.users, page.next_page_token))
    };
    let row = |table: &mut Table, user: &User| {
        table.row([
            match user.user_id.as_str() {
                "" => "(none)".to_owned(),
                id => exact(id),
            },
            user.thread_count.to_string(),
            user.message_count.to_string(),
            user.memory_count.to_string(),
            clock(user.last_activity_time.as_ref()),
        ]);
    };
    listing.show(page, row).await
}

/// Lists the apps of the tenant.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn apps(args: AppsArgs) -> Result<(), Failure> {
    let listing = Listing {
        client: &args.client,
        limit: args.limit,
        item: "App",
        table: Table::new(&["App!", "Last active!"]),
        nothing: "There are no apps. `recollect import FILE` stores a conversation.",
    };
    let page = async |client: &Client, page_size, page_token| {
        let request = ListAppsRequest {
            page_size,
            page_token,
        };
        let page = client.threads().list_apps(request).await?.into_inner();
        Ok((page.apps, page.next_page_token))
    };
    let row = |table: &mut Table, app: &App| {
        table.row([exact(&app.app_id), clock(app.last_activity_time.as_ref())]);
    };
    listing.show(page, row).await
}
