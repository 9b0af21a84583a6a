-- The subscriptions of all tenants that have events, each found by one lookup in an index.
CREATE OR REPLACE FUNCTION recollect.event_queues()
RETURNS TABLE (tenant_id text, subscription bigint)
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE queues (tenant_id, subscription) AS (
        (SELECT e.tenant_id, e.subscription FROM recollect.subscription_events e
         ORDER BY e.tenant_id, e.subscription LIMIT 1)
        UNION ALL
        SELECT next.tenant_id, next.subscription
        FROM queues
        CROSS JOIN LATERAL (
            SELECT e.tenant_id, e.subscription FROM recollect.subscription_events e
            WHERE (e.tenant_id, e.subscription) > (queues.tenant_id, queues.subscription)
            ORDER BY e.tenant_id, e.subscription LIMIT 1) AS next
    )
    SELECT queues.tenant_id, queues.subscription FROM queues
$$;
