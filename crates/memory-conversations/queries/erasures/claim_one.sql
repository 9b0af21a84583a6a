-- Claims an erasure, unless a worker has it or its last step failed.
UPDATE recollect.erasures e
SET lease_id = $3,
    available_at = clock_timestamp() + make_interval(secs => $4),
    attempts = e.attempts + 1
WHERE e.tenant_id = $1 AND e.erasure_id = $2 AND e.finished_at IS NULL AND e.lease_id IS NULL AND e.failing_since IS NULL
RETURNING e.tenant_id, e.erasure_id, e.attempts
