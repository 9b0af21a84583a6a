SELECT t.tenant_id, t.thread_id
FROM recollect.threads t
WHERE t.expires_at <= clock_timestamp()
ORDER BY t.expires_at
LIMIT $1
