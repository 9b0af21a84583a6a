-- The users of an app that have threads or memories, by user_id, each found by one lookup
-- in an index: from $3 on, with $4 after it.
WITH RECURSIVE users (user_id, place) AS (
    SELECT least(
            (SELECT t.user_id FROM recollect.threads t
             WHERE t.tenant_id = $1 AND t.app_id = $2 AND t.user_id >= $3 AND (NOT $4::boolean OR t.user_id > $3)
                 AND (t.expires_at IS NULL OR t.expires_at > now())
             ORDER BY t.user_id LIMIT 1),
            (SELECT m.user_id FROM recollect.memories m
             WHERE m.tenant_id = $1 AND m.app_id = $2 AND m.user_id >= $3 AND (NOT $4::boolean OR m.user_id > $3)
             ORDER BY m.user_id LIMIT 1)), 1::bigint
    UNION ALL
    SELECT least(
            (SELECT t.user_id FROM recollect.threads t
             WHERE t.tenant_id = $1 AND t.app_id = $2 AND t.user_id > users.user_id
                 AND (t.expires_at IS NULL OR t.expires_at > now())
             ORDER BY t.user_id LIMIT 1),
            (SELECT m.user_id FROM recollect.memories m
             WHERE m.tenant_id = $1 AND m.app_id = $2 AND m.user_id > users.user_id
             ORDER BY m.user_id LIMIT 1)), users.place + 1
    FROM users
    WHERE users.place < $5::bigint AND users.user_id IS NOT NULL
)
SELECT users.user_id, threads.thread_count, threads.message_count, threads.updated_at, memories.memory_count
FROM users
CROSS JOIN LATERAL (
    SELECT count(*) AS thread_count, COALESCE(sum(t.message_count), 0)::bigint AS message_count,
        max(t.updated_at) AS updated_at
    FROM recollect.threads t
    WHERE t.tenant_id = $1 AND t.app_id = $2 AND t.user_id = users.user_id
        AND (t.expires_at IS NULL OR t.expires_at > now())
) AS threads
CROSS JOIN LATERAL (
    SELECT count(*) AS memory_count
    FROM recollect.memories m
    WHERE m.tenant_id = $1 AND m.app_id = $2 AND m.user_id = users.user_id AND m.valid_until IS NULL
) AS memories
WHERE users.user_id IS NOT NULL
ORDER BY users.place
