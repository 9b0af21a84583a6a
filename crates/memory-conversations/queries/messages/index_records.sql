-- The requested messages and up to $3 before each, along its parents, of at most $4 bytes each. A
-- deleted one is returned too, empty, because the path leads through it.
WITH needed AS MATERIALIZED (
    SELECT b.message_id, b.distance FROM recollect.messages_before($1, $2, $3) AS b
)
SELECT t.app_id, t.user_id, t.ordinal, n.distance = 0 AS wanted, m.deleted_at IS NULL AS readable,
    recollect.readable(m) AS message
FROM needed n
CROSS JOIN LATERAL recollect.message_by_id($1, n.message_id) AS m
CROSS JOIN LATERAL recollect.thread_by_id($1, m.thread_id) AS t
WHERE (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    AND (n.distance = 0 OR m.bytes <= $4)
ORDER BY t.ordinal, m.seq
