-- What agents mean to do in a thread, and what they have tried. Whoever changes
-- either waits at the thread's row, as appends do.

CREATE TABLE recollect.plans (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- The plan's etag: another one after each change. It is drawn at random, so
    -- that a plan that was erased and made anew has none that somebody has seen.
    version uuid NOT NULL DEFAULT gen_random_uuid(),
    goal text NOT NULL,
    current_phase text NOT NULL,
    iteration_count integer NOT NULL CHECK (iteration_count >= 0),
    -- In order; each has step_id, title, status and result.
    steps jsonb NOT NULL,
    -- Not jsonb: it comes back as it went in, and is never searched into.
    data json NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, thread_id)
);

CREATE TABLE recollect.iterations (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- From 1, without gaps.
    number bigint NOT NULL,
    task text NOT NULL,
    -- From 1 within the task, without gaps.
    attempt integer NOT NULL,
    action text NOT NULL,
    result text NOT NULL,
    -- Empty where nothing went wrong.
    error text NOT NULL,
    diagnosis text NOT NULL,
    fix text NOT NULL,
    -- Bytes of all texts, by which pages are bounded.
    bytes integer NOT NULL,
    -- The request that it came with, as long as the entry stays.
    request_id uuid,
    content_hash bytea,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, number)
);

CREATE INDEX iterations_by_task ON recollect.iterations (tenant_id, thread_id, task, attempt);
CREATE UNIQUE INDEX iterations_by_request ON recollect.iterations (tenant_id, request_id)
    WHERE request_id IS NOT NULL;

SELECT recollect.isolate('plans', 'iterations');

GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.plans TO recollect_service;
-- What was tried stays as it was logged.
GRANT SELECT, INSERT, DELETE ON recollect.iterations TO recollect_service;

-- Erases the plan and the log of a thread, for those who erase the thread.
CREATE FUNCTION recollect.erase_plans(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM recollect.plans WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.iterations WHERE tenant_id = p_tenant AND thread_id = p_thread;
END;
$$;

-- Waits at a thread's row; whether the thread lives.
CREATE FUNCTION recollect.lock_for_plan(p_tenant text, p_thread uuid)
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

-- Stores the plan of a thread in place of the one before.
CREATE FUNCTION recollect.put_plan(
    p_tenant text, p_actor text, p_thread uuid,
    -- The etag of the plan that is to be replaced; empty: there is to be none;
    -- null: whatever there is.
    p_etag text,
    p_goal text, p_phase text, p_iterations integer, p_steps jsonb, p_data json,
    -- ok, thread_not_found or etag_changed (the plan is the one that there is).
    OUT status text, OUT plan recollect.plans
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    IF NOT recollect.lock_for_plan(p_tenant, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    IF p_etag IS NOT NULL THEN
        SELECT p.* INTO plan FROM recollect.plans p
        WHERE p.tenant_id = p_tenant AND p.thread_id = p_thread;
        IF COALESCE(plan.version::text, '') <> p_etag THEN
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
    PERFORM recollect.note(p_tenant, 'put_plan', p_thread, '', 1);
    status := 'ok';
END;
$$;

-- Changes one step of a plan, and what else is not null.
CREATE FUNCTION recollect.update_plan_step(
    p_tenant text, p_actor text, p_thread uuid,
    -- The plan's etag; null: not checked.
    p_etag text,
    p_step text, p_status text, p_result text, p_phase text,
    -- ok, thread_not_found, plan_not_found, etag_changed (the plan is the one
    -- that there is) or step_not_found.
    OUT status text, OUT plan recollect.plans
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_place integer;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    IF NOT recollect.lock_for_plan(p_tenant, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT p.* INTO plan FROM recollect.plans p
    WHERE p.tenant_id = p_tenant AND p.thread_id = p_thread;
    IF NOT FOUND THEN
        status := 'plan_not_found';
        RETURN;
    END IF;
    IF plan.version::text <> p_etag THEN
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
            || jsonb_strip_nulls(jsonb_build_object('status', p_status, 'result', p_result))),
        current_phase = COALESCE(p_phase, p.current_phase),
        version = gen_random_uuid(), updated_at = clock_timestamp()
    WHERE p.tenant_id = p_tenant AND p.thread_id = p_thread
    RETURNING p.* INTO plan;
    PERFORM recollect.note(p_tenant, 'update_plan_step', p_thread, p_step, 1);
    status := 'ok';
END;
$$;

-- Erases the plan of a thread, and nothing else.
CREATE FUNCTION recollect.delete_plan(
    p_tenant text, p_actor text, p_thread uuid,
    -- ok or thread_not_found.
    OUT status text, OUT deleted boolean
)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    IF NOT recollect.lock_for_plan(p_tenant, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    DELETE FROM recollect.plans WHERE tenant_id = p_tenant AND thread_id = p_thread;
    deleted := FOUND;
    IF deleted THEN
        PERFORM recollect.note(p_tenant, 'delete_plan', p_thread, '', 1);
    END IF;
    status := 'ok';
END;
$$;

-- Adds an attempt to the log of a thread, under the next number.
CREATE FUNCTION recollect.append_iteration(
    p_tenant text, p_actor text, p_thread uuid,
    p_task text, p_action text, p_result text, p_error text, p_diagnosis text, p_fix text, p_bytes integer,
    p_most bigint, p_request uuid, p_hash bytea,
    -- ok, replayed, request_reused, thread_not_found or full.
    OUT status text, OUT number bigint, OUT attempt integer, OUT created_at timestamptz
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_request record;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    IF NOT recollect.lock_for_plan(p_tenant, p_thread) THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    IF p_request IS NOT NULL THEN
        SELECT i.content_hash, i.number, i.attempt, i.created_at INTO v_request
        FROM recollect.iterations i
        WHERE i.tenant_id = p_tenant AND i.request_id = p_request;
        IF FOUND THEN
            IF v_request.content_hash IS DISTINCT FROM p_hash THEN
                status := 'request_reused';
                RETURN;
            END IF;
            status := 'replayed';
            number := v_request.number;
            attempt := v_request.attempt;
            created_at := v_request.created_at;
            RETURN;
        END IF;
    END IF;
    SELECT COALESCE(max(i.number), 0) + 1 INTO number FROM recollect.iterations i
    WHERE i.tenant_id = p_tenant AND i.thread_id = p_thread;
    IF number > p_most THEN
        status := 'full';
        RETURN;
    END IF;
    SELECT COALESCE(max(i.attempt), 0) + 1 INTO attempt FROM recollect.iterations i
    WHERE i.tenant_id = p_tenant AND i.thread_id = p_thread AND i.task = p_task;
    created_at := clock_timestamp();
    INSERT INTO recollect.iterations AS i
        (tenant_id, thread_id, number, task, attempt, action, result, error, diagnosis, fix, bytes,
         request_id, content_hash, created_at)
    VALUES (p_tenant, p_thread, append_iteration.number, p_task, append_iteration.attempt, p_action, p_result,
            p_error, p_diagnosis, p_fix, p_bytes, p_request, p_hash, append_iteration.created_at)
    -- The same request came for another thread just now.
    ON CONFLICT (tenant_id, request_id) WHERE request_id IS NOT NULL DO NOTHING;
    IF NOT FOUND THEN
        status := 'request_reused';
        RETURN;
    END IF;
    PERFORM recollect.note(p_tenant, 'append_iteration', p_thread, append_iteration.number::text, 1);
    status := 'ok';
END;
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_service;
