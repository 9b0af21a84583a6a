-- Stored before the copy is made, so that each copy has a row.
INSERT INTO recollect.node_copies (tenant_id, thread_id, node_id, object_key)
SELECT $1, $2, $3, $4
FROM recollect.node_memories n
WHERE n.tenant_id = $1 AND n.thread_id = $2 AND n.node_id = $3 AND n.ordinal = $5
ON CONFLICT DO NOTHING
