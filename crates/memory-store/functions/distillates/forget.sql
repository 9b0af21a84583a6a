-- Erases all that was derived from the messages of a thread.
CREATE OR REPLACE FUNCTION recollect.forget_distillates(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM recollect.distillates WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.distill_jobs WHERE tenant_id = p_tenant AND thread_id = p_thread;
END;
$$;
