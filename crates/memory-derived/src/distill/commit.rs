//! Stores derived text.
//!
//! Each commit names the generation of its kind that its text was made of. If the thread
//! has another generation now, text of the kind was derived or content was erased since:
//! the text is stale, and nothing is stored. So no message is covered twice, and erased
//! content never comes back.

use std::slice;

use memory_contract::ThreadId;
use memory_database::{
    StoreError,
    rows::{self, column, only},
};
use memory_postgres::{Params, Query, query};

use super::Place;
use crate::DistillateStore;

/// The result of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The text is stored.
    Done(Committed),
    /// Nothing is stored, because text of the kind was derived or content was erased
    /// since. Read the state again.
    Stale,
}

/// The result of a successful commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The number of the text; of several the highest.
    pub number: i64,
    /// The kind's generation from now on.
    pub generation: i64,
}

/// A summary to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSummary {
    /// The generation of summaries that it was made of.
    pub generation: i64,
    /// Its last message, which can be read; branch and depth 0 where it covers
    /// nothing and there is nothing before it.
    pub end: Place,
    /// The depth at which the summary that holds on the path to `end` ends; 0 without one.
    /// `end.depth` where it covers no message.
    pub after_depth: i32,
    /// The text. It is empty only where it covers nothing, or sets aside.
    pub text: String,
    /// Its size in tokens of `o200k_base`.
    pub tokens: i32,
    /// `extractive`, a model, `caller` or `worker`.
    pub made_by: String,
    /// The number of the summary that holds on the path to `end`.
    pub based_on: Option<i64>,
    /// The text does not continue that one's, so erasing the messages of that one does
    /// not erase this text.
    pub own_text: bool,
    /// The messages are set aside: they leave the working memory, and the text does not
    /// come from them, so erasing one of them does not erase it.
    pub sets_aside: bool,
}

/// An observation to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObservation {
    /// The generation of observations that it was made of.
    pub generation: i64,
    /// Its last message, which can be read.
    pub end: Place,
    /// It covers the messages deeper than this that no other observation of the path
    /// covers.
    pub after_depth: i32,
    /// The text; never empty.
    pub text: String,
    /// Its size in tokens of `o200k_base`.
    pub tokens: i32,
    /// `extractive` or a model.
    pub made_by: String,
    /// Whether it replaces its messages at once.
    pub active: bool,
}

/// A reflection to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReflection {
    /// The generation of observations that it was made of.
    pub generation: i64,
    /// The observations and reflections that it condenses, which hold on one
    /// path; at least one.
    pub reflects: Vec<i64>,
    /// The text; never empty.
    pub text: String,
    /// Its size in tokens of `o200k_base`.
    pub tokens: i32,
    /// `extractive` or a model.
    pub made_by: String,
    /// Whether it replaces them at once.
    pub active: bool,
}

impl DistillateStore<'_> {
    /// Stores a summary that begins where the one that holds ends.
    ///
    /// # Errors
    /// `ThreadNotFound`; `Misplaced` if it does not fit the state of its generation.
    pub async fn commit_summary(
        self,
        thread: ThreadId,
        new: &NewSummary,
    ) -> Result<Commit, StoreError> {
        let tenant = &self.caller.tenant;
        let NewSummary {
            generation,
            end: Place { branch, depth },
            after_depth,
            text,
            tokens,
            made_by,
            based_on,
            own_text,
            sets_aside,
        } = new;
        let actor = self.caller.actor.as_str();
        let params: Params<'_> = &[
            &tenant.as_str(),
            &actor,
            &thread.uuid(),
            generation,
            branch,
            after_depth,
            depth,
            text,
            tokens,
            made_by,
            based_on,
            own_text,
            sets_aside,
        ];
        let commit = query!("distillates/commit_summary");
        self.commit(commit, params).await
    }

    /// Stores an observation.
    ///
    /// # Errors
    /// As [`DistillateStore::commit_summary`](crate::DistillateStore::commit_summary).
    pub async fn commit_observation(
        self,
        thread: ThreadId,
        new: &NewObservation,
    ) -> Result<Commit, StoreError> {
        self.commit_observations(thread, slice::from_ref(new)).await
    }

    /// Stores observations in order, in one transaction: at least one, of ranges that do
    /// not overlap, all made of the generation of the first.
    ///
    /// # Errors
    /// As [`DistillateStore::commit_summary`](crate::DistillateStore::commit_summary); those
    /// before the one that is misplaced are stored.
    pub async fn commit_observations(
        self,
        thread: ThreadId,
        new: &[NewObservation],
    ) -> Result<Commit, StoreError> {
        let tenant = &self.caller.tenant;
        let actor = self.caller.actor.as_str();
        let generation = new.first().map_or(0, |one| one.generation);
        let params: Params<'_> = &[
            &tenant.as_str(),
            &actor,
            &thread.uuid(),
            &generation,
            &each(new, |one| one.end.branch),
            &each(new, |one| one.after_depth),
            &each(new, |one| one.end.depth),
            &each(new, |one| one.text.as_str()),
            &each(new, |one| one.tokens),
            &each(new, |one| one.made_by.as_str()),
            &each(new, |one| one.active),
        ];
        let commit = query!("distillates/commit_observations");
        self.commit(commit, params).await
    }

    /// Activates observations or reflections that are ready, all of them or none: they
    /// replace what they cover. Reflections that were ready for the same observations are
    /// dropped.
    ///
    /// # Errors
    /// As [`DistillateStore::commit_summary`](crate::DistillateStore::commit_summary).
    pub async fn activate_observations(
        self,
        thread: ThreadId,
        generation: i64,
        numbers: &[i64],
    ) -> Result<Commit, StoreError> {
        let tenant = &self.caller.tenant;
        let actor = self.caller.actor.as_str();
        let params: Params<'_> = &[
            &tenant.as_str(),
            &actor,
            &thread.uuid(),
            &generation,
            &numbers,
        ];
        let activate = query!("distillates/activate");
        self.commit(activate, params).await
    }

    /// Stores a reflection. An active one drops the ready ones of the same observations.
    ///
    /// # Errors
    /// As [`DistillateStore::commit_summary`](crate::DistillateStore::commit_summary).
    pub async fn commit_reflection(
        self,
        thread: ThreadId,
        new: &NewReflection,
    ) -> Result<Commit, StoreError> {
        let tenant = &self.caller.tenant;
        let NewReflection {
            generation,
            reflects,
            text,
            tokens,
            made_by,
            active,
        } = new;
        let actor = self.caller.actor.as_str();
        let params: Params<'_> = &[
            &tenant.as_str(),
            &actor,
            &thread.uuid(),
            generation,
            reflects,
            text,
            tokens,
            made_by,
            active,
        ];
        let commit = query!("distillates/commit_reflection");
        self.commit(commit, params).await
    }

    async fn commit(self, query: Query, params: Params<'_>) -> Result<Commit, StoreError> {
        let row = only(self.store.pool.call(self.caller, query, params).await?)?;
        match column(&row, "status")? {
            "ok" => Ok(Commit::Done(Committed {
                number: column(&row, "number")?,
                generation: column(&row, "generation")?,
            })),
            "stale" => Ok(Commit::Stale),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            "misplaced" => Err(StoreError::Misplaced),
            other => Err(rows::unknown_status(other)),
        }
    }
}

/// A column of observations.
fn each<'a, T>(new: &'a [NewObservation], of: impl Fn(&'a NewObservation) -> T) -> Vec<T> {
    new.iter().map(of).collect()
}
