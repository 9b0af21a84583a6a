-- Ends all leases: no other worker lives.
UPDATE recollect.subscriptions
SET lease_id = NULL, available_at = clock_timestamp()
WHERE lease_id IS NOT NULL
