-- Drops events of one queue: those that are older than p_seconds, and the newest ones beyond p_most,
-- or all where the subscription no longer exists; at most p_limit of each kind. Dropped events are
-- counted with their subscription. For workers.
CREATE OR REPLACE FUNCTION recollect.sweep_events(
    p_tenant text, p_subscription bigint, p_seconds double precision, p_most bigint, p_limit bigint,
    -- Events that the subscription lost, and whether more are left.
    OUT dropped_count bigint, OUT is_more boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_name text := (
        SELECT s.name FROM recollect.subscriptions s
        WHERE s.tenant_id = p_tenant AND s.number = p_subscription);
    v_events bigint[];
    v_batch bigint[];
BEGIN
    -- Both before the lock, because they may read many events.
    v_events := ARRAY(
        SELECT oldest.id
        FROM (SELECT e.id, e.created_at FROM recollect.subscription_events e
              WHERE e.tenant_id = p_tenant AND e.subscription = p_subscription
              ORDER BY e.id
              LIMIT p_limit) AS oldest
        WHERE v_name IS NULL OR oldest.created_at < clock_timestamp() - make_interval(secs => p_seconds));
    v_events := v_events || ARRAY(
        SELECT e.id FROM recollect.subscription_events e
        WHERE e.tenant_id = p_tenant AND e.subscription = p_subscription
        ORDER BY e.id
        OFFSET p_most LIMIT p_limit);
    -- Before its events, as an acknowledgment does. What is being delivered stays.
    SELECT s.batch INTO v_batch FROM recollect.subscriptions s
    WHERE s.tenant_id = p_tenant AND s.name = v_name AND s.number = p_subscription
    FOR UPDATE;
    DELETE FROM recollect.subscription_events e
    WHERE e.tenant_id = p_tenant AND e.subscription = p_subscription
        AND e.id = ANY (v_events) AND e.id <> ALL (COALESCE(v_batch, '{}'));
    GET DIAGNOSTICS dropped_count = ROW_COUNT;
    is_more := dropped_count > 0 AND cardinality(v_events) >= p_limit;
    IF v_name IS NULL THEN
        dropped_count := 0;
    END IF;
    UPDATE recollect.subscriptions s
    SET dropped_count = s.dropped_count + sweep_events.dropped_count
    WHERE s.tenant_id = p_tenant AND s.name = v_name AND s.number = p_subscription
        AND sweep_events.dropped_count > 0;
END;
$$;
