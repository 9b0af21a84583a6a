-- Events that wait, and the age in seconds of the oldest one of an enabled subscription.
SELECT COALESCE(sum(waiting.count), 0)::bigint AS depth,
    COALESCE(max(extract(epoch FROM clock_timestamp() - oldest.created_at)) FILTER (WHERE s.enabled), 0)::float8
        AS lag_seconds
FROM recollect.event_queues() AS q
JOIN recollect.subscriptions s ON s.tenant_id = q.tenant_id AND s.number = q.subscription
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM recollect.subscription_events e
    WHERE e.tenant_id = q.tenant_id AND e.subscription = q.subscription) AS waiting
CROSS JOIN LATERAL (
    SELECT e.created_at FROM recollect.subscription_events e
    WHERE e.tenant_id = q.tenant_id AND e.subscription = q.subscription
    ORDER BY e.id
    LIMIT 1) AS oldest
