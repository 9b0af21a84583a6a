//! `recollect status`.

use memory_contract::proto::{
    BreakerState, GetDeletionStatusRequest, GetDeletionStatusResponse, GetDistillStatusRequest,
    GetDistillStatusResponse, GetIndexStatusRequest, GetServerInfoRequest, IndexBackend,
    IndexState, ModelProvider, ModelPurpose, ModelStatus,
};

use crate::cli::args::ClientArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Table, clock};

/// Prints the state of the server and its index.
///
/// # Errors
/// When the server cannot be reached or refuses.
pub async fn run(args: ClientArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.server).await?;
    let (mut info, mut index) = (client.admin(), client.admin());
    let (mut distill, mut deletion) = (client.admin(), client.admin());
    let (info, index, distill, deletion) = tokio::join!(
        info.get_server_info(GetServerInfoRequest {}),
        index.get_index_status(GetIndexStatusRequest {}),
        distill.get_distill_status(GetDistillStatusRequest {}),
        deletion.get_deletion_status(GetDeletionStatusRequest {}),
    );
    let info = info.map_err(|status| client.failure(&status))?.into_inner();
    let index = index
        .map_err(|status| client.failure(&status))?
        .into_inner();
    let distill = distill
        .map_err(|status| client.failure(&status))?
        .into_inner();
    let deletion = deletion
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.json {
        let mut lines = JsonLines::stdout();
        lines.write("GetServerInfoResponse", &info)?;
        lines.write("GetIndexStatusResponse", &index)?;
        lines.write("GetDistillStatusResponse", &distill)?;
        lines.write("GetDeletionStatusResponse", &deletion)?;
        return lines.finish();
    }
    let state = match index.state() {
        IndexState::Ready => "ready",
        IndexState::Rebuilding => "being rebuilt",
        IndexState::Unavailable => "does not answer; recall is degraded, history works",
        IndexState::Unspecified => "?",
    };
    let backend = match info.index_backend() {
        IndexBackend::Qdrant => "qdrant",
        IndexBackend::QdrantEdge => "qdrant-edge",
        IndexBackend::Unspecified => "?",
    };
    let lag = seconds(index.lag.as_ref());
    let mut table = Table::new(&["What", "How"]);
    let mut row = |what: &str, how: String| table.row([what.to_owned(), how]);
    row("version", info.version);
    row("running since", clock(info.start_time.as_ref()));
    row("tenant", info.tenant);
    row("postgres", info.postgres_version);
    row("index", format!("{backend}, {state}"));
    row("collection", index.collection);
    row(
        "model",
        match info.embedding_model {
            model if model.is_empty() => "none; recall matches by keyword only".to_owned(),
            model if info.embedding_languages.is_empty() => model,
            model => format!("{model} for {}", info.embedding_languages),
        },
    );
    row(
        "facts from messages",
        match info.extraction_languages {
            languages if languages.is_empty() => "by the language model".to_owned(),
            languages => format!("{languages} only; a language model extracts from others"),
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
    if let Some(storage) = info.storage {
        let of = |used: i64, max: i64, unit: &str| match max {
            0 => format!("{used} {unit}"),
            max => format!("{used} of {max} {unit}"),
        };
        let messages = of(storage.message_count, storage.max_message_count, "messages");
        let bytes = of(storage.stored_bytes, storage.max_stored_bytes, "bytes");
        row("stored", format!("{messages}, {bytes}"));
    }
    distilling(distill, &mut row);
    deleting(deletion, &mut row);
    table.print()
}

/// Deletions under way.
fn deleting(deletion: GetDeletionStatusResponse, row: &mut impl FnMut(&str, String)) {
    let lag = seconds(deletion.lag.as_ref());
    let GetDeletionStatusResponse {
        waiting_count,
        lag: _,
        failing_count,
        last_error,
    } = deletion;
    row(
        "deletions to come",
        format!("{waiting_count}, the oldest {lag:.1} s old"),
    );
    if failing_count > 0 {
        row(
            "deletions that fail",
            format!("{failing_count}: {last_error}"),
        );
    }
}

/// The state of distilling, and its models.
fn distilling(distill: GetDistillStatusResponse, row: &mut impl FnMut(&str, String)) {
    let lag = seconds(distill.lag.as_ref());
    let GetDistillStatusResponse {
        models,
        waiting_thread_count,
        lag: _,
        failing_thread_count,
        last_error,
        waiting_memory_count,
        dropped_fact_count,
        malformed_answer_count,
    } = distill;
    for model in models {
        let what = match model.purpose() {
            ModelPurpose::Generation => "summaries and facts",
            ModelPurpose::Observation => "observations",
            ModelPurpose::Unspecified => "?",
        };
        let provider = match model.provider() {
            ModelProvider::Extractive => "extractive",
            ModelProvider::Openai => "openai",
            ModelProvider::OpenaiCompatible => "openai_compatible",
            ModelProvider::Anthropic => "anthropic",
            ModelProvider::Bedrock => "bedrock",
            ModelProvider::Unspecified => "?",
        };
        let paused = match model.breaker() {
            BreakerState::Open => Some("open"),
            BreakerState::HalfOpen => Some("half_open"),
            BreakerState::Closed | BreakerState::Unspecified => None,
        };
        let ModelStatus {
            model, last_error, ..
        } = model;
        let mut how = match model.is_empty() {
            true => format!("{provider}, no model"),
            false => format!("{model} ({provider})"),
        };
        if let Some(breaker) = paused {
            how.push_str(&format!(", paused ({breaker})"));
        }
        if !last_error.is_empty() {
            how.push_str(&format!("; last: {last_error}"));
        }
        row(what, how);
    }
    row(
        "threads to distill",
        format!(
            "{waiting_thread_count}, the oldest due for {lag:.1} s, {failing_thread_count} failing"
        ),
    );
    if !last_error.is_empty() {
        row("last error in distilling", last_error);
    }
    row("memories to index", waiting_memory_count.to_string());
    if dropped_fact_count + malformed_answer_count > 0 {
        row(
            "useless from models",
            format!("{malformed_answer_count} answers, {dropped_fact_count} facts"),
        );
    }
}

fn seconds(lag: Option<&prost_types::Duration>) -> f64 {
    lag.map_or(0.0, |lag| lag.seconds as f64 + f64::from(lag.nanos) / 1e9)
}
