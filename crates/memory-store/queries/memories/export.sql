-- The next $7 memories after app $4, user $5 and ordinal $6. The other parameters filter;
-- null: any.
SELECT m.memory_id, m.app_id, m.user_id, m.text, m.type, m.topics, m.entities, m.event_time, m.origin,
    m.record_id, m.thread_id, recollect.sources_of($1, m.memory_id) AS sources, m.pinned, m.valid_from, m.valid_until, m.superseded_by,
    m.made_by, m.strategy, m.version, m.created_at, m.updated_at, m.persisted_at, m.last_used_on, m.ordinal
FROM recollect.memories m
WHERE m.tenant_id = $1
    AND ($2::text IS NULL OR m.app_id = $2)
    AND ($3::text IS NULL OR m.user_id = $3)
    AND (m.app_id, m.user_id, m.ordinal) > ($4, $5, $6)
ORDER BY m.app_id, m.user_id, m.ordinal
LIMIT $7
