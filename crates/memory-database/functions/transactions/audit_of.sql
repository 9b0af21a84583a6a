-- Records a change of an app's or a user's data; see recollect.audit. It is also an event of each
-- subscription that wants it.
CREATE OR REPLACE FUNCTION recollect.audit_of(
    p_tenant text, p_action text, p_thread uuid, p_subject text, p_count bigint,
    -- Whose data was changed. Both empty or null: that of the thread's owner, or of none.
    p_app text, p_user text
)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_actor text := COALESCE(NULLIF(current_setting('recollect.actor', true), ''), 'worker');
BEGIN
    LOOP
        INSERT INTO recollect.transactions (tenant_id, actor, action, thread_id, subject, item_count)
        VALUES (p_tenant, v_actor, p_action, p_thread, COALESCE(p_subject, ''), p_count)
        ON CONFLICT DO NOTHING;
        -- Where the id is taken, the next one is free: the change must not fail.
        EXIT WHEN FOUND;
    END LOOP;
    -- Most tenants have none: one lookup.
    IF EXISTS (SELECT FROM recollect.subscriptions s WHERE s.tenant_id = p_tenant AND s.enabled) THEN
        PERFORM recollect.queue_events(
            p_tenant, v_actor, p_action, p_thread, COALESCE(p_subject, ''), p_count,
            COALESCE(p_app, ''), COALESCE(p_user, ''));
    END IF;
END;
$$;
