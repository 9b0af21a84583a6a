-- Leases a subscription to a stream, also before retry_at. No row: there is no such subscription.
WITH taken AS (
    UPDATE recollect.subscriptions s
    SET lease_id = $3, available_at = clock_timestamp() + make_interval(secs => $4)
    WHERE s.tenant_id = $1 AND s.name = $2 AND (s.lease_id IS NULL OR s.available_at <= clock_timestamp())
    RETURNING s.name
)
SELECT EXISTS (SELECT FROM taken) AS is_taken
FROM recollect.subscriptions s
WHERE s.tenant_id = $1 AND s.name = $2
