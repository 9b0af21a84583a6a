-- Begins a change of a thread: names tenant and actor for the transaction, and waits at
-- the thread's row, as appends do. False where the thread does not exist or has expired.
-- A caller's change counts as a use of an ephemeral thread; a worker's does not.
CREATE OR REPLACE FUNCTION recollect.lock_thread(p_tenant text, p_actor text, p_thread uuid)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_ephemeral boolean;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT t.idle_ttl IS NOT NULL INTO v_ephemeral
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()
            OR recollect.refuse_clearing(p_tenant, p_thread))
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF v_ephemeral AND p_actor <> 'worker' THEN
        PERFORM recollect.use_thread(p_tenant, p_thread);
    END IF;
    RETURN true;
END;
$$;
