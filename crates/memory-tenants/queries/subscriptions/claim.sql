-- Leases at most $1 subscriptions with events for webhooks, those that have waited longest first.
WITH due AS (
    SELECT s.tenant_id, s.name
    FROM recollect.subscriptions s
    WHERE s.pushes AND s.enabled AND s.available_at <= clock_timestamp()
        -- With a limit, so that Postgres looks up one event of each instead of reading all of them.
        AND (SELECT true FROM recollect.subscription_events e
             WHERE e.tenant_id = s.tenant_id AND e.subscription = s.number LIMIT 1)
    ORDER BY s.available_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE recollect.subscriptions s
SET lease_id = $2, available_at = clock_timestamp() + make_interval(secs => $3)
FROM due
WHERE s.tenant_id = due.tenant_id AND s.name = due.name
RETURNING s.tenant_id, s.name
