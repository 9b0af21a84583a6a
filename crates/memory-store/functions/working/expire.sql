-- Forgets the working memory of a thread if its time has come: with
-- rebuild_expired all messages of the thread are in it again, otherwise those that
-- were said since. The caller has the thread's lock.
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
    SELECT COALESCE((t.policy ->> 'rebuild_expired')::boolean, (p.policy ->> 'rebuild_expired')::boolean, false),
        w.expires_at
    INTO v_rebuild, v_expired
    FROM recollect.working_memories w
    JOIN recollect.threads t ON t.tenant_id = p_tenant AND t.thread_id = p_thread
    LEFT JOIN recollect.app_policies p ON p.tenant_id = p_tenant AND p.app_id = t.app_id
    WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.expires_at <= clock_timestamp();
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- Its time ended it, not who comes now.
    PERFORM set_config('recollect.actor', 'worker', true);
    DELETE FROM recollect.working_records WHERE tenant_id = p_tenant AND thread_id = p_thread;
    IF v_rebuild THEN
        UPDATE recollect.working_memories
        SET data = '{}', version = gen_random_uuid(), rebuilt = true, expires_at = NULL,
            updated_at = clock_timestamp()
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
        DELETE FROM recollect.distillates
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND kind = 'summary';
        UPDATE recollect.threads
        SET summary_generation = summary_generation + 1
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
        PERFORM recollect.want_distill(p_tenant, p_thread);
    ELSE
        DELETE FROM recollect.working_memories WHERE tenant_id = p_tenant AND thread_id = p_thread;
        SELECT min(m.depth) INTO v_since
        FROM recollect.threads t
        CROSS JOIN LATERAL recollect.path(p_tenant, p_thread, t.head_branch, t.head_depth) way
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = way.branch
            AND m.depth > way.above AND m.depth <= way.depth
            AND m.deleted_at IS NULL AND m.appended_at > v_expired
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
        PERFORM recollect.forget_contexts(p_tenant, p_thread);
        PERFORM recollect.set_aside(
            p_tenant, 'worker', p_thread, COALESCE(v_since, 2147483647), '', 0, 'worker');
    END IF;
    PERFORM recollect.note(p_tenant, 'expire_working_memory', p_thread, '', 1);
    PERFORM set_config('recollect.actor', v_actor, true);
    RETURN true;
END;
$$;
