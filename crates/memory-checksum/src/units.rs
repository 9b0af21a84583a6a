//! The fields of each exported unit that its digest covers: those that an import stores
//! again.

use memory_contract::proto::{AppPolicy, ExportedDocument, File, Memory, Plan};
use sha2::{Digest as _, Sha256};

use crate::digest::{UnitDigest, canonical_object, put};

/// The digest of an app's policy, without its update time.
pub fn app_policy_digest(policy: &AppPolicy) -> UnitDigest {
    let AppPolicy {
        app_id,
        policy,
        update_time: _,
        etag: _,
    } = policy;
    let content = AppPolicy {
        app_id: app_id.clone(),
        policy: Some(policy.clone().unwrap_or_default()),
        ..AppPolicy::default()
    };
    let mut hash = Sha256::new();
    put(&mut hash, b"app_policy", &content);
    UnitDigest(hash.finalize().into())
}

/// The digest of a registered file, without its times.
pub fn file_digest(file: &File) -> UnitDigest {
    let File {
        location,
        // Derived from the location.
        transfer_method: _,
        r#type,
        storage_key,
        name,
        mime_type,
        size_bytes,
        create_time: _,
        update_time: _,
    } = file;
    let content = File {
        location: location.clone(),
        r#type: *r#type,
        storage_key: storage_key.clone(),
        name: name.clone(),
        mime_type: mime_type.clone(),
        size_bytes: *size_bytes,
        ..File::default()
    };
    let mut hash = Sha256::new();
    put(&mut hash, b"file", &content);
    UnitDigest(hash.finalize().into())
}

/// The digest of a memory, without its thread's id, which differs after an import, and
/// without the times of change, use and indexing.
pub fn memory_digest(memory: &Memory) -> UnitDigest {
    let Memory {
        memory_id,
        app_id,
        user_id,
        text,
        r#type,
        topics,
        entities,
        event_time,
        origin,
        external_id,
        thread_id: _,
        source_message_ids,
        pinned,
        valid_from,
        valid_until,
        superseded_by,
        create_time,
        update_time: _,
        persist_time: _,
        last_use_time: _,
        made_by,
        extraction_strategy,
        etag: _,
        metadata,
        built_on_memory_ids: _,
        known_until,
        kind,
        attributes,
    } = memory;
    let content = Memory {
        memory_id: memory_id.clone(),
        app_id: app_id.clone(),
        user_id: user_id.clone(),
        text: text.clone(),
        r#type: *r#type,
        topics: topics.clone(),
        entities: entities.clone(),
        event_time: *event_time,
        origin: *origin,
        external_id: external_id.clone(),
        source_message_ids: source_message_ids.clone(),
        pinned: Some(pinned.unwrap_or_default()),
        valid_from: *valid_from,
        valid_until: *valid_until,
        superseded_by: superseded_by.clone(),
        create_time: *create_time,
        made_by: made_by.clone(),
        extraction_strategy: *extraction_strategy,
        metadata: canonical_object(metadata),
        known_until: *known_until,
        kind: kind.clone(),
        attributes: canonical_object(attributes),
        ..Memory::default()
    };
    let mut hash = Sha256::new();
    put(&mut hash, b"memory", &content);
    UnitDigest(hash.finalize().into())
}

/// The digest of a document.
pub fn document_digest(document: &ExportedDocument) -> UnitDigest {
    let content = ExportedDocument {
        json: canonical_object(&document.json),
        ..document.clone()
    };
    let mut hash = Sha256::new();
    put(&mut hash, b"document", &content);
    UnitDigest(hash.finalize().into())
}

/// The digest of a plan, without its times.
pub fn plan_digest(plan: &Plan) -> UnitDigest {
    let mut hash = Sha256::new();
    put(&mut hash, b"plan", &bare_plan(plan));
    UnitDigest(hash.finalize().into())
}

pub(crate) fn bare_plan(plan: &Plan) -> Plan {
    let Plan {
        goal,
        current_phase,
        iteration_count,
        steps,
        data,
        etag: _,
        create_time: _,
        update_time: _,
    } = plan;
    Plan {
        goal: goal.clone(),
        current_phase: current_phase.clone(),
        iteration_count: *iteration_count,
        steps: steps.clone(),
        data: canonical_object(data),
        ..Plan::default()
    }
}
