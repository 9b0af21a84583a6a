WITH next AS MATERIALIZED (
    SELECT j.tenant_id, j.thread_id
    FROM recollect.distill_jobs j
    WHERE j.available_at <= clock_timestamp()
    ORDER BY j.available_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE recollect.distill_jobs j
SET lease_id = $2,
    available_at = clock_timestamp() + make_interval(secs => $3),
    -- Counted with the claim, so that an attempt that crashes its worker counts.
    attempts = j.attempts + 1
FROM next
WHERE j.tenant_id = next.tenant_id AND j.thread_id = next.thread_id
RETURNING j.tenant_id, j.thread_id, j.wanted, j.attempts, j.created_at
