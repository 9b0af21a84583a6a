-- What reading a working memory changes: an expired one is ended, a rebuilt one is
-- reported once, and the model that is named is stored.
CREATE OR REPLACE FUNCTION recollect.touch_working_memory(
    p_tenant text, p_actor text, p_thread uuid,
    -- Empty: the model stays.
    p_model text, p_window integer,
    -- ok or thread_not_found.
    OUT status text, OUT rebuilt boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    status := 'ok';
    PERFORM recollect.expire_working_memory(p_tenant, p_thread);
    UPDATE recollect.working_memories w
    SET rebuilt = false
    WHERE w.tenant_id = p_tenant AND w.thread_id = p_thread AND w.rebuilt;
    rebuilt := FOUND;
    IF recollect.set_model(p_tenant, p_thread, p_model, p_window) OR rebuilt THEN
        PERFORM recollect.note(p_tenant, 'get_working_memory', p_thread, p_model, 1);
    END IF;
END;
$$;
