-- Ends a lease. Others have their turn first.
UPDATE recollect.subscriptions s
SET lease_id = NULL, available_at = clock_timestamp()
WHERE s.tenant_id = $1 AND s.name = $2 AND s.lease_id = $3
