-- Sets the model whose context window counts; empty for none, null to keep it. Returns whether that changed anything.
CREATE OR REPLACE FUNCTION recollect.set_model(p_tenant text, p_thread uuid, p_model text, p_window integer)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF p_model IS NULL THEN
        RETURN false;
    END IF;
    -- Data and records stay, and so does their version. The version of a new row
    -- counts as that of no row.
    INSERT INTO recollect.working_memories AS w (tenant_id, thread_id, model, context_window, version)
    VALUES (p_tenant, p_thread, p_model, p_window, '00000000-0000-0000-0000-000000000000')
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET model = EXCLUDED.model, context_window = EXCLUDED.context_window, updated_at = clock_timestamp()
    WHERE w.model <> EXCLUDED.model OR w.context_window IS DISTINCT FROM EXCLUDED.context_window;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- A smaller window may be full already.
    PERFORM recollect.enqueue_distill(p_tenant, p_thread);
    RETURN true;
END;
$$;
