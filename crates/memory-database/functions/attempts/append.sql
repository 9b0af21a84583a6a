-- Adds an attempt to the log of a thread, under the next number.
CREATE OR REPLACE FUNCTION recollect.append_attempt(
    p_tenant text, p_actor text, p_thread uuid,
    p_task text, p_action text, p_result text, p_error text, p_diagnosis text, p_fix text, p_bytes integer,
    p_most bigint, p_request uuid, p_hash bytea,
    -- ok, replayed, request_reused, thread_not_found or full.
    OUT status text, OUT number bigint, OUT task_number integer, OUT created_at timestamptz
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_request record;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    IF p_request IS NOT NULL THEN
        SELECT i.content_hash, i.number, i.task_number, i.created_at INTO v_request
        FROM recollect.attempts i
        WHERE i.tenant_id = p_tenant AND i.request_id = p_request;
        IF FOUND THEN
            IF v_request.content_hash IS DISTINCT FROM p_hash THEN
                status := 'request_reused';
                RETURN;
            END IF;
            status := 'replayed';
            number := v_request.number;
            task_number := v_request.task_number;
            created_at := v_request.created_at;
            RETURN;
        END IF;
    END IF;
    SELECT COALESCE(max(i.number), 0) + 1 INTO number FROM recollect.attempts i
    WHERE i.tenant_id = p_tenant AND i.thread_id = p_thread;
    IF number > p_most THEN
        status := 'full';
        RETURN;
    END IF;
    SELECT COALESCE(max(i.task_number), 0) + 1 INTO task_number FROM recollect.attempts i
    WHERE i.tenant_id = p_tenant AND i.thread_id = p_thread AND i.task = p_task;
    created_at := clock_timestamp();
    INSERT INTO recollect.attempts AS i
        (tenant_id, thread_id, number, task, task_number, action, result, error, diagnosis, fix, bytes,
         request_id, content_hash, created_at)
    VALUES (p_tenant, p_thread, append_attempt.number, p_task, append_attempt.task_number, p_action, p_result,
            p_error, p_diagnosis, p_fix, p_bytes, p_request, p_hash, append_attempt.created_at)
    -- The same request came for another thread just now.
    ON CONFLICT (tenant_id, request_id) WHERE request_id IS NOT NULL DO NOTHING;
    IF NOT FOUND THEN
        status := 'request_reused';
        RETURN;
    END IF;
    UPDATE recollect.threads SET stored_bytes = stored_bytes + p_bytes
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.audit(p_tenant, 'append_attempt', p_thread, append_attempt.number::text, 1);
    status := 'ok';
END;
$$;
