//! Reads requests for memories.

use memory_contract::proto::{
    self, DeleteMemoriesRequest, ImportMemoriesRequest, SearchMemoriesRequest, UserRef,
};
use memory_contract::{
    AppId, Invalid, InvalidFields, UserId, check,
    convert::{duration_in, memory_filter_from, optional_float, stored_memories_from},
    limits,
    memory::{Memory, MemoryFilter, MemoryOwner},
};
use memory_recall::MemoryQuery;
use memory_store::{Forget, MemoryOwners};
use tonic::metadata::MetadataMap;

use memory_grpc::request::{
    Fields, NamedConversation, conversation_at, freshness_from, method_from, required_owner_from,
    required_user_from, search_top_k_from,
};

/// Reads the user of memories.
pub(super) fn memory_owner_from(fields: &mut Fields, user: Option<UserRef>) -> Option<MemoryOwner> {
    let (app, user) = fields.get_all(required_user_from(user))?;
    Some(MemoryOwner { app, user })
}

/// Reads a search, and the thread that its filter names.
pub(super) fn query_from(
    metadata: &MetadataMap,
    request: SearchMemoriesRequest,
) -> Result<(MemoryQuery, Option<NamedConversation>), InvalidFields> {
    let SearchMemoriesRequest {
        target,
        query,
        top_k,
        min_score,
        filter,
        method,
        freshness,
    } = request;
    let mut fields = Fields::default();
    let owners = required_owner_from(&mut fields, metadata, target);
    let owners = owners.map(|(app, user)| match user {
        Some(user) => MemoryOwners::User(MemoryOwner { app, user }),
        None => MemoryOwners::App(app),
    });
    let query = fields.take(check::required_text("query", query, limits::QUERY_CHARS));
    let limit = fields.take(search_top_k_from(top_k));
    let min_score = fields.take(optional_float("min_score", min_score, 0.0, 1.0));
    let filter = filter_from(&mut fields, metadata, filter);
    let method = fields.take(method_from(method));
    let freshness = fields.get(freshness_from(freshness));
    let (owners, (freshness, max_wait)) = fields.all(owners.zip(freshness))?;
    let Filter { filter, thread } = filter;
    let query = MemoryQuery {
        // Whether they extend to a space depends on the app's policy.
        owners,
        query,
        limit,
        filter,
        method,
        min_score: min_score.unwrap_or_default(),
        freshness,
        max_wait,
    };
    Ok((query, thread))
}

/// A filter of memories, and the thread that it names.
pub(super) struct Filter {
    pub(super) filter: MemoryFilter,
    pub(super) thread: Option<NamedConversation>,
}

/// Reads a filter.
pub(super) fn filter_from(
    fields: &mut Fields,
    metadata: &MetadataMap,
    filter: Option<proto::MemoryFilter>,
) -> Filter {
    let named = filter.as_ref().and_then(|filter| filter.thread.clone());
    let thread = conversation_at(metadata, "filter.thread", named);
    Filter {
        thread: fields.take(thread),
        filter: fields.take(memory_filter_from(filter)),
    }
}

/// Reads memories to import.
pub(super) fn stored_from(
    request: ImportMemoriesRequest,
) -> Result<(MemoryOwner, Vec<Memory>), InvalidFields> {
    let ImportMemoriesRequest { user, memories } = request;
    let mut fields = Fields::default();
    let owner = memory_owner_from(&mut fields, user);
    // Invalid memories are reported even if the owner is invalid.
    let read_for = owner.clone().unwrap_or_else(|| MemoryOwner {
        app: AppId::new(""),
        user: UserId::new(""),
    });
    let memories = fields.get_all(stored_memories_from("memories", &read_for, memories));
    fields.all(owner.zip(memories))
}

/// Reads which memories to forget.
pub(super) fn forget_from(
    metadata: &MetadataMap,
    request: DeleteMemoriesRequest,
) -> Result<Forget, InvalidFields> {
    let DeleteMemoriesRequest {
        target,
        max_age,
        max_inactivity,
        max_count,
        dry_run,
    } = request;
    let mut fields = Fields::default();
    if max_age.is_none() && max_inactivity.is_none() && max_count.is_none() {
        let missing = Invalid::new(
            "max_age",
            "is required, or else max_inactivity or max_count",
        );
        fields.take(Err::<(), _>(missing));
    }
    let owner = required_owner_from(&mut fields, metadata, target);
    let longest = limits::KEPT_MAX;
    let max_age = fields.take(duration_in("max_age", max_age, limits::AGE_MIN, longest));
    let max_inactivity = fields.take(duration_in(
        "max_inactivity",
        max_inactivity,
        limits::INACTIVITY_MIN,
        longest,
    ));
    let count = |count| check::range("max_count", count, 1, limits::MEMORY_COUNT_MAX);
    let max_count = fields.take(max_count.map(count).transpose());
    let (app, user) = fields.all(owner)?;
    Ok(Forget {
        app,
        user,
        max_age,
        max_inactivity,
        max_count: max_count.map(i32::unsigned_abs),
        dry_run,
    })
}
