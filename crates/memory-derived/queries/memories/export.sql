-- The next $7 memories after app $4, user $5 and ordinal $6. The other parameters filter;
-- null: any.
SELECT m.memory_id, m.app_id, m.user_id, m.text, m.type, m.topics, m.entities, m.metadata, m.kind, m.attributes, m.event_time, m.origin,
    m.external_id, m.thread_id, recollect.sources_of($1, m.memory_id) AS sources, m.pinned, m.valid_from, m.valid_until, m.ended_at,
    m.superseded_by, m.made_by, m.strategy, m.version, m.created_at, m.updated_at, m.persisted_at, m.last_used_on, m.ordinal,
    ARRAY(
        SELECT DISTINCT COALESCE(k.ancestor_id, a.ancestor_id) AS id
        FROM recollect.memory_ancestors a
        -- The memory that was kept in the place of one that was imported.
        LEFT JOIN recollect.memory_ancestors k
            ON k.tenant_id = $1 AND k.memory_id = a.ancestor_id
            AND NOT EXISTS (
                SELECT FROM recollect.memories e
                WHERE e.tenant_id = $1 AND e.memory_id = a.ancestor_id)
        WHERE a.tenant_id = $1 AND a.memory_id = m.memory_id
        ORDER BY id
        LIMIT 1000) AS built_on
FROM recollect.memories m
WHERE m.tenant_id = $1
    AND ($2::text IS NULL OR m.app_id = $2)
    AND ($3::text IS NULL OR m.user_id = $3)
    AND (m.app_id, m.user_id, m.ordinal) > ($4, $5, $6)
    -- An export would outlive a memory that is erased with ephemeral threads: an extracted
    -- one with sources in no other thread.
    AND (m.origin <> 'extracted' OR m.pinned
        OR NOT EXISTS (
            SELECT FROM recollect.memory_sources s
            JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = s.thread_id
            WHERE s.tenant_id = $1 AND s.memory_id = m.memory_id AND t.idle_ttl IS NOT NULL)
        OR EXISTS (
            SELECT FROM recollect.memory_sources s
            JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = s.thread_id
            WHERE s.tenant_id = $1 AND s.memory_id = m.memory_id AND t.idle_ttl IS NULL))
ORDER BY m.app_id, m.user_id, m.ordinal
LIMIT $7
