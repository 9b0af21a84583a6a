-- Stored before the copy is made, so that each copy has a row.
WITH memory AS (
    SELECT n.node_id
    FROM recollect.node_memories n
    WHERE n.tenant_id = $1 AND n.thread_id = $2 AND n.node_id = $3 AND n.ordinal = $5
),
kept AS (
    INSERT INTO recollect.node_copies (tenant_id, thread_id, node_id, object_key)
    SELECT $1, $2, m.node_id, $4 FROM memory m
    ON CONFLICT DO NOTHING
)
INSERT INTO recollect.object_writes (tenant_id, object_key, write_id)
SELECT $1, $4, $6 FROM memory
