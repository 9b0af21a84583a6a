-- Erases the rows of a thread's working memory.
CREATE OR REPLACE FUNCTION recollect.erase_working_memory(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM recollect.working_memories WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.working_records WHERE tenant_id = p_tenant AND thread_id = p_thread;
END;
$$;
