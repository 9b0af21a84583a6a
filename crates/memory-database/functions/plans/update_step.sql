-- Changes one step of a plan, and the fields that are not null.
CREATE OR REPLACE FUNCTION recollect.update_plan_step(
    p_tenant text, p_actor text, p_thread uuid,
    -- As etag_matches takes it.
    p_etag text,
    p_step text, p_title text, p_status text, p_result text, p_phase text,
    -- ok, thread_not_found, plan_not_found, etag_changed (plan: the present one) or
    -- step_not_found.
    OUT status text, OUT plan recollect.plans
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_place integer;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT p.* INTO plan FROM recollect.plans p
    WHERE p.tenant_id = p_tenant AND p.thread_id = p_thread;
    IF NOT FOUND THEN
        status := 'plan_not_found';
        RETURN;
    END IF;
    IF NOT recollect.etag_matches(p_etag, plan.version::text) THEN
        status := 'etag_changed';
        RETURN;
    END IF;
    SELECT s.place - 1 INTO v_place
    FROM jsonb_array_elements(plan.steps) WITH ORDINALITY AS s (step, place)
    WHERE s.step ->> 'step_id' = p_step;
    IF NOT FOUND THEN
        status := 'step_not_found';
        RETURN;
    END IF;
    UPDATE recollect.plans p
    SET steps = jsonb_set(p.steps, ARRAY[v_place::text], (p.steps -> v_place)
            || jsonb_strip_nulls(jsonb_build_object('title', p_title, 'status', p_status, 'result', p_result))),
        current_phase = COALESCE(p_phase, p.current_phase),
        version = gen_random_uuid(), updated_at = clock_timestamp()
    WHERE p.tenant_id = p_tenant AND p.thread_id = p_thread
    RETURNING p.* INTO plan;
    PERFORM recollect.audit(p_tenant, 'update_plan_step', p_thread, p_step, 1);
    status := 'ok';
END;
$$;
