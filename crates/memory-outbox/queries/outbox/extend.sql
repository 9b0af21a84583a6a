UPDATE recollect.outbox o
SET available_at = clock_timestamp() + make_interval(secs => $3)
WHERE o.id = ANY ($2) AND o.dead_at IS NULL AND o.lease_id = $1
