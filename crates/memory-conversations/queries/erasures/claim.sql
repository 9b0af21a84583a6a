WITH next AS MATERIALIZED (
    SELECT e.tenant_id, e.erasure_id
    FROM recollect.erasures e
    WHERE e.finished_at IS NULL AND e.available_at <= clock_timestamp()
        -- $4: only erasures whose step is `outside`, which has a job of its own, or only others.
        AND (e.step = 'outside') = $4
    ORDER BY e.available_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE recollect.erasures e
SET lease_id = $2,
    available_at = clock_timestamp() + make_interval(secs => $3),
    attempts = e.attempts + 1
FROM next
WHERE e.tenant_id = next.tenant_id AND e.erasure_id = next.erasure_id
RETURNING e.tenant_id, e.erasure_id, e.attempts
