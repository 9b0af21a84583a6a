-- Does the next step of an erasure, under its lease: it erases about p_limit rows and prolongs
-- the lease to p_seconds from now. Each call is a transaction, so a worker that is killed loses
-- at most one step.
CREATE OR REPLACE FUNCTION recollect.erase_step(
    p_tenant text, p_erasure uuid, p_lease uuid, p_seconds double precision, p_limit bigint,
    -- As erase_thread_step and erase_owner_step return it, or lost: the lease has ended.
    OUT status text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_kind text;
BEGIN
    -- A row that another transaction holds must not stop the worker for long.
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', 'worker', true),
        set_config('lock_timeout', '1s', true);
    -- Before the erasure's row, as whatever hides a thread does.
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_erasure
    FOR UPDATE;
    SELECT e.kind INTO v_kind FROM recollect.erasures e
    WHERE e.tenant_id = p_tenant AND e.erasure_id = p_erasure AND e.lease_id = p_lease AND e.finished_at IS NULL
    FOR UPDATE;
    IF NOT FOUND THEN
        status := 'lost';
        RETURN;
    END IF;
    status := CASE v_kind WHEN 'thread' THEN recollect.erase_thread_step(p_tenant, p_erasure, p_limit)
        ELSE recollect.erase_owner_step(p_tenant, p_erasure, p_limit) END;
    UPDATE recollect.erasures
    SET attempts = 1, last_error = '', failing_since = NULL,
        available_at = clock_timestamp() + make_interval(secs => p_seconds)
    WHERE tenant_id = p_tenant AND erasure_id = p_erasure;
END;
$$;
