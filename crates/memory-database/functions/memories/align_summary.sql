-- Makes the summary among the memories of a thread follow its head (see hold_summary).
CREATE OR REPLACE FUNCTION recollect.align_summary(p_tenant text, p_actor text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_thread record;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    -- Mostly there is nothing to do; then no lock is taken.
    IF NOT EXISTS (
            SELECT FROM recollect.memories m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.strategy = 'summary'
                AND NOT EXISTS (
                    SELECT FROM recollect.memory_ranges r
                    WHERE r.tenant_id = p_tenant AND r.memory_id = m.memory_id AND r.thread_id = p_thread))
        AND (SELECT c.ends = '{}' AND NOT c.returns FROM recollect.summary_changes(p_tenant, p_thread) c)
    THEN
        RETURN false;
    END IF;
    SELECT t.app_id, t.user_id INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM recollect.lock_memories(p_tenant, v_thread.app_id, v_thread.user_id);
    RETURN recollect.hold_summary(p_tenant, p_thread);
END;
$$;
