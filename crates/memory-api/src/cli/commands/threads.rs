//! `recollect threads`.

use memory_contract::proto::ListThreadsRequest;

use crate::cli::args::ThreadsArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Table, clock, exact, one_line};

/// Lists threads, the newest first.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn run(args: ThreadsArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    // Keys and ids are there to be copied: never cut, never broken, even where
    // a line gets longer than the screen.
    let mut table = Table::new(&[
        "Thread!",
        "App!",
        "User!",
        "Session!",
        "Title!",
        "Messages>",
        "Updated!",
    ]);
    let mut lines = JsonLines::stdout();
    let (mut page_token, mut left) = (String::new(), args.limit as usize);
    while left > 0 {
        let request = ListThreadsRequest {
            app_id: args.app.clone().unwrap_or_default(),
            user_id: args.user.clone().unwrap_or_default(),
            page_size: i32::try_from(left.min(500)).unwrap_or(500),
            page_token,
        };
        let page = client
            .threads()
            .list_threads(request)
            .await
            .map_err(|status| client.failure(&status))?
            .into_inner();
        for thread in page.threads.into_iter().take(left) {
            left -= 1;
            if args.client.json {
                lines.write("Thread", &thread)?;
                continue;
            }
            table.row([
                thread.thread_id,
                exact(&thread.app_id),
                exact(&thread.user_id),
                exact(&thread.session_key),
                one_line(&thread.title, 40),
                thread.message_count.to_string(),
                clock(thread.update_time.as_ref()),
            ]);
        }
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    if args.client.json {
        return lines.finish();
    }
    drop(lines);
    if table.is_empty() {
        println!("There are no threads. `recollect import FILE` stores a conversation.");
        return Ok(());
    }
    table.print()?;
    if !page_token.is_empty() {
        println!("There are more; --limit shows them.");
    }
    Ok(())
}
