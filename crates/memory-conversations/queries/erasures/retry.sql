UPDATE recollect.erasures e
SET lease_id = NULL,
    last_error = $4,
    failing_since = COALESCE(e.failing_since, clock_timestamp()),
    available_at = clock_timestamp() + make_interval(secs => $5)
WHERE e.tenant_id = $1 AND e.erasure_id = $2 AND e.lease_id = $3
