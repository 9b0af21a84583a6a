SELECT d.tenant_id, d.id, d.thread_id, d.node_id, d.object_key
FROM recollect.object_deletions d
WHERE d.tenant_id = $1 AND d.thread_id = $2 AND d.node_id = $3
ORDER BY d.id
LIMIT 16
