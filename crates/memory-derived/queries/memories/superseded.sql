-- The memories that a memory superseded, directly or not. All are of the same user.
WITH RECURSIVE chain (memory_id, app_id, user_id) AS (
    SELECT m.memory_id, m.app_id, m.user_id
    FROM recollect.memories own
    JOIN recollect.memories m
        ON m.tenant_id = $1 AND m.superseded_by = $2 AND m.app_id = own.app_id AND m.user_id = own.user_id
    WHERE own.tenant_id = $1 AND own.memory_id = $2
    UNION
    SELECT m.memory_id, m.app_id, m.user_id
    FROM chain
    JOIN recollect.memories m
        ON m.tenant_id = $1 AND m.superseded_by = chain.memory_id
        AND m.app_id = chain.app_id AND m.user_id = chain.user_id
)
SELECT m.memory_id, m.app_id, m.user_id, m.text, m.type, m.topics, m.entities, m.metadata, m.kind, m.attributes, m.event_time, m.origin,
    m.external_id, m.thread_id, recollect.sources_of($1, m.memory_id) AS sources, m.pinned, m.valid_from, m.valid_until, m.ended_at,
    m.superseded_by, m.made_by, m.strategy, m.version, m.created_at, m.updated_at, m.persisted_at, m.last_used_on, m.ordinal
FROM chain
JOIN recollect.memories m ON m.tenant_id = $1 AND m.memory_id = chain.memory_id
ORDER BY m.ended_at DESC, m.ordinal DESC
LIMIT $3
