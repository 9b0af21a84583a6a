-- Erases the plan and the log of a thread, for those who erase the thread.
CREATE OR REPLACE FUNCTION recollect.erase_plans(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM recollect.plans WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.iterations WHERE tenant_id = p_tenant AND thread_id = p_thread;
END;
$$;
