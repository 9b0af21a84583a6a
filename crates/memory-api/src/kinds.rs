//! Whether the kinds that policies define can be used, and whether the memories that callers store
//! fit the kinds of their app. Schemas are compiled and applied on threads that may block.

use memory_checksum::canonical_object;
use memory_contract::{
    AppId, Invalid, InvalidFields, MemoryId,
    json::JsonObject,
    memory::{ListedMemory, MemoryChange, MemoryKind, NewMemory},
    policy::PolicyChange,
};
use memory_grpc::ApiError;
use memory_kinds::{Kinds, check_kinds};
use memory_store::{Caller, MemoryError, Store, StoreError, WorkingTarget};
use tokio::task::spawn_blocking;

/// The kind of a memory, and its attributes.
type KindFields = (String, JsonObject);

/// Checks the kinds that a change of an app's policy sets. `field` is the path of the policy in the
/// request.
pub(crate) async fn check_policy(
    field: &'static str,
    change: &PolicyChange,
) -> Result<(), ApiError> {
    let Some(kinds) = change.set.memory_kinds.clone() else {
        return Ok(());
    };
    let checked = spawn_blocking(move || check_kinds(&kinds)).await?;
    Ok(checked.map_err(|invalid| invalid.within(field))?)
}

/// Checks new memories of an app. `path` gives the path of each in the request, by its place.
pub(crate) async fn check_new(
    store: &Store,
    caller: &Caller,
    app: &AppId,
    memories: &[NewMemory],
    path: impl Fn(usize) -> String,
) -> Result<(), ApiError> {
    if !memories.iter().any(has_kind) {
        return Ok(());
    }
    let kinds = kinds_of(store, caller, app).await?;
    let found = problems(kinds, memories.iter().map(fields_of).collect()).await?;
    let found = found.into_iter().enumerate();
    let invalid = found.filter_map(|(index, wrong)| Some(wrong?.within(path(index))));
    Ok(InvalidFields::none_of(invalid.collect())?)
}

/// Checks the memories of a working memory. One that is sent back with the kind that it has is
/// taken, also after the app's policy has changed.
pub(crate) async fn check_listed(
    store: &Store,
    caller: &Caller,
    target: &WorkingTarget,
    memories: &[ListedMemory],
) -> Result<(), ApiError> {
    if !memories.iter().any(|listed| has_kind(&listed.content)) {
        return Ok(());
    }
    let kinds = match target {
        WorkingTarget::Session(session) => kinds_of(store, caller, &session.app).await?,
        WorkingTarget::Thread(thread) => {
            let policy = store.policies(caller).policies(*thread).await?.app;
            policy.memory_kinds.unwrap_or_default()
        }
    };
    let fields: Vec<KindFields> = memories
        .iter()
        .map(|listed| fields_of(&listed.content))
        .collect();
    let found = problems(kinds, fields.clone()).await?;
    let mut invalid = Vec::new();
    for (index, wrong) in found.into_iter().enumerate() {
        let Some(wrong) = wrong else {
            continue;
        };
        let stored = match memories[index].id {
            Some(id) => stored_kind(store, caller, id).await?,
            None => None,
        };
        if !stored.is_some_and(|stored| are_same(&stored, &fields[index])) {
            invalid.push(wrong.within(format_args!("memories[{index}]")));
        }
    }
    Ok(InvalidFields::none_of(invalid)?)
}

/// Checks the kind and the attributes that a stored memory would have. Then `change` has both, so
/// that they fit each other whatever else changes the memory.
pub(crate) async fn check_change(
    store: &Store,
    caller: &Caller,
    id: MemoryId,
    change: &mut MemoryChange,
) -> Result<(), ApiError> {
    if change.own_kind.is_none() && change.attributes.is_none() {
        return Ok(());
    }
    let stored = store.memories(caller).get_memory(id).await?.memory;
    let before = (stored.own_kind, stored.attributes);
    let own_kind = change.own_kind.clone().unwrap_or(before.0.clone());
    let attributes = match &change.attributes {
        Some(attributes) => attributes.clone(),
        // They go with their kind.
        None if own_kind.is_empty() => JsonObject::default(),
        None => before.1.clone(),
    };
    let after = (own_kind, attributes);
    if !are_same(&after, &before) {
        let kinds = kinds_of(store, caller, &stored.owner.app).await?;
        let found = problems(kinds, vec![after.clone()]).await?;
        let found = found.into_iter().flatten();
        let found = found.map(|invalid| invalid.within("memory"));
        InvalidFields::none_of(found.collect())?;
    }
    (change.own_kind, change.attributes) = (Some(after.0), Some(after.1));
    Ok(())
}

fn has_kind(memory: &NewMemory) -> bool {
    !memory.own_kind.is_empty()
}

fn fields_of(memory: &NewMemory) -> KindFields {
    (memory.own_kind.clone(), memory.attributes.clone())
}

/// Whether two memories have the same kind and equal attributes, however their JSON is written: the
/// database does not store it as it was sent.
fn are_same(one: &KindFields, other: &KindFields) -> bool {
    let canonical = |fields: &KindFields| canonical_object(fields.1.as_str());
    one.0 == other.0 && canonical(one) == canonical(other)
}

async fn kinds_of(
    store: &Store,
    caller: &Caller,
    app: &AppId,
) -> Result<Vec<MemoryKind>, ApiError> {
    let policy = store.policies(caller).app_policy(app).await?.policy;
    Ok(policy.memory_kinds.unwrap_or_default())
}

/// What is wrong with each of the memories, in their order; `None` for those that fit the kinds.
async fn problems(
    kinds: Vec<MemoryKind>,
    memories: Vec<KindFields>,
) -> Result<Vec<Option<Invalid>>, ApiError> {
    let check = move || {
        let kinds = Kinds::new(&kinds);
        let memories = memories.iter();
        let checked = memories.map(|(kind, attributes)| kinds.check_fields(kind, attributes));
        checked.map(Result::err).collect()
    };
    Ok(spawn_blocking(check).await?)
}

/// The kind and the attributes of a stored memory; `None` if there is no such memory.
async fn stored_kind(
    store: &Store,
    caller: &Caller,
    id: MemoryId,
) -> Result<Option<KindFields>, ApiError> {
    match store.memories(caller).get_memory(id).await {
        Ok(found) => Ok(Some((found.memory.own_kind, found.memory.attributes))),
        Err(StoreError::Memory(MemoryError::NotFound)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
