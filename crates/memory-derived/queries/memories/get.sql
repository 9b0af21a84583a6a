SELECT m.memory_id, m.app_id, m.user_id, m.text, m.type, m.topics, m.entities, m.metadata, m.kind, m.attributes, m.event_time, m.origin,
    m.external_id, m.thread_id, recollect.sources_of($1, m.memory_id) AS sources, m.pinned, m.valid_from, m.valid_until, m.ended_at,
    m.superseded_by, m.made_by, m.strategy, m.version, m.created_at, m.updated_at, m.persisted_at, m.last_used_on, m.ordinal
FROM recollect.memories m
WHERE m.tenant_id = $1 AND m.memory_id = $2
