//! Reads the derived text of a path, and the messages that it does not cover.

use memory_contract::{MessageId, MessageName, ThreadId};
use memory_database::{
    StoreError,
    rows::{self, column, only, optional_id},
};
use memory_postgres::{Params, query};
use serde::Deserialize;
use time::OffsetDateTime;
use tokio_postgres::{Row, types::Json};
use uuid::Uuid;

use super::{DistillKind, Distillate, Place, Standing};
use crate::DistillateStore;

/// A range of messages in full, which no derived text replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Raw {
    /// They are deeper than this,
    pub after_depth: i32,
    /// and not deeper than this.
    pub to_depth: i32,
    /// How many can be read.
    pub message_count: i64,
    /// Their tokens of `o200k_base`.
    pub message_tokens: i64,
}

/// The generation of a thread for each kind of derived text. A commit that names an older
/// one is rejected, because text of the kind was derived or content was erased since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generations {
    /// Raised by each commit of a summary and by erasures.
    pub summaries: i64,
    /// Raised by each commit of an observation or reflection and by erasures.
    pub observations: i64,
}

impl Generations {
    pub(super) fn of(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            summaries: column(row, "summary_generation")?,
            observations: column(row, "observation_generation")?,
        })
    }
}

/// The derived text of the path to a head, and the messages that it does not cover: one snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct DistillState {
    /// The generations at the read.
    pub generations: Generations,
    /// The head; `None` in an empty thread.
    pub head: Option<MessageId>,
    /// The branches of the path, the newest first, each with the depth down to
    /// which it belongs to the path.
    pub path: Vec<Place>,
    /// Tokens from the root to the head, including the tokens of erased messages: compared with
    /// `distill_at`.
    pub path_tokens: i64,
    /// The summary that holds and, if requested, the replaced ones, in order of number.
    pub summaries: Vec<Distillate>,
    /// Readable messages of the path that a summary covers.
    pub summarized_count: i64,
    /// Readable messages of the path that were set aside.
    pub set_aside_count: i64,
    /// The messages that no summary covers: the working set.
    pub unsummarized: Raw,
    /// The observations and reflections that hold or are ready and, if requested, those
    /// that were replaced.
    pub observations: Vec<Distillate>,
    /// The messages that no active observation covers, in order of depth: the newest
    /// ones, and older ones whose observation was erased.
    pub unobserved: Vec<Raw>,
    /// The path's tokens at which the next run is due.
    pub distill_at: i64,
    /// The seq given out last.
    pub last_seq: i64,
    /// The error of the last run; empty after a success.
    pub last_error: String,
    /// The working memory has expired and has to be forgotten: see [`WorkingMemoryStore::expire_working_memory`](crate::WorkingMemoryStore::expire_working_memory).
    pub expired: bool,
}

impl DistillState {
    /// The summary whose text is the context.
    pub fn summary(&self) -> Option<&Distillate> {
        let holds = |one: &&Distillate| one.standing == Standing::Holds;
        self.summaries.iter().find(holds)
    }

    /// The observations of a standing, in the order of the messages that they cover.
    pub fn observations_that(&self, standing: Standing) -> Vec<&Distillate> {
        let mut found: Vec<_> = self
            .observations
            .iter()
            .filter(|one| one.standing == standing)
            .collect();
        found.sort_by_key(|one| (one.end.depth, one.number));
        found
    }
}

impl DistillateStore<'_> {
    /// Reads the derived text of the path to a head, in one round trip; `None` for the
    /// thread's head. `replaced` includes the texts that do not hold any more.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`.
    pub async fn distill_state(
        self,
        thread: ThreadId,
        head: Option<&MessageName>,
        replaced: bool,
    ) -> Result<DistillState, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &thread.uuid(),
            &head.map(MessageName::as_str),
            &replaced,
        ];
        let state = query!("distillates/state");
        let row = only(self.store.pool.within(self.caller, state, params).await?)?;
        match column(&row, "status")? {
            "ok" => state_of(&row),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            "message_not_found" => Err(StoreError::MessageNotFound),
            other => Err(rows::unknown_status(other)),
        }
    }
}

/// A distillate as the database returns it.
#[derive(Deserialize)]
struct Stored {
    kind: DistillKind,
    number: i64,
    standing: Standing,
    branch: i32,
    after_depth: i32,
    to_depth: i32,
    text: String,
    tokens: i32,
    made_by: String,
    based_on: Option<i64>,
    own_text: bool,
    sets_aside: bool,
    active: bool,
    reflects: Option<Vec<i64>>,
    message_count: i64,
    message_tokens: i64,
    first_id: Option<Uuid>,
    last_id: Option<Uuid>,
    created_us: i64,
}

fn state_of(row: &Row) -> Result<DistillState, StoreError> {
    let branches: Vec<i32> = column(row, "branches")?;
    let depths: Vec<i32> = column(row, "depths")?;
    let stored: Json<Vec<Stored>> = column(row, "distillates")?;
    let all = stored.0.into_iter().map(Distillate::try_from);
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let (summaries, observations) = all
        .into_iter()
        .partition(|one| one.kind == DistillKind::Summary);
    Ok(DistillState {
        generations: Generations::of(row)?,
        head: optional_id(row, "head_id")?,
        path: branches
            .into_iter()
            .zip(depths)
            .map(|(branch, depth)| Place { branch, depth })
            .collect(),
        path_tokens: column(row, "path_tokens")?,
        summaries,
        summarized_count: column(row, "summarized_count")?,
        set_aside_count: column(row, "set_aside_count")?,
        unsummarized: column::<Json<Raw>>(row, "raw_summary")?.0,
        observations,
        unobserved: column::<Json<Vec<Raw>>>(row, "raw_observations")?.0,
        distill_at: column(row, "distill_at")?,
        last_seq: column(row, "last_seq")?,
        last_error: column(row, "last_error")?,
        expired: column(row, "expired")?,
    })
}

impl TryFrom<Stored> for Distillate {
    type Error = StoreError;

    fn try_from(stored: Stored) -> Result<Self, StoreError> {
        let Stored {
            kind,
            number,
            standing,
            branch,
            after_depth,
            to_depth,
            text,
            tokens,
            made_by,
            based_on,
            own_text,
            sets_aside,
            active,
            reflects,
            message_count,
            message_tokens,
            first_id,
            last_id,
            created_us,
        } = stored;
        let created = OffsetDateTime::from_unix_timestamp_nanos(i128::from(created_us) * 1_000);
        Ok(Self {
            kind,
            number,
            standing,
            end: Place {
                branch,
                depth: to_depth,
            },
            after_depth,
            text,
            tokens,
            made_by,
            based_on,
            own_text,
            sets_aside,
            active,
            reflects: reflects.unwrap_or_default(),
            message_count,
            message_tokens,
            first: first_id.map(MessageId::from),
            last: last_id.map(MessageId::from),
            created: created.map_err(|_| StoreError::Corrupt {
                what: "distillate",
                why: "its time is out of range".to_owned(),
            })?,
        })
    }
}
