-- Drops events that are older than p_seconds, the newest ones of a subscription beyond p_most, and
-- those of subscriptions that no longer exist: at most p_limit of each kind in each subscription.
-- Dropped events are counted with their subscription. For workers.
CREATE OR REPLACE FUNCTION recollect.sweep_events(
    p_seconds double precision, p_most bigint, p_limit bigint,
    -- Events that a subscription lost, and whether more are left.
    OUT dropped_count bigint, OUT is_more boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_queue record;
    v_events bigint[];
    v_batch bigint[];
    v_count bigint;
BEGIN
    dropped_count := 0;
    is_more := false;
    FOR v_queue IN
        SELECT q.tenant_id, q.subscription, s.name
        FROM recollect.event_queues() AS q
        LEFT JOIN recollect.subscriptions s ON s.tenant_id = q.tenant_id AND s.number = q.subscription
        ORDER BY q.tenant_id, q.subscription
    LOOP
        v_events := ARRAY(
            SELECT oldest.id
            FROM (SELECT e.id, e.created_at FROM recollect.subscription_events e
                  WHERE e.tenant_id = v_queue.tenant_id AND e.subscription = v_queue.subscription
                  ORDER BY e.id
                  LIMIT p_limit) AS oldest
            WHERE v_queue.name IS NULL OR oldest.created_at < clock_timestamp() - make_interval(secs => p_seconds));
        -- Ids are unique over all queues, so there are at most as many events as ids in between.
        IF p_most <= (
            SELECT max(e.id) - min(e.id) FROM recollect.subscription_events e
            WHERE e.tenant_id = v_queue.tenant_id AND e.subscription = v_queue.subscription)
        THEN
            v_events := v_events || ARRAY(
                SELECT e.id FROM recollect.subscription_events e
                WHERE e.tenant_id = v_queue.tenant_id AND e.subscription = v_queue.subscription
                ORDER BY e.id
                OFFSET p_most LIMIT p_limit);
        END IF;
        CONTINUE WHEN v_events = '{}';
        -- Before its events, as an acknowledgment does. What is being delivered stays.
        SELECT s.batch INTO v_batch FROM recollect.subscriptions s
        WHERE s.tenant_id = v_queue.tenant_id AND s.number = v_queue.subscription
        FOR UPDATE;
        DELETE FROM recollect.subscription_events e
        WHERE e.tenant_id = v_queue.tenant_id AND e.subscription = v_queue.subscription
            AND e.id = ANY (v_events) AND e.id <> ALL (COALESCE(v_batch, '{}'));
        GET DIAGNOSTICS v_count = ROW_COUNT;
        is_more := is_more OR v_count >= p_limit;
        IF v_count > 0 AND v_queue.name IS NOT NULL THEN
            UPDATE recollect.subscriptions s
            SET dropped_count = s.dropped_count + v_count
            WHERE s.tenant_id = v_queue.tenant_id AND s.name = v_queue.name AND s.number = v_queue.subscription;
            dropped_count := dropped_count + v_count;
        END IF;
    END LOOP;
END;
$$;
