-- Makes the summary of the path to a thread's head hold, and ends the others. Returns whether
-- anything changed. The caller has the thread's lock and lock_memories.
--
-- A summary that holds again counts as believed since it was stored, also for the time in which
-- the head was elsewhere.
CREATE OR REPLACE FUNCTION recollect.hold_summary(p_tenant text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_thread record;
    v_changes record;
BEGIN
    PERFORM recollect.place_summaries(p_tenant, p_thread);
    SELECT c.* INTO v_changes FROM recollect.summary_changes(p_tenant, p_thread) c;
    IF v_changes.ends = '{}' AND NOT v_changes.returns THEN
        RETURN false;
    END IF;
    SELECT t.app_id, t.user_id INTO v_thread FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    PERFORM recollect.end_memories(
        p_tenant, v_thread.app_id, v_thread.user_id, v_changes.ends, v_changes.summary, false);
    UPDATE recollect.memories m
    SET left_path = true
    WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_changes.ends);
    IF v_changes.returns THEN
        UPDATE recollect.memories m
        SET valid_until = NULL, ended_at = NULL, superseded_by = NULL, left_path = false, version = version + 1,
            updated_at = clock_timestamp()
        WHERE m.tenant_id = p_tenant AND m.memory_id = v_changes.summary;
        v_changes.ends := v_changes.ends || v_changes.summary;
    END IF;
    PERFORM recollect.enqueue_memory(p_tenant, v_thread.app_id, v_thread.user_id, u.id, 'upsert')
    FROM unnest(v_changes.ends) AS u (id);
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'extract');
    PERFORM recollect.audit(p_tenant, 'extract_memories', p_thread, '', 0);
    RETURN true;
END;
$$;
