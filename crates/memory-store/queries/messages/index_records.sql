-- The requested messages and up to $3 before each, along its parents. A deleted one is
-- returned too, empty, because the path leads through it.
WITH RECURSIVE path AS (
    SELECT m.message_id, m.parent_id, 0 AS distance
    FROM recollect.messages m
    WHERE m.tenant_id = $1 AND m.message_id = ANY ($2)
        AND m.deleted_at IS NULL
    UNION
    SELECT p.message_id, p.parent_id, path.distance + 1
    FROM path
    JOIN recollect.messages p ON p.tenant_id = $1 AND p.message_id = path.parent_id
    WHERE path.distance < $3
),
needed AS (
    SELECT path.message_id, min(path.distance) AS distance
    FROM path
    GROUP BY path.message_id
)
SELECT t.thread_id, t.app_id, t.user_id, t.ordinal, n.distance = 0 AS wanted, m.deleted_at IS NULL AS readable,
    m.message_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
    m.parts, m.metadata, m.tokens, m.said_at
FROM needed n
JOIN recollect.messages m ON m.tenant_id = $1 AND m.message_id = n.message_id
JOIN recollect.threads t ON t.tenant_id = $1 AND t.thread_id = m.thread_id
WHERE t.expires_at IS NULL OR t.expires_at > clock_timestamp()
ORDER BY t.ordinal, m.seq
