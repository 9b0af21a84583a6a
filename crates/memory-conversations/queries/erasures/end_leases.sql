UPDATE recollect.erasures e
SET lease_id = NULL, available_at = clock_timestamp()
WHERE e.lease_id IS NOT NULL AND e.finished_at IS NULL
