SELECT w.tenant_id, w.thread_id
FROM recollect.working_memories w
WHERE w.expires_at <= clock_timestamp()
ORDER BY w.expires_at
LIMIT $1
