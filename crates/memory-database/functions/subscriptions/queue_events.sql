-- Makes a change an event of each of the tenant's subscriptions that wants it. It locks nothing, so
-- that no change waits for a delivery or for another change.
CREATE OR REPLACE FUNCTION recollect.queue_events(
    p_tenant text, p_actor text, p_action text, p_thread uuid, p_subject text, p_count bigint,
    -- Both empty: those of the thread.
    p_app text, p_user text
)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    -- Who follows an app or a user learns of every deletion that includes it.
    v_is_deletion boolean := p_action IN ('delete_user', 'delete_app', 'delete_tenant');
BEGIN
    IF p_app = '' AND p_user = '' AND p_thread IS NOT NULL THEN
        SELECT COALESCE(max(t.app_id), ''), COALESCE(max(t.user_id), '') INTO p_app, p_user
        FROM recollect.threads t
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    END IF;
    INSERT INTO recollect.subscription_events
        (tenant_id, subscription, actor, action, thread_id, app_id, user_id, subject, item_count)
    SELECT p_tenant, s.number, p_actor, p_action, p_thread,
        COALESCE(NULLIF(p_app, ''), s.app_id), COALESCE(NULLIF(p_user, ''), s.user_id), p_subject, p_count
    FROM recollect.subscriptions s
    WHERE s.tenant_id = p_tenant AND s.enabled
        AND (s.app_id IN ('', p_app) OR v_is_deletion AND p_app = '')
        AND (s.user_id IN ('', p_user) OR v_is_deletion AND p_user = '')
        AND (s.actions = '{}' OR p_action = ANY (s.actions));
END;
$$;
