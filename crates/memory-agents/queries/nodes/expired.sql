SELECT n.tenant_id, n.thread_id, n.node_id
FROM recollect.node_memories n
WHERE n.expires_at <= clock_timestamp()
ORDER BY n.expires_at
LIMIT $1
