-- The queues that may have events to drop: their oldest one is older than $1 seconds, they may have
-- more than $2, or their subscription was deleted. Few lookups in an index for each queue.
SELECT q.tenant_id, q.subscription
FROM recollect.event_queues() AS q
LEFT JOIN recollect.subscriptions s ON s.tenant_id = q.tenant_id AND s.number = q.subscription
CROSS JOIN LATERAL (
    SELECT e.id, e.created_at FROM recollect.subscription_events e
    WHERE e.tenant_id = q.tenant_id AND e.subscription = q.subscription
    ORDER BY e.id
    LIMIT 1) AS oldest
CROSS JOIN LATERAL (
    SELECT e.id FROM recollect.subscription_events e
    WHERE e.tenant_id = q.tenant_id AND e.subscription = q.subscription
    ORDER BY e.id DESC
    LIMIT 1) AS newest
WHERE s.name IS NULL
    OR oldest.created_at < clock_timestamp() - make_interval(secs => $1)
    -- Ids are unique over all queues, so there are at most as many events as ids in between.
    OR newest.id - oldest.id >= $2
