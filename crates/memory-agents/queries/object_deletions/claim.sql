WITH next AS MATERIALIZED (
    SELECT d.tenant_id, d.id
    FROM recollect.object_deletions d
    WHERE d.available_at <= clock_timestamp()
    ORDER BY d.available_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE recollect.object_deletions d
SET attempts = d.attempts + 1,
    -- The lease, and the pause after a failure: it doubles each time, up to an hour.
    available_at = clock_timestamp() + make_interval(secs => LEAST(3600, $2 * power(2, LEAST(d.attempts, 10))))
FROM next
WHERE d.tenant_id = next.tenant_id AND d.id = next.id
RETURNING d.tenant_id, d.id, d.thread_id, d.node_id, d.object_key
