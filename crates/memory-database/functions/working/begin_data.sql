-- Begins a change of a working memory's data, and returns it.
CREATE OR REPLACE FUNCTION recollect.begin_working_data(
    p_tenant text, p_actor text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text,
    -- Whether the working memory is not empty.
    OUT anything boolean, OUT etag text, OUT data json
)
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    PERFORM recollect.expire_working_memory(p_tenant, p_thread);
    SELECT s.status, s.anything, s.etag, s.data INTO status, anything, etag, data FROM recollect.working_state(p_tenant, p_thread) s;
END;
$$;
