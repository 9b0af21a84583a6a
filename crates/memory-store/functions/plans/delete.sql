-- Erases the plan of a thread, and nothing else.
CREATE OR REPLACE FUNCTION recollect.delete_plan(
    p_tenant text, p_actor text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text, OUT deleted boolean
)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    IF NOT recollect.lock_for_plan(p_tenant, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    DELETE FROM recollect.plans WHERE tenant_id = p_tenant AND thread_id = p_thread;
    deleted := FOUND;
    IF deleted THEN
        PERFORM recollect.note(p_tenant, 'delete_plan', p_thread, '', 1);
    END IF;
    status := 'ok';
END;
$$;
