-- Whether a memory was made of messages that are not on the path to the one with
-- this seq, or to the head if that goes on from there.
CREATE OR REPLACE FUNCTION recollect.is_astray(p_tenant text, p_thread uuid, p_memory uuid, p_to bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_branches integer[];
    v_depths integer[];
BEGIN
    SELECT array_agg(way.branch), array_agg(way.depth) INTO v_branches, v_depths
    FROM recollect.threads t
    CROSS JOIN LATERAL recollect.path(p_tenant, p_thread, t.head_branch, t.head_depth) way
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    IF NOT EXISTS (
        SELECT FROM recollect.messages m
        JOIN unnest(v_branches, v_depths) AS way (branch, depth) ON way.branch = m.branch AND way.depth >= m.depth
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = p_to)
    THEN
        SELECT array_agg(way.branch), array_agg(way.depth) INTO v_branches, v_depths
        FROM recollect.messages m
        CROSS JOIN LATERAL recollect.path(p_tenant, p_thread, m.branch, m.depth) way
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = p_to;
    END IF;
    RETURN COALESCE((
        SELECT reach.astray
        FROM recollect.reach_of_memory(p_tenant, p_thread, p_memory, v_branches, v_depths) AS reach), false);
END;
$$;
