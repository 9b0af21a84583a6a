-- Queues at most $1 threads that have expired, of all tenants.
INSERT INTO recollect.erasures (tenant_id, erasure_id, kind, step)
SELECT t.tenant_id, t.thread_id, 'thread', 'hide'
FROM recollect.threads t
WHERE t.expires_at <= clock_timestamp()
    -- Hidden threads have an erasure already.
    AND t.expires_at > '-infinity'
    AND NOT EXISTS (
        SELECT FROM recollect.erasures e
        WHERE e.tenant_id = t.tenant_id AND e.erasure_id = t.thread_id)
ORDER BY t.expires_at
LIMIT $1
ON CONFLICT DO NOTHING
