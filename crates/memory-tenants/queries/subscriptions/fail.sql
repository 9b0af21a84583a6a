-- Ends a lease after a failure: the next attempt comes in $5 seconds, or without them never.
UPDATE recollect.subscriptions s
SET lease_id = NULL, attempts = s.attempts + 1, last_error = $4, failed_at = clock_timestamp(),
    enabled = s.enabled AND $5::float8 IS NOT NULL, available_at = clock_timestamp(),
    retry_at = clock_timestamp() + make_interval(secs => $5)
WHERE s.tenant_id = $1 AND s.name = $2 AND s.lease_id = $3
