-- Chooses the oldest events of a subscription for delivery, or repeats those that were chosen and
-- not acknowledged, under its lease, which it prolongs. A batch keeps its id and its events until
-- then; only erased events leave it.
CREATE OR REPLACE FUNCTION recollect.next_batch(
    p_tenant text, p_name text, p_lease uuid, p_seconds double precision, p_limit integer
)
-- No row: the lease was lost. One row without an event: none waits.
RETURNS TABLE (
    batch_id uuid, attempts integer, dropped_count bigint,
    id bigint, actor text, action text, thread_id uuid, app_id text, user_id text, subject text,
    item_count bigint, created_at timestamptz
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_subscription recollect.subscriptions;
BEGIN
    SELECT s.* INTO v_subscription FROM recollect.subscriptions s
    WHERE s.tenant_id = p_tenant AND s.name = p_name AND s.lease_id = p_lease
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_subscription.batch := ARRAY(
        SELECT e.id FROM recollect.subscription_events e
        WHERE e.tenant_id = p_tenant AND e.subscription = v_subscription.number
            AND e.id = ANY (v_subscription.batch)
        ORDER BY e.id);
    IF v_subscription.batch = '{}' THEN
        v_subscription.batch := ARRAY(
            SELECT e.id FROM recollect.subscription_events e
            WHERE e.tenant_id = p_tenant AND e.subscription = v_subscription.number
            ORDER BY e.id
            LIMIT p_limit);
        v_subscription.batch_id := gen_random_uuid();
        v_subscription.batch_dropped := v_subscription.dropped_count;
    END IF;
    UPDATE recollect.subscriptions
    SET batch_id = v_subscription.batch_id, batch = v_subscription.batch,
        batch_dropped = v_subscription.batch_dropped,
        available_at = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE tenant_id = p_tenant AND name = p_name;
    RETURN QUERY
    SELECT v_subscription.batch_id, v_subscription.attempts,
        v_subscription.batch_dropped - v_subscription.reported_count,
        e.id, e.actor, e.action, e.thread_id, e.app_id, e.user_id, e.subject, e.item_count, e.created_at
    FROM (SELECT 1) AS one
    LEFT JOIN recollect.subscription_events e
        ON e.tenant_id = p_tenant AND e.subscription = v_subscription.number
            AND e.id = ANY (v_subscription.batch)
    ORDER BY e.id;
END;
$$;
