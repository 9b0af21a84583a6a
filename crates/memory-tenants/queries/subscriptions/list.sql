-- The subscriptions of a tenant, in order, with what waits in them; $2: only the one of this name.
-- Events are counted up to $3.
SELECT s.name, s.app_id, s.user_id, s.actions, s.url, s.enabled, s.attempts, s.delivered_count, s.dropped_count,
    s.last_error, s.failed_at, s.created_at, s.updated_at, waiting.count AS waiting_count,
    COALESCE(extract(epoch FROM clock_timestamp() - oldest.created_at)::float8, 0) AS lag_seconds
FROM recollect.subscriptions s
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (
        SELECT FROM recollect.subscription_events e
        WHERE e.tenant_id = s.tenant_id AND e.subscription = s.number
        LIMIT $3) AS counted) AS waiting
LEFT JOIN LATERAL (
    SELECT e.created_at FROM recollect.subscription_events e
    WHERE e.tenant_id = s.tenant_id AND e.subscription = s.number
    ORDER BY e.id
    LIMIT 1) AS oldest ON true
WHERE s.tenant_id = $1 AND ($2::text IS NULL OR s.name = $2)
ORDER BY s.name
