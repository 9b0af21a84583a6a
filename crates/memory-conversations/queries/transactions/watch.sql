-- Reads the oldest changes of several threads, each after its own position.
SELECT t.actor, t.action, t.thread_id, t.subject, t.item_count, t.result, t.created_at, t.id
FROM unnest($2::uuid[], $3::bigint[]) AS watched (thread_id, place)
CROSS JOIN LATERAL (
    SELECT n.*
    FROM recollect.transactions n
    WHERE n.tenant_id = $1 AND n.thread_id = watched.thread_id AND n.id > watched.place
        -- A rejected call has changed nothing.
        AND n.result = 'ok'
    ORDER BY n.id
    LIMIT $4
) t
ORDER BY t.id
