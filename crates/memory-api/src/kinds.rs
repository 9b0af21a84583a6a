//! Whether the memories that callers store fit the kinds of their app.

use memory_contract::{
    AppId, InvalidFields, MemoryId,
    json::JsonObject,
    memory::{ListedMemory, MemoryChange, NewMemory},
};
use memory_grpc::ApiError;
use memory_kinds::Kinds;
use memory_store::{Caller, MemoryError, Store, StoreError, WorkingTarget};

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
    let mut invalid = Vec::new();
    for (index, memory) in memories.iter().enumerate() {
        if let Err(wrong) = kinds.check_fields(&memory.own_kind, &memory.attributes) {
            invalid.push(wrong.within(path(index)));
        }
    }
    Ok(InvalidFields::none_of(invalid)?)
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
            Kinds::new(policy.memory_kinds.as_deref().unwrap_or_default())
        }
    };
    let mut invalid = Vec::new();
    for (index, listed) in memories.iter().enumerate() {
        let NewMemory {
            own_kind,
            attributes,
            ..
        } = &listed.content;
        let Err(wrong) = kinds.check_fields(own_kind, attributes) else {
            continue;
        };
        let stored = match listed.id {
            Some(id) => stored_kind(store, caller, id).await?,
            None => None,
        };
        if stored.is_none_or(|stored| stored != (own_kind.clone(), attributes.clone())) {
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
    if after != before {
        let kinds = kinds_of(store, caller, &stored.owner.app).await?;
        let fits = kinds.check_fields(&after.0, &after.1);
        fits.map_err(|invalid| invalid.within("memory"))?;
    }
    (change.own_kind, change.attributes) = (Some(after.0), Some(after.1));
    Ok(())
}

fn has_kind(memory: &NewMemory) -> bool {
    !memory.own_kind.is_empty()
}

async fn kinds_of(store: &Store, caller: &Caller, app: &AppId) -> Result<Kinds, ApiError> {
    let policy = store.policies(caller).app_policy(app).await?.policy;
    Ok(Kinds::new(
        policy.memory_kinds.as_deref().unwrap_or_default(),
    ))
}

/// The kind and the attributes of a stored memory; `None` if there is no such memory.
async fn stored_kind(
    store: &Store,
    caller: &Caller,
    id: MemoryId,
) -> Result<Option<(String, JsonObject)>, ApiError> {
    match store.memories(caller).get_memory(id).await {
        Ok(found) => Ok(Some((found.memory.own_kind, found.memory.attributes))),
        Err(StoreError::Memory(MemoryError::NotFound)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
