-- Ends a lease after $4 seconds; null: at once.
UPDATE recollect.erasures e
SET lease_id = NULL, attempts = 0,
    available_at = clock_timestamp() + COALESCE(make_interval(secs => $4), interval '0')
WHERE e.tenant_id = $1 AND e.erasure_id = $2 AND e.lease_id = $3
