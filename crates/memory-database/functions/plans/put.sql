-- Stores the plan of a thread, in place of an earlier one.
CREATE OR REPLACE FUNCTION recollect.put_plan(
    p_tenant text, p_actor text, p_thread uuid,
    -- As etag_matches takes it.
    p_etag text,
    p_goal text, p_phase text, p_iterations integer, p_steps jsonb, p_data json,
    -- ok, thread_not_found or etag_changed (plan: the present one).
    OUT status text, OUT plan recollect.plans
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    IF p_etag IS NOT NULL THEN
        SELECT p.* INTO plan FROM recollect.plans p
        WHERE p.tenant_id = p_tenant AND p.thread_id = p_thread;
        IF NOT recollect.etag_matches(p_etag, plan.version::text) THEN
            status := 'etag_changed';
            RETURN;
        END IF;
    END IF;
    v_now := clock_timestamp();
    INSERT INTO recollect.plans AS p
        (tenant_id, thread_id, goal, current_phase, iteration_count, steps, data, created_at, updated_at)
    VALUES (p_tenant, p_thread, p_goal, p_phase, p_iterations, p_steps, p_data, v_now, v_now)
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET version = EXCLUDED.version, goal = EXCLUDED.goal, current_phase = EXCLUDED.current_phase,
        iteration_count = EXCLUDED.iteration_count, steps = EXCLUDED.steps, data = EXCLUDED.data,
        updated_at = EXCLUDED.updated_at
    RETURNING p.* INTO plan;
    PERFORM recollect.audit(p_tenant, 'put_plan', p_thread, '', 1);
    status := 'ok';
END;
$$;
