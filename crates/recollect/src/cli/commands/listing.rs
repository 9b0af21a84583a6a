//! Reads all pages of a list.

use prost::Message;
use tonic::Status;

use crate::cli::args::ClientArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Table};

/// The most items that the contract has on a page.
const PAGE: usize = 500;

/// A list, and how it is shown.
pub(super) struct Listing<'a> {
    /// The server, and whether programs read the list.
    pub(super) client: &'a ClientArgs,
    /// The most items.
    pub(super) limit: u32,
    /// What an item is called in the contract, such as `Thread`.
    pub(super) item: &'a str,
    /// The table of the list, without rows.
    pub(super) table: Table,
    /// The text to print for an empty list.
    pub(super) nothing: &'a str,
}

impl Listing<'_> {
    /// Reads pages until there are no more, or enough, and shows their items.
    /// `page` reads that many items after a page token, and returns the next one.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub(super) async fn show<T: Message>(
        self,
        mut page: impl AsyncFnMut(&Client, i32, String) -> Result<(Vec<T>, String), Status>,
        row: impl Fn(&mut Table, &T),
    ) -> Result<(), Failure> {
        let Self {
            client: ClientArgs { server, json },
            limit,
            item,
            mut table,
            nothing,
        } = self;
        let client = Client::connect(server).await?;
        let mut lines = JsonLines::stdout();
        let (mut token, mut left) = (String::new(), limit as usize);
        while left > 0 {
            let size = i32::try_from(left.min(PAGE)).unwrap_or(i32::MAX);
            let (items, next) = page(&client, size, token)
                .await
                .map_err(|status| client.failure(&status))?;
            for one in items.iter().take(left) {
                left -= 1;
                match json {
                    true => lines.write(item, one)?,
                    false => row(&mut table, one),
                }
            }
            token = next;
            if token.is_empty() {
                break;
            }
        }
        if *json {
            return lines.finish();
        }
        drop(lines);
        if table.is_empty() {
            println!("{nothing}");
            return Ok(());
        }
        table.print()?;
        if !token.is_empty() {
            println!("There are more; --limit shows them.");
        }
        Ok(())
    }
}
