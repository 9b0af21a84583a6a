-- Whether the object still has to be erased: no other worker has erased it, and it is not in use
-- again. It is settled once no write of it may be under way any more: none has begun for $3 seconds
-- without an answer.
SELECT NOT EXISTS (
        SELECT FROM recollect.node_memories n
        WHERE n.tenant_id = $1 AND n.thread_id = d.thread_id AND n.node_id = d.node_id
            AND n.object_key = d.object_key AND n.has_object)
    AND NOT EXISTS (
        SELECT FROM recollect.node_copies c
        WHERE c.tenant_id = $1 AND c.thread_id = d.thread_id AND c.node_id = d.node_id
            AND c.object_key = d.object_key) AS wanted,
    NOT EXISTS (
        SELECT FROM recollect.object_writes w
        WHERE w.tenant_id = $1 AND w.object_key = d.object_key
            AND w.began_at > clock_timestamp() - make_interval(secs => $3)) AS settled
FROM recollect.object_deletions d
WHERE d.tenant_id = $1 AND d.id = $2
