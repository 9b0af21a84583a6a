-- About how many events wait: counted up to $1, above that as the planner estimates it. And the age in
-- seconds of the oldest one of an enabled subscription.
SELECT CASE WHEN counted.count < $1 THEN counted.count
        ELSE GREATEST(counted.count, (SELECT c.reltuples::bigint FROM pg_class c
                                      WHERE c.oid = 'recollect.subscription_events'::regclass)) END AS depth,
    COALESCE(lag.seconds, 0) AS lag_seconds
FROM (SELECT count(*) AS count FROM (SELECT FROM recollect.subscription_events LIMIT $1) AS found) AS counted
CROSS JOIN (
    SELECT max(extract(epoch FROM clock_timestamp() - oldest.created_at))::float8 AS seconds
    FROM recollect.event_queues() AS q
    JOIN recollect.subscriptions s ON s.tenant_id = q.tenant_id AND s.number = q.subscription AND s.enabled
    CROSS JOIN LATERAL (
        SELECT e.created_at FROM recollect.subscription_events e
        WHERE e.tenant_id = q.tenant_id AND e.subscription = q.subscription
        ORDER BY e.id
        LIMIT 1) AS oldest) AS lag
