UPDATE recollect.outbox o
SET lease_id = NULL, available_at = clock_timestamp()
WHERE o.dead_at IS NULL AND o.lease_id IS NOT NULL
