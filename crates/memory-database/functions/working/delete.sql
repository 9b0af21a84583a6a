-- Deletes the working memory of a thread: its data, its records, its context and its
-- model. Its messages are set aside.
CREATE OR REPLACE FUNCTION recollect.delete_working_memory(
    p_tenant text, p_actor text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text,
    -- Whether it was not empty.
    OUT deleted boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    PERFORM recollect.expire_working_memory(p_tenant, p_thread);
    SELECT s.status, s.anything INTO status, deleted FROM recollect.working_state(p_tenant, p_thread) s;
    PERFORM recollect.erase_working_memory(p_tenant, p_thread);
    PERFORM recollect.clear_contexts(p_tenant, p_thread);
    PERFORM recollect.set_aside(p_tenant, p_actor, p_thread, 2147483647, '', 0, 'caller');
    IF deleted THEN
        PERFORM recollect.audit(p_tenant, 'delete_working_memory', p_thread, '', 1);
    END IF;
END;
$$;
