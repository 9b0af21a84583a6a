SELECT a.created, a.missing, recollect.memory_queue($1, $3, $4) AS queue, a.revision,
    m.memory_id, m.app_id, m.user_id, m.text, m.type, m.topics, m.entities, m.metadata, m.kind, m.attributes, m.event_time, m.origin,
    m.external_id, m.thread_id, a.sources, m.pinned, m.valid_from, m.valid_until, m.ended_at,
    m.superseded_by, m.made_by, m.strategy, m.version, m.created_at, m.updated_at, m.persisted_at, m.last_used_on, m.ordinal
FROM recollect.import_memories($1, $2, $3, $4, $5, $6) AS a
CROSS JOIN LATERAL (SELECT (a.memory).*) AS m
