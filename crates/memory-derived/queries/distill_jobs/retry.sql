UPDATE recollect.distill_jobs j
SET lease_id = NULL,
    last_error = $4,
    failing_since = COALESCE(j.failing_since, clock_timestamp()),
    available_at = clock_timestamp() + make_interval(secs => $5)
WHERE j.tenant_id = $1 AND j.thread_id = $2 AND j.lease_id = $3
