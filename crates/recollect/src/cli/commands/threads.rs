//! `recollect threads`.

use memory_contract::proto::{ListThreadsRequest, Thread};

use super::listing::Listing;
use crate::cli::args::ThreadsArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, clock, exact, one_line};

/// Lists threads, by default the newest first.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn run(args: ThreadsArgs) -> Result<(), Failure> {
    let listing = Listing {
        client: &args.client,
        limit: args.limit,
        item: "Thread",
        // Keys and ids are there to be copied: never cut, never broken, even where
        // a line gets longer than the screen.
        table: Table::new(&[
            "Thread!",
            "App!",
            "User!",
            "Session!",
            "Title!",
            "Messages>",
            "Updated!",
        ]),
        nothing: "There are no threads. `recollect import FILE` stores a conversation.",
    };
    let page = async |client: &Client, page_size, page_token| {
        let request = ListThreadsRequest {
            target: args.target(),
            order_by: args.order_by.clone(),
            metadata: args.metadata.clone().unwrap_or_default(),
            page_size,
            page_token,
        };
        let page = client.threads().list_threads(request).await?.into_inner();
        Ok((page.threads, page.next_page_token))
    };
    listing.show(page, row).await
}

fn row(table: &mut Table, thread: &Thread) {
    table.row([
        thread.thread_id.clone(),
        exact(&thread.app_id),
        exact(&thread.user_id),
        exact(&thread.session_key),
        one_line(&thread.title, 40),
        thread.message_count.to_string(),
        clock(thread.update_time.as_ref()),
    ]);
}
