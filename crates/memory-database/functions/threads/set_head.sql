-- Makes a message the head of its thread. The next append continues from there.
CREATE OR REPLACE FUNCTION recollect.set_head(
    p_tenant text, p_actor text, p_thread uuid, p_head text, p_check_head boolean, p_expected_head text,
    -- ok, thread_not_found, message_not_found or head_moved (thread: with its head).
    OUT status text, OUT thread recollect.threads
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_id uuid;
    v_head record;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT t.* INTO thread FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    IF p_check_head AND recollect.is_other_head(p_tenant, p_thread, thread.head_id, p_expected_head) THEN
        status := 'head_moved';
        RETURN;
    END IF;
    v_id := recollect.named_message(p_tenant, p_thread, p_head);
    SELECT m.seq, m.branch, m.depth, m.path_tokens INTO v_head
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = v_id;
    IF NOT FOUND THEN
        status := 'message_not_found';
        RETURN;
    END IF;

    status := 'ok';
    IF thread.head_id = v_id THEN
        RETURN;
    END IF;
    UPDATE recollect.threads
    SET head_id = v_id, head_seq = v_head.seq, head_branch = v_head.branch, head_depth = v_head.depth,
        path_tokens = v_head.path_tokens, distill_at = 0, updated_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND thread_id = p_thread
    RETURNING * INTO thread;
    -- This path may never have been distilled, or not lately.
    PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    PERFORM recollect.audit(p_tenant, 'set_head', p_thread, v_id::text, 1);
END;
$$;
