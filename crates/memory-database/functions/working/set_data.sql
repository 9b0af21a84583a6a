-- Stores the data of a working memory in the transaction of begin_working_data, and
-- returns the new etag.
CREATE OR REPLACE FUNCTION recollect.set_working_data(p_tenant text, p_thread uuid, p_data json)
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO recollect.working_memories AS w (tenant_id, thread_id, data)
    VALUES (p_tenant, p_thread, p_data)
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET data = EXCLUDED.data, version = EXCLUDED.version, updated_at = clock_timestamp();
    PERFORM recollect.audit(p_tenant, 'update_working_memory_data', p_thread, '', 1);
    RETURN (SELECT s.etag FROM recollect.working_state(p_tenant, p_thread) s);
END;
$$;
