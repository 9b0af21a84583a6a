-- The requested messages and up to $3 before each, along its parents, of at most $4 bytes each. A
-- deleted one is returned too, empty, because the path leads through it. With $5, the first
-- requested messages with at most so many bytes together, at least one.
WITH wanted AS MATERIALIZED (
    SELECT CASE WHEN $5::bigint IS NULL THEN $2::uuid[] ELSE ARRAY(
        SELECT sized.id
        FROM (
            SELECT requested.id, requested.place, sum(m.bytes) OVER (ORDER BY requested.place) AS bytes
            FROM unnest($2::uuid[]) WITH ORDINALITY AS requested (id, place)
            CROSS JOIN LATERAL recollect.message_by_id($1, requested.id) AS m
        ) AS sized
        WHERE sized.bytes <= $5 OR sized.place = 1
    ) END AS ids
),
needed AS MATERIALIZED (
    SELECT b.message_id, b.distance
    FROM wanted
    CROSS JOIN LATERAL recollect.messages_before($1, wanted.ids, $3) AS b
)
SELECT t.app_id, t.user_id, t.ordinal, n.distance = 0 AS wanted, m.deleted_at IS NULL AS readable,
    recollect.readable(m) AS message, hashtextextended(m.metadata::text, 0) AS metadata_hash
FROM needed n
CROSS JOIN LATERAL recollect.message_by_id($1, n.message_id) AS m
CROSS JOIN LATERAL recollect.thread_by_id($1, m.thread_id) AS t
WHERE (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    AND (n.distance = 0 OR m.bytes <= $4)
ORDER BY t.ordinal, m.seq
