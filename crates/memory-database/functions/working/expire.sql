-- Ends the working memory of a thread if it has expired. With the policy's
-- rebuild_expired all messages of the thread are in the new one, otherwise the
-- messages appended since it expired. The caller has the thread's lock. Returns whether it had
-- expired.
CREATE OR REPLACE FUNCTION recollect.expire_working_memory(p_tenant text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_actor text := current_setting('recollect.actor', true);
    v_rebuild boolean;
    v_expired timestamptz;
    v_since integer;
BEGIN
    SELECT COALESCE(p.rebuild_expired, false), w.expires_at
    INTO v_rebuild, v_expired
    FROM recollect.working_memories w
    CROSS JOIN LATERAL recollect.policy_of_thread(p_tenant, p_thread) AS p
    WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.expires_at <= clock_timestamp();
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- Recorded under the worker's name: time ended it, not this caller.
    PERFORM set_config('recollect.actor', 'worker', true);
    DELETE FROM recollect.working_records WHERE tenant_id = p_tenant AND thread_id = p_thread;
    IF v_rebuild THEN
        UPDATE recollect.working_memories
        SET data = '{}', version = gen_random_uuid(), rebuilt = true, expires_at = NULL,
            updated_at = clock_timestamp()
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
        DELETE FROM recollect.distillates
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND kind = 'summary';
        PERFORM recollect.raise_generations(p_tenant, p_thread, 'summary');
        PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    ELSE
        DELETE FROM recollect.working_memories WHERE tenant_id = p_tenant AND thread_id = p_thread;
        SELECT min(m.depth) INTO v_since
        FROM recollect.threads t
        CROSS JOIN LATERAL recollect.path(p_tenant, p_thread, t.head_branch, t.head_depth) part
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = part.branch
            AND m.depth > part.above AND m.depth <= part.depth
            AND m.deleted_at IS NULL AND m.appended_at > v_expired
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
        PERFORM recollect.clear_contexts(p_tenant, p_thread);
        PERFORM recollect.set_aside(
            p_tenant, 'worker', p_thread, COALESCE(v_since, 2147483647), '', 0, 'worker');
    END IF;
    PERFORM recollect.audit(p_tenant, 'expire_working_memory', p_thread, '', 1);
    PERFORM set_config('recollect.actor', v_actor, true);
    RETURN true;
END;
$$;
