SELECT m.memory_id, m.app_id, m.user_id, m.text, m.type, m.topics, m.entities, m.origin, m.thread_id,
    m.valid_from, m.valid_until, m.ended_at, m.event_time, m.created_at, m.version, m.metadata, m.kind
FROM recollect.memories m
WHERE m.tenant_id = $1 AND m.memory_id = ANY ($2)
