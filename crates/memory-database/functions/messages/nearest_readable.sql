-- The nearest readable message at a place or before it on its path; all null without one.
CREATE OR REPLACE FUNCTION recollect.nearest_readable(
    p_tenant text, p_thread uuid, p_branch integer, p_depth integer,
    OUT message_id uuid, OUT seq bigint, OUT branch integer, OUT depth integer, OUT path_tokens bigint
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_place record;
BEGIN
    FOR v_place IN SELECT p.branch, p.depth FROM recollect.path(p_tenant, p_thread, p_branch, p_depth) p LOOP
        SELECT m.message_id, m.seq, m.branch, m.depth, m.path_tokens
        INTO message_id, seq, branch, depth, path_tokens
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = v_place.branch AND m.depth <= v_place.depth AND m.deleted_at IS NULL
        ORDER BY m.depth DESC
        LIMIT 1;
        EXIT WHEN FOUND;
    END LOOP;
END;
$$;
