DELETE FROM recollect.outbox o
WHERE o.id = ANY ($2) AND o.dead_at IS NULL AND o.lease_id = $1
