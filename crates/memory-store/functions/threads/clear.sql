-- Erases all messages of a thread and keeps the thread.
CREATE OR REPLACE FUNCTION recollect.clear_thread(
    p_tenant text, p_actor text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text, OUT message_count bigint, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last_seq bigint;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT t.last_seq, t.message_count INTO v_last_seq, message_count
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    revision := recollect.erase_thread_content(p_tenant, p_thread, v_last_seq);
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'summary', 'observation');
    UPDATE recollect.threads
    SET head_id = NULL, head_seq = 0, head_branch = 0, head_depth = 0, path_tokens = 0,
        branch_count = 0, message_count = 0, content_bytes = 0, stored_bytes = 0, distill_at = 0,
        updated_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.note(p_tenant, 'clear_thread', p_thread, '', message_count);
    status := 'ok';
END;
$$;
