-- Whether a memory was made of messages that are not on the path to the one with seq
-- p_to, or to the head where that path continues it.
CREATE OR REPLACE FUNCTION recollect.is_off_path(p_tenant text, p_thread uuid, p_memory uuid, p_to bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_path record;
    v_end record;
BEGIN
    SELECT p.* INTO v_path
    FROM recollect.threads t
    CROSS JOIN LATERAL recollect.path_arrays(p_tenant, p_thread, t.head_branch, t.head_depth) p
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread;
    SELECT m.branch, m.depth INTO v_end
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = p_to;
    IF NOT FOUND OR NOT recollect.is_on_path(v_path.branches, v_path.depths, v_end.branch, v_end.depth) THEN
        SELECT p.* INTO v_path FROM recollect.path_arrays(p_tenant, p_thread, v_end.branch, v_end.depth) p;
    END IF;
    RETURN COALESCE((
        SELECT reach.off_path
        FROM recollect.reach_of_memory(p_tenant, p_thread, p_memory, v_path.branches, v_path.depths) AS reach), false);
END;
$$;
