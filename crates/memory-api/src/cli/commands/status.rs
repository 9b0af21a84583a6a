//! `recollect status`.

use memory_contract::proto::{GetIndexStatusRequest, GetServerInfoRequest, IndexState};

use crate::cli::args::ClientArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Table, clock};

/// Tells how the server and its index are doing.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn run(args: ClientArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.server).await?;
    let (mut info, mut index) = (client.admin(), client.admin());
    let (info, index) = tokio::join!(
        info.get_server_info(GetServerInfoRequest {}),
        index.get_index_status(GetIndexStatusRequest {}),
    );
    let info = info.map_err(|status| client.failure(&status))?.into_inner();
    let index = index
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.json {
        let mut lines = JsonLines::stdout();
        lines.write("GetServerInfoResponse", &info)?;
        lines.write("GetIndexStatusResponse", &index)?;
        return lines.finish();
    }
    let state = match index.state() {
        IndexState::Ready => "ready",
        IndexState::Rebuilding => "being rebuilt",
        IndexState::Unavailable => "does not answer; recall is degraded, history works",
        IndexState::Unspecified => "?",
    };
    let lag = index
        .lag
        .map_or(0.0, |lag| lag.seconds as f64 + f64::from(lag.nanos) / 1e9);
    let mut table = Table::new(&["What", "How"]);
    let mut row = |what: &str, how: String| table.row([what.to_owned(), how]);
    row("version", info.version);
    row("running since", clock(info.start_time.as_ref()));
    row("tenant", info.tenant);
    row("postgres", info.postgres_version);
    row("index", format!("{}, {state}", info.index_backend));
    row("collection", index.collection);
    row(
        "model",
        match info.embedding_model {
            model if model.is_empty() => "none; recall is by word alone".to_owned(),
            model => model,
        },
    );
    row("points in the index", index.point_count.to_string());
    row(
        "changes to come",
        format!("{}, the oldest {lag:.1} s old", index.pending_count),
    );
    row("given up", index.dead_letter_count.to_string());
    if !index.last_error.is_empty() {
        row(
            "last error",
            format!(
                "{} {}",
                clock(index.last_error_time.as_ref()),
                index.last_error
            ),
        );
    }
    table.print()
}
