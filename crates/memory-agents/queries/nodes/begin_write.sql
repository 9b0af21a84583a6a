-- Recorded before a flush writes the object of a node, if turns wait.
INSERT INTO recollect.object_writes (tenant_id, object_key, write_id)
SELECT $1, n.object_key, $4
FROM recollect.node_memories n
WHERE n.tenant_id = $1 AND n.thread_id = $2 AND n.node_id = $3
    AND EXISTS (
        SELECT FROM recollect.node_turns t
        WHERE t.tenant_id = $1 AND t.thread_id = $2 AND t.node_id = $3)
RETURNING object_key
