-- Waits at a thread's row; whether the thread lives.
CREATE OR REPLACE FUNCTION recollect.lock_for_plan(p_tenant text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    RETURN FOUND;
END;
$$;
