-- Erases all messages of a thread and keeps the thread.
CREATE OR REPLACE FUNCTION recollect.clear_thread(
    p_tenant text, p_actor text, p_thread uuid,
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
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
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
    -- The purge covers whatever waits.
    -- Not what a worker has claimed: if it dies, its replay finds the message gone.
    DELETE FROM recollect.outbox
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND lease_id IS NULL;
    UPDATE recollect.threads
    SET head_id = NULL, head_seq = 0, head_branch = 0, head_depth = 0, path_tokens = 0,
        branch_count = 0, message_count = 0, summary_generation = summary_generation + 1,
        observation_generation = observation_generation + 1, distill_at = 0, updated_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    revision := 0;
    IF v_last_seq > 0 THEN
        INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op)
        VALUES (p_tenant, p_thread, v_last_seq, 'purge')
        RETURNING id INTO revision;
    END IF;
    PERFORM recollect.note(p_tenant, 'clear_thread', p_thread, '', message_count);
    status := 'ok';
END;
$$;
