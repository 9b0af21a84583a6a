-- What holds of the user $3 in those of the apps $2 that are in the space $4; null: in all of them. With
-- $6: what was true then; with $7: as far as was known then. The most important first: pinned, then
-- lasting, then used or stored on the latest day, then newest.
SELECT m.memory_id, m.thread_id, m.text, m.content_hash, COALESCE(m.topics[1], '') AS topic, m.pinned, m.event_time,
    m.valid_from, m.ordinal, count(*) OVER () AS total
FROM recollect.memories m
WHERE m.tenant_id = $1 AND m.user_id = $3
    AND m.app_id = ANY (ARRAY(
        SELECT apps.app FROM unnest($2::text[]) AS apps (app)
        WHERE $4::text IS NULL OR recollect.is_in_space($1, apps.app, $4)))
    AND (m.valid_until IS NULL OR $6::timestamptz IS NOT NULL OR $7::timestamptz IS NOT NULL)
    AND recollect.memory_held_at(m.valid_from, m.valid_until, m.created_at, m.ended_at, $6, $7)
ORDER BY m.pinned DESC, (m.type = 'semantic') DESC,
    COALESCE(m.last_used_on, (m.created_at AT TIME ZONE 'UTC')::date) DESC, m.ordinal DESC
LIMIT $5
