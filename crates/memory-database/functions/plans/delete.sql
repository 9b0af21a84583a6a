-- Deletes the plan of a thread; its log of attempts stays.
CREATE OR REPLACE FUNCTION recollect.delete_plan(
    p_tenant text, p_actor text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text, OUT deleted boolean
)
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    DELETE FROM recollect.plans WHERE tenant_id = p_tenant AND thread_id = p_thread;
    deleted := FOUND;
    IF deleted THEN
        PERFORM recollect.audit(p_tenant, 'delete_plan', p_thread, '', 1);
    END IF;
    status := 'ok';
END;
$$;
