-- Raises the generations of a thread for kinds of derived text: `summary`, `observation`
-- and `extract`. A commit made under an older one is rejected. Called with each
-- change of the kind and with each erasure, under the thread's lock.
CREATE OR REPLACE FUNCTION recollect.raise_generations(p_tenant text, p_thread uuid, VARIADIC p_kinds text[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE recollect.threads t
    SET summary_generation = t.summary_generation + ('summary' = ANY (p_kinds))::integer,
        observation_generation = t.observation_generation + ('observation' = ANY (p_kinds))::integer,
        extract_generation = t.extract_generation + ('extract' = ANY (p_kinds))::integer
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
END;
$$;
