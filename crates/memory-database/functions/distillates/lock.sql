-- Begins a change of derived text of a kind, under the thread's lock: ok,
-- thread_not_found, or stale where the thread's generation of that kind is not
-- p_generation.
CREATE OR REPLACE FUNCTION recollect.distill_lock(
    p_tenant text, p_actor text, p_thread uuid, p_kind text, p_generation bigint
)
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_generation bigint;
BEGIN
    IF NOT recollect.lock_thread(p_tenant, p_actor, p_thread) THEN
        RETURN 'thread_not_found';
    END IF;
    SELECT CASE p_kind WHEN 'summary' THEN t.summary_generation ELSE t.observation_generation END INTO v_generation
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    RETURN CASE WHEN v_generation = p_generation THEN 'ok' ELSE 'stale' END;
END;
$$;
