SELECT c.object_key
FROM recollect.node_copies c
WHERE c.tenant_id = $1 AND c.thread_id = $2 AND c.node_id = $3 AND c.object_key = $4
