-- What holds of the user $3 in those of the apps $2 that are in the space $4; null: in all of them. The
-- most important first: pinned, then lasting, then used or stored on the latest day, then newest.
SELECT m.memory_id, m.thread_id, m.text, m.content_hash, COALESCE(m.topics[1], '') AS topic, m.pinned, m.event_time,
    m.valid_from, m.ordinal, count(*) OVER () AS total
FROM recollect.memories m
WHERE m.tenant_id = $1 AND m.user_id = $3
    AND m.app_id = ANY (ARRAY(
        SELECT apps.app FROM unnest($2::text[]) AS apps (app)
        WHERE $4::text IS NULL OR recollect.is_in_space($1, apps.app, $4)))
    AND m.valid_until IS NULL
ORDER BY m.pinned DESC, (m.type = 'semantic') DESC,
    COALESCE(m.last_used_on, (m.created_at AT TIME ZONE 'UTC')::date) DESC, m.ordinal DESC
LIMIT $5
