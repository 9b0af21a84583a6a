-- Erases a thread with all its rows, and tells the index. With
-- p_only_expired it leaves a living thread alone; without, an expired one
-- counts as gone.
CREATE OR REPLACE FUNCTION recollect.delete_thread(
    p_tenant text, p_actor text, p_thread uuid, p_only_expired boolean,
    OUT status text, OUT message_count bigint, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last_seq bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    PERFORM set_config('recollect.actor', p_actor, true);
    SELECT t.last_seq, t.message_count INTO v_last_seq, message_count
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NOT NULL AND t.expires_at <= clock_timestamp()) = p_only_expired
    FOR UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;

    DELETE FROM recollect.messages WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.branches WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.erase_nodes(p_tenant, p_thread);
    PERFORM recollect.erase_plans(p_tenant, p_thread);
    PERFORM recollect.erase_working_memory(p_tenant, p_thread);
    PERFORM recollect.forget_distillates(p_tenant, p_thread);
    PERFORM recollect.forget_sources(p_tenant, p_thread, NULL);
    UPDATE recollect.memories SET thread_id = NULL WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.requests WHERE tenant_id = p_tenant AND thread_id = p_thread;
    -- Not what a worker has claimed: if it dies, its replay finds the message gone.
    DELETE FROM recollect.outbox
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND lease_id IS NULL;
    DELETE FROM recollect.threads WHERE tenant_id = p_tenant AND thread_id = p_thread;
    revision := 0;
    IF v_last_seq > 0 THEN
        INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op)
        VALUES (p_tenant, p_thread, v_last_seq, 'purge')
        RETURNING id INTO revision;
    END IF;
    PERFORM recollect.note(p_tenant, 'delete_thread', p_thread, '', message_count);
    status := 'ok';
END;
$$;
