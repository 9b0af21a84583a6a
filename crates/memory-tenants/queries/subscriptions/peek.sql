-- What a stream waits for: its batch acknowledged, or an event. No row: the lease was lost.
SELECT s.batch = '{}' AS is_acknowledged,
    COALESCE(
        (SELECT true FROM recollect.subscription_events e
         WHERE e.tenant_id = s.tenant_id AND e.subscription = s.number LIMIT 1), false) AS has_events
FROM recollect.subscriptions s
WHERE s.tenant_id = $1 AND s.name = $2 AND s.lease_id = $3
