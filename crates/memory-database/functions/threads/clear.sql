-- Erases all messages of a thread and keeps the thread. With p_limit, a thread with more rows
-- than about that is hidden until its rows are erased in steps; see erase_thread_step.
CREATE OR REPLACE FUNCTION recollect.clear_thread(
    p_tenant text, p_actor text, p_thread uuid, p_limit bigint,
    -- ok; clearing: it is hidden, and its rows are being erased; or thread_not_found.
    OUT status text, OUT message_count bigint, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_rows record;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    IF recollect.is_clearing(p_tenant, p_thread) THEN
        status := 'clearing';
        message_count := 0;
        SELECT COALESCE(max(o.id), 0) INTO revision FROM recollect.outbox o
        WHERE o.tenant_id = p_tenant AND o.thread_id = p_thread AND o.op = 'purge';
        RETURN;
    END IF;
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT t.last_seq, t.message_count, t.expires_at, t.idle_ttl IS NOT NULL AS ephemeral INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    -- No memory is being made of its messages; see lock_sources.
    FOR UPDATE;
    message_count := v_thread.message_count;
    -- The size of ephemeral threads is limited.
    SELECT r.erased_seq, r.counts, r.done INTO v_rows
    FROM recollect.erase_thread_rows(
        p_tenant, p_thread, CASE WHEN v_thread.ephemeral THEN NULL ELSE p_limit END, NULL) AS r;
    revision := 0;
    IF v_thread.last_seq > 0 THEN
        DELETE FROM recollect.outbox
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND op = 'purge' AND lease_id IS NULL;
        INSERT INTO recollect.outbox (tenant_id, thread_id, seq, op)
        VALUES (p_tenant, p_thread, v_thread.last_seq, 'purge')
        RETURNING id INTO revision;
    END IF;
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'summary', 'observation');
    UPDATE recollect.threads
    SET head_id = NULL, head_seq = 0, head_branch = 0, head_depth = 0, path_tokens = 0,
        branch_count = 0, message_count = 0, content_bytes = 0, stored_bytes = 0, distill_at = 0,
        updated_at = clock_timestamp(),
        expires_at = CASE WHEN v_rows.done THEN expires_at ELSE '-infinity' END
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    IF NOT v_rows.done THEN
        -- The caller begins to erase the rest.
        INSERT INTO recollect.erasures (tenant_id, erasure_id, kind, step, erased_seq, counts, kept_expiry, available_at)
        VALUES (p_tenant, p_thread, 'thread', 'clear', v_rows.erased_seq, v_rows.counts, v_thread.expires_at,
                clock_timestamp() + interval '5 seconds');
    END IF;
    PERFORM recollect.audit(p_tenant, 'clear_thread', p_thread, '', message_count);
    status := CASE WHEN v_rows.done THEN 'ok' ELSE 'clearing' END;
END;
$$;
