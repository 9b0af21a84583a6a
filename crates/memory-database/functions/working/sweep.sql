-- Ends the working memory of a thread if it has expired.
CREATE OR REPLACE FUNCTION recollect.sweep_working_memory(p_tenant text, p_actor text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN recollect.lock_thread(p_tenant, p_actor, p_thread)
        AND recollect.expire_working_memory(p_tenant, p_thread);
END;
$$;
