//! Reads the profile of a user.

use memory_budget::Tokenizer;
use memory_context::{Profile, ProfileEntry, read_profile};
use memory_contract::proto::{self, GetProfileRequest, GetProfileResponse};
use memory_contract::{
    InvalidFields, check,
    convert::{memory_times_from, timestamp},
    limits,
    memory::{MemoryOwner, MemoryTimes},
};
use memory_grpc::request::{Fields, tokenizer_from};
use memory_grpc::{ApiError, caller_of};
use tonic::Request;

use super::Memories;
use super::request::memory_owner_from;

/// What is asked for.
struct Asked {
    owner: MemoryOwner,
    times: MemoryTimes,
    /// `None`: what the policy says.
    max_tokens: Option<i32>,
    tokenizer: Tokenizer,
}

impl Memories {
    pub(super) async fn profile(
        &self,
        request: Request<GetProfileRequest>,
    ) -> Result<GetProfileResponse, ApiError> {
        let caller = caller_of(&request)?;
        self.store.require_long_term_memory()?;
        let Asked {
            owner,
            times,
            max_tokens,
            tokenizer,
        } = asked_in(request.into_inner())?;
        let policy = self.app_policy(&caller, &owner.app).await?;
        let by_policy = match policy.profile_tokens {
            0 => limits::PROFILE_TOKENS,
            tokens => i32::try_from(tokens).unwrap_or(i32::MAX),
        };
        let max_tokens = max_tokens.unwrap_or(by_policy);
        let owners = self.reached(&caller, &owner, &policy).await?;
        let profile =
            read_profile(&self.store, &caller, &owners, times, max_tokens, tokenizer).await?;
        Ok(answer(profile))
    }
}

fn asked_in(request: GetProfileRequest) -> Result<Asked, InvalidFields> {
    let GetProfileRequest {
        user,
        max_tokens,
        model,
        as_of,
        known_at,
    } = request;
    let mut fields = Fields::default();
    let owner = memory_owner_from(&mut fields, user);
    let times = fields.take(memory_times_from(as_of, known_at));
    let most = limits::PROFILE_TOKENS_MAX;
    let max_tokens = max_tokens.map(|tokens| check::range("max_tokens", tokens, 1, most));
    let max_tokens = fields.take(max_tokens.transpose());
    let tokenizer = fields.take(tokenizer_from(model));
    Ok(Asked {
        owner: fields.all(owner)?,
        times,
        max_tokens,
        tokenizer,
    })
}

fn answer(profile: Profile) -> GetProfileResponse {
    let Profile {
        entries,
        text,
        tokens,
        tokenizer,
        hash,
        omitted,
    } = profile;
    GetProfileResponse {
        entries: entries.into_iter().map(entry).collect(),
        text,
        total_tokens: tokens,
        tokenizer: tokenizer.name().to_owned(),
        hash,
        omitted_count: omitted,
    }
}

fn entry(entry: ProfileEntry) -> proto::ProfileEntry {
    let ProfileEntry {
        text,
        topic,
        memories,
        pinned,
        event,
        valid_from,
    } = entry;
    proto::ProfileEntry {
        text,
        topic,
        memory_ids: memories.iter().map(ToString::to_string).collect(),
        pinned,
        event_time: event.map(timestamp),
        valid_from: Some(timestamp(valid_from)),
    }
}
