-- Forgets the working memory of a thread if its time has come.
CREATE OR REPLACE FUNCTION recollect.sweep_working_memory(p_tenant text, p_actor text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    RETURN recollect.lock_working_memory(p_tenant, p_actor, p_thread)
        AND recollect.expire_working_memory(p_tenant, p_thread);
END;
$$;
