-- Begins a change of derived text of a kind: ok, thread_not_found, or stale where
-- the thread's generation of that kind is another one. Changes of a thread queue at
-- its row.
CREATE OR REPLACE FUNCTION recollect.distill_lock(
    p_tenant text, p_actor text, p_thread uuid, p_kind text, p_generation bigint
)
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_generation bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT CASE p_kind WHEN 'summary' THEN t.summary_generation ELSE t.observation_generation END INTO v_generation
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    RETURN CASE WHEN NOT FOUND THEN 'thread_not_found' WHEN v_generation <> p_generation THEN 'stale' ELSE 'ok' END;
END;
$$;
