-- Erases a thread with all its rows, and queues that for the index. With p_only_expired,
-- deletes only a thread that has expired; without, an expired thread counts as not
-- found.
CREATE OR REPLACE FUNCTION recollect.delete_thread(
    p_tenant text, p_actor text, p_thread uuid, p_only_expired boolean,
    -- ok or thread_not_found.
    OUT status text, OUT message_count bigint, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last_seq bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT t.last_seq, t.message_count INTO v_last_seq, message_count
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NOT NULL AND t.expires_at <= clock_timestamp()) = p_only_expired
    FOR UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    revision := recollect.erase_thread_content(p_tenant, p_thread, v_last_seq);
    UPDATE recollect.memories SET thread_id = NULL WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.requests WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.threads WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.note(p_tenant, 'delete_thread', p_thread, '', message_count);
    status := 'ok';
END;
$$;
