UPDATE recollect.outbox o
SET lease_id = NULL, available_at = clock_timestamp(), attempts = o.attempts - 1
WHERE o.id = ANY ($2) AND o.dead_at IS NULL AND o.lease_id = $1
